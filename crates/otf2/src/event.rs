//! The events of a location.

use crate::buffer::BufferReader;
use crate::code::{
    CollectiveOp, IoAccessMode, IoCreationFlags, IoOperationFlags, IoOperationMode, IoSeekOption, IoStatusFlags, LockType, MeasurementMode,
    Paradigm, RmaAtomicType, RmaSyncLevel, RmaSyncType,
};
use crate::field::{Full, List, records};
use crate::id_mappings::IdMappings;
use crate::reference::{
    CallingContextRef, CommRef, GroupRef, InterruptGeneratorRef, IoFileRef, IoHandleRef, IoParadigmRef, MetricRef, ParameterRef, RegionRef,
    RmaWinRef, StringRef,
};
use crate::value::{MetricValues, Value};

/// No root, or all members are roots.
pub const NO_ROOT: u32 = u32::MAX;
/// Intercommunicators: this process is the root.
pub const ROOT_SELF: u32 = u32::MAX - 1;
/// Intercommunicators: the root is another process of this group.
pub const ROOT_THIS_GROUP: u32 = u32::MAX - 2;

records! {
    /// An event. Ranks are ranks in the communicator of the event.
    pub enum Event {
        /// The tool wrote its buffer to the file.
        10 => BufferFlush { stop_time: u64 as Full = 0 => "When it had written it." };
        /// The measurement was switched on or off.
        11 => MeasurementOnOff { mode: MeasurementMode = MeasurementMode::OFF => "Whether it is on now." };
        /// A region is entered.
        12 bare => Enter { region: RegionRef => "The region." };
        /// A region is left.
        13 bare => Leave { region: RegionRef => "The region." };
        /// A blocking send.
        14 => MpiSend {
            receiver: u32 => "Rank of the receiver.",
            communicator: CommRef => "The communicator.",
            tag: u32 => "The tag.",
            length: u64 => "Bytes.",
        };
        /// A nonblocking send.
        15 => MpiIsend {
            receiver: u32 => "Rank of the receiver.",
            communicator: CommRef => "The communicator.",
            tag: u32 => "The tag.",
            length: u64 => "Bytes.",
            request: u64 => "The request.",
        };
        /// A nonblocking send is complete.
        16 bare => MpiIsendComplete { request: u64 => "The request." };
        /// A nonblocking receive is posted.
        17 bare => MpiIrecvRequest { request: u64 => "The request." };
        /// A blocking receive.
        18 => MpiRecv {
            sender: u32 => "Rank of the sender.",
            communicator: CommRef => "The communicator.",
            tag: u32 => "The tag.",
            length: u64 => "Bytes.",
        };
        /// A nonblocking receive is complete.
        19 => MpiIrecv {
            sender: u32 => "Rank of the sender.",
            communicator: CommRef => "The communicator.",
            tag: u32 => "The tag.",
            length: u64 => "Bytes.",
            request: u64 => "The request.",
        };
        /// A request was tested and is not complete.
        20 bare => MpiRequestTest { request: u64 => "The request." };
        /// A request was cancelled.
        21 bare => MpiRequestCancelled { request: u64 => "The request." };
        /// A collective starts.
        22 => MpiCollectiveBegin {};
        /// A collective ends.
        23 => MpiCollectiveEnd {
            collective_op: CollectiveOp => "The operation.",
            communicator: CommRef => "The communicator.",
            root: u32 => "Rank of the root, or one of [`NO_ROOT`], [`ROOT_SELF`] and [`ROOT_THIS_GROUP`].",
            size_sent: u64 => "Bytes sent.",
            size_received: u64 => "Bytes received.",
        };
        /// OpenMP threads are forked (deprecated in OTF2).
        24 bare => OmpFork { requested_threads: u32 => "Requested number of threads." };
        /// OpenMP threads are joined (deprecated in OTF2).
        25 => OmpJoin {};
        /// An OpenMP lock is acquired (deprecated in OTF2).
        26 => OmpAcquireLock { lock: u32 => "The lock.", acquisition_order: u32 => "How often it has been acquired." };
        /// An OpenMP lock is released (deprecated in OTF2).
        27 => OmpReleaseLock { lock: u32 => "The lock.", acquisition_order: u32 => "How often it has been acquired." };
        /// An OpenMP task is created (deprecated in OTF2).
        28 bare => OmpTaskCreate { task: u64 => "The task." };
        /// An OpenMP task is resumed (deprecated in OTF2).
        29 bare => OmpTaskSwitch { task: u64 => "The task." };
        /// An OpenMP task is complete (deprecated in OTF2).
        30 bare => OmpTaskComplete { task: u64 => "The task." };
        /// Metrics were measured.
        31 => Metric { metric: MetricRef => "The metric.", values: Vec<Value> as MetricValues => "The value of each member." };
        /// A parameter of the current region.
        32 => ParameterString { parameter: ParameterRef => "The parameter.", value: StringRef => "Its value." };
        /// A parameter of the current region.
        33 => ParameterInt { parameter: ParameterRef => "The parameter.", value: i64 => "Its value." };
        /// A parameter of the current region.
        34 => ParameterUnsignedInt { parameter: ParameterRef => "The parameter.", value: u64 => "Its value." };
        /// A window was created.
        35 => RmaWinCreate { win: RmaWinRef => "The window." };
        /// A window was freed.
        36 => RmaWinDestroy { win: RmaWinRef => "The window." };
        /// A collective on a window starts.
        37 => RmaCollectiveBegin {};
        /// A collective on a window ends.
        38 => RmaCollectiveEnd {
            collective_op: CollectiveOp => "The operation.",
            sync_level: RmaSyncLevel => "What it synchronises.",
            win: RmaWinRef => "The window.",
            root: u32 = NO_ROOT => "Rank of the root, or [`NO_ROOT`].",
            bytes_sent: u64 = 0 => "Bytes sent.",
            bytes_received: u64 = 0 => "Bytes received.",
        };
        /// A window is synchronised with a group.
        39 => RmaGroupSync {
            sync_level: RmaSyncLevel => "What it synchronises.",
            win: RmaWinRef => "The window.",
            group: GroupRef => "The group.",
        };
        /// A lock of a window is requested.
        40 => RmaRequestLock {
            win: RmaWinRef => "The window.",
            remote: u32 => "Rank of the target; `u32::MAX` for all.",
            lock: u64 => "The lock.",
            lock_type: LockType => "Its type.",
        };
        /// A lock of a window is acquired.
        41 => RmaAcquireLock {
            win: RmaWinRef => "The window.",
            remote: u32 => "Rank of the target; `u32::MAX` for all.",
            lock: u64 => "The lock.",
            lock_type: LockType => "Its type.",
        };
        /// A lock of a window was tried and not acquired.
        42 => RmaTryLock {
            win: RmaWinRef => "The window.",
            remote: u32 => "Rank of the target; `u32::MAX` for all.",
            lock: u64 => "The lock.",
            lock_type: LockType => "Its type.",
        };
        /// A lock of a window is released.
        43 => RmaReleaseLock {
            win: RmaWinRef => "The window.",
            remote: u32 => "Rank of the target; `u32::MAX` for all.",
            lock: u64 = 0 => "The lock.",
        };
        /// A window is synchronised with a rank.
        44 => RmaSync {
            win: RmaWinRef => "The window.",
            remote: u32 => "Rank of the target.",
            sync_type: RmaSyncType = RmaSyncType::MEMORY => "What it synchronises.",
        };
        /// The process waits for a change of a window.
        45 => RmaWaitChange { win: RmaWinRef => "The window." };
        /// A put starts.
        46 => RmaPut {
            win: RmaWinRef => "The window.",
            remote: u32 => "Rank of the target.",
            bytes: u64 => "Bytes.",
            matching_id: u64 => "Id of its completion.",
        };
        /// A get starts.
        47 => RmaGet {
            win: RmaWinRef => "The window.",
            remote: u32 => "Rank of the target.",
            bytes: u64 => "Bytes.",
            matching_id: u64 => "Id of its completion.",
        };
        /// An atomic operation starts.
        48 => RmaAtomic {
            win: RmaWinRef => "The window.",
            remote: u32 => "Rank of the target.",
            atomic_type: RmaAtomicType => "The operation.",
            bytes_sent: u64 => "Bytes to the target.",
            bytes_received: u64 => "Bytes from the target.",
            matching_id: u64 => "Id of its completion.",
        };
        /// A one-sided operation is complete at its origin, and was blocking.
        49 => RmaOpCompleteBlocking { win: RmaWinRef => "The window.", matching_id: u64 => "Id of the operation." };
        /// A one-sided operation is complete at its origin, and was nonblocking.
        50 => RmaOpCompleteNonBlocking { win: RmaWinRef => "The window.", matching_id: u64 => "Id of the operation." };
        /// A one-sided operation was tested and is not complete.
        51 => RmaOpTest { win: RmaWinRef => "The window.", matching_id: u64 => "Id of the operation." };
        /// A one-sided operation is complete at its target.
        52 => RmaOpCompleteRemote { win: RmaWinRef => "The window.", matching_id: u64 => "Id of the operation." };
        /// Threads are forked.
        53 => ThreadFork { model: Paradigm => "The programming model.", requested_threads: u32 => "Requested number of threads." };
        /// Threads are joined.
        54 => ThreadJoin { model: Paradigm => "The programming model." };
        /// The thread becomes a member of a team.
        55 => ThreadTeamBegin { thread_team: CommRef => "The team." };
        /// The thread leaves a team.
        56 => ThreadTeamEnd { thread_team: CommRef => "The team." };
        /// A lock is acquired.
        57 => ThreadAcquireLock {
            model: Paradigm => "The programming model.",
            lock: u32 => "The lock.",
            acquisition_order: u32 => "How often it has been acquired.",
        };
        /// A lock is released.
        58 => ThreadReleaseLock {
            model: Paradigm => "The programming model.",
            lock: u32 => "The lock.",
            acquisition_order: u32 => "How often it has been acquired.",
        };
        /// A task is created.
        59 => ThreadTaskCreate {
            thread_team: CommRef => "The team.",
            creating_thread: u32 => "The thread that creates it.",
            generation_number: u32 => "Its number among those of that thread.",
        };
        /// A task is resumed.
        60 => ThreadTaskSwitch {
            thread_team: CommRef => "The team.",
            creating_thread: u32 => "The thread that created it.",
            generation_number: u32 => "Its number among those of that thread.",
        };
        /// A task is complete.
        61 => ThreadTaskComplete {
            thread_team: CommRef => "The team.",
            creating_thread: u32 => "The thread that created it.",
            generation_number: u32 => "Its number among those of that thread.",
        };
        /// A thread is created.
        62 => ThreadCreate { thread_contingent: CommRef => "The threads.", sequence_count: u64 => "Its number among them." };
        /// A thread begins.
        63 => ThreadBegin { thread_contingent: CommRef => "The threads.", sequence_count: u64 => "Its number among them." };
        /// The thread waits for another.
        64 => ThreadWait { thread_contingent: CommRef => "The threads.", sequence_count: u64 => "The other's number among them." };
        /// A thread ends.
        65 => ThreadEnd { thread_contingent: CommRef => "The threads.", sequence_count: u64 => "Its number among them." };
        /// A region is entered, given by its calling context.
        66 => CallingContextEnter {
            calling_context: CallingContextRef => "The calling context.",
            unwind_distance: u32 = 0 => "How many regions were left and entered since the last record.",
        };
        /// A region is left, given by its calling context.
        67 => CallingContextLeave { calling_context: CallingContextRef => "The calling context." };
        /// A sample.
        68 => CallingContextSample {
            calling_context: CallingContextRef => "The calling context.",
            unwind_distance: u32 => "How many regions were left and entered since the last record.",
            interrupt_generator: InterruptGeneratorRef => "What caused the sample.",
        };
        /// A file was opened.
        69 => IoCreateHandle {
            handle: IoHandleRef => "The open file.",
            mode: IoAccessMode = IoAccessMode::READ_WRITE => "How it may be accessed.",
            creation_flags: IoCreationFlags = IoCreationFlags::NONE => "How it was opened.",
            status_flags: IoStatusFlags = IoStatusFlags::NONE => "Its status.",
        };
        /// A file was closed.
        70 => IoDestroyHandle { handle: IoHandleRef => "The open file." };
        /// An open file was duplicated.
        71 => IoDuplicateHandle {
            old_handle: IoHandleRef => "The original.",
            new_handle: IoHandleRef => "The duplicate.",
            status_flags: IoStatusFlags => "Status of the duplicate.",
        };
        /// The position in a file was changed.
        72 => IoSeek {
            handle: IoHandleRef => "The open file.",
            offset_request: i64 => "The requested offset.",
            whence: IoSeekOption => "What it is relative to.",
            offset_result: u64 => "The resulting offset.",
        };
        /// The status of an open file was changed.
        73 => IoChangeStatusFlags { handle: IoHandleRef => "The open file.", status_flags: IoStatusFlags => "Its status." };
        /// A file was deleted.
        74 => IoDeleteFile { io_paradigm: IoParadigmRef => "The I/O paradigm.", file: IoFileRef => "The file." };
        /// A read or write starts.
        75 => IoOperationBegin {
            handle: IoHandleRef => "The open file.",
            mode: IoOperationMode => "Whether it reads or writes.",
            operation_flags: IoOperationFlags => "Its flags.",
            bytes_request: u64 => "Requested bytes.",
            matching_id: u64 => "Id of its completion.",
        };
        /// A read or write was tested and is not complete.
        76 => IoOperationTest { handle: IoHandleRef => "The open file.", matching_id: u64 => "Id of the operation." };
        /// A nonblocking read or write was issued.
        77 => IoOperationIssued { handle: IoHandleRef => "The open file.", matching_id: u64 => "Id of the operation." };
        /// A read or write is complete.
        78 => IoOperationComplete {
            handle: IoHandleRef => "The open file.",
            bytes_result: u64 => "Bytes read or written.",
            matching_id: u64 => "Id of the operation.",
        };
        /// A read or write was cancelled.
        79 => IoOperationCancelled { handle: IoHandleRef => "The open file.", matching_id: u64 => "Id of the operation." };
        /// A lock of a file is acquired.
        80 => IoAcquireLock { handle: IoHandleRef => "The open file.", lock_type: LockType => "Type of the lock." };
        /// A lock of a file is released.
        81 => IoReleaseLock { handle: IoHandleRef => "The open file.", lock_type: LockType => "Type of the lock." };
        /// A lock of a file was tried and not acquired.
        82 => IoTryLock { handle: IoHandleRef => "The open file.", lock_type: LockType => "Type of the lock." };
        /// The program starts.
        83 => ProgramBegin { program_name: StringRef => "Its name.", arguments: Vec<StringRef> as List => "Its arguments." };
        /// The program ends.
        84 => ProgramEnd { exit_status: i64 => "Its exit status." };
        /// A nonblocking collective starts.
        85 => NonBlockingCollectiveRequest { request: u64 => "The request." };
        /// A nonblocking collective is complete.
        86 => NonBlockingCollectiveComplete {
            collective_op: CollectiveOp => "The operation.",
            communicator: CommRef => "The communicator.",
            root: u32 => "Rank of the root, or one of [`NO_ROOT`], [`ROOT_SELF`] and [`ROOT_THIS_GROUP`].",
            size_sent: u64 => "Bytes sent.",
            size_received: u64 => "Bytes received.",
            request: u64 => "The request.",
        };
        /// A communicator was created.
        87 => CommCreate { communicator: CommRef => "The communicator." };
        /// A communicator was freed.
        88 => CommDestroy { communicator: CommRef => "The communicator." };
    }
}

