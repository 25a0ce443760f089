//! What-if replays that estimate the saving of a change.
//!
//! A shorter wait does not shorten the run if something else takes as long in parallel. Therefore the recording is replayed on its own
//! network, with recorded times except for the change. Without a change the replay ends when the run did.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use sintonia_mpi::{BlockingMode, FunctionRole};
use sintonia_program::history::{CallId, CausalVisitor, CollectiveDependencies, History, Location, SentMessage, causal_walk};
use sintonia_program::process_group::ProcessGroup;
use sintonia_recording::Recording;
use sintonia_recording::call_table::CallDescriptor;
use sintonia_replay::Error;
pub use sintonia_replay::call_overrides::CallOverride;
use sintonia_replay::call_overrides::{CallOverrides, RankRelocation};
pub use sintonia_replay::changes::DurationChange;
use sintonia_replay::changes::{MovedWork, ReplayChanges};
use sintonia_replay::core_waits::CoreWaitRemoval;
use sintonia_replay::engine::{self, RecordedNetwork, ReplayCosts, ReplayResult};
use sintonia_replay::schedule::LocationId;

use super::site_groups::SiteGroups;
use crate::call_durations::CallDurations;
use crate::mpi_bounds;
use crate::segment::Segment;
use crate::wait_states::WaitInstance;

/// Maximum number of later messages considered for receiving out of order.
const MAX_LOOKAHEAD: usize = 100;

/// How much longer than its target a computation may take, cautiously: the imbalance that Zoltan tolerates by default (`IMBALANCE_TOL`).
const TOLERANCE: f64 = 1.1;

/// Shorter waits of sends for their receives are ignored.
const MIN_WAIT_NS: i64 = 1000;

/// A change to the run. Segments and sites are representatives of [`SiteGroups`].
#[derive(Clone, Debug, PartialEq)]
pub enum WhatIfChange {
    /// Different compute times of segments on these ranks.
    Computation(BTreeMap<(Segment, u32), DurationChange>),
    /// Work moved between ranks.
    Moved(Arc<MovedWork>),
    /// Calls at these sites are executed differently.
    Calls(Vec<u32>, CallOverride),
    /// Calls at these sites take this multiple of their time after their dependencies.
    CallTimes(Vec<u32>, f64),
    /// The messages received at these sites come in parts, each sent when its part of this many seconds of computation is done.
    MessagesInParts(Vec<u32>, f64),
    /// Ranks moved to these hosts; messages that become intra-host take this multiple of their time.
    Placement(Vec<u32>, f64),
}

/// How to replay what a recording does not tell about a changed run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReplayAssumptions {
    /// What makes the changed run longest.
    Cautious,
    /// What is most likely.
    Likely,
    /// What makes the changed run shortest.
    Favourable,
    /// What is most likely, and every rank has a core, other than recorded.
    CoreForEachRank,
}

impl ReplayAssumptions {
    /// Those about changes, from the longest to the shortest run.
    pub(super) const OF_CHANGES: [ReplayAssumptions; 3] =
        [ReplayAssumptions::Cautious, ReplayAssumptions::Likely, ReplayAssumptions::Favourable];

    /// Number of parts in which a computation is sent.
    fn parts(self) -> f64 {
        match self {
            ReplayAssumptions::Cautious => 4.0,
            ReplayAssumptions::Likely | ReplayAssumptions::CoreForEachRank => 8.0,
            ReplayAssumptions::Favourable => f64::INFINITY,
        }
    }

    /// What another byte takes in a message that others are merged with, given what the messages of the run show.
    fn s_per_byte(self, recorded: f64) -> f64 {
        if self == ReplayAssumptions::Cautious { f64::INFINITY } else { recorded }
    }

    /// What becomes of a computation, given what the change aims at.
    fn computation(self, change: DurationChange) -> DurationChange {
        match (self, change) {
            (ReplayAssumptions::Cautious, DurationChange::Scale(factor)) if factor < 1.0 => {
                DurationChange::Scale((factor * TOLERANCE).min(1.0))
            }
            (ReplayAssumptions::Cautious, DurationChange::Scale(factor)) => DurationChange::Scale(factor * TOLERANCE),
            (ReplayAssumptions::Cautious, DurationChange::Fixed(seconds)) => DurationChange::Fixed(seconds * TOLERANCE),
            _ => change,
        }
    }
}

