//! Writes the records of one rank: states, events, and its message ends.

use std::collections::BTreeSet;

use sintonia_mpi::{BlockingMode, CollectiveOp, FunctionId, FunctionRole};
use sintonia_paraver::Record;
use sintonia_recording::Recording;
use sintonia_recording::call_table::{CallDescriptor, RecordedCall, RequestId};
use sintonia_recording::comm_event::{CommEvent, RequestTracker};
use sintonia_recording::header::RecordedRank;
use sintonia_recording::raw;
use sintonia_recording::request_table::RequestTable;

use super::caller_labels::CallerLabels;
use super::event_types::{self, MpiEventType};
use super::external_sort::RunCollector;
use super::message_matching::{MessageEndpoint, RankMessages};
use super::resource_model::ResourceModel;
use crate::Error;
use crate::timeline::TimeOrigin;

/// Encoded size of a [`RecordKey`].
pub(super) const KEY_BYTES: usize = 13;
/// Time, record type and rank: the order of a trace. Equal records of one rank keep their order.
pub(super) type RecordKey = [u8; KEY_BYTES];

/// Paraver's record types.
#[derive(Clone, Copy)]
pub(super) enum RecordType {
    /// A state of a thread over a time interval.
    State = 1,
    /// Events at one time.
    Event = 2,
    /// A message.
    Communication = 3,
}

pub(super) fn record_key(time: u64, kind: RecordType, rank: u32) -> RecordKey {
    let mut key = [0; KEY_BYTES];
    key[..8].copy_from_slice(&time.to_be_bytes());
    key[8] = kind as u8;
    key[9..].copy_from_slice(&rank.to_be_bytes());
    key
}

/// What all ranks share.
pub(super) struct TraceContext<'a> {
    pub recording: &'a Recording,
    /// Placement of the ranks.
    pub resources: &'a ResourceModel,
    pub callers: &'a CallerLabels,
    /// Time origin of the trace.
    pub time_origin: TimeOrigin,
}

/// Statistics of a written rank.
#[derive(Clone, Debug, Default)]
pub(super) struct RankStats {
    pub rank: u32,
    /// Number of threads in the trace.
    pub threads: usize,
    /// End of its last record.
    pub end_time: u64,
    /// The functions it called.
    pub operations: BTreeSet<FunctionId>,
    /// Messages to and from processes outside the recording.
    pub external_messages: u64,
}

/// Writes the records of one rank.
pub(super) struct RankRecordWriter<'a, 'b> {
    context: &'a TraceContext<'a>,
    rank: &'a RecordedRank,
    lines: RunCollector<'b, KEY_BYTES>,
    messages: RankMessages<'b>,
    /// End of each thread's last call; `None` before its first.
    thread_ends: Vec<Option<u64>>,
    /// When each posted receive's call ended.
    posted: RequestTable<RequestId, u64>,
    line: Vec<u8>,
    stats: RankStats,
}

impl<'a, 'b> RankRecordWriter<'a, 'b> {
    pub(super) fn new(
        context: &'a TraceContext<'a>,
        rank: &'a RecordedRank,
        lines: RunCollector<'b, KEY_BYTES>,
        messages: RankMessages<'b>,
    ) -> RankRecordWriter<'a, 'b> {
        let stats = RankStats { rank: rank.rank, threads: 1, ..RankStats::default() };
        RankRecordWriter {
            context,
            rank,
            lines,
            messages,
            thread_ends: vec![None],
            posted: RequestTable::default(),
            line: Vec::new(),
            stats,
        }
    }

