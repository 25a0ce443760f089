//! Imports the calls of one process.
//!
//! A trace has the begin and end of calls and, separately, messages. A message is assigned by time: it was sent by the call that contains
//! its send time, and received by the call that contains its receive time.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use sintonia_mpi::{BlockingMode, FunctionId, FunctionRole};
use sintonia_recording::header::{ProcessExit, RecordedRank};
use sintonia_recording::raw::part;
use sintonia_recording::sealed::RankFileWriter;

use super::call_sites::CallSiteTable;
use super::event_types::{self, MpiEventType};
use super::label_parser::TraceLabels;
use super::request_recovery::RequestRecovery;
use super::sort_entry::{EncodedEvents, EntryKey, EntryKind, TraceMessage};
use super::trace_call::{CallingRank, TraceCall};
use super::trace_scan::{SentMessage, TraceScan};
use crate::Error;
use crate::import::NANOSECOND_CLOCK;

/// Limit of calls that ended at the current time and are kept because a message may belong to them.
const MAX_ENDED: usize = 1 << 12;

/// What all processes share.
pub(super) struct ImportContext<'a> {
    /// The scan of the whole trace.
    pub scan: &'a TraceScan,
    pub names: &'a TraceLabels,
    /// Call sites found so far.
    pub sites: CallSiteTable,
    /// Messages outside any call that could have sent or received them.
    pub stray_messages: u64,
    /// Calls of local functions, which are not recorded.
    pub local_calls: u64,
}

/// A process being imported.
pub(super) struct ProcessImporter<'a, 'b> {
    context: &'a mut ImportContext<'b>,
    rank: u32,
    application: usize,
    writer: RankFileWriter,
    threads: BTreeMap<u16, ThreadCallState>,
    requests: RequestRecovery,
    now: u64,
    /// Number of persistent sends created.
    persistent_sends: usize,
    begin_time: Option<u64>,
    end_time: u64,
    end_status: ProcessExit,
}

/// The calls of a thread: the current one, and those that ended at the current time.
#[derive(Default)]
struct ThreadCallState {
    current: Option<TraceCall>,
    ended: VecDeque<TraceCall>,
}

impl ThreadCallState {
    fn calls(&mut self) -> impl Iterator<Item = &mut TraceCall> {
        self.current.iter_mut().chain(self.ended.iter_mut().rev())
    }
}

impl<'a, 'b> ProcessImporter<'a, 'b> {
    /// Creates the file of a process in this folder.
    pub(super) fn new(context: &'a mut ImportContext<'b>, rank: u32, folder: &Path) -> Result<ProcessImporter<'a, 'b>, Error> {
        Ok(ProcessImporter {
            application: context.scan.task(rank).0,
            context,
            rank,
            writer: RankFileWriter::create(folder, rank)?,
            threads: BTreeMap::new(),
            requests: RequestRecovery::default(),
            now: 0,
            persistent_sends: 0,
            begin_time: None,
            end_time: 0,
            end_status: ProcessExit::Exited,
        })
    }

    /// Handles the next entry of this process.
    pub(super) fn add_entry(&mut self, key: EntryKey, content: &[u8]) -> Result<(), Error> {
        if key.time > self.now {
            self.flush_ended()?;
            self.now = key.time;
        }
        match key.kind {
            EntryKind::Events => self.events(key.line, content)?,
            EntryKind::Root => self.root(key.line, content),
            EntryKind::Send => self.send(TraceMessage::from_bytes(content)),
            EntryKind::Post => self.post(key.line, TraceMessage::from_bytes(content)),
            EntryKind::Received => self.received(key.line, TraceMessage::from_bytes(content)),
        }
        Ok(())
    }

    /// Writes the remaining calls; `None` if there was no call.
    pub(super) fn finish(mut self) -> Result<Option<RecordedRank>, Error> {
        self.flush_ended()?;
        let end = self.context.scan.end_time;
        let threads: Vec<u16> = self.threads.keys().copied().collect();
        for thread in &threads {
            if let Some(call) = self.threads.get_mut(thread).and_then(|thread| thread.current.take()) {
                self.write_call(*thread, TraceCall { leave: end.max(call.enter), ..call }, part::UNFINISHED)?;
            }
        }
        self.context.stray_messages += self.requests.stray;
        let calls = self.writer.finish()?.calls;
        Ok(self.begin_time.map(|begin| RecordedRank {
            rank: self.rank,
            calls,
            threads: threads.len() as u32,
            begin_ns: begin as i64,
            end_ns: self.end_time as i64,
            end: self.end_status,
            clock: NANOSECOND_CLOCK,
            ..RecordedRank::default()
        }))
    }

    /// Calls begin and end, and the current one gets details.
    fn events(&mut self, line: u64, content: &[u8]) -> Result<(), Error> {
        let (thread, pairs) = EncodedEvents::decode(content);
        for (event_type, value) in pairs.clone() {
            match MpiEventType::from_type_id(event_type) {
                Some(group) if value == 0 => self.leave(thread, Some(group))?,
                Some(group) => {
                    self.leave(thread, None)?;
                    let call = TraceCall::new(self.context.names.operation(group, value), group, line, self.now);
                    self.threads.entry(thread).or_default().current = Some(call);
                }
                None => {}
            }
        }
        if let Some(call) = self.threads.get_mut(&thread).and_then(|thread| thread.current.as_mut()) {
            // A caller of 0 means that there is none.
            let said = |event_type: u64, value: u64| {
                MpiEventType::from_type_id(event_type).is_none() && (event_type < event_types::CALLER || value != 0)
            };
            call.details.extend(pairs.filter(|(event_type, value)| said(*event_type, *value)));
        }
        Ok(())
    }

