//! The results as shown in reports and JSON: source locations instead of ids, seconds instead of nanoseconds.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;
use sintonia_recording::Recording;

use crate::SourceLocation;
use crate::core_time::CoreFindings;
use crate::findings::{RunFindings, SiteWaits};
use crate::seconds::seconds;
use crate::segment::Segment;

/// Waits of one pattern at one call site.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WaitState {
    /// Identifier of the pattern.
    pub kind: &'static str,
    /// Name of the pattern.
    pub name: &'static str,
    /// The waiting MPI function.
    pub operation: &'static str,
    /// Where it was called.
    #[serde(flatten)]
    pub source: SourceLocation,
    /// Wait time in seconds, summed over all ranks.
    pub seconds: f64,
    /// Number of waits.
    pub waits: u64,
    /// The longest, in seconds.
    pub longest_s: f64,
    /// The part in which the awaited threads were ready to run and had no core, in seconds.
    pub no_core_s: f64,
    /// The ranks that waited.
    pub ranks: Vec<u32>,
    /// The ranks that were waited for, longest first.
    pub waited_for: Vec<u32>,
}

impl WaitState {
    /// All wait states, longest first.
    pub fn from_findings(recording: &Recording, findings: &RunFindings) -> Vec<WaitState> {
        let mut states: BTreeMap<(&str, &str, SourceLocation), WaitState> = BTreeMap::new();
        for waits in &findings.waits {
            let state = WaitState::new(recording, waits);
            let key = (state.kind, state.operation, state.source.clone());
            match states.get_mut(&key) {
                Some(known) => known.add(state),
                None => drop(states.insert(key, state)),
            }
        }
        let mut states: Vec<WaitState> = states.into_values().collect();
        states.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        states
    }

    fn new(recording: &Recording, waits: &SiteWaits) -> WaitState {
        let mut causes: Vec<(u32, i64)> = waits.causes.iter().map(|(rank, ns)| (*rank, *ns)).collect();
        causes.sort_by_key(|(rank, ns)| (Reverse(*ns), *rank));
        WaitState {
            kind: waits.pattern.kind,
            name: waits.pattern.name,
            operation: waits.operation.name(),
            source: SourceLocation::of(recording, waits.site),
            seconds: seconds(waits.ns()),
            waits: waits.count(),
            longest_s: seconds(waits.longest_ns()),
            no_core_s: seconds(waits.machine_ns()),
            ranks: waits.significant_ranks(),
            waited_for: causes.into_iter().map(|(rank, _)| rank).collect(),
        }
    }

    /// Several addresses can belong to one source line.
    fn add(&mut self, other: WaitState) {
        self.seconds += other.seconds;
        self.waits += other.waits;
        self.longest_s = self.longest_s.max(other.longest_s);
        self.no_core_s += other.no_core_s;
        self.ranks.extend(other.ranks);
        self.ranks.sort_unstable();
        self.ranks.dedup();
        let new: Vec<u32> = other.waited_for.into_iter().filter(|rank| !self.waited_for.contains(rank)).collect();
        self.waited_for.extend(new);
    }
}

/// Computation in a segment that made other ranks wait.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RootCause {
    /// The call before the segment.
    pub from: SourceLocation,
    /// The call after it.
    pub to: SourceLocation,
    /// Delay costs in seconds.
    pub seconds: f64,
    /// The indirect (propagated) part of them.
    pub passed_on_s: f64,
    /// The delayed ranks, largest cost first.
    pub ranks: Vec<u32>,
}

/// Delay costs of a segment over all ranks.
#[derive(Default)]
struct DelaySum {
    ns: i64,
    indirect_ns: i64,
    ranks: BTreeMap<u32, i64>,
}

impl RootCause {
    /// All root causes, largest cost first.
    pub fn from_findings(recording: &Recording, findings: &RunFindings) -> Vec<RootCause> {
        let mut sums: BTreeMap<(SourceLocation, SourceLocation), DelaySum> = BTreeMap::new();
        for ((segment, rank), cost) in &findings.delay_costs {
            let all = cost.computation_ns();
            if all == 0 && cost.no_core_ns() > 0 {
                continue;
            }
            let sum = sums.entry(segment_ends(recording, *segment)).or_default();
            sum.ns += all;
            sum.indirect_ns += cost.indirect_ns - cost.no_core_indirect_ns;
            *sum.ranks.entry(*rank).or_default() += all;
        }
        let cause = |((from, to), sum): ((SourceLocation, SourceLocation), DelaySum)| {
            let mut ranks: Vec<(u32, i64)> = sum.ranks.into_iter().collect();
            ranks.sort_by_key(|(rank, ns)| (Reverse(*ns), *rank));
            let ranks = ranks.into_iter().map(|(rank, _)| rank).collect();
            RootCause { from, to, seconds: seconds(sum.ns), passed_on_s: seconds(sum.indirect_ns), ranks }
        };
        let mut causes: Vec<RootCause> = sums.into_iter().map(cause).filter(|cause| cause.seconds > 0.0).collect();
        causes.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        causes
    }
}

/// A rank that had no core and therefore made other ranks wait.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CoreDelay {
    /// The rank.
    pub rank: u32,
    /// Delay costs in seconds.
    pub seconds: f64,
    /// The indirect (propagated) part of them.
    pub passed_on_s: f64,
    /// The part of them because it had no core inside MPI calls, after what these waited for was there.
    pub in_mpi_s: f64,
}

