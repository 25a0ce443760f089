//! The MPI-related events of a location, as calls see them.
//!
//! OTF2 has separate records for blocking and nonblocking operations, and fields that no recording has; here they are joined. Ranks are
//! communicator ranks, and everything else is referred to by its definition.

use sintonia_otf2::NO_ROOT;
use sintonia_otf2::code::{
    CollectiveOp, IoAccessMode, IoCreationFlags, IoOperationFlags, IoOperationMode, IoStatusFlags, LockType, MeasurementMode,
    RmaAtomicType, RmaSyncLevel, RmaSyncType,
};
use sintonia_otf2::reference::{
    CallingContextRef, CommRef, GroupRef, InterruptGeneratorRef, IoHandleRef, MetricRef, ParameterRef, RegionRef, RmaWinRef, StringRef,
};
use sintonia_otf2::{Event, Value};

/// A collective on a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MpiCollective {
    pub operation: CollectiveOp,
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

impl MpiCollective {
    /// The end of the collective; with a request, of a nonblocking one.
    fn to_end_event(self, request: Option<u64>) -> Event {
        let MpiCollective { operation: collective_op, communicator, root, sent: size_sent, received: size_received } = self;
        let communicator = CommRef(communicator);
        match request {
            None => Event::MpiCollectiveEnd { collective_op, communicator, root, size_sent, size_received },
            Some(request) => Event::NonBlockingCollectiveComplete { collective_op, communicator, root, size_sent, size_received, request },
        }
    }
}

impl MpiMessage {
    fn to_send_event(self, request: Option<u64>) -> Event {
        let MpiMessage { peer: receiver, communicator, tag, bytes: length } = self;
        let communicator = CommRef(communicator);
        match request {
            None => Event::MpiSend { receiver, communicator, tag, length },
            Some(request) => Event::MpiIsend { receiver, communicator, tag, length, request },
        }
    }

    fn to_receive_event(self, request: Option<u64>) -> Event {
        let MpiMessage { peer: sender, communicator, tag, bytes: length } = self;
        let communicator = CommRef(communicator);
        match request {
            None => Event::MpiRecv { sender, communicator, tag, length },
            Some(request) => Event::MpiIrecv { sender, communicator, tag, length, request },
        }
    }
}

/// The direction of an RMA operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RmaOperation {
    /// To the target.
    Put,
    /// From the target.
    Get,
    /// Atomic update.
    Atomic(RmaAtomicType),
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

/// The value of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MetricValue {
    Integer(i64),
    /// The bits of a floating-point number.
    Double(u64),
}

impl MetricValue {
    fn from_otf2(value: &Value) -> MetricValue {
        match value {
            Value::Double(number) => MetricValue::Double(number.to_bits()),
            other => MetricValue::Integer(other.to_bits() as i64),
        }
    }

    fn to_otf2(self) -> Value {
        match self {
            MetricValue::Integer(number) => Value::Int64(number),
            MetricValue::Double(bits) => Value::Double(f64::from_bits(bits)),
        }
    }
}

/// An MPI-related event, or one that belongs to calls: a sample or a metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MpiEvent {
    /// A region is entered.
    Enter(u32),
    /// A region is left.
    Leave(u32),
    /// A region is entered, given by its calling context; the unwind distance.
    CallingContextEnter(u32, u32),
    /// A region is left, given by its calling context.
    CallingContextLeave(u32),
    /// A sample in a calling context: the unwind distance, and the interrupt generator.
    CallingContextSample(u32, u32, u32),
    /// Readings of a metric class.
    Metric(u32, Vec<MetricValue>),
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
    RmaCollectiveEnd { operation: CollectiveOp, window: u32 },
    /// A lock of a window at a rank (or at all: [`UNDEFINED_UINT32`](sintonia_otf2::buffer::UNDEFINED_UINT32)) is requested; whether it is
    /// exclusive.
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