/// A recording prepared for what-if replays.
pub struct WhatIfReplay<'a> {
    recording: &'a Recording,
    sites: &'a SiteGroups,
    /// The host of each rank.
    hosts: &'a [u32],
    /// Observations about individual calls that hold in every replay.
    observed: CallOverrides,
    dependencies: Arc<CollectiveDependencies>,
    /// Seconds per byte of the network, as its messages show them.
    s_per_byte: OnceLock<f64>,
    /// Time of each call after its dependencies were satisfied.
    own_ns_by_location: Vec<CallDurations>,
    /// Nanoseconds from the first exit from MPI_Init to the last entry into MPI_Finalize.
    recorded_ns: i64,
}

impl<'a> WhatIfReplay<'a> {
    /// Prepares a recording, given its history and waits, its call sites, the host of each rank, and the own times of its calls.
    pub fn new(
        recording: &'a Recording,
        history: &History,
        waits: &[Vec<WaitInstance>],
        (sites, hosts): (&'a SiteGroups, &'a [u32]),
        own_times: Vec<CallDurations>,
        comm: &dyn ProcessGroup,
    ) -> WhatIfReplay<'a> {
        WhatIfReplay {
            recording,
            sites,
            hosts,
            observed: observe_calls(history, waits, comm),
            dependencies: Arc::new(CollectiveDependencies::gather(recording, history, comm)),
            s_per_byte: OnceLock::new(),
            own_ns_by_location: own_times,
            recorded_ns: recorded_ns(history, comm),
        }
    }

    /// Time of a call after its dependencies were satisfied.
    pub fn own_ns(&self, location: usize, row: usize) -> i64 {
        self.own_ns_by_location[location].get(row).unwrap_or(0)
    }

    /// Recorded nanoseconds from the first exit from MPI_Init to the last entry into MPI_Finalize.
    pub fn recorded_ns(&self) -> i64 {
        self.recorded_ns
    }

    /// The same with these changes. Every process computes it independently, with the same result.
    pub fn changed_ns(&self, changes: &[WhatIfChange], assumptions: ReplayAssumptions) -> Result<i64, Error> {
        let mut replayed = self.to_changes(changes, assumptions);
        let merges = |change: &WhatIfChange| matches!(change, WhatIfChange::Calls(_, CallOverride::Merged));
        if let Some(overrides) = replayed.call_overrides.as_mut().filter(|_| changes.iter().any(merges)) {
            overrides.s_per_byte = assumptions.s_per_byte(self.recorded_s_per_byte()?);
        }
        Ok((self.replay(&replayed)?.replayed_s * 1e9) as i64)
    }

    fn replay(&self, changes: &ReplayChanges) -> Result<ReplayResult, Error> {
        engine::replay(self.recording, &ReplayCosts::Recorded(RecordedNetwork::default()), changes, None)
    }

    /// Seconds per byte of the network; 0 if its messages do not show them.
    fn recorded_s_per_byte(&self) -> Result<f64, Error> {
        if let Some(known) = self.s_per_byte.get() {
            return Ok(*known);
        }
        let found = self.replay(&self.to_changes(&[], ReplayAssumptions::Likely))?.network.s_per_byte;
        Ok(*self.s_per_byte.get_or_init(|| found))
    }

    fn to_changes(&self, all: &[WhatIfChange], assumptions: ReplayAssumptions) -> ReplayChanges {
        let mut changes = ReplayChanges {
            force_progress: true,
            core_waits: match assumptions {
                ReplayAssumptions::CoreForEachRank => CoreWaitRemoval::OwnAndPartners,
                ReplayAssumptions::Cautious | ReplayAssumptions::Likely | ReplayAssumptions::Favourable => CoreWaitRemoval::Nothing,
            },
            collective_dependencies: Some(Arc::clone(&self.dependencies)),
            ..ReplayChanges::default()
        };
        let mut overrides = self.observed.clone();
        overrides.parts = assumptions.parts();
        for change in all {
            match change {
                WhatIfChange::Computation(segments) => {
                    for ((segment, rank), takes) in segments {
                        let (from, to) = (self.sites.members(segment.from), self.sites.members(segment.to));
                        let pairs = from.iter().flat_map(|from| to.iter().map(|to| (*from, *to)));
                        pairs.for_each(|pair| changes.loads.change(pair, *rank, assumptions.computation(*takes)));
                    }
                }
                WhatIfChange::Moved(work) => changes.moved_work.push(work.clone()),
                WhatIfChange::Calls(sites, call_override) => {
                    sites.iter().flat_map(|site| self.sites.members(*site)).for_each(|site| overrides.add(*site, *call_override));
                }
                WhatIfChange::CallTimes(sites, factor) => {
                    sites.iter().flat_map(|site| self.sites.members(*site)).for_each(|site| overrides.add_factor(*site, *factor));
                }
                WhatIfChange::MessagesInParts(sites, seconds) => {
                    let earlier_s = seconds * (1.0 - 1.0 / assumptions.parts());
                    sites.iter().flat_map(|site| self.sites.members(*site)).for_each(|site| overrides.add_earlier(*site, earlier_s));
                }
                WhatIfChange::Placement(hosts, times) => {
                    overrides.relocation =
                        Some(RankRelocation { old_hosts: self.hosts.to_vec(), new_hosts: hosts.clone(), factor: *times });
                }
            }
        }
        changes.call_overrides = Some(overrides);
        changes
    }
}

