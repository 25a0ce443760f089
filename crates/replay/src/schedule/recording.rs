//! A recording as a schedule.
//!
//! The match of a nonblocking wildcard receive is only known at its completion, but needed when it is posted. A second reader looks ahead
//! and tracks the requests.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use sintonia_mpi::{BlockingMode, FunctionRole};
use sintonia_program::history::CollectiveDependencies;
use sintonia_recording::call_table::{CallDescriptor, RequestId};
use sintonia_recording::comm_event::{CommEvent, RequestTracker};
use sintonia_recording::raw::{self, bytes_or_zero, part};
use sintonia_recording::{ProcessCalls, Recording, ThreadCallReader, TimedCall};

use super::{
    CallChunk, CallCompletion, CallReader, ChunkStatus, CollectiveAction, DescribedAction, LocationId, NeighbourRanks, PeerEnvelope,
    ReceiveAction, ReplayAction, Schedule, ScheduledCall, SendAction, SendMode, WildcardMatch, WindowSync,
};
use crate::Error;
use crate::core_waits::{LocationCoreWaits, core_waits_of_thread};

/// Chunk size: large enough for fast reading, small enough for thousands of locations to stay in cache.
const CHUNK_CALLS: usize = 64;

/// A longer gap between polls is computation, not waiting.
const MAX_POLL_GAP_NS: i64 = 2000;

impl Schedule for Recording {
    fn ranks(&self) -> u32 {
        self.header.rank_count()
    }

    fn locations(&self) -> Result<Vec<LocationId>, Error> {
        let mut locations = Vec::new();
        for rank in &self.header.ranks {
            locations.extend(self.threads(rank.rank)?.into_iter().map(|thread| LocationId { rank: rank.rank, thread }));
        }
        Ok(locations)
    }

    fn open(&self, location: LocationId) -> Result<Box<dyn CallReader + '_>, Error> {
        let calls = self.thread(location.rank, location.thread).ok_or(Error::NoSuchLocation { rank: location.rank })?;
        let core_waits = Schedule::core_waits(self, location)?;
        let thread =
            RecordedThread { recording: self, location, calls, core_waits, polls: Vec::new(), last_was_poll: false, lookahead: None };
        Ok(Box::new(thread))
    }

    fn core_waits(&self, location: LocationId) -> Result<Option<LocationCoreWaits>, Error> {
        Ok(core_waits_of_thread(self, location.rank, location.thread)?)
    }

    fn members(&self, communicator: u32) -> Vec<u32> {
        let both = Recording::members(self, communicator).iter().chain(self.remote(communicator));
        both.filter_map(|rank| u32::try_from(*rank).ok()).collect()
    }

    fn is_intercommunicator(&self, communicator: u32) -> bool {
        !self.remote(communicator).is_empty()
    }

    fn object_communicator(&self, object: u32) -> Option<u32> {
        self.header.objects.get(object as usize)?.communicator
    }

    fn neighbours(&self, communicator: u32, rank: u32) -> NeighbourRanks {
        let known = Recording::neighbours(self, communicator, rank);
        let ranks = |ranks: &[i32]| ranks.iter().filter_map(|rank| u32::try_from(*rank).ok()).collect();
        known.map_or_else(NeighbourRanks::default, |known| NeighbourRanks {
            sources: ranks(&known.sources),
            destinations: ranks(&known.destinations),
        })
    }

    fn collective_dependencies(&self) -> Result<Option<Arc<CollectiveDependencies>>, Error> {
        Ok(CollectiveDependencies::read(self)?.map(Arc::new))
    }

    fn site_count(&self) -> u32 {
        self.header.sites.len() as u32
    }

    fn site_name(&self, site: u32) -> String {
        let site = Recording::site(self, site);
        let frame = site.frames.first();
        let source_line = frame.and_then(|frame| Some((frame.file.as_deref()?, frame.line?)));
        match source_line {
            Some((file, line)) => format!("{}:{line}", file.rsplit('/').next().unwrap_or(file)),
            None => frame.and_then(|frame| frame.function.clone()).unwrap_or_else(|| format!("{}+{:#x}", site.module, site.offset)),
        }
    }
}