    /// Writes all its calls.
    pub(super) fn write(mut self) -> Result<RankStats, Error> {
        let (begin, end) =
            (self.context.time_origin.relative_ns(self.rank.begin_ns), self.context.time_origin.relative_ns(self.rank.end_ns));
        self.write_event(0, begin, &[(event_types::APPLICATION, 1)], &[])?;
        let mut calls = self.context.recording.calls(self.rank.rank)?;
        let mut tracker = RequestTracker::for_world(self.context.recording.world(self.rank.rank));
        let mut number = 0;
        while let Some(call) = calls.next_call() {
            let (enter, leave) = self.write_call(&call)?;
            self.add_messages(&call, number, enter, leave, tracker.track(&call))?;
            number += 1;
        }
        let until = self.begin_thread(0, begin)?;
        let end = end.max(until);
        self.write_state(0, until, end, event_types::STATE_RUNNING)?;
        self.write_event(0, end, &[(event_types::APPLICATION, 0)], &[])?;
        self.stats.threads = self.thread_ends.len();
        self.stats.end_time = self.thread_ends.iter().flatten().copied().fold(end, u64::max);
        self.lines.finish()?;
        self.messages.finish()?;
        Ok(self.stats)
    }

    /// Writes a call: the computation before it, its state, begin and end.
    fn write_call(&mut self, call: &RecordedCall) -> Result<(u64, u64), Error> {
        let event = event_types::event_code(call.descriptor.function);
        let thread = call.thread;
        if self.thread_ends.len() <= thread.into() {
            self.thread_ends.resize(usize::from(thread) + 1, None);
        }
        let until = self.begin_thread(thread, self.context.time_origin.relative_ns(call.enter))?;
        // The times of a thread are monotonic, whatever its clock says.
        let enter = self.context.time_origin.relative_ns(call.enter).max(until);
        let leave = self.context.time_origin.relative_ns(call.leave).max(enter);
        self.write_state(thread, until, enter, event_types::STATE_RUNNING)?;
        self.write_state(thread, enter, leave, event.state)?;
        let details = self.event_details(event, call.descriptor);
        self.write_event(thread, enter, &details, self.context.callers.event_fields(call.descriptor.site))?;
        self.write_event(thread, leave, &[(event.event_type.type_id(), 0)], &[])?;
        self.thread_ends[usize::from(thread)] = Some(leave);
        self.stats.operations.insert(call.descriptor.function);
        Ok((enter, leave))
    }

    /// End of the records of a thread; before its first call a thread is not created, except the first one.
    fn begin_thread(&mut self, thread: u16, first: u64) -> Result<u64, Error> {
        if let Some(until) = self.thread_ends[usize::from(thread)] {
            return Ok(until);
        }
        let begin = if thread == 0 { first.min(self.context.time_origin.relative_ns(self.rank.begin_ns)) } else { first };
        self.write_state(thread, 0, begin, event_types::STATE_NOT_CREATED)?;
        self.thread_ends[usize::from(thread)] = Some(begin);
        Ok(begin)
    }

    /// Types and values of the begin event of a call.
    fn event_details(&self, event: event_types::CallEventCode, descriptor: &CallDescriptor) -> Vec<(u64, u64)> {
        let bytes = || descriptor.bytes_sent().max(raw::bytes_or_zero(descriptor.received));
        let mut details = vec![(event.event_type.type_id(), event.value)];
        match descriptor.function.role() {
            _ if event.event_type == MpiEventType::Collective => self.collective_details(&mut details, descriptor),
            FunctionRole::Put | FunctionRole::Get | FunctionRole::Exchange => {
                details.push((event_types::ONE_SIDED_BYTES, bytes()));
                if let Ok(target) = u64::try_from(descriptor.peer) {
                    details.push((event_types::ONE_SIDED_TARGET, target));
                }
            }
            FunctionRole::FileRead | FunctionRole::FileWrite => details.push((event_types::FILE_BYTES, bytes())),
            FunctionRole::CommunicatorCreate | FunctionRole::CommunicatorFree => {
                let objects = [(event_types::COMMUNICATOR, descriptor.object), (event_types::COMMUNICATOR_CREATED, descriptor.created)];
                let objects = objects.into_iter().filter(|(_, object)| *object != raw::NO_OBJECT);
                details.extend(objects.map(|(event_type, object)| (event_type, u64::from(object) + 1)));
            }
            _ if event.event_type == MpiEventType::PointToPoint && ![0, raw::NO_OBJECT].contains(&descriptor.object) => {
                details.push((event_types::COMMUNICATOR, u64::from(descriptor.object) + 1));
            }
            _ => {}
        }
        if descriptor.parts & raw::part::FLAG_FALSE != 0 {
            details.push((event_types::FOUND_NOTHING, 1));
        }
        details
    }

