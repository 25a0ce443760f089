//! Wait states: times in which a call is blocked because another rank is late.
//!
//! Each pattern has one file with its description and its formula. The formulas follow Scalasca's (deviations are noted in comments); each
//! pattern has a small MPI program in the end-to-end tests.
//!
//! A wait has a cause: the late call of another rank. [`crate::delay`] finds the root cause.

mod barrier_completion;
mod early_reduce;
mod early_scan;
mod early_wait;
mod init_completion;
mod late_broadcast;
mod late_complete;
mod late_post;
mod late_receiver;
mod late_sender;
mod lock_competition;
mod no_progress;
mod nxn_completion;
mod wait_at_barrier;
mod wait_at_collective_io;
mod wait_at_create;
mod wait_at_fence;
mod wait_at_finalize;
mod wait_at_free;
mod wait_at_neighbour_collective;
mod wait_at_nonblocking_collective;
mod wait_at_nxn;
mod wait_at_partitioned;
mod wrong_order;

use rayon::prelude::*;
use sintonia_mpi::{BlockingMode, FunctionRole, MpiFunction};
use sintonia_program::history::{
    AccessEpoch, CallId, CollectiveCall, CollectiveInstance, ExposureEpoch, History, Location, LockEpoch, NO_ROW, ReceivedMessage,
    SentMessage, SubsetDependency,
};
use sintonia_recording::raw::part;

/// A wait state pattern.
pub struct WaitPattern {
    /// Identifier.
    pub kind: &'static str,
    /// Name.
    pub name: &'static str,
    /// Explanation and remedy, in a few sentences.
    pub help: &'static str,
    /// How it is detected.
    find: PatternMatcher,
}

/// The input of a pattern.
enum PatternMatcher {
    /// A call that completed receives, all at once.
    Receives(fn(&ReceiveCompletion) -> Option<DetectedWait>),
    /// A send, at the call that completed it.
    Send(fn(&SendCompletion) -> Option<DetectedWait>),
    /// A collective, at the call that completed it.
    Collective(fn(&CollectiveCompletion) -> Option<DetectedWait>),
    /// An access epoch, at the call in progress at the time of the matching post.
    Access(fn(&AccessEpochCall) -> Option<DetectedWait>),
    /// An exposure epoch, at the call that waited for its end.
    Exposure(fn(&ExposureEpochWait) -> Option<DetectedWait>),
    /// A lock, at the call in progress at the time of the previous release.
    Lock(fn(&LockEpochCall) -> Option<DetectedWait>),
    /// Derived from the other waits of a location.
    PostProcess,
}

/// All wait state patterns.
pub static WAIT_PATTERNS: &[WaitPattern] = &[
    late_sender::PATTERN,
    wrong_order::PATTERN,
    late_receiver::PATTERN,
    no_progress::PATTERN,
    wait_at_partitioned::PATTERN,
    wait_at_barrier::PATTERN,
    barrier_completion::PATTERN,
    wait_at_nxn::PATTERN,
    nxn_completion::PATTERN,
    late_broadcast::PATTERN,
    early_reduce::PATTERN,
    early_scan::PATTERN,
    wait_at_nonblocking_collective::PATTERN,
    wait_at_neighbour_collective::PATTERN,
    wait_at_create::PATTERN,
    wait_at_free::PATTERN,
    wait_at_fence::PATTERN,
    late_post::PATTERN,
    early_wait::PATTERN,
    late_complete::PATTERN,
    lock_competition::PATTERN,
    wait_at_collective_io::PATTERN,
    init_completion::PATTERN,
    wait_at_finalize::PATTERN,
];

/// A detected wait: its length and the late call.
struct DetectedWait {
    ns: i64,
    cause: CallId,
}

impl DetectedWait {
    /// A wait for a call, if its length is positive.
    fn new(ns: i64, cause: CallId) -> Option<DetectedWait> {
        (ns > 0).then_some(DetectedWait { ns, cause })
    }
}

/// A wait of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitInstance {
    /// Its pattern.
    pub pattern: &'static WaitPattern,
    /// Row of the waiting call in its location.
    pub row: u32,
    /// Nanoseconds.
    pub ns: i64,
    /// The late call; [`CallId::NONE`] if there is no specific one.
    pub cause: CallId,
}

impl PartialEq for WaitPattern {
    fn eq(&self, other: &WaitPattern) -> bool {
        self.kind == other.kind
    }
}

impl Eq for WaitPattern {}

impl std::fmt::Debug for WaitPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(self.kind)
    }
}

/// A call under analysis.
#[derive(Clone, Copy)]
struct CallView<'a> {
    location: &'a Location,
    row: u32,
}

