//! The MPI-related events of a location, in OTF2's terms.
//!
//! Ranks are communicator ranks, and everything else is referred to by its definition. Other events (OpenMP, metrics, ...) are skipped when
//! a trace is read: every record has a length field, except the few types known to [`implicit_length`].

mod decode;
mod encode;

pub(super) use decode::{DecodedRecord, decode_event};
pub(super) use encode::EventEncoder;

use crate::otf2::buffer::UNDEFINED_UINT32;

/// The attribute list that precedes its event.
pub(super) const ATTRIBUTE_LIST: u8 = 6;

/// No root, or all members are roots.
pub(super) const NO_ROOT: u32 = UNDEFINED_UINT32;
/// Intercommunicator: this process is the root.
pub(super) const ROOT_SELF: u32 = UNDEFINED_UINT32 - 1;
/// Intercommunicator: the root is another process of this group.
pub(super) const ROOT_THIS_GROUP: u32 = UNDEFINED_UINT32 - 2;

/// OTF2 numbers of collectives that do not exchange data.
pub(super) mod group {
    /// `MPI_Barrier`.
    pub(crate) const BARRIER: u8 = 0;
    /// Creates a communicator or window.
    pub(crate) const CREATE: u8 = 17;
    /// Frees it.
    pub(crate) const DESTROY: u8 = 18;
    /// Creates a window and its memory.
    pub(crate) const CREATE_AND_ALLOCATE: u8 = 21;
}

/// A collective on a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MpiCollective {
    /// OTF2's number of the operation.
    pub operation: u8,
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
pub(super) struct MpiMessage {
    /// The peer's rank in the communicator.
    pub peer: u32,
    pub communicator: u32,
    pub tag: u32,
    pub bytes: u64,
}

/// The direction of an RMA operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RmaOperation {
    /// To the target.
    Put,
    /// From the target.
    Get,
    /// Atomic update, by OTF2's number.
    Atomic(u8),
}

/// A read or write of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IoOperation {
    /// Whether it writes.
    pub is_write: bool,
    /// Whether it is collective.
    pub collective: bool,
    /// Whether a later call completes it.
    pub nonblocking: bool,
    /// Requested bytes.
    pub bytes: u64,
}

/// An event record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EventRecord {
    /// A region is entered.
    Enter(u32),
    /// A region is left.
    Leave(u32),
    /// A region is entered, given by its calling context.
    CallingContextEnter(u32),
    /// A region is left, given by its calling context.
    CallingContextLeave(u32),
    /// Program start: name and arguments.
    ProgramBegin(u32, Vec<u32>),
    /// Program end with exit status.
    ProgramEnd(i64),
    /// A send; with a request, `MpiIsendComplete` follows.
    MpiSend(MpiMessage, Option<u64>),
    /// A nonblocking send is complete.
    MpiIsendComplete(u64),
    /// A nonblocking receive is posted.
    MpiIrecvRequest(u64),
    /// A message was received; with a request, by a nonblocking receive.
    MpiRecv(MpiMessage, Option<u64>),
    /// A request was tested and is not complete.
    MpiRequestTest(u64),
    /// A request was cancelled.
    MpiRequestCancelled(u64),
    /// A collective starts.
    MpiCollectiveBegin,
    /// A collective ends.
    MpiCollectiveEnd(MpiCollective),
    /// A nonblocking collective starts.
    NonBlockingCollectiveRequest(u64),
    /// A nonblocking collective is complete.
    NonBlockingCollectiveComplete(MpiCollective, u64),
    /// A communicator was created.
    CommCreate(u32),
    /// A communicator was freed.
    CommDestroy(u32),
    /// A window was created.
    RmaWinCreate(u32),
    /// A window was freed.
    RmaWinDestroy(u32),
    /// A collective on a window starts.
    RmaCollectiveBegin,
    /// A collective on a window ends.
    RmaCollectiveEnd {
        /// OTF2's number of the operation.
        operation: u8,
        window: u32,
    },
    /// A lock of a window at a rank (or at all: [`UNDEFINED_UINT32`]) is requested; whether it is exclusive.
    RmaRequestLock(u32, u32, bool),
    /// A lock of a window at a rank is released.
    RmaReleaseLock(u32, u32),
    /// A window is synchronised with a group.
    RmaGroupSync(u32, u32),
    /// A window is synchronised with a rank.
    RmaSync(u32, u32),
    /// An RMA operation starts.
    RmaTransfer {
        /// Its direction.
        operation: RmaOperation,
        window: u32,
        /// The target's rank.
        peer: u32,
        /// Bytes to the target.
        sent: u64,
        /// Bytes from the target.
        received: u64,
        /// Matching id of its completion.
        id: u64,
    },
    /// An RMA operation with a request is complete.
    RmaOpCompleteNonBlocking(u32, u64),
    /// An RMA operation is complete at the target.
    RmaOpCompleteRemote(u32, u64),
    /// A file was opened.
    IoCreateHandle(u32),
    /// A file was closed.
    IoDestroyHandle(u32),
    /// A file is read or written.
    IoOperationBegin(u32, IoOperation, u64),
    /// A nonblocking read or write was issued.
    IoOperationIssued(u32, u64),
    /// A read or write is complete: file, bytes, matching id.
    IoOperationComplete(u32, u64, u64),
    /// A parameter of the current region.
    ParameterUnsignedInt(u32, u64),
    /// Measurement was paused, or the trace buffer flushed.
    MeasurementInterrupted,
}

