//! From the numbers of a trace to those of a recording: communicators, windows, files, and ranks within them.

use std::sync::Arc;

use sintonia_recording::raw;

use crate::otf2::bytes::UNDEFINED;
use crate::otf2::event::{NO_ROOT, ROOT_HERE, ROOT_IN_THIS_GROUP};
use crate::otf2::table::Table;

/// What the communicators, windows and files of a trace are in a recording.
#[derive(Default)]
pub struct Terms {
    /// Communicators by their definition.
    pub communicators: Table<Communicator>,
    /// Windows by their definition.
    pub windows: Table<Object>,
    /// Files by their definition.
    pub files: Table<Object>,
    /// Groups that windows are synchronised with, by their definition: their number.
    pub groups: Table<u32>,
}

/// A communicator.
pub enum Communicator {
    /// Its number, and its members in their order, as ranks of the recording.
    Within(u32, Arc<[i32]>),
    /// Its number, and the members of both groups.
    Between(u32, Arc<[i32]>, Arc<[i32]>),
    /// A communicator of its own for each process: the number of the first one's.
    Own(u32),
}

/// A window or file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its number.
    pub number: u32,
    /// The definition of the communicator it was made on.
    pub communicator: u32,
}

impl Terms {
    /// The number of a communicator as a process sees it.
    pub fn communicator(&self, definition: u32, me: i32) -> u32 {
        match self.communicators.get(definition) {
            Some(Communicator::Within(number, _) | Communicator::Between(number, ..)) => *number,
            Some(Communicator::Own(first)) => first.saturating_add_signed(me),
            None => raw::NO_OBJECT,
        }
    }

    /// The rank in the recording of a peer, given its rank in a communicator.
    pub fn peer(&self, definition: u32, rank: u32, me: i32) -> i32 {
        let members = match self.communicators.get(definition) {
            Some(Communicator::Within(_, members)) => members,
            Some(Communicator::Between(_, here, there)) => {
                if here.contains(&me) {
                    there
                } else {
                    here
                }
            }
            Some(Communicator::Own(_)) => return me,
            None => return raw::OUTSIDE,
        };
        members.get(rank as usize).copied().unwrap_or(raw::OUTSIDE)
    }

    /// The rank in the recording of a root.
    pub fn root(&self, definition: u32, rank: u32, me: i32) -> i32 {
        match rank {
            NO_ROOT => raw::NONE,
            ROOT_HERE => raw::ROOT_HERE,
            ROOT_IN_THIS_GROUP => raw::PROC_NULL,
            rank => self.peer(definition, rank, me),
        }
    }

    /// The number of a window, and the rank in the recording of a target.
    pub fn target(&self, window: u32, rank: u32, me: i32) -> (u32, i32) {
        match self.windows.get(window) {
            Some(object) if rank == UNDEFINED => (object.number, raw::NONE),
            Some(object) => (object.number, self.peer(object.communicator, rank, me)),
            None => (raw::NO_OBJECT, raw::NONE),
        }
    }

    /// The number of a window or file, and that of the communicator it was made on.
    pub fn object(&self, objects: &Table<Object>, definition: u32, me: i32) -> (u32, u32) {
        match objects.get(definition) {
            Some(object) => (object.number, self.communicator(object.communicator, me)),
            None => (raw::NO_OBJECT, raw::NO_OBJECT),
        }
    }
}
