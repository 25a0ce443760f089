//! What a process does to the memory of others and to files, as events.

use sintonia_mpi::{Operation, Role};
use sintonia_recording::raw::{self, known_bytes, part};
use sintonia_recording::table::{Call, Shape};

use crate::otf2::bytes::UNDEFINED;
use crate::otf2::event::{Event, FileAccess, Transfer, group};
use crate::otf2::write::process::{Moment, Process, What};

/// The most one-sided operations whose end is told at the synchronisation that ends them.
const MOST_TRANSFERS: usize = 1 << 14;

impl Process<'_> {
    pub(super) fn make_window(&mut self, shape: &Shape, moment: &mut Moment) {
        let Some(window) = self.places.object(shape.made) else { return };
        let allocates = shape.operation.name().starts_with("MPI_Win_allocate");
        let (event, operation) = match shape.operation.role() {
            Role::WindowCreate if allocates => (Event::WindowCreate(window), group::CREATE_AND_ALLOCATE),
            Role::WindowCreate => (Event::WindowCreate(window), group::CREATE),
            _ => {
                self.end_transfers(shape.made, None, moment);
                (Event::WindowDestroy(window), group::DESTROY)
            }
        };
        moment.enter(Event::WindowCollectiveBegin);
        moment.leave(event);
        moment.leave(Event::WindowCollectiveEnd { operation, window });
    }

    pub(super) fn synchronise(&mut self, shape: &Shape, moment: &mut Moment) {
        let Some(window) = self.places.object(shape.object) else { return };
        let exclusive = shape.value == raw::LOCK_EXCLUSIVE;
        let at = self.places.target(shape.object, shape.peer, self.me).map(|(_, rank)| rank);
        let peer = at.map(|_| shape.peer);
        match shape.operation.name() {
            "MPI_Win_fence" => {
                self.end_transfers(shape.object, None, moment);
                moment.enter(Event::WindowCollectiveBegin);
                moment.leave(Event::WindowCollectiveEnd { operation: group::BARRIER, window });
            }
            "MPI_Win_lock" => moment.leave(at.map(|rank| Event::WindowLock(window, rank, exclusive))),
            "MPI_Win_lock_all" => moment.leave(Event::WindowLock(window, UNDEFINED, false)),
            "MPI_Win_unlock" | "MPI_Win_unlock_all" => {
                self.end_transfers(shape.object, peer, moment);
                moment.leave(Event::WindowUnlock(window, at.unwrap_or(UNDEFINED)));
            }
            "MPI_Win_flush" | "MPI_Win_flush_all" => self.end_transfers(shape.object, peer, moment),
            "MPI_Win_post" | "MPI_Win_start" => {
                let group = self.places.group(shape.value).filter(|_| shape.names_group());
                self.epochs.extend(group.map(|group| ((shape.object, shape.operation), group)));
                self.synchronise_with(window, group, moment);
            }
            "MPI_Win_complete" => {
                self.end_transfers(shape.object, None, moment);
                self.end_epoch(shape, "MPI_Win_start", window, moment);
            }
            "MPI_Win_wait" => self.end_epoch(shape, "MPI_Win_post", window, moment),
            "MPI_Win_test" if shape.parts & part::FOUND_NOTHING == 0 => self.end_epoch(shape, "MPI_Win_post", window, moment),
            _ => {}
        }
    }

    /// What `MPI_Win_post` or `MPI_Win_start` began is ended, with the same processes.
    fn end_epoch(&mut self, shape: &Shape, begun_by: &str, window: u32, moment: &mut Moment) {
        let began = Operation::named(begun_by).map(|began| (shape.object, began));
        let group = began.and_then(|began| self.epochs.remove(&began));
        self.synchronise_with(window, group, moment);
    }

    fn synchronise_with(&mut self, window: u32, group: Option<u32>, moment: &mut Moment) {
        self.missing.partial_syncs |= group.is_none();
        moment.leave(group.map(|group| Event::WindowGroupSync(window, group)));
    }

    /// One-sided operations on a window (with one target, or with all) are complete.
    fn end_transfers(&mut self, window: u32, target: Option<i32>, moment: &mut Moment) {
        let Some(definition) = self.places.object(window) else { return };
        self.transfers.retain(|(on, with, id)| {
            let ends = *on == window && target.is_none_or(|target| target == *with);
            if ends {
                moment.leave(Event::TransferDone(definition, *id));
            }
            !ends
        });
    }

    pub(super) fn transfer(&mut self, call: &Call, moment: &mut Moment) -> What {
        let shape = call.shape;
        let Some((window, peer)) = self.places.target(shape.object, shape.peer, self.me) else { return What::Other };
        let id = self.next_id();
        let how = how(shape.operation);
        let (sent, received) = match how {
            Transfer::Put => (shape.bytes_sent(), 0),
            Transfer::Get => (0, known_bytes(shape.received)),
            Transfer::Atomic(_) => (shape.bytes_sent(), known_bytes(shape.received)),
        };
        moment.enter(Event::Transfer { how, window, peer, sent, received, id });
        if call.request.is_none() && self.transfers.len() < MOST_TRANSFERS {
            self.transfers.push((shape.object, shape.peer, id));
        }
        What::Transfer(window, id)
    }

    pub(super) fn file(&mut self, call: &Call, moment: &mut Moment) -> What {
        let shape = call.shape;
        let role = shape.operation.role();
        let number_of_file = if matches!(role, Role::FileOpen | Role::FileClose) { shape.made } else { shape.object };
        let Some(file) = self.places.object(number_of_file) else { return What::Other };
        let writes = match role {
            Role::FileOpen => {
                moment.leave(Event::FileOpen(file));
                return What::Other;
            }
            Role::FileClose => {
                moment.leave(Event::FileClose(file));
                return What::Other;
            }
            role => role == Role::FileWrite,
        };
        let bytes = known_bytes(if writes { shape.sent } else { shape.received });
        let collective = ["_all", "_ordered"].iter().any(|part| shape.operation.name().contains(part));
        let access = FileAccess { writes, collective, nonblocking: call.request.is_some(), bytes };
        let id = self.next_id();
        moment.enter(Event::FileBegin(file, access, id));
        moment.leave(if access.nonblocking { Event::FileIssued(file, id) } else { Event::FileComplete(file, bytes, id) });
        What::File(file, bytes, id)
    }
}

/// How data moves in a one-sided operation.
fn how(operation: Operation) -> Transfer {
    const ACCUMULATE: u8 = 0;
    const COMPARE_AND_SWAP: u8 = 3;
    const FETCH_AND_ACCUMULATE: u8 = 7;
    match operation.role() {
        Role::Get => Transfer::Get,
        Role::Put if operation.name().ends_with("ccumulate") => Transfer::Atomic(ACCUMULATE),
        Role::Put => Transfer::Put,
        _ if operation.name() == "MPI_Compare_and_swap" => Transfer::Atomic(COMPARE_AND_SWAP),
        _ => Transfer::Atomic(FETCH_AND_ACCUMULATE),
    }
}