    fn collective_details(&self, details: &mut Vec<(u64, u64)>, descriptor: &CallDescriptor) {
        let is_root = descriptor.peer == raw::ROOT || u32::try_from(descriptor.peer) == Ok(self.rank.rank);
        let sent = self.extrae_sent_bytes(descriptor, is_root);
        let received = raw::bytes_or_zero(descriptor.received);
        details.extend([(event_types::COLLECTIVE_SENT, sent), (event_types::COLLECTIVE_RECEIVED, received)]);
        if descriptor.object != raw::NO_OBJECT {
            details.push((event_types::COLLECTIVE_COMMUNICATOR, u64::from(descriptor.object) + 1));
        }
        if is_root {
            details.push((event_types::COLLECTIVE_ROOT, 1));
        }
    }

    /// The sent bytes as Extrae records them: one block for an alltoall, nothing at the root of a reduction.
    fn extrae_sent_bytes(&self, descriptor: &CallDescriptor, is_root: bool) -> u64 {
        let between = !self.context.recording.remote(descriptor.object).is_empty();
        match descriptor.function.role() {
            FunctionRole::Collective(CollectiveOp::Alltoall) => {
                let recording = self.context.recording;
                let peers = if between { recording.remote(descriptor.object) } else { recording.members(descriptor.object) };
                descriptor.bytes_sent() / peers.len().max(1) as u64
            }
            FunctionRole::Collective(CollectiveOp::Reduce) if is_root && !between => 0,
            _ => descriptor.bytes_sent(),
        }
    }

    /// Adds the message ends of a call.
    fn add_messages(&mut self, call: &RecordedCall, number: u64, enter: u64, leave: u64, events: &[CommEvent]) -> Result<(), Error> {
        let thread = call.thread;
        for event in events {
            match event {
                CommEvent::Send { message, .. } | CommEvent::Receive { message, .. } if message.peer < 0 => {
                    self.stats.external_messages += 1
                }
                CommEvent::Send { message, .. } => {
                    // The send half of a send-receive does not wait for the receive half.
                    let exchange = call.descriptor.function.role() == FunctionRole::SendReceive;
                    let physical_time = if exchange { enter } else { leave };
                    self.messages.add_send(
                        message,
                        number,
                        MessageEndpoint { thread, logical_time: enter, physical_time, bytes: message.bytes },
                    )?;
                }
                CommEvent::Receive { message, request, begin_call: since } => {
                    let posted = request.and_then(|request| self.posted.remove(&request));
                    let end = MessageEndpoint { thread, logical_time: posted.unwrap_or(enter), physical_time: leave, bytes: message.bytes };
                    self.messages.add_receive(message, *since, end)?;
                }
                CommEvent::ReceivePost { request } => _ = self.posted.create(*request, BlockingMode::Nonblocking, leave),
                CommEvent::ReceiveCancel { request } => _ = self.posted.remove(request),
                CommEvent::SendComplete { .. } | CommEvent::CollectiveBegin { .. } | CommEvent::CollectiveEnd { .. } => {}
            }
        }
        if call.descriptor.function.role() == FunctionRole::RequestFree {
            call.requests().for_each(|(request, _)| _ = self.posted.remove(&request));
        }
        Ok(())
    }

    fn write_state(&mut self, thread: u16, begin: u64, end: u64, state: u64) -> Result<(), Error> {
        if begin >= end {
            return Ok(());
        }
        let object = self.context.resources.trace_object(self.rank.rank, thread);
        self.line.clear();
        Record::State { object, begin, end, state }.encode(&mut self.line);
        self.lines.add(record_key(begin, RecordType::State, self.rank.rank), &self.line)
    }

    fn write_event(&mut self, thread: u16, time: u64, events: &[(u64, u64)], callers: &[u8]) -> Result<(), Error> {
        let object = self.context.resources.trace_object(self.rank.rank, thread);
        self.line.clear();
        Record::Events { object, time, events }.encode(&mut self.line);
        self.line.extend_from_slice(callers);
        self.lines.add(record_key(time, RecordType::Event, self.rank.rank), &self.line)
    }
}
