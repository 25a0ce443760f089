//! The events of a location: those that say something of MPI, in OTF2's own terms.
//!
//! Ranks are ranks within a communicator, and everything else is named by the number of its definition. Events of other kinds (OpenMP,
//! metrics, ...) are skipped when a trace is read: every record has a length, except the few kinds that [`bare_length`] knows.

mod decode;
mod encode;

pub use decode::{Read, read};
pub use encode::Encoder;

use crate::otf2::bytes::UNDEFINED;

/// The record of attributes that precedes their event.
pub const ATTRIBUTES: u8 = 6;

/// No root, or all members of the group.
pub const NO_ROOT: u32 = UNDEFINED;
/// Between two groups: this process is the root.
pub const ROOT_HERE: u32 = UNDEFINED - 1;
/// Between two groups: the root is another process of the same group.
pub const ROOT_IN_THIS_GROUP: u32 = UNDEFINED - 2;

/// Numbers of operations of a group that are no exchange of data.
pub mod group {
    /// Wait for each other.
    pub const BARRIER: u8 = 0;
    /// Make a communicator or window.
    pub const CREATE: u8 = 17;
    /// Free it.
    pub const DESTROY: u8 = 18;
    /// Make a window and its memory.
    pub const CREATE_AND_ALLOCATE: u8 = 21;
}

/// An operation of all members of a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collective {
    /// Which one, by OTF2's number.
    pub operation: u8,
    /// The communicator.
    pub communicator: u32,
    /// The root's rank, or one of the constants of this module.
    pub root: u32,
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The rank of the other side.
    pub peer: u32,
    /// The communicator.
    pub communicator: u32,
    /// The tag.
    pub tag: u32,
    /// Bytes.
    pub bytes: u64,
}

/// How data moves in a one-sided operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// To the target.
    Put,
    /// From the target.
    Get,
    /// An atomic update, by OTF2's number.
    Atomic(u8),
}

/// How data of a file are read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileAccess {
    /// Whether data go to the file.
    pub writes: bool,
    /// Whether all who opened the file take part.
    pub collective: bool,
    /// Whether a later call completes it.
    pub nonblocking: bool,
    /// Bytes asked for.
    pub bytes: u64,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A region begins.
    Enter(u32),
    /// A region ends.
    Leave(u32),
    /// A region begins, named by its calling context.
    EnterContext(u32),
    /// A region ends, named by its calling context.
    LeaveContext(u32),
    /// The program begins: its name, and its arguments.
    ProgramBegin(u32, Vec<u32>),
    /// The program ends with a status.
    ProgramEnd(i64),
    /// A message leaves; with a request, another event tells that it has.
    Send(Message, Option<u64>),
    /// A send with a request is complete.
    SendComplete(u64),
    /// A receive with a request begins.
    Post(u64),
    /// A message was received.
    Receive(Message, Option<u64>),
    /// A request was asked for, and is not complete.
    Test(u64),
    /// A request was given up.
    Cancelled(u64),
    /// An operation of a group begins.
    CollectiveBegin,
    /// An operation of a group ends.
    CollectiveEnd(Collective),
    /// An operation of a group with a request begins.
    CollectivePost(u64),
    /// An operation of a group with a request ends.
    CollectiveComplete(Collective, u64),
    /// A communicator was made.
    CommunicatorCreate(u32),
    /// A communicator was freed.
    CommunicatorDestroy(u32),
    /// A window was made.
    WindowCreate(u32),
    /// A window was freed.
    WindowDestroy(u32),
    /// An operation of the members of a window begins.
    WindowCollectiveBegin,
    /// An operation of the members of a window ends.
    WindowCollectiveEnd {
        /// Which one, by OTF2's number.
        operation: u8,
        /// The window.
        window: u32,
    },
    /// A lock of a window at a rank (or at all: [`UNDEFINED`]) is asked for; whether nobody else may have it.
    WindowLock(u32, u32, bool),
    /// A lock of a window at a rank is given back.
    WindowUnlock(u32, u32),
    /// A window is synchronised with the members of a group.
    WindowGroupSync(u32, u32),
    /// A window is synchronised with a rank.
    WindowSync(u32, u32),
    /// A one-sided operation begins.
    Transfer {
        /// How data moves.
        how: Transfer,
        /// The window.
        window: u32,
        /// The target's rank.
        peer: u32,
        /// Bytes to the target.
        sent: u64,
        /// Bytes from it.
        received: u64,
        /// What names it when it is complete.
        id: u64,
    },
    /// A one-sided operation with a request is complete.
    TransferComplete(u32, u64),
    /// A one-sided operation is complete at the target.
    TransferDone(u32, u64),
    /// A file was opened.
    FileOpen(u32),
    /// A file was closed.
    FileClose(u32),
    /// Data of a file are read or written.
    FileBegin(u32, FileAccess, u64),
    /// Reading or writing goes on after the call.
    FileIssued(u32, u64),
    /// Reading or writing is complete: so many bytes.
    FileComplete(u32, u64, u64),
    /// A parameter has a value in the current region.
    Parameter(u32, u64),
    /// The tool that made the trace stopped to look.
    Interrupted,
}