/// Reader of a recorded thread.
struct RecordedThread<'a> {
    recording: &'a Recording,
    location: LocationId,
    calls: ThreadCallReader<'a>,
    core_waits: Option<LocationCoreWaits>,
    /// Which of the current actions are polls.
    polls: Vec<bool>,
    /// Whether the last call was an unsuccessful poll.
    last_was_poll: bool,
    lookahead: Option<WildcardLookahead<'a>>,
}

impl CallReader for RecordedThread<'_> {
    fn read_chunk(&mut self, chunk: &mut CallChunk) -> Result<ChunkStatus, Error> {
        let mut found = ChunkStatus::SameActions;
        chunk.first_request = None;
        // Not stored per location, so that thousands of them stay in cache.
        let mut raw_calls = Vec::with_capacity(CHUNK_CALLS);
        self.calls.read_calls(CHUNK_CALLS, &mut raw_calls);
        while raw_calls.is_empty() {
            if !self.calls.next_block()? {
                return Ok(ChunkStatus::End);
            }
            found = ChunkStatus::NewActions;
            chunk.first_request = Some(self.calls.first_request());
            chunk.actions.clear();
            let world = self.recording.world(self.location.rank);
            let group = |number| self.recording.named_group(number).iter().filter_map(|rank| u32::try_from(*rank).ok()).collect();
            let describe = |call: &CallDescriptor| DescribedAction { action: action_of_call(&group, world, call), call: call.clone() };
            chunk.actions.extend(self.calls.descriptors().iter().map(describe));
            self.polls.clear();
            self.polls.extend(chunk.actions.iter().map(|described| described.action == ReplayAction::Poll));
            self.calls.read_calls(CHUNK_CALLS, &mut raw_calls);
        }
        chunk.enter_ns = self.calls.first_enter_ns();
        self.fill(&raw_calls, chunk);
        Ok(found)
    }

    fn next_wildcard_match(&mut self) -> Result<WildcardMatch, Error> {
        if self.lookahead.is_none() {
            self.lookahead = Some(WildcardLookahead::new(self.recording, self.location)?);
        }
        Ok(self.lookahead.as_mut().map_or(WildcardMatch::Never, WildcardLookahead::next_match))
    }
}

impl RecordedThread<'_> {
    fn fill(&mut self, raw_calls: &[TimedCall], chunk: &mut CallChunk) {
        chunk.calls.clear();
        let mut polled = self.last_was_poll;
        let mut segment = SegmentClock::new(chunk.enter_ns, raw_calls, self.core_waits.as_mut());
        chunk.calls.extend(raw_calls.iter().map(|raw_call| {
            let core_wait_ns = segment.core_wait_before(raw_call);
            let gap_ns = raw_call.computation_ns - core_wait_ns;
            let waits = polled && gap_ns <= MAX_POLL_GAP_NS.max(raw_call.duration_ns);
            polled = self.polls.get(usize::from(raw_call.descriptor)).copied().unwrap_or(false);
            let computed_ns = gap_ns.max(0);
            let (compute_ns, idle_ns) = if waits { (0, u32::try_from(computed_ns).unwrap_or(u32::MAX)) } else { (computed_ns, 0) };
            let duration_ns = raw_call.duration_ns.max(0);
            ScheduledCall { compute_ns, core_wait_ns, idle_ns, duration_ns, action: raw_call.descriptor.into() }
        }));
        self.last_was_poll = polled;
    }
}

/// Finds the waiting for a core in the segments of consecutive calls.
struct SegmentClock<'a> {
    core_waits: Option<&'a mut LocationCoreWaits>,
    /// When the last call returned, in nanoseconds since the start of the recording.
    last_leave_ns: i64,
}