/// The recorded time from the first exit from MPI_Init, or else from the first call, to the end.
fn recorded_ns(history: &History, comm: &dyn ProcessGroup) -> i64 {
    let started = |location: &Location| mpi_bounds::init_row(location).map(|row| location.calls.leave[row]);
    let first = |location: &Location| location.calls.enter.first().copied();
    let ended = |location: &Location| {
        mpi_bounds::finalize_row(location).map_or_else(|| location.calls.leave.last().copied(), |row| Some(location.calls.enter[row]))
    };
    let begin = history.locations.iter().filter_map(started).min().unwrap_or(i64::MAX);
    let end = history.locations.iter().filter_map(ended).max().unwrap_or(i64::MIN);
    let first = history.locations.iter().filter_map(first).min().unwrap_or(i64::MAX);
    let all: Vec<[i64; 3]> = comm.all_to_all(vec![vec![[begin, first, end]]; comm.size()]).into_iter().flatten().collect();
    let earliest = |index: usize| all.iter().map(|times| times[index]).min().filter(|time| *time < i64::MAX);
    // A part of a run, and one that was recorded from later on, has no MPI_Init.
    let begin = earliest(0).or_else(|| earliest(1)).unwrap_or(0);
    let end = all.iter().map(|[.., end]| *end).max();
    end.unwrap_or(i64::MIN).saturating_sub(begin).max(0)
}

/// A call and a related call, exchanged between processes.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct ObservedCall {
    rank: u32,
    thread: u32,
    call: u32,
    other: u32,
}

/// Finds calls of a location, each with a related call.
type CallFinder = fn(&Location, &[WaitInstance]) -> Vec<(u32, u32)>;

/// Collects the observations about calls of all ranks; every process gets all of them.
fn observe_calls(history: &History, waits: &[Vec<WaitInstance>], comm: &dyn ProcessGroup) -> CallOverrides {
    let gather = |find: CallFinder| {
        let locations = history.locations.par_iter().zip(waits).flat_map_iter(|(location, waits)| {
            let found = find(location, waits).into_iter();
            found.map(|(call, other)| ObservedCall { rank: location.rank, thread: location.calls.thread.into(), call, other })
        });
        let mine: Vec<ObservedCall> = locations.collect();
        let mut all: FxHashMap<LocationId, Vec<(u64, u64)>> = FxHashMap::default();
        for observed in comm.all_to_all(vec![mine; comm.size()]).into_iter().flatten() {
            let location = LocationId { rank: observed.rank, thread: observed.thread as u16 };
            all.entry(location).or_default().push((observed.call.into(), observed.other.into()));
        }
        all
    };
    let waiting = gather(waiting_sends).into_iter();
    let mut observed = CallOverrides::default();
    let sends = |(location, calls): (LocationId, Vec<(u64, u64)>)| (location, calls.into_iter().map(|(call, _)| call).collect());
    observed.waiting_sends = Arc::new(waiting.map(sends).collect());
    observed.deferrable_receives = Arc::new(gather(receivable_earlier));
    observed
}

/// Sends that waited for their receives, each with the call that completed it.
fn waiting_sends(location: &Location, _: &[WaitInstance]) -> Vec<(u32, u32)> {
    let waited = location.sent.iter().filter(|sent| sent.synchronous && sent.receiver != CallId::NONE);
    waited.map(|sent| (sent.row, sent.completion)).collect()
}