impl CallView<'_> {
    fn enter(&self) -> i64 {
        self.location.calls.enter[self.row as usize]
    }

    fn leave(&self) -> i64 {
        self.location.calls.leave[self.row as usize]
    }

    fn descriptor(&self) -> &sintonia_recording::call_table::CallDescriptor {
        &self.location.calls.descriptors[self.location.calls.descriptor_ids[self.row as usize] as usize]
    }

    /// Wait time of the call until a dependency was entered.
    fn wait_until(&self, needed: i64) -> i64 {
        needed.min(self.leave()) - self.enter()
    }

    /// Whether the call involves the window of a target: it synchronises with all or with that target, or accesses it.
    fn accesses_window(&self, window: u32, target: u32) -> bool {
        let descriptor = self.descriptor();
        let there = u32::try_from(descriptor.peer).is_ok_and(|peer| peer == target);
        descriptor.object == window
            && match descriptor.function.role() {
                FunctionRole::WindowSync => there || descriptor.peer < 0,
                FunctionRole::Put | FunctionRole::Get | FunctionRole::Exchange => there,
                _ => false,
            }
    }

    /// Whether the call blocks until it is complete; a test does not.
    fn is_blocking(&self) -> bool {
        let function = self.descriptor().function.definition();
        function.mode == BlockingMode::Blocking && !is_polling(function) && self.descriptor().parts & part::UNFINISHED == 0
    }
}

/// Whether a function polls without waiting.
pub(crate) fn is_polling(function: &MpiFunction) -> bool {
    let name = function.name;
    name.starts_with("MPI_Test")
        || name.starts_with("MPI_Request_get_status")
        || matches!(name, "MPI_Iprobe" | "MPI_Improbe" | "MPI_Parrived" | "MPI_Win_test")
}

/// A call that completed receives.
struct ReceiveCompletion<'a> {
    call: CallView<'a>,
    received: &'a [ReceivedMessage],
}

impl ReceiveCompletion<'_> {
    /// The message that was sent last.
    fn last(&self) -> Option<&ReceivedMessage> {
        self.received
            .iter()
            .filter(|received| received.sender != CallId::NONE)
            .max_by_key(|received| (received.send_enter, received.sender))
    }
}

/// A call that completed a send.
struct SendCompletion<'a> {
    call: CallView<'a>,
    sent: &'a SentMessage,
    /// Whether the call also waited for a message.
    receives_late: bool,
    /// Whether the call also received a message.
    receives: bool,
}

/// A call that completed a collective.
struct CollectiveCompletion<'a> {
    call: CallView<'a>,
    instance: &'a CollectiveInstance,
    /// Whether the same call started it.
    blocking: bool,
    is_root: bool,
    dependency: Option<SubsetDependency>,
}

impl CollectiveCompletion<'_> {
    /// The wait for the last rank to enter.
    fn wait_for_last(&self) -> Option<DetectedWait> {
        self.wait_for(self.instance.last)
    }

    /// The wait for another member. A rank that left before the other entered did not depend on it.
    fn wait_for(&self, (other, enter): (CallId, i64)) -> Option<DetectedWait> {
        let waited = other != CallId::NONE && enter <= self.call.leave();
        DetectedWait::new(if waited { self.call.wait_until(enter) } else { 0 }, other)
    }

    /// The time after the last entry and the first exit.
    fn completion(&self) -> Option<DetectedWait> {
        let from = self.instance.first_leave.max(self.instance.last.1).max(self.call.enter());
        DetectedWait::new(self.call.leave() - from, CallId::NONE)
    }
}

/// A call in an access epoch.
struct AccessEpochCall<'a> {
    call: CallView<'a>,
    access: &'a AccessEpoch,
}

/// A call that waited for the end of an exposure epoch.
struct ExposureEpochWait<'a> {
    call: CallView<'a>,
    /// The access epoch that ended last.
    last: &'a ExposureEpoch,
}

/// A call that may have waited for a lock.
struct LockEpochCall<'a> {
    call: CallView<'a>,
    lock: &'a LockEpoch,
}

/// Finds the waits of every location, in call order.
pub fn find_waits(history: &History) -> Vec<Vec<WaitInstance>> {
    history.locations.par_iter().map(|location| find_in_location(history, location)).collect()
}

fn find_in_location(history: &History, location: &Location) -> Vec<WaitInstance> {
    let mut waits = Vec::new();
    for received in location.received.chunk_by(|a, b| a.row == b.row) {
        let call = CallView { location, row: received[0].row };
        if call.is_blocking() {
            let receive = ReceiveCompletion { call, received };
            add_matches(&mut waits, call.row, |find| if let PatternMatcher::Receives(find) = find { find(&receive) } else { None });
        }
    }
    let late: Vec<u32> = waits.iter().map(|wait| wait.row).collect();
    for sent in location.sent.iter().filter(|sent| sent.completion != NO_ROW && sent.receiver != CallId::NONE) {
        let call = CallView { location, row: sent.completion };
        if call.is_blocking() {
            let receives = location.received.binary_search_by_key(&sent.completion, |received| received.row).is_ok();
            let send = SendCompletion { call, sent, receives_late: late.binary_search(&sent.completion).is_ok(), receives };
            add_matches(&mut waits, call.row, |find| if let PatternMatcher::Send(find) = find { find(&send) } else { None });
        }
    }
    for collective in location.collectives.iter().filter(|collective| collective.completion != NO_ROW) {
        let completion = collective_completion(history, location, collective);
        if completion.call.is_blocking() {
            add_matches(&mut waits, collective.completion, |find| {
                if let PatternMatcher::Collective(find) = find { find(&completion) } else { None }
            });
        }
    }
    find_in_epochs(location, &mut waits);
    waits.sort_by_key(|wait| wait.row);
    wrong_order::split_wrong_order(location, deduplicate(&waits))
}