impl<'a> SegmentClock<'a> {
    fn new(first_enter_ns: i64, calls: &[TimedCall], core_waits: Option<&'a mut LocationCoreWaits>) -> SegmentClock<'a> {
        SegmentClock { core_waits, last_leave_ns: first_enter_ns - calls.first().map_or(0, |call| call.computation_ns) }
    }

    #[inline]
    fn core_wait_before(&mut self, call: &TimedCall) -> i64 {
        let Some(core_waits) = &mut self.core_waits else { return 0 };
        let enter_ns = self.last_leave_ns + call.computation_ns;
        let core_wait_ns = core_waits.next_ns(self.last_leave_ns, enter_ns);
        self.last_leave_ns = enter_ns + call.duration_ns;
        core_wait_ns
    }
}

/// The action of a call in a process of this world; `group` resolves groups named by number.
pub fn action_of_call(group: &dyn Fn(i32) -> Vec<u32>, world: u32, call: &CallDescriptor) -> ReplayAction {
    let completion = call_completion(call);
    if call.parts & (part::ERROR | part::UNFINISHED) != 0 {
        return failed_action(world, call);
    }
    if call.parts & part::FLAG_FALSE != 0 {
        return ReplayAction::Poll;
    }
    match call.function.role() {
        FunctionRole::Send => destination(call).map_or(ReplayAction::Local, |to| {
            ReplayAction::Send(SendAction { to, bytes: bytes_or_zero(call.sent), mode: communication_mode(call), completion })
        }),
        FunctionRole::Receive => receive_action(call, completion).map_or(ReplayAction::Local, ReplayAction::Receive),
        FunctionRole::MatchedReceive => match envelope(call.peer, call.object, call.tag) {
            Some(from) => ReplayAction::Receive(ReceiveAction { from: Some(from), any_source: false, completion }),
            None if completion == CallCompletion::Nonblocking => {
                ReplayAction::Receive(ReceiveAction { from: None, any_source: false, completion })
            }
            None => ReplayAction::Local,
        },
        FunctionRole::SendReceive => send_receive_action(call, completion),
        FunctionRole::Probe | FunctionRole::MatchedProbe => {
            envelope(call.peer, call.object, call.tag).map_or(ReplayAction::Local, |message| ReplayAction::Probe { message })
        }
        FunctionRole::CompleteOne | FunctionRole::CompleteAll | FunctionRole::CompleteAny | FunctionRole::CompleteSome => {
            ReplayAction::Complete(listed_requests(call))
        }
        FunctionRole::Start | FunctionRole::StartAll => ReplayAction::Start(listed_requests(call)),
        FunctionRole::RequestFree => ReplayAction::FreeRequests(listed_requests(call)),
        FunctionRole::Put | FunctionRole::Get | FunctionRole::Exchange => rma_access(call, completion),
        FunctionRole::WindowSync if call.function.name() != "MPI_Win_fence" => window_sync(group, call),
        FunctionRole::Init => ReplayAction::Init,
        FunctionRole::Finalize => ReplayAction::Finalize,
        _ => collective_action(world, call, completion).map_or(ReplayAction::Local, ReplayAction::Collective),
    }
}

/// A call that failed or never returned: no known effect, but collectives still count.
fn failed_action(world: u32, call: &CallDescriptor) -> ReplayAction {
    match call.function.role() {
        FunctionRole::Init => ReplayAction::Init,
        FunctionRole::Finalize => ReplayAction::Finalize,
        _ if call.is_in_progress() => ReplayAction::Local,
        _ => collective_action(world, call, CallCompletion::Blocking).map_or(ReplayAction::Local, ReplayAction::Collective),
    }
}

fn call_completion(call: &CallDescriptor) -> CallCompletion {
    match call.function.definition().mode {
        _ if !call.makes_request() => CallCompletion::Blocking,
        BlockingMode::Persistent => CallCompletion::Persistent,
        _ => CallCompletion::Nonblocking,
    }
}

fn communication_mode(call: &CallDescriptor) -> SendMode {
    match call.function.name() {
        "MPI_Ssend" | "MPI_Issend" | "MPI_Ssend_init" => SendMode::Synchronous,
        "MPI_Bsend" | "MPI_Ibsend" | "MPI_Bsend_init" => SendMode::Buffered,
        "MPI_Rsend" | "MPI_Irsend" | "MPI_Rsend_init" => SendMode::Ready,
        _ => SendMode::Standard,
    }
}

/// The envelope; `None` if the peer is not a process of the recording.
fn envelope(peer: i32, communicator: u32, tag: i32) -> Option<PeerEnvelope> {
    let peer = u32::try_from(peer).ok()?;
    (tag != raw::ANY).then_some(PeerEnvelope { peer, communicator, tag })
}

fn destination(call: &CallDescriptor) -> Option<PeerEnvelope> {
    envelope(call.peer, call.object, call.tag)
}

/// A receive; `None` if nothing is received from a process of the recording.
fn receive_action(call: &CallDescriptor, completion: CallCompletion) -> Option<ReceiveAction> {
    let from = envelope(call.peer, call.object, call.tag);
    let open = call.peer == raw::ANY || call.tag == raw::ANY;
    let any_source = call.peer == raw::ANY || call.recv_tag == raw::ANY;
    (from.is_some() || (open && completion != CallCompletion::Blocking)).then_some(ReceiveAction { from, any_source, completion })
}

fn send_receive_action(call: &CallDescriptor, completion: CallCompletion) -> ReplayAction {
    let to = destination(call).map(|to| SendAction { to, bytes: bytes_or_zero(call.sent), mode: SendMode::Standard, completion });
    let from = envelope(call.source, call.object, call.recv_tag);
    let open = completion != CallCompletion::Blocking && (call.source == raw::ANY || call.recv_tag == raw::ANY);
    let receive = (from.is_some() || open).then_some(ReceiveAction { from, any_source: call.source == raw::ANY, completion });
    match (to, receive) {
        (Some(to), Some(receive)) => ReplayAction::SendReceive(to, receive),
        (Some(to), None) => ReplayAction::Send(to),
        (None, Some(receive)) => ReplayAction::Receive(receive),
        (None, None) => ReplayAction::Local,
    }
}

/// The requests that a call lists. Unknown ones were complete when they were created, so nothing waits for them.
fn listed_requests(call: &CallDescriptor) -> Vec<raw::RequestRef> {
    call.requests.iter().map(|listed| listed.request).filter(|request| request.is_known()).collect()
}

fn rma_access(call: &CallDescriptor, completion: CallCompletion) -> ReplayAction {
    match (call.window(), u32::try_from(call.peer)) {
        (Some(window), Ok(target)) => {
            let (put, get) = (bytes_or_zero(call.sent), bytes_or_zero(call.received));
            let (put, get) = if call.function.role() == FunctionRole::Put { (put.max(get), 0) } else { (put, get) };
            ReplayAction::RmaAccess { window, target, put, get, completion }
        }
        _ => ReplayAction::Local,
    }
}

fn window_sync(group: &dyn Fn(i32) -> Vec<u32>, call: &CallDescriptor) -> ReplayAction {
    let Some(window) = call.window() else { return ReplayAction::Local };
    let target = u32::try_from(call.peer).ok();
    let sync = match call.function.name() {
        "MPI_Win_post" if call.has_group_operand() => WindowSync::Post(group(call.value)),
        "MPI_Win_start" if call.has_group_operand() => WindowSync::Start(group(call.value)),
        "MPI_Win_complete" => WindowSync::Complete,
        "MPI_Win_wait" | "MPI_Win_test" => WindowSync::Wait,
        "MPI_Win_lock" => WindowSync::Lock { target, exclusive: call.value == raw::LOCK_EXCLUSIVE },
        "MPI_Win_lock_all" => WindowSync::Lock { target: None, exclusive: false },
        "MPI_Win_unlock" => WindowSync::Unlock { target },
        "MPI_Win_unlock_all" => WindowSync::Unlock { target: None },
        "MPI_Win_flush" | "MPI_Win_flush_local" => WindowSync::Flush { target },
        "MPI_Win_flush_all" | "MPI_Win_flush_local_all" => WindowSync::Flush { target: None },
        _ => return ReplayAction::Local,
    };
    ReplayAction::WindowSync { window, sync }
}

/// A collective, exactly where a [`RequestTracker`] sees one.
fn collective_action(world: u32, call: &CallDescriptor, completion: CallCompletion) -> Option<CollectiveAction> {
    let (group, op, root) = sintonia_recording::comm_event::collective_call(call, world)?;
    let root = if root == raw::ROOT { Some(CollectiveAction::SELF_ROOT) } else { u32::try_from(root).ok() };
    Some(CollectiveAction { group, op, root, sent: bytes_or_zero(call.sent), received: bytes_or_zero(call.received), completion })
}

/// Whether the match is only known when the request completes.
fn is_matched_later(call: &CallDescriptor) -> bool {
    let action = match call.function.role() {
        FunctionRole::Receive => receive_action(call, call_completion(call)).map(|receive| receive.from),
        FunctionRole::MatchedReceive => Some(envelope(call.peer, call.object, call.tag)),
        FunctionRole::SendReceive => match send_receive_action(call, call_completion(call)) {
            ReplayAction::SendReceive(_, receive) | ReplayAction::Receive(receive) => Some(receive.from),
            _ => None,
        },
        _ => None,
    };
    action.is_some_and(|from| from.is_none())
}

/// Looks ahead for the matches of wildcard receives.
struct WildcardLookahead<'a> {
    calls: ProcessCalls<'a>,
    tracker: RequestTracker,
    location: LocationId,
    /// Requests with unknown match.
    open: FxHashSet<RequestId>,
    outcomes: WildcardMatches,
}