/// Receives that waited although a later message was available, and those after them, each with the later receive whose place its message
/// has in the order of arrival. The location must not send or join a collective in between: that could depend on the awaited message.
fn receivable_earlier(location: &Location, waits: &[WaitInstance]) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    let mut ordered_until = 0;
    for wait in waits.iter().filter(|wait| wait.pattern.kind == "late_sender_wrong_order") {
        if wait.row < ordered_until {
            continue;
        }
        let sends = location.sent.get(location.sent.partition_point(|sent| sent.row <= wait.row)).map_or(u32::MAX, |sent| sent.row);
        let joins = location
            .collectives
            .get(location.collectives.partition_point(|collective| collective.row <= wait.row))
            .map_or(u32::MAX, |collective| collective.row);
        let first = location.received.partition_point(|received| received.row < wait.row);
        let ahead = location.received[first..].iter().take(MAX_LOOKAHEAD).take_while(|received| received.row < sends.min(joins));
        let mut by_row: BTreeMap<u32, i64> = BTreeMap::new();
        for received in ahead.filter(|received| received.consumed && received.sender != CallId::NONE) {
            by_row.entry(received.row).and_modify(|sent| *sent = received.send_enter.max(*sent)).or_insert(received.send_enter);
        }
        let rows: Vec<u32> = by_row.keys().copied().collect();
        let mut arrivals: Vec<(i64, u32)> = by_row.into_iter().map(|(row, sent)| (sent, row)).collect();
        arrivals.sort_unstable();
        let deferred = arrivals.iter().zip(&rows).filter(|((_, row), place)| *place > row).map(|((_, row), place)| (*row, *place));
        let from = found.len();
        found.extend(deferred);
        found[from..].sort_unstable();
        ordered_until = rows.last().map_or(ordered_until, |last| last + 1);
    }
    found
}

/// The time of each call after its dependencies were satisfied, by location; none if it turned out not to depend on them.
pub fn own_times(history: &History, comm: &dyn ProcessGroup) -> Vec<CallDurations> {
    let own = history.locations.iter().map(|location| CallDurations::with_capacity(location.len())).collect();
    let mut measure = OwnTimeVisitor { history, own };
    causal_walk(history, comm, &mut measure);
    measure.own
}

/// Measures the time of each recorded call after its dependencies were satisfied.
struct OwnTimeVisitor<'a> {
    history: &'a History,
    own: Vec<CallDurations>,
}

impl CausalVisitor for OwnTimeVisitor<'_> {
    fn enter(&mut self, location: usize, row: usize) -> i64 {
        self.history.locations[location].calls.enter[row]
    }

    fn leave(&mut self, location: usize, row: usize, needed: Option<i64>) {
        let calls = &self.history.locations[location].calls;
        let from = calls.enter[row].max(needed.unwrap_or(i64::MIN));
        self.own[location].push((calls.leave[row] - from).max(0));
    }
}

/// Marks sends that waited for their receives as synchronous, so that they wait again in a replay.
pub fn mark_waiting_sends(history: &mut History, waits: &[Vec<WaitInstance>]) {
    history.locations.par_iter_mut().zip(waits).for_each(|(location, waits)| {
        let late = waits.iter().filter(|wait| wait.pattern.kind == "late_receiver" && wait.ns >= MIN_WAIT_NS);
        let late: Vec<u32> = late.map(|wait| wait.row).collect();
        let waited = |sent: &SentMessage| sent.receiver != CallId::NONE && late.binary_search(&sent.completion).is_ok();
        location.sent.iter_mut().filter(|sent| waited(sent)).for_each(|sent| sent.synchronous = true);
    });
}

/// The descriptor of a call.
pub fn call_descriptor(location: &Location, row: usize) -> &CallDescriptor {
    &location.calls.descriptors[location.calls.descriptor_ids[row] as usize]
}

/// Whether a call blocks until its message is sent or received.
pub fn is_blocking_transfer(descriptor: &CallDescriptor) -> bool {
    let function = descriptor.function.definition();
    function.mode == BlockingMode::Blocking
        && matches!(function.role, FunctionRole::Send | FunctionRole::Receive | FunctionRole::SendReceive)
}
