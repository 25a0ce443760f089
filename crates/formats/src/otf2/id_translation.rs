//! Translates ids and ranks of a trace to those of a recording: communicators, windows, files, and ranks within them.

use std::sync::Arc;

use sintonia_otf2::buffer::UNDEFINED_UINT32;
use sintonia_otf2::{NO_ROOT, ROOT_SELF, ROOT_THIS_GROUP};
use sintonia_recording::raw;

use crate::otf2::id_table::IdTable;

/// The recording's ids of a trace's communicators, windows and files.
#[derive(Default)]
pub(super) struct IdTranslation {
    /// Communicators by definition.
    pub communicators: IdTable<CommMapping>,
    /// Windows by definition.
    pub windows: IdTable<ObjectMapping>,
    /// Files by definition.
    pub files: IdTable<ObjectMapping>,
    /// Groups used in window synchronisation, by definition.
    pub groups: IdTable<u32>,
}

/// A communicator.
pub(super) enum CommMapping {
    /// Intracommunicator: its index, and its members as world ranks.
    Intra(u32, Arc<[i32]>),
    /// Intercommunicator: its index, and the members of both groups.
    Inter(u32, Arc<[i32]>, Arc<[i32]>),
    /// One communicator per process: the index of the first one.
    SelfComm(u32),
}

/// A window or file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ObjectMapping {
    /// Its index.
    pub number: u32,
    /// The definition of its communicator.
    pub communicator: u32,
}

impl IdTranslation {
    /// The index of a communicator for a process.
    pub(super) fn communicator(&self, definition: u32, own_rank: i32) -> u32 {
        match self.communicators.get(definition) {
            Some(CommMapping::Intra(number, _) | CommMapping::Inter(number, ..)) => *number,
            Some(CommMapping::SelfComm(first)) => first.saturating_add_signed(own_rank),
            None => raw::NO_OBJECT,
        }
    }

    /// The world rank of a peer, given its communicator rank.
    pub(super) fn peer(&self, definition: u32, rank: u32, own_rank: i32) -> i32 {
        let members = match self.communicators.get(definition) {
            Some(CommMapping::Intra(_, members)) => members,
            Some(CommMapping::Inter(_, here, there)) => {
                if here.contains(&own_rank) {
                    there
                } else {
                    here
                }
            }
            Some(CommMapping::SelfComm(_)) => return own_rank,
            None => return raw::EXTERNAL,
        };
        members.get(rank as usize).copied().unwrap_or(raw::EXTERNAL)
    }

    /// The world rank of a root.
    pub(super) fn root(&self, definition: u32, rank: u32, own_rank: i32) -> i32 {
        match rank {
            NO_ROOT => raw::NONE,
            ROOT_SELF => raw::ROOT,
            ROOT_THIS_GROUP => raw::PROC_NULL,
            rank => self.peer(definition, rank, own_rank),
        }
    }

    /// The index of a window, and the world rank of a target.
    pub(super) fn target(&self, window: u32, rank: u32, own_rank: i32) -> (u32, i32) {
        match self.windows.get(window) {
            Some(object) if rank == UNDEFINED_UINT32 => (object.number, raw::NONE),
            Some(object) => (object.number, self.peer(object.communicator, rank, own_rank)),
            None => (raw::NO_OBJECT, raw::NONE),
        }
    }

    /// The indices of a window or file and of its communicator.
    pub(super) fn object(&self, objects: &IdTable<ObjectMapping>, definition: u32, own_rank: i32) -> (u32, u32) {
        match objects.get(definition) {
            Some(object) => (object.number, self.communicator(object.communicator, own_rank)),
            None => (raw::NO_OBJECT, raw::NO_OBJECT),
        }
    }
}