impl MpiEvent {
    /// The MPI-related part of an event; `None` if it has none.
    pub(super) fn from_otf2(event: Event) -> Option<MpiEvent> {
        Some(match event {
            Event::Enter { region } => MpiEvent::Enter(region.0),
            Event::Leave { region } => MpiEvent::Leave(region.0),
            Event::CallingContextEnter { calling_context, unwind_distance } => {
                MpiEvent::CallingContextEnter(calling_context.0, unwind_distance)
            }
            Event::CallingContextLeave { calling_context } => MpiEvent::CallingContextLeave(calling_context.0),
            Event::CallingContextSample { calling_context, unwind_distance, interrupt_generator } => {
                MpiEvent::CallingContextSample(calling_context.0, unwind_distance, interrupt_generator.0)
            }
            Event::Metric { metric, values } => MpiEvent::Metric(metric.0, values.iter().map(MetricValue::from_otf2).collect()),
            Event::ProgramBegin { program_name, arguments } => {
                MpiEvent::ProgramBegin(program_name.0, arguments.into_iter().map(|argument| argument.0).collect())
            }
            Event::ProgramEnd { exit_status } => MpiEvent::ProgramEnd(exit_status),
            Event::MpiSend { receiver: peer, communicator: CommRef(communicator), tag, length: bytes } => {
                MpiEvent::MpiSend(MpiMessage { peer, communicator, tag, bytes }, None)
            }
            Event::MpiIsend { receiver: peer, communicator: CommRef(communicator), tag, length: bytes, request } => {
                MpiEvent::MpiSend(MpiMessage { peer, communicator, tag, bytes }, Some(request))
            }
            Event::MpiIsendComplete { request } => MpiEvent::MpiIsendComplete(request),
            Event::MpiIrecvRequest { request } => MpiEvent::MpiIrecvRequest(request),
            Event::MpiRecv { sender: peer, communicator: CommRef(communicator), tag, length: bytes } => {
                MpiEvent::MpiRecv(MpiMessage { peer, communicator, tag, bytes }, None)
            }
            Event::MpiIrecv { sender: peer, communicator: CommRef(communicator), tag, length: bytes, request } => {
                MpiEvent::MpiRecv(MpiMessage { peer, communicator, tag, bytes }, Some(request))
            }
            Event::MpiRequestTest { request } => MpiEvent::MpiRequestTest(request),
            Event::MpiRequestCancelled { request } => MpiEvent::MpiRequestCancelled(request),
            Event::MpiCollectiveBegin {} => MpiEvent::MpiCollectiveBegin,
            Event::MpiCollectiveEnd { collective_op: operation, communicator, root, size_sent: sent, size_received: received } => {
                MpiEvent::MpiCollectiveEnd(MpiCollective { operation, communicator: communicator.0, root, sent, received })
            }
            Event::NonBlockingCollectiveRequest { request } => MpiEvent::NonBlockingCollectiveRequest(request),
            Event::NonBlockingCollectiveComplete { collective_op: operation, communicator, root, size_sent, size_received, request } => {
                let (communicator, sent, received) = (communicator.0, size_sent, size_received);
                MpiEvent::NonBlockingCollectiveComplete(MpiCollective { operation, communicator, root, sent, received }, request)
            }
            Event::CommCreate { communicator } => MpiEvent::CommCreate(communicator.0),
            Event::CommDestroy { communicator } => MpiEvent::CommDestroy(communicator.0),
            Event::ParameterUnsignedInt { parameter, value } => MpiEvent::ParameterUnsignedInt(parameter.0, value),
            Event::BufferFlush { .. } | Event::MeasurementOnOff { .. } => MpiEvent::MeasurementInterrupted,
            other => return MpiEvent::from_rma(other),
        })
    }

    fn from_rma(event: Event) -> Option<MpiEvent> {
        let transfer = |operation, win: RmaWinRef, peer, [sent, received]: [u64; 2], id| MpiEvent::RmaTransfer {
            operation,
            window: win.0,
            peer,
            sent,
            received,
            id,
        };
        Some(match event {
            Event::RmaWinCreate { win } => MpiEvent::RmaWinCreate(win.0),
            Event::RmaWinDestroy { win } => MpiEvent::RmaWinDestroy(win.0),
            Event::RmaCollectiveBegin {} => MpiEvent::RmaCollectiveBegin,
            Event::RmaCollectiveEnd { collective_op, win, .. } => MpiEvent::RmaCollectiveEnd { operation: collective_op, window: win.0 },
            Event::RmaGroupSync { win, group, .. } => MpiEvent::RmaGroupSync(win.0, group.0),
            Event::RmaSync { win, remote, .. } => MpiEvent::RmaSync(win.0, remote),
            Event::RmaRequestLock { win, remote, lock_type, .. }
            | Event::RmaAcquireLock { win, remote, lock_type, .. }
            | Event::RmaTryLock { win, remote, lock_type, .. } => MpiEvent::RmaRequestLock(win.0, remote, lock_type == LockType::EXCLUSIVE),
            Event::RmaReleaseLock { win, remote, .. } => MpiEvent::RmaReleaseLock(win.0, remote),
            Event::RmaPut { win, remote, bytes, matching_id } => transfer(RmaOperation::Put, win, remote, [bytes, 0], matching_id),
            Event::RmaGet { win, remote, bytes, matching_id } => transfer(RmaOperation::Get, win, remote, [0, bytes], matching_id),
            Event::RmaAtomic { win, remote, atomic_type, bytes_sent, bytes_received, matching_id } => {
                transfer(RmaOperation::Atomic(atomic_type), win, remote, [bytes_sent, bytes_received], matching_id)
            }
            Event::RmaOpCompleteNonBlocking { win, matching_id } => MpiEvent::RmaOpCompleteNonBlocking(win.0, matching_id),
            Event::RmaOpCompleteRemote { win, matching_id } => MpiEvent::RmaOpCompleteRemote(win.0, matching_id),
            other => return MpiEvent::from_io(other),
        })
    }

