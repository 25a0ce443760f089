//! Converts a recorded rank to actions.
//!
//! A trace names the source of a message where its receive is posted; a recording has it where the receive completes. So the actions after
//! a receive are deferred until its message is known. Everything else is written call by call.

use std::collections::{BTreeSet, HashMap};
use std::io;

use sintonia_mpi::FunctionRole;
use sintonia_recording::Recording;
use sintonia_recording::call_table::RequestId;
use sintonia_recording::comm_event::{CommEvent, GroupOp, PointToPointMessage};
use sintonia_recording::raw::{bytes_or_zero, part};

use super::deferred::DeferredActions;
use super::thread_merge::ThreadMerger;
use super::{CollectiveOp, Completion, TraceAction, TraceEnvelope, TraceOmission};
use crate::exported_calls::ExportedCall;
use crate::goal::collective_messages::{CollectiveExpander, ExpansionError, MessageDirection, RankCollective};
use crate::goal::tag;

/// Polling again within this time is waiting, not computation.
const MAX_POLL_GAP_NS: i64 = 2000;

/// Messages of expanded collectives have tags from here on, above those of programs.
const COLLECTIVE_TAG_BASE: i32 = 1 << 30;

const NS_PER_S: f64 = 1e9;

/// What a format can express.
#[derive(Clone, Copy)]
pub(crate) struct FormatFeatures {
    /// Several threads per rank.
    pub threads: bool,
    /// Communicators other than MPI_COMM_WORLD.
    pub communicators: bool,
    pub synchronous_sends: bool,
    /// Waiting for a nonblocking send.
    pub wait_for_send: bool,
    /// Waiting for all nonblocking messages.
    pub wait_all: bool,
}

/// State of a thread.
struct ThreadProgress {
    /// When its last call ended.
    last_leave: i64,
    /// Computation in nanoseconds not yet written as an action.
    pending_compute_ns: i64,
    /// Whether its last call was an unsuccessful test or probe.
    polled: bool,
}

/// Converts the calls of one rank to actions, and passes them to `emit` with the thread number.
pub(crate) struct ActionEmitter<'a, F> {
    emit: F,
    features: FormatFeatures,
    omissions: &'a mut BTreeSet<TraceOmission>,
    recording: &'a Recording,
    expander: CollectiveExpander<'a>,
    threads: HashMap<u16, ThreadProgress>,
    /// Start time of the rank.
    start: Option<i64>,
    finalized: bool,
    /// Merges the calls of several threads, if the format has no threads.
    merged_threads: Option<ThreadMerger<'a>>,
    deferred: DeferredActions,
    /// Nonblocking sends in progress.
    pending_sends: HashMap<RequestId, TraceEnvelope>,
    /// What the current call waits for.
    pending_waits: Vec<TraceAction>,
    /// Nonblocking collectives, which are written where they complete.
    pending_collectives: Vec<(RequestId, RankCollective)>,
    /// Bytes that a persistent collective sends and receives per start.
    persistent_bytes: HashMap<RequestId, (u64, u64)>,
}