mod kind {
    pub const FLUSH: u8 = 10;
    pub const ON_OFF: u8 = 11;
    pub const ENTER: u8 = 12;
    pub const LEAVE: u8 = 13;
    pub const SEND: u8 = 14;
    pub const ISEND: u8 = 15;
    pub const ISEND_COMPLETE: u8 = 16;
    pub const IRECV_REQUEST: u8 = 17;
    pub const RECV: u8 = 18;
    pub const IRECV: u8 = 19;
    pub const REQUEST_TEST: u8 = 20;
    pub const REQUEST_CANCELLED: u8 = 21;
    pub const COLLECTIVE_BEGIN: u8 = 22;
    pub const COLLECTIVE_END: u8 = 23;
    pub const OMP_FORK: u8 = 24;
    pub const OMP_JOIN: u8 = 25;
    pub const OMP_TASK_CREATE: u8 = 28;
    pub const OMP_TASK_SWITCH: u8 = 29;
    pub const OMP_TASK_COMPLETE: u8 = 30;
    pub const PARAMETER_UNSIGNED: u8 = 34;
    pub const WIN_CREATE: u8 = 35;
    pub const WIN_DESTROY: u8 = 36;
    pub const RMA_COLLECTIVE_BEGIN: u8 = 37;
    pub const RMA_COLLECTIVE_END: u8 = 38;
    pub const RMA_GROUP_SYNC: u8 = 39;
    pub const RMA_REQUEST_LOCK: u8 = 40;
    pub const RMA_ACQUIRE_LOCK: u8 = 41;
    pub const RMA_TRY_LOCK: u8 = 42;
    pub const RMA_RELEASE_LOCK: u8 = 43;
    pub const RMA_SYNC: u8 = 44;
    pub const RMA_PUT: u8 = 46;
    pub const RMA_GET: u8 = 47;
    pub const RMA_ATOMIC: u8 = 48;
    pub const RMA_COMPLETE_NONBLOCKING: u8 = 50;
    pub const RMA_COMPLETE_REMOTE: u8 = 52;
    pub const CONTEXT_ENTER: u8 = 66;
    pub const CONTEXT_LEAVE: u8 = 67;
    pub const IO_CREATE: u8 = 69;
    pub const IO_DESTROY: u8 = 70;
    pub const IO_BEGIN: u8 = 75;
    pub const IO_ISSUED: u8 = 77;
    pub const IO_COMPLETE: u8 = 78;
    pub const PROGRAM_BEGIN: u8 = 83;
    pub const PROGRAM_END: u8 = 84;
    pub const COLLECTIVE_REQUEST: u8 = 85;
    pub const COLLECTIVE_COMPLETE: u8 = 86;
    pub const COMM_CREATE: u8 = 87;
    pub const COMM_DESTROY: u8 = 88;
}