    /// Ends the current call: one of this type, or any if the trace lacks its end.
    fn leave(&mut self, number: u16, group: Option<MpiEventType>) -> Result<(), Error> {
        let thread = self.threads.entry(number).or_default();
        let Some(call) = thread.current.take_if(|call| group.is_none_or(|group| group == call.event_type)) else { return Ok(()) };
        thread.ended.push_back(TraceCall { leave: self.now, ..call });
        if thread.ended.len() > MAX_ENDED
            && let Some(oldest) = thread.ended.pop_front()
        {
            self.write_call(number, oldest, 0)?;
        }
        Ok(())
    }

    fn root(&mut self, line: u64, content: &[u8]) {
        let call = self.threads.values_mut().flat_map(ThreadCallState::calls).find(|call| call.line == line);
        if let Some((call, root)) = call.zip(content.first_chunk()) {
            call.root = Some(u32::from_le_bytes(*root));
        }
    }

    /// The most likely call of a message at the current time: preferably of this thread, and not an `unlikely` one.
    fn find_call(&mut self, thread: u16, unlikely: impl Fn(&TraceCall) -> Option<bool>) -> Option<&mut TraceCall> {
        let calls = self.threads.iter_mut().flat_map(|(own, calls)| calls.calls().map(move |call| (*own != thread, call)));
        let possible = calls.filter_map(|(other, call)| Some(((other, unlikely(call)?), call)));
        possible.min_by_key(|(how, _)| *how).map(|(_, call)| call)
    }

    /// A message is sent by the call that just began, or by the current one.
    fn send(&mut self, message: TraceMessage) {
        let now = self.now;
        match self.find_call(message.thread, |call| call.can_send().then_some(call.enter != now)) {
            Some(call) => call.sends.push(message),
            None => self.context.stray_messages += 1,
        }
    }

    /// A nonblocking receive is posted when its call returns, a blocking one when its call begins.
    fn post(&mut self, line: u64, message: TraceMessage) {
        let now = self.now;
        let returns = |call: &TraceCall| !call.is_blocking() && call.leave == now && call.enter != now;
        if let Some(call) = self.find_call(message.thread, |call| call.can_receive().then(|| !returns(call))) {
            call.receives.push((line, message));
            let waits = call.is_blocking();
            self.requests.post_receive(line, waits);
        }
    }

    /// A receive completes when the call that waited for it returns.
    fn received(&mut self, line: u64, message: TraceMessage) {
        if !self.requests.is_completed_elsewhere(line) {
            return;
        }
        let now = self.now;
        match self.find_call(message.thread, |call| call.completes_requests().then_some(call.enter == now)) {
            Some(call) => call.completions.push((line, message)),
            None => {
                self.requests.forget_receive(line);
                self.context.stray_messages += 1;
            }
        }
    }

    fn flush_ended(&mut self) -> Result<(), Error> {
        let with_ended = self.threads.iter().filter(|(_, thread)| !thread.ended.is_empty());
        let threads: Vec<u16> = with_ended.map(|(number, _)| *number).collect();
        for number in threads {
            while let Some(call) = self.threads.get_mut(&number).and_then(|thread| thread.ended.pop_front()) {
                self.write_call(number, call, 0)?;
            }
        }
        Ok(())
    }

    fn write_call(&mut self, thread: u16, call: TraceCall, marks: u16) -> Result<(), Error> {
        let Some(operation) = call.operation else { return Ok(()) };
        if operation.role() == FunctionRole::Local {
            self.context.local_calls += 1;
            return Ok(());
        }
        let persistent = self.persistent_send(&call);
        let communicators = &self.context.scan.communicators;
        let caller = CallingRank { rank: self.rank, application: self.application, communicators };
        let mut descriptor = call.to_descriptor(operation, &caller, persistent);
        descriptor.site = self.context.sites.intern(&call.callers(), self.context.names);
        descriptor.parts |= marks;
        self.requests.apply_call(thread, &call, &mut descriptor);
        self.track_lifetime(operation, &call);
        Ok(self.writer.write_call(thread, call.enter, call.leave, &descriptor)?)
    }

    /// The next message of a persistent send: the distinct messages that the process's requests sent later, in order.
    fn persistent_send(&mut self, call: &TraceCall) -> Option<SentMessage> {
        if call.role() != FunctionRole::Send || call.mode() != BlockingMode::Persistent {
            return None;
        }
        self.persistent_sends += 1;
        self.context.scan.persistent_sends.get(&self.rank)?.get(self.persistent_sends - 1).copied()
    }

    /// Tracks begin, end and end status of the process.
    fn track_lifetime(&mut self, operation: FunctionId, call: &TraceCall) {
        self.begin_time = Some(self.begin_time.unwrap_or(call.enter).min(call.enter));
        self.end_time = self.end_time.max(call.leave);
        match operation.role() {
            FunctionRole::Finalize => self.end_status = ProcessExit::Finalized,
            FunctionRole::Abort => self.end_status = ProcessExit::Aborted,
            _ => {}
        }
    }
}