impl Event {
    /// Length of a record without a length field, given the bytes after its type; `None` for all other types.
    #[inline]
    pub(crate) fn implicit_length(record_type: u8, ahead: &[u8]) -> Option<usize> {
        Event::is_bare(record_type).then(|| match ahead.first() {
            Some(&size @ 1..=8) => 1 + usize::from(size),
            _ => 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Endianness;

    fn all() -> Vec<Event> {
        let (communicator, win, handle) = (CommRef(1), RmaWinRef(1), IoHandleRef(2));
        let (collective_op, sync_level) = (CollectiveOp::REDUCE, RmaSyncLevel::PROCESS | RmaSyncLevel::MEMORY);
        vec![
            Event::BufferFlush { stop_time: 1 << 60 },
            Event::MeasurementOnOff { mode: MeasurementMode::ON },
            Event::Enter { region: RegionRef(0) },
            Event::Leave { region: RegionRef(300) },
            Event::MpiSend { receiver: 3, communicator, tag: 70_000, length: 1 << 40 },
            Event::MpiIsend { receiver: 3, communicator, tag: 7, length: 8, request: u64::MAX - 1 },
            Event::MpiIsendComplete { request: u64::from(u32::MAX) },
            Event::MpiIrecvRequest { request: 1 << 48 },
            Event::MpiRecv { sender: 3, communicator, tag: 7, length: 0 },
            Event::MpiIrecv { sender: 3, communicator, tag: 7, length: 0, request: 0 },
            Event::MpiCollectiveBegin {},
            Event::MpiCollectiveEnd { collective_op, communicator, root: ROOT_SELF, size_sent: 8, size_received: 0 },
            Event::OmpFork { requested_threads: 4 },
            Event::OmpJoin {},
            Event::Metric { metric: MetricRef(5), values: vec![Value::Uint64(7), Value::Int64(-7), Value::Double(0.5)] },
            Event::ParameterInt { parameter: ParameterRef(0), value: -12 },
            Event::RmaCollectiveEnd { collective_op, sync_level, win, root: NO_ROOT, bytes_sent: 1, bytes_received: 2 },
            Event::RmaRequestLock { win, remote: u32::MAX, lock: 0, lock_type: LockType::SHARED },
            Event::RmaAtomic { win, remote: 2, atomic_type: RmaAtomicType::SWAP, bytes_sent: 8, bytes_received: 8, matching_id: 5 },
            Event::ThreadTaskSwitch { thread_team: communicator, creating_thread: 1, generation_number: 9 },
            Event::CallingContextEnter { calling_context: CallingContextRef(7), unwind_distance: 1 },
            Event::IoSeek { handle, offset_request: -4, whence: IoSeekOption::FROM_END, offset_result: 96 },
            Event::ProgramBegin { program_name: StringRef(1), arguments: (0..300).map(StringRef).collect() },
            Event::ProgramEnd { exit_status: -1 },
            Event::CommDestroy { communicator },
            Event::Unknown { record_type: 200, content: vec![9; 9] },
        ]
    }

    #[test]
    fn every_event_survives_being_written_and_read() {
        for event in all() {
            let mut bytes = Vec::new();
            event.encode(&mut bytes);
            let (record_type, ahead) = bytes.split_first().unwrap();
            let from = match Event::implicit_length(*record_type, ahead) {
                Some(length) => {
                    assert_eq!(length, ahead.len(), "{event:?}");
                    0
                }
                None if ahead[0] == u8::MAX => 9,
                None => {
                    assert_eq!(usize::from(ahead[0]), ahead.len() - 1, "{event:?} has its length");
                    1
                }
            };
            let mut content = BufferReader::new(&ahead[from..], Endianness::Little);
            let read = Event::decode(*record_type, &mut content, &IdMappings::default());
            assert_eq!(read.as_ref(), Some(&event));
            assert_eq!(content.remaining(), 0, "{event:?}");
        }
    }

    #[test]
    fn a_truncated_event_is_no_event() {
        for event in all().into_iter().filter(|event| !matches!(event, Event::Unknown { .. })) {
            let mut bytes = Vec::new();
            event.encode(&mut bytes);
            for length in 2..bytes.len() {
                let mut content = BufferReader::new(&bytes[2..length], Endianness::Little);
                // Whatever it is, it is no panic.
                let _ = Event::decode(bytes[0], &mut content, &IdMappings::default());
            }
        }
    }
}