    fn from_io(event: Event) -> Option<MpiEvent> {
        Some(match event {
            Event::IoCreateHandle { handle, .. } => MpiEvent::IoCreateHandle(handle.0),
            Event::IoDestroyHandle { handle } => MpiEvent::IoDestroyHandle(handle.0),
            Event::IoOperationBegin { handle, mode, operation_flags, bytes_request, matching_id } => {
                let access = IoOperation {
                    is_write: mode == IoOperationMode::WRITE,
                    collective: operation_flags.contains(IoOperationFlags::COLLECTIVE),
                    nonblocking: operation_flags.contains(IoOperationFlags::NON_BLOCKING),
                    bytes: bytes_request,
                };
                MpiEvent::IoOperationBegin(handle.0, access, matching_id)
            }
            Event::IoOperationIssued { handle, matching_id } => MpiEvent::IoOperationIssued(handle.0, matching_id),
            Event::IoOperationComplete { handle, bytes_result, matching_id } => {
                MpiEvent::IoOperationComplete(handle.0, bytes_result, matching_id)
            }
            _ => return None,
        })
    }

    /// The OTF2 event.
    pub(super) fn to_otf2(&self) -> Event {
        let areas = [MpiEvent::to_region_event, MpiEvent::to_message_event, MpiEvent::to_rma_event, MpiEvent::to_io_event];
        areas.into_iter().find_map(|to_event| to_event(self)).expect("every event belongs to an area")
    }

    /// The OTF2 event of a region, a sample or the whole program.
    fn to_region_event(&self) -> Option<Event> {
        Some(match *self {
            MpiEvent::Enter(region) => Event::Enter { region: RegionRef(region) },
            MpiEvent::Leave(region) => Event::Leave { region: RegionRef(region) },
            MpiEvent::CallingContextEnter(context, unwind_distance) => {
                Event::CallingContextEnter { calling_context: CallingContextRef(context), unwind_distance }
            }
            MpiEvent::CallingContextLeave(context) => Event::CallingContextLeave { calling_context: CallingContextRef(context) },
            MpiEvent::CallingContextSample(context, unwind_distance, generator) => Event::CallingContextSample {
                calling_context: CallingContextRef(context),
                unwind_distance,
                interrupt_generator: InterruptGeneratorRef(generator),
            },
            MpiEvent::Metric(metric, ref values) => {
                Event::Metric { metric: MetricRef(metric), values: values.iter().map(|value| value.to_otf2()).collect() }
            }
            MpiEvent::ProgramBegin(name, ref arguments) => {
                Event::ProgramBegin { program_name: StringRef(name), arguments: arguments.iter().copied().map(StringRef).collect() }
            }
            MpiEvent::ProgramEnd(exit_status) => Event::ProgramEnd { exit_status },
            MpiEvent::ParameterUnsignedInt(parameter, value) => Event::ParameterUnsignedInt { parameter: ParameterRef(parameter), value },
            MpiEvent::MeasurementInterrupted => Event::MeasurementOnOff { mode: MeasurementMode::OFF },
            _ => return None,
        })
    }