/// Finds the waits of one-sided communication.
fn find_in_epochs(location: &Location, waits: &mut Vec<WaitInstance>) {
    for access in location.accesses.iter().filter(|access| access.complete != NO_ROW && access.post != CallId::NONE) {
        let epoch = EpochCalls { location, first: access.start, last: access.complete, target: access.target };
        for call in epoch.overlapping(access.post_enter, access.post_enter) {
            let access_call = AccessEpochCall { call, access };
            add_matches(waits, call.row, |find| if let PatternMatcher::Access(find) = find { find(&access_call) } else { None });
        }
    }
    for same in location.exposures.chunk_by(|a, b| a.wait == b.wait).filter(|same| same[0].wait != NO_ROW) {
        let ended = same.iter().filter(|exposure| exposure.complete != CallId::NONE);
        let call = CallView { location, row: same[0].wait };
        if let Some(last) = ended.max_by_key(|exposure| (exposure.complete_enter, exposure.complete)).filter(|_| call.is_blocking()) {
            let ends = ExposureEpochWait { call, last };
            add_matches(waits, call.row, |find| if let PatternMatcher::Exposure(find) = find { find(&ends) } else { None });
        }
    }
    for lock in location.locks.iter().filter(|lock| lock.unlock != NO_ROW && lock.previous != CallId::NONE) {
        let epoch = EpochCalls { location, first: lock.lock, last: lock.unlock, target: lock.target };
        let (enter, leave) = lock.previous_span;
        // Of the calls in progress during the release, the one that waited longest is the one that waited for the lock.
        if let Some(call) = epoch.overlapping(enter, leave).max_by_key(|call| (call.wait_until(leave), call.row)) {
            let lock_call = LockEpochCall { call, lock };
            add_matches(waits, call.row, |find| if let PatternMatcher::Lock(find) = find { find(&lock_call) } else { None });
        }
    }
}

/// The calls of a location in an RMA epoch with one target.
struct EpochCalls<'a> {
    location: &'a Location,
    first: u32,
    last: u32,
    target: u32,
}

impl<'a> EpochCalls<'a> {
    /// The calls of the epoch that overlap a time interval.
    fn overlapping(&self, left_after: i64, entered_before: i64) -> impl Iterator<Item = CallView<'a>> {
        let (first, last) = (self.first as usize, self.last as usize + 1);
        let (enter, leave) = (&self.location.calls.enter[first..last], &self.location.calls.leave[first..last]);
        let from = leave.partition_point(|leave| *leave < left_after);
        let to = enter.partition_point(|enter| *enter < entered_before).max(from);
        let call = |row: usize| CallView { location: self.location, row: row as u32 };
        let window = call(first).descriptor().object;
        (first + from..first + to).map(call).filter(move |call| call.is_blocking() && call.accesses_window(window, self.target))
    }
}

fn collective_completion<'a>(history: &'a History, location: &'a Location, collective: &CollectiveCall) -> CollectiveCompletion<'a> {
    let instance = &history.collectives[collective.instance as usize];
    let is_root = instance.root.0 == location.call_id(collective.row);
    CollectiveCompletion {
        call: CallView { location, row: collective.completion },
        instance,
        blocking: collective.row == collective.completion,
        is_root,
        dependency: location.dependency(collective),
    }
}

fn add_matches(waits: &mut Vec<WaitInstance>, row: u32, look: impl Fn(&PatternMatcher) -> Option<DetectedWait>) {
    for pattern in WAIT_PATTERNS {
        if let Some(DetectedWait { ns, cause }) = look(&pattern.find) {
            waits.push(WaitInstance { pattern, row, ns, cause });
        }
    }
}

/// A call waits once, however many operations it completes: of several waits of one pattern only the longest counts. Waits with a cause all
/// begin at the entry of the call, so each counts only what exceeds the previous ones.
fn deduplicate(waits: &[WaitInstance]) -> Vec<WaitInstance> {
    let mut kept: Vec<WaitInstance> = Vec::with_capacity(waits.len());
    for same_call in waits.chunk_by(|a, b| a.row == b.row) {
        let first = kept.len();
        for wait in same_call {
            match kept[first..].iter_mut().find(|other| other.pattern == wait.pattern) {
                Some(other) if other.ns < wait.ns => *other = *wait,
                Some(_) => {}
                None => kept.push(*wait),
            }
        }
        let mut counted = 0;
        for wait in kept[first..].iter_mut().filter(|wait| wait.cause != CallId::NONE) {
            (wait.ns, counted) = (wait.ns - counted, counted.max(wait.ns));
        }
    }
    kept.retain(|wait| wait.ns > 0);
    kept
}