/// Matches in posting order.
#[derive(Default)]
struct WildcardMatches {
    /// Receives without known match, by posting index.
    pending: FxHashMap<RequestId, u64>,
    known: VecDeque<Option<WildcardMatch>>,
    /// Number of matches returned.
    base: u64,
}

impl WildcardMatches {
    fn add_receive(&mut self, request: RequestId) {
        self.pending.insert(request, self.base + self.known.len() as u64);
        self.known.push_back(None);
    }

    fn resolve(&mut self, request: RequestId, matched: WildcardMatch) {
        if let Some(index) = self.pending.remove(&request)
            && let Some(slot) = index.checked_sub(self.base).and_then(|index| self.known.get_mut(index as usize))
        {
            *slot = Some(matched);
        }
    }
}

impl<'a> WildcardLookahead<'a> {
    fn new(recording: &'a Recording, location: LocationId) -> Result<WildcardLookahead<'a>, Error> {
        let tracker = RequestTracker::for_world(recording.world(location.rank));
        let calls = recording.calls(location.rank)?;
        Ok(WildcardLookahead { calls, tracker, location, open: FxHashSet::default(), outcomes: WildcardMatches::default() })
    }

    fn next_match(&mut self) -> WildcardMatch {
        while self.outcomes.known.front().is_none_or(Option::is_none) {
            if !self.read_call() {
                break;
            }
        }
        self.outcomes.base += u64::from(!self.outcomes.known.is_empty());
        self.outcomes.known.pop_front().flatten().unwrap_or(WildcardMatch::Never)
    }

    /// Reads one call; `false` at the end.
    fn read_call(&mut self) -> bool {
        let Some(call) = self.calls.next_call() else { return false };
        let own = call.thread == self.location.thread;
        if let Some(request) = call.request {
            let open = is_matched_later(call.descriptor);
            if open {
                self.open.insert(request)
            } else {
                self.open.remove(&request)
            };
        }
        for event in self.tracker.track(&call) {
            match *event {
                CommEvent::ReceivePost { request } if own && self.open.contains(&request) => self.outcomes.add_receive(request),
                CommEvent::Receive { message, request: Some(request), .. } => {
                    let got = envelope(message.peer, message.communicator, message.tag);
                    self.outcomes.resolve(request, got.map_or(WildcardMatch::Never, WildcardMatch::Received));
                }
                CommEvent::ReceiveCancel { request } => self.outcomes.resolve(request, WildcardMatch::Never),
                _ => {}
            }
        }
        true
    }
}