impl CoreDelay {
    /// All ranks that did so, largest cost first.
    pub fn from_findings(findings: &RunFindings) -> Vec<CoreDelay> {
        let mut ranks: BTreeMap<u32, [i64; 3]> = BTreeMap::new();
        let computing = findings.delay_costs.iter().map(|((_, rank), cost)| (rank, cost, 0));
        let in_calls = findings.call_delay_costs.iter().map(|(rank, cost)| (rank, cost, cost.no_core_ns()));
        for (rank, cost, in_mpi) in computing.chain(in_calls).filter(|(_, cost, _)| cost.no_core_ns() > 0) {
            let sums = ranks.entry(*rank).or_default();
            [cost.no_core_ns(), cost.no_core_indirect_ns, in_mpi].into_iter().zip(sums).for_each(|(ns, sum)| *sum += ns);
        }
        let mut ranks: Vec<(u32, [i64; 3])> = ranks.into_iter().collect();
        ranks.sort_by_key(|(rank, [all, ..])| (Reverse(*all), *rank));
        let delay = |(rank, sums): (u32, [i64; 3])| {
            let [seconds, passed_on_s, in_mpi_s] = sums.map(seconds);
            CoreDelay { rank, seconds, passed_on_s, in_mpi_s }
        };
        ranks.into_iter().map(delay).collect()
    }
}

/// The critical path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CriticalPath {
    /// Its length in seconds.
    pub seconds: f64,
    /// The part in which the thread was ready to run and had no core, in seconds; `None` if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_core_s: Option<f64>,
    /// Number of transitions from one rank to another.
    pub jumps: u64,
    /// Computation on it, longest first.
    pub segments: Vec<PathSegment>,
    /// MPI calls on it, longest first.
    pub calls: Vec<PathCall>,
    /// Seconds of it on each rank, longest first.
    pub ranks: Vec<(u32, f64)>,
}

/// A segment on the critical path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathSegment {
    /// The call before the segment.
    pub from: SourceLocation,
    /// The call after it.
    pub to: SourceLocation,
    /// Seconds on the path.
    pub seconds: f64,
    /// The part without a core.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_core_s: Option<f64>,
    /// Critical-path imbalance: the excess over the mean of all ranks, which perfect balance would save. Of both only computation on a core.
    pub imbalance_s: f64,
}

/// An MPI call on the critical path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathCall {
    /// Where it was called.
    #[serde(flatten)]
    pub source: SourceLocation,
    /// Seconds on the path.
    pub seconds: f64,
    /// The part without a core.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_core_s: Option<f64>,
}

/// Nanoseconds of a part of the path.
#[derive(Clone, Copy, Default)]
struct PathTime {
    ns: i64,
    no_core_ns: i64,
    /// The mean of all ranks, on a core.
    mean_ns: i64,
}

impl CriticalPath {
    /// The critical path with source locations.
    pub(crate) fn from_findings(recording: &Recording, findings: &RunFindings, cores: &CoreFindings) -> CriticalPath {
        let path = &findings.critical_path;
        let known = |ns: i64| cores.off_cpu().map(|_| seconds(ns));
        let ranks = recording.header.size.max(1) as i64;
        let mut segments: BTreeMap<(SourceLocation, SourceLocation), PathTime> = BTreeMap::new();
        for (segment, ns) in &path.segments {
            let time = segments.entry(segment_ends(recording, *segment)).or_default();
            time.ns += ns;
            time.no_core_ns += path.no_core.segments.get(segment).unwrap_or(&0);
            let own = findings.segments.get(segment).into_iter().flatten();
            time.mean_ns += own.map(|(_, spent)| spent.ns - spent.no_core_ns).sum::<i64>() / ranks;
        }
        let segment = |((from, to), time): ((SourceLocation, SourceLocation), PathTime)| PathSegment {
            from,
            to,
            seconds: seconds(time.ns),
            no_core_s: known(time.no_core_ns),
            imbalance_s: seconds((time.ns - time.no_core_ns - time.mean_ns).max(0)),
        };
        let mut segments: Vec<PathSegment> = segments.into_iter().map(segment).filter(|segment| segment.seconds > 0.0).collect();
        segments.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        let mut calls: BTreeMap<SourceLocation, PathTime> = BTreeMap::new();
        for (site, ns) in &path.calls {
            let time = calls.entry(SourceLocation::of(recording, *site)).or_default();
            time.ns += ns;
            time.no_core_ns += path.no_core.calls.get(site).unwrap_or(&0);
        }
        let call =
            |(source, time): (SourceLocation, PathTime)| PathCall { source, seconds: seconds(time.ns), no_core_s: known(time.no_core_ns) };
        let mut calls: Vec<PathCall> = calls.into_iter().map(call).filter(|call| call.seconds > 0.0).collect();
        calls.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        let mut ranks: Vec<(u32, f64)> = path.ranks.iter().map(|(rank, ns)| (*rank, seconds(*ns))).collect();
        ranks.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        CriticalPath { seconds: seconds(path.length_ns()), no_core_s: known(path.no_core.ns()), jumps: path.jumps, segments, calls, ranks }
    }
}

/// Corrections of the clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ClockRepair {
    /// Messages that seemed to arrive before they were sent, barriers left before the last rank entered, and exposure epochs closed before
    /// the last access.
    pub violations: u64,
    /// The largest correction in seconds.
    pub largest_s: f64,
}

impl ClockRepair {
    /// The corrections made in this analysis.
    pub fn from_findings(findings: &RunFindings) -> ClockRepair {
        ClockRepair { violations: findings.clock_violations.violations, largest_s: seconds(findings.clock_violations.largest_ns) }
    }
}

fn segment_ends(recording: &Recording, segment: Segment) -> (SourceLocation, SourceLocation) {
    (SourceLocation::of(recording, segment.from), SourceLocation::of(recording, segment.to))
}