mod kind {
    pub(super) const FLUSH: u8 = 10;
    pub(super) const ON_OFF: u8 = 11;
    pub(super) const ENTER: u8 = 12;
    pub(super) const LEAVE: u8 = 13;
    pub(super) const SEND: u8 = 14;
    pub(super) const ISEND: u8 = 15;
    pub(super) const ISEND_COMPLETE: u8 = 16;
    pub(super) const IRECV_REQUEST: u8 = 17;
    pub(super) const RECV: u8 = 18;
    pub(super) const IRECV: u8 = 19;
    pub(super) const REQUEST_TEST: u8 = 20;
    pub(super) const REQUEST_CANCELLED: u8 = 21;
    pub(super) const COLLECTIVE_BEGIN: u8 = 22;
    pub(super) const COLLECTIVE_END: u8 = 23;
    pub(super) const OMP_FORK: u8 = 24;
    pub(super) const OMP_JOIN: u8 = 25;
    pub(super) const OMP_TASK_CREATE: u8 = 28;
    pub(super) const OMP_TASK_SWITCH: u8 = 29;
    pub(super) const OMP_TASK_COMPLETE: u8 = 30;
    pub(super) const PARAMETER_UNSIGNED: u8 = 34;
    pub(super) const WIN_CREATE: u8 = 35;
    pub(super) const WIN_DESTROY: u8 = 36;
    pub(super) const RMA_COLLECTIVE_BEGIN: u8 = 37;
    pub(super) const RMA_COLLECTIVE_END: u8 = 38;
    pub(super) const RMA_GROUP_SYNC: u8 = 39;
    pub(super) const RMA_REQUEST_LOCK: u8 = 40;
    pub(super) const RMA_ACQUIRE_LOCK: u8 = 41;
    pub(super) const RMA_TRY_LOCK: u8 = 42;
    pub(super) const RMA_RELEASE_LOCK: u8 = 43;
    pub(super) const RMA_SYNC: u8 = 44;
    pub(super) const RMA_PUT: u8 = 46;
    pub(super) const RMA_GET: u8 = 47;
    pub(super) const RMA_ATOMIC: u8 = 48;
    pub(super) const RMA_COMPLETE_NONBLOCKING: u8 = 50;
    pub(super) const RMA_COMPLETE_REMOTE: u8 = 52;
    pub(super) const CONTEXT_ENTER: u8 = 66;
    pub(super) const CONTEXT_LEAVE: u8 = 67;
    pub(super) const IO_CREATE: u8 = 69;
    pub(super) const IO_DESTROY: u8 = 70;
    pub(super) const IO_BEGIN: u8 = 75;
    pub(super) const IO_ISSUED: u8 = 77;
    pub(super) const IO_COMPLETE: u8 = 78;
    pub(super) const PROGRAM_BEGIN: u8 = 83;
    pub(super) const PROGRAM_END: u8 = 84;
    pub(super) const COLLECTIVE_REQUEST: u8 = 85;
    pub(super) const COLLECTIVE_COMPLETE: u8 = 86;
    pub(super) const COMM_CREATE: u8 = 87;
    pub(super) const COMM_DESTROY: u8 = 88;
}