    /// The OTF2 event of a message, a collective or a communicator.
    fn to_message_event(&self) -> Option<Event> {
        Some(match *self {
            MpiEvent::MpiSend(message, request) => message.to_send_event(request),
            MpiEvent::MpiIsendComplete(request) => Event::MpiIsendComplete { request },
            MpiEvent::MpiIrecvRequest(request) => Event::MpiIrecvRequest { request },
            MpiEvent::MpiRecv(message, request) => message.to_receive_event(request),
            MpiEvent::MpiRequestTest(request) => Event::MpiRequestTest { request },
            MpiEvent::MpiRequestCancelled(request) => Event::MpiRequestCancelled { request },
            MpiEvent::MpiCollectiveBegin => Event::MpiCollectiveBegin {},
            MpiEvent::MpiCollectiveEnd(collective) => collective.to_end_event(None),
            MpiEvent::NonBlockingCollectiveRequest(request) => Event::NonBlockingCollectiveRequest { request },
            MpiEvent::NonBlockingCollectiveComplete(collective, request) => collective.to_end_event(Some(request)),
            MpiEvent::CommCreate(communicator) => Event::CommCreate { communicator: CommRef(communicator) },
            MpiEvent::CommDestroy(communicator) => Event::CommDestroy { communicator: CommRef(communicator) },
            _ => return None,
        })
    }

    /// The OTF2 event of a window.
    fn to_rma_event(&self) -> Option<Event> {
        Some(match *self {
            MpiEvent::RmaWinCreate(window) => Event::RmaWinCreate { win: RmaWinRef(window) },
            MpiEvent::RmaWinDestroy(window) => Event::RmaWinDestroy { win: RmaWinRef(window) },
            MpiEvent::RmaCollectiveBegin => Event::RmaCollectiveBegin {},
            MpiEvent::RmaCollectiveEnd { operation, window } => Event::RmaCollectiveEnd {
                collective_op: operation,
                sync_level: RmaSyncLevel::PROCESS | RmaSyncLevel::MEMORY,
                win: RmaWinRef(window),
                root: NO_ROOT,
                bytes_sent: 0,
                bytes_received: 0,
            },
            MpiEvent::RmaRequestLock(window, remote, exclusive) => Event::RmaRequestLock {
                win: RmaWinRef(window),
                remote,
                lock: 0,
                lock_type: if exclusive { LockType::EXCLUSIVE } else { LockType::SHARED },
            },
            MpiEvent::RmaReleaseLock(window, remote) => Event::RmaReleaseLock { win: RmaWinRef(window), remote, lock: 0 },
            MpiEvent::RmaGroupSync(window, group) => Event::RmaGroupSync {
                sync_level: RmaSyncLevel::PROCESS | RmaSyncLevel::MEMORY,
                win: RmaWinRef(window),
                group: GroupRef(group),
            },
            MpiEvent::RmaSync(window, remote) => Event::RmaSync { win: RmaWinRef(window), remote, sync_type: RmaSyncType::MEMORY },
            MpiEvent::RmaTransfer { operation, window, peer: remote, sent, received, id: matching_id } => {
                let win = RmaWinRef(window);
                match operation {
                    RmaOperation::Put => Event::RmaPut { win, remote, bytes: sent, matching_id },
                    RmaOperation::Get => Event::RmaGet { win, remote, bytes: received, matching_id },
                    RmaOperation::Atomic(atomic_type) => {
                        Event::RmaAtomic { win, remote, atomic_type, bytes_sent: sent, bytes_received: received, matching_id }
                    }
                }
            }
            MpiEvent::RmaOpCompleteNonBlocking(window, matching_id) => {
                Event::RmaOpCompleteNonBlocking { win: RmaWinRef(window), matching_id }
            }
            MpiEvent::RmaOpCompleteRemote(window, matching_id) => Event::RmaOpCompleteRemote { win: RmaWinRef(window), matching_id },
            _ => return None,
        })
    }