impl<'a, F: FnMut(u16, &TraceAction) -> io::Result<()>> ActionEmitter<'a, F> {
    pub(crate) fn new(
        recording: &'a Recording,
        rank: u32,
        features: FormatFeatures,
        omissions: &'a mut BTreeSet<TraceOmission>,
        emit: F,
    ) -> ActionEmitter<'a, F> {
        ActionEmitter {
            emit,
            features,
            omissions,
            recording,
            expander: CollectiveExpander::new(recording, rank),
            threads: HashMap::new(),
            start: None,
            finalized: false,
            // A rank that cannot be read has no threads; reading its calls reports the error.
            merged_threads: (!features.threads && recording.threads(rank).is_ok_and(|threads| threads.len() > 1))
                .then(ThreadMerger::default),
            deferred: DeferredActions::default(),
            pending_sends: HashMap::new(),
            pending_waits: Vec::new(),
            pending_collectives: Vec::new(),
            persistent_bytes: HashMap::new(),
        }
    }

    pub(crate) fn add_call(&mut self, call: &ExportedCall<'a>) -> io::Result<()> {
        let Some(merger) = &mut self.merged_threads else { return self.convert_call(call) };
        merger.add(call);
        while let Some(call) = self.merged_threads.as_mut().and_then(ThreadMerger::pop_due) {
            self.convert_call(&call)?;
        }
        Ok(())
    }

    fn convert_call(&mut self, call: &ExportedCall) -> io::Result<()> {
        if self.finalized {
            return Ok(());
        }
        let thread = if self.features.threads { call.thread } else { 0 };
        if thread != call.thread {
            self.omissions.insert(TraceOmission::MergedThreads);
        }
        self.account_compute(thread, call);
        match call.operation.role() {
            FunctionRole::Finalize => self.finalized = true,
            FunctionRole::Put | FunctionRole::Get | FunctionRole::Exchange => _ = self.omissions.insert(TraceOmission::OneSided),
            FunctionRole::RequestFree => call.listed_requests.iter().for_each(|(request, _)| self.forget_request(*request)),
            FunctionRole::Collective(_) if call.events.is_empty() => self.remember_persistent(call),
            _ => {}
        }
        // A call that also sends must not wait for its own receive first.
        let sends_too = call.events.iter().any(|event| matches!(event, CommEvent::Send { .. }));
        for event in &call.events {
            self.convert_event(thread, call, event, sends_too);
        }
        self.push_waits(thread);
        self.emit_ready()
    }

    /// Writes the remaining actions.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        while let Some(call) = self.merged_threads.as_mut().and_then(ThreadMerger::pop) {
            self.convert_call(&call)?;
        }
        self.flush_collectives(0, |_| true);
        let mut threads: Vec<u16> = self.threads.keys().copied().collect();
        threads.sort_unstable();
        threads.into_iter().for_each(|thread| self.flush_compute(thread));
        self.deferred.drop_open_receives();
        self.emit_ready()
    }

    fn emit_ready(&mut self) -> io::Result<()> {
        while let Some((thread, step)) = self.deferred.pop() {
            (self.emit)(thread, &step)?;
        }
        Ok(())
    }

    /// Accounts the computation before a call, and inside it if it does not communicate.
    fn account_compute(&mut self, number: u16, call: &ExportedCall) {
        let role = call.operation.role();
        let start = *self.start.get_or_insert(if role == FunctionRole::Init { call.leave } else { call.enter });
        let thread = self.threads.entry(number).or_insert(ThreadProgress { last_leave: start, pending_compute_ns: 0, polled: false });
        let (gap, took) = (call.enter.saturating_sub(thread.last_leave), call.leave.saturating_sub(call.enter.max(thread.last_leave)));
        if !thread.polled || gap > MAX_POLL_GAP_NS.max(took) {
            thread.pending_compute_ns = thread.pending_compute_ns.saturating_add(gap.max(0));
        }
        thread.polled = call.has_part(part::FLAG_FALSE);
        if call.events.is_empty() && !thread.polled && counts_as_compute(role) {
            thread.pending_compute_ns = thread.pending_compute_ns.saturating_add(took.max(0));
        }
        thread.last_leave = thread.last_leave.max(call.leave);
        if role == FunctionRole::Init {
            thread.pending_compute_ns = 0;
        }
    }

    /// Remembers the bytes of a persistent collective; the calls that start it do not have them.
    fn remember_persistent(&mut self, call: &ExportedCall) {
        let request = call.request.map(|number| RequestId { thread: call.thread, number });
        self.persistent_bytes.extend(request.map(|request| (request, call_bytes(call))));
    }

    fn forget_request(&mut self, request: RequestId) {
        self.deferred.drop_receive(request);
        self.pending_sends.remove(&request);
        self.persistent_bytes.remove(&request);
    }

    fn convert_event(&mut self, thread: u16, call: &ExportedCall, event: &CommEvent, sends_too: bool) {
        match *event {
            CommEvent::Send { message, request, synchronous } => {
                let Some(to) = self.envelope_for(message) else { return };
                if synchronous && !self.features.synchronous_sends {
                    self.omissions.insert(TraceOmission::SynchronousSends);
                }
                let synchronous = synchronous && self.features.synchronous_sends;
                let later = if self.features.wait_for_send { Completion::Nonblocking } else { Completion::Detached };
                let completion = request.map_or(Completion::Blocking, |_| later);
                self.pending_sends.extend(request.map(|request| (request, to)));
                self.push_action(thread, TraceAction::Send { to, bytes: bytes_or_zero(message.bytes), synchronous, completion });
            }
            CommEvent::SendComplete { request, .. } => {
                if let Some(message) = self.pending_sends.remove(&request) {
                    match self.features.wait_for_send {
                        true => self.pending_waits.push(TraceAction::Wait { is_send: true, message }),
                        false => _ = self.omissions.insert(TraceOmission::WaitsForSends),
                    }
                }
            }
            CommEvent::ReceivePost { request } => {
                self.flush_compute(thread);
                self.deferred.push_open_receive(thread, request);
            }
            CommEvent::Receive { message, request, .. } => self.convert_receive(thread, message, request, sends_too),
            CommEvent::ReceiveCancel { request } => self.deferred.drop_receive(request),
            CommEvent::CollectiveBegin { op: GroupOp::Init | GroupOp::Finalize, .. } => {}
            CommEvent::CollectiveBegin { collective: instance, op, root, request } => {
                let prepared = request.and_then(|request| self.persistent_bytes.get(&request).copied());
                let (sent, received) = prepared.unwrap_or(call_bytes(call));
                let collective = RankCollective { instance, op, root, sent, received };
                match request {
                    Some(request) => self.pending_collectives.push((request, collective)),
                    None => {
                        self.flush_collectives(thread, |begun| begun.instance.group == instance.group);
                        self.push_collective(thread, &collective);
                    }
                }
            }
            CommEvent::CollectiveEnd { request, .. } => {
                let instance =
                    self.pending_collectives.iter().find(|(begun, _)| *begun == request).map(|(_, collective)| collective.instance);
                if let Some(instance) = instance {
                    self.omissions.insert(TraceOmission::NonblockingCollectives);
                    self.flush_collectives(thread, |begun| {
                        begun.instance.group == instance.group && begun.instance.number <= instance.number
                    });
                }
            }
        }
    }

    fn convert_receive(&mut self, thread: u16, message: PointToPointMessage, request: Option<RequestId>, sends_too: bool) {
        let Some(from) = self.envelope_for(message) else {
            request.into_iter().for_each(|request| self.deferred.drop_receive(request));
            return;
        };
        let receive = |completion| TraceAction::Receive { from, bytes: bytes_or_zero(message.bytes), completion };
        let begun = request.is_some_and(|request| self.deferred.resolve_receive(request, receive(Completion::Nonblocking)));
        if !begun {
            self.push_action(thread, receive(if sends_too { Completion::Nonblocking } else { Completion::Blocking }));
        }
        if begun || sends_too {
            self.pending_waits.push(TraceAction::Wait { is_send: false, message: from });
        }
    }

    /// Waits for what the current call completes.
    fn push_waits(&mut self, thread: u16) {
        let waits = std::mem::take(&mut self.pending_waits);
        let all = self.features.wait_all && waits.len() > 1 && self.pending_sends.is_empty() && !self.deferred.has_open_receives();
        match all {
            true => self.push_action(thread, TraceAction::WaitAll { include_sends: true }),
            false => waits.into_iter().for_each(|wait| self.push_action(thread, wait)),
        }
    }

    /// Writes the nonblocking collectives that match.
    fn flush_collectives(&mut self, thread: u16, is_meant: impl Fn(&RankCollective) -> bool) {
        let (meant, others) = std::mem::take(&mut self.pending_collectives).into_iter().partition(|(_, collective)| is_meant(collective));
        self.pending_collectives = others;
        let meant: Vec<(RequestId, RankCollective)> = meant;
        meant.iter().for_each(|(_, collective)| self.push_collective(thread, collective));
    }

    fn push_collective(&mut self, thread: u16, collective: &RankCollective) {
        let Some(communicator) = self.expander.communicator(collective) else { return };
        let members = self.recording.members(communicator);
        let of_all = members.len() as u32 == self.recording.header.rank_count();
        let operation = match collective.op {
            GroupOp::Collective(operation) => operation,
            _ => CollectiveOp::Barrier,
        };
        if operation == CollectiveOp::Barrier && collective.op != GroupOp::Collective(operation) {
            self.omissions.insert(TraceOmission::SynchronisationAsBarrier);
        }
        if operation.is_neighborhood() || !(of_all || self.features.communicators) || !self.recording.remote(communicator).is_empty() {
            return self.push_collective_as_messages(thread, communicator, collective);
        }
        if members.len() > 1 {
            let root = u32::try_from(collective.root).ok();
            let (sent, received) = (collective.sent, collective.received);
            self.push_action(thread, TraceAction::Collective { operation, communicator, root, sent, received });
        }
    }

    fn push_collective_as_messages(&mut self, thread: u16, communicator: u32, collective: &RankCollective) {
        let rounds = self.expander.rounds(communicator, collective).unwrap_or_else(|error| {
            self.omissions.insert(match error {
                ExpansionError::UnknownNeighbours => TraceOmission::UnknownNeighbours,
                ExpansionError::Intercommunicator => TraceOmission::Intercommunicator,
            });
            Vec::new()
        });
        if !rounds.is_empty() {
            let neighbours = matches!(collective.op, GroupOp::Collective(operation) if operation.is_neighborhood());
            self.omissions.insert(if neighbours { TraceOmission::NeighbourhoodAsMessages } else { TraceOmission::SubgroupAsMessages });
        }
        let tag = COLLECTIVE_TAG_BASE | (communicator as i32 & (COLLECTIVE_TAG_BASE - 1));
        for round in rounds {
            self.push_round(thread, communicator, tag, &round);
        }
    }

    fn push_round(&mut self, thread: u16, communicator: u32, tag: i32, round: &[(MessageDirection, u64)]) {
        let communicator = if self.features.communicators { communicator } else { 0 };
        let later = if self.features.wait_for_send { Completion::Nonblocking } else { Completion::Detached };
        for (direction, bytes) in round.iter().copied() {
            self.push_action(
                thread,
                match direction {
                    MessageDirection::To(peer) => {
                        TraceAction::Send { to: TraceEnvelope { peer, tag, communicator }, bytes, synchronous: false, completion: later }
                    }
                    MessageDirection::From(peer) => {
                        TraceAction::Receive { from: TraceEnvelope { peer, tag, communicator }, bytes, completion: Completion::Nonblocking }
                    }
                },
            );
        }
        for (direction, _) in round {
            match *direction {
                MessageDirection::To(_) if later == Completion::Detached => {}
                MessageDirection::To(peer) => {
                    self.push_action(thread, TraceAction::Wait { is_send: true, message: TraceEnvelope { peer, tag, communicator } })
                }
                MessageDirection::From(peer) => {
                    self.push_action(thread, TraceAction::Wait { is_send: false, message: TraceEnvelope { peer, tag, communicator } })
                }
            }
        }
    }

    /// Appends an action after the pending computation.
    fn push_action(&mut self, thread: u16, step: TraceAction) {
        self.flush_compute(thread);
        self.deferred.push(thread, step);
    }

    fn flush_compute(&mut self, number: u16) {
        let computed = self.threads.get_mut(&number).map_or(0, |thread| std::mem::take(&mut thread.pending_compute_ns));
        if computed > 0 {
            self.deferred.push(number, TraceAction::Compute { seconds: computed as f64 / NS_PER_S });
        }
    }

    /// The envelope of a message, if its peer is in the recording.
    fn envelope_for(&mut self, message: PointToPointMessage) -> Option<TraceEnvelope> {
        let Ok(peer) = u32::try_from(message.peer) else {
            self.omissions.insert(TraceOmission::ExternalProcess);
            return None;
        };
        let PointToPointMessage { communicator, tag, .. } = message;
        if self.features.communicators {
            return Some(TraceEnvelope { peer, tag, communicator });
        }
        if !tag::is_representable(communicator, tag) {
            self.omissions.insert(TraceOmission::FoldedTags);
        }
        Some(TraceEnvelope { peer, tag: (tag::message_tag(communicator, tag) & i32::MAX as u32) as i32, communicator: 0 })
    }
}

/// Bytes that a call sends and receives.
fn call_bytes(call: &ExportedCall) -> (u64, u64) {
    (call.bytes_sent.unwrap_or(0), call.bytes_received.unwrap_or(0))
}

/// Whether the time inside a call without communication events is computation, not waiting.
fn counts_as_compute(role: FunctionRole) -> bool {
    use FunctionRole::*;
    let waits = matches!(role, CompleteOne | CompleteAll | CompleteAny | CompleteSome | Probe | MatchedProbe | WindowSync);
    !waits && !matches!(role, Init | Finalize | Put | Get | Exchange)
}