/// Synchronises both processes and memory.
const SYNC_PROCESSES_AND_MEMORY: u32 = 3;
const EXCLUSIVE_LOCK: u8 = 0;
const SHARED_LOCK: u8 = 1;
const SYNC_MEMORY: u8 = 0;
const READ_AND_WRITE: u8 = 2;
const WRITE_MODE: u8 = 1;
const NONBLOCKING_ACCESS: u32 = 1;
const COLLECTIVE_ACCESS: u32 = 2;
const MEASUREMENT_OFF: u8 = 2;

/// Length of a record without a length field, given the bytes after its type; `None` for all other types.
pub(super) fn implicit_length(kind: u8, ahead: &[u8]) -> Option<usize> {
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
    use crate::otf2::buffer::{BufferReader, Endianness};
    use crate::otf2::local_definitions::IdMappings;

    #[test]
    fn every_event_survives_being_written_and_read() {
        let message = MpiMessage { peer: 3, communicator: 1, tag: 70_000, bytes: 1 << 40 };
        let collective = MpiCollective { operation: 12, communicator: 0, root: ROOT_SELF, sent: 8, received: 0 };
        let access = IoOperation { is_write: true, collective: false, nonblocking: true, bytes: 4096 };
        let transfer = |operation, sent, received| EventRecord::RmaTransfer { operation, window: 1, peer: 2, sent, received, id: 5 };
        let events = [
            EventRecord::Enter(0),
            EventRecord::Leave(300),
            EventRecord::CallingContextEnter(7),
            EventRecord::CallingContextLeave(7),
            EventRecord::ProgramBegin(1, vec![2, 3]),
            EventRecord::ProgramEnd(-1),
            EventRecord::MpiSend(message, None),
            EventRecord::MpiSend(message, Some(u64::MAX - 1)),
            EventRecord::MpiIsendComplete(u64::from(UNDEFINED_UINT32)),
            EventRecord::MpiIrecvRequest(1 << 48),
            EventRecord::MpiRecv(message, None),
            EventRecord::MpiRecv(message, Some(0)),
            EventRecord::MpiRequestTest(9),
            EventRecord::MpiRequestCancelled(10),
            EventRecord::MpiCollectiveBegin,
            EventRecord::MpiCollectiveEnd(collective),
            EventRecord::NonBlockingCollectiveRequest(11),
            EventRecord::NonBlockingCollectiveComplete(collective, 11),
            EventRecord::CommCreate(4),
            EventRecord::CommDestroy(4),
            EventRecord::RmaWinCreate(1),
            EventRecord::RmaWinDestroy(1),
            EventRecord::RmaCollectiveBegin,
            EventRecord::RmaCollectiveEnd { operation: group::CREATE, window: 1 },
            EventRecord::RmaRequestLock(1, UNDEFINED_UINT32, false),
            EventRecord::RmaRequestLock(1, 0, true),
            EventRecord::RmaGroupSync(1, 4),
            EventRecord::RmaReleaseLock(1, 2),
            EventRecord::RmaSync(1, 0),
            transfer(RmaOperation::Put, 16, 0),
            transfer(RmaOperation::Get, 0, 16),
            transfer(RmaOperation::Atomic(3), 8, 8),
            EventRecord::RmaOpCompleteNonBlocking(1, 5),
            EventRecord::RmaOpCompleteRemote(1, 5),
            EventRecord::IoCreateHandle(2),
            EventRecord::IoDestroyHandle(2),
            EventRecord::IoOperationBegin(2, access, 6),
            EventRecord::IoOperationIssued(2, 6),
            EventRecord::IoOperationComplete(2, 4096, 6),
            EventRecord::ParameterUnsignedInt(0, 12),
            EventRecord::MeasurementInterrupted,
        ];
        let mut encoder = EventEncoder::default();
        for event in events {
            let mut bytes = Vec::new();
            encoder.encode(&event, &mut bytes);
            let (kind, ahead) = bytes.split_first().unwrap();
            let from = if implicit_length(*kind, ahead) == Some(ahead.len()) { 0 } else { 1 };
            assert!(from == 0 || usize::from(ahead[0]) == ahead.len() - 1, "{event:?} has its length");
            let read = decode_event(*kind, BufferReader::new(&ahead[from..], Endianness::Little), &IdMappings::default());
            assert!(matches!(read, DecodedRecord::Event(ref found) if *found == event), "{event:?}");
        }
    }
}