    /// The OTF2 event of a file.
    fn to_io_event(&self) -> Option<Event> {
        Some(match *self {
            MpiEvent::IoCreateHandle(file) => Event::IoCreateHandle {
                handle: IoHandleRef(file),
                mode: IoAccessMode::READ_WRITE,
                creation_flags: IoCreationFlags::NONE,
                status_flags: IoStatusFlags::NONE,
            },
            MpiEvent::IoDestroyHandle(file) => Event::IoDestroyHandle { handle: IoHandleRef(file) },
            MpiEvent::IoOperationBegin(file, access, matching_id) => {
                let flag = |set: bool, flag| if set { flag } else { IoOperationFlags::NONE };
                Event::IoOperationBegin {
                    handle: IoHandleRef(file),
                    mode: if access.is_write { IoOperationMode::WRITE } else { IoOperationMode::READ },
                    operation_flags: flag(access.nonblocking, IoOperationFlags::NON_BLOCKING)
                        | flag(access.collective, IoOperationFlags::COLLECTIVE),
                    bytes_request: access.bytes,
                    matching_id,
                }
            }
            MpiEvent::IoOperationIssued(file, matching_id) => Event::IoOperationIssued { handle: IoHandleRef(file), matching_id },
            MpiEvent::IoOperationComplete(file, bytes_result, matching_id) => {
                Event::IoOperationComplete { handle: IoHandleRef(file), bytes_result, matching_id }
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_otf2::ROOT_SELF;
    use sintonia_otf2::buffer::UNDEFINED_UINT32;

    #[test]
    fn every_event_survives_being_converted_and_back() {
        let message = MpiMessage { peer: 3, communicator: 1, tag: 70_000, bytes: 1 << 40 };
        let collective = MpiCollective { operation: CollectiveOp::REDUCE, communicator: 0, root: ROOT_SELF, sent: 8, received: 0 };
        let access = IoOperation { is_write: true, collective: false, nonblocking: true, bytes: 4096 };
        let transfer = |operation, sent, received| MpiEvent::RmaTransfer { operation, window: 1, peer: 2, sent, received, id: 5 };
        let events = [
            MpiEvent::Enter(0),
            MpiEvent::Leave(300),
            MpiEvent::CallingContextEnter(7, 2),
            MpiEvent::CallingContextLeave(7),
            MpiEvent::CallingContextSample(7, 1, 3),
            MpiEvent::Metric(2, vec![MetricValue::Integer(-5), MetricValue::Double(0.5_f64.to_bits())]),
            MpiEvent::ProgramBegin(1, vec![2, 3]),
            MpiEvent::ProgramEnd(-1),
            MpiEvent::MpiSend(message, None),
            MpiEvent::MpiSend(message, Some(u64::MAX - 1)),
            MpiEvent::MpiIsendComplete(u64::from(UNDEFINED_UINT32)),
            MpiEvent::MpiIrecvRequest(1 << 48),
            MpiEvent::MpiRecv(message, None),
            MpiEvent::MpiRecv(message, Some(0)),
            MpiEvent::MpiRequestTest(9),
            MpiEvent::MpiRequestCancelled(10),
            MpiEvent::MpiCollectiveBegin,
            MpiEvent::MpiCollectiveEnd(collective),
            MpiEvent::NonBlockingCollectiveRequest(11),
            MpiEvent::NonBlockingCollectiveComplete(collective, 11),
            MpiEvent::CommCreate(4),
            MpiEvent::CommDestroy(4),
            MpiEvent::RmaWinCreate(1),
            MpiEvent::RmaWinDestroy(1),
            MpiEvent::RmaCollectiveBegin,
            MpiEvent::RmaCollectiveEnd { operation: CollectiveOp::CREATE_HANDLE, window: 1 },
            MpiEvent::RmaRequestLock(1, UNDEFINED_UINT32, false),
            MpiEvent::RmaRequestLock(1, 0, true),
            MpiEvent::RmaGroupSync(1, 4),
            MpiEvent::RmaReleaseLock(1, 2),
            MpiEvent::RmaSync(1, 0),
            transfer(RmaOperation::Put, 16, 0),
            transfer(RmaOperation::Get, 0, 16),
            transfer(RmaOperation::Atomic(RmaAtomicType::COMPARE_AND_SWAP), 8, 8),
            MpiEvent::RmaOpCompleteNonBlocking(1, 5),
            MpiEvent::RmaOpCompleteRemote(1, 5),
            MpiEvent::IoCreateHandle(2),
            MpiEvent::IoDestroyHandle(2),
            MpiEvent::IoOperationBegin(2, access, 6),
            MpiEvent::IoOperationIssued(2, 6),
            MpiEvent::IoOperationComplete(2, 4096, 6),
            MpiEvent::ParameterUnsignedInt(0, 12),
            MpiEvent::MeasurementInterrupted,
        ];
        for event in events {
            assert_eq!(MpiEvent::from_otf2(event.to_otf2()).as_ref(), Some(&event));
        }
    }
}