/// Both that all wait for each other and that memory is the same for all.
const SYNC_PROCESSES_AND_MEMORY: u32 = 3;
const EXCLUSIVE_LOCK: u8 = 0;
const SHARED_LOCK: u8 = 1;
const SYNC_MEMORY: u8 = 0;
const READ_AND_WRITE: u8 = 2;
const WRITE_MODE: u8 = 1;
const NONBLOCKING_ACCESS: u32 = 1;
const COLLECTIVE_ACCESS: u32 = 2;
const MEASUREMENT_OFF: u8 = 2;

/// How long a record is whose kind has no length of its own, given what follows its kind; `None` for all other kinds.
pub fn bare_length(kind: u8, ahead: &[u8]) -> Option<usize> {
    match kind {
        kind::COLLECTIVE_BEGIN | kind::RMA_COLLECTIVE_BEGIN | kind::OMP_JOIN => Some(1),
        kind::ENTER
        | kind::LEAVE
        | kind::ISEND_COMPLETE
        | kind::IRECV_REQUEST
        | kind::REQUEST_TEST
        | kind::REQUEST_CANCELLED
        | kind::OMP_FORK
        | kind::OMP_TASK_CREATE
        | kind::OMP_TASK_SWITCH
        | kind::OMP_TASK_COMPLETE => match ahead.first() {
            Some(&size @ 1..=8) => Some(1 + usize::from(size)),
            _ => Some(1),
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otf2::bytes::{Order, Reader};
    use crate::otf2::local::Ids;

    #[test]
    fn every_event_survives_being_written_and_read() {
        let message = Message { peer: 3, communicator: 1, tag: 70_000, bytes: 1 << 40 };
        let collective = Collective { operation: 12, communicator: 0, root: ROOT_HERE, sent: 8, received: 0 };
        let access = FileAccess { writes: true, collective: false, nonblocking: true, bytes: 4096 };
        let transfer = |how, sent, received| Event::Transfer { how, window: 1, peer: 2, sent, received, id: 5 };
        let events = [
            Event::Enter(0),
            Event::Leave(300),
            Event::EnterContext(7),
            Event::LeaveContext(7),
            Event::ProgramBegin(1, vec![2, 3]),
            Event::ProgramEnd(-1),
            Event::Send(message, None),
            Event::Send(message, Some(u64::MAX - 1)),
            Event::SendComplete(u64::from(UNDEFINED)),
            Event::Post(1 << 48),
            Event::Receive(message, None),
            Event::Receive(message, Some(0)),
            Event::Test(9),
            Event::Cancelled(10),
            Event::CollectiveBegin,
            Event::CollectiveEnd(collective),
            Event::CollectivePost(11),
            Event::CollectiveComplete(collective, 11),
            Event::CommunicatorCreate(4),
            Event::CommunicatorDestroy(4),
            Event::WindowCreate(1),
            Event::WindowDestroy(1),
            Event::WindowCollectiveBegin,
            Event::WindowCollectiveEnd { operation: group::CREATE, window: 1 },
            Event::WindowLock(1, UNDEFINED, false),
            Event::WindowLock(1, 0, true),
            Event::WindowGroupSync(1, 4),
            Event::WindowUnlock(1, 2),
            Event::WindowSync(1, 0),
            transfer(Transfer::Put, 16, 0),
            transfer(Transfer::Get, 0, 16),
            transfer(Transfer::Atomic(3), 8, 8),
            Event::TransferComplete(1, 5),
            Event::TransferDone(1, 5),
            Event::FileOpen(2),
            Event::FileClose(2),
            Event::FileBegin(2, access, 6),
            Event::FileIssued(2, 6),
            Event::FileComplete(2, 4096, 6),
            Event::Parameter(0, 12),
            Event::Interrupted,
        ];
        let mut encoder = Encoder::default();
        for event in events {
            let mut bytes = Vec::new();
            encoder.put(&event, &mut bytes);
            let (kind, ahead) = bytes.split_first().unwrap();
            let from = if bare_length(*kind, ahead) == Some(ahead.len()) { 0 } else { 1 };
            assert!(from == 0 || usize::from(ahead[0]) == ahead.len() - 1, "{event:?} has its length");
            let read = read(*kind, Reader::new(&ahead[from..], Order::Little), &Ids::default());
            assert!(matches!(read, Read::Event(ref found) if *found == event), "{event:?}");
        }
    }
}
