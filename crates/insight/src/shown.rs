//! What was found, as people and programs are shown it: places instead of numbers, seconds instead of nanoseconds.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;
use sintonia_recording::Recording;

use crate::Place;
use crate::findings::{Findings, Waits};
use crate::segment::Segment;

/// Waits of one kind at one call site.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WaitState {
    /// What kind it is, for programs.
    pub kind: &'static str,
    /// The same for people.
    pub name: &'static str,
    /// The function that waited.
    pub operation: &'static str,
    /// Where it was called.
    #[serde(flatten)]
    pub place: Place,
    /// Seconds that all ranks waited there together.
    pub seconds: f64,
    /// How often.
    pub waits: u64,
    /// The longest, in seconds.
    pub longest_s: f64,
    /// The ranks that waited.
    pub ranks: Vec<u32>,
    /// The ranks that were waited for, longest first.
    pub waited_for: Vec<u32>,
}

impl WaitState {
    /// The waits that were found, longest first.
    pub fn all(recording: &Recording, findings: &Findings) -> Vec<WaitState> {
        let mut states: BTreeMap<(&str, &str, Place), WaitState> = BTreeMap::new();
        for waits in &findings.waits {
            let state = WaitState::new(recording, waits);
            let key = (state.kind, state.operation, state.place.clone());
            match states.get_mut(&key) {
                Some(known) => known.add(state),
                None => drop(states.insert(key, state)),
            }
        }
        let mut states: Vec<WaitState> = states.into_values().collect();
        states.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        states
    }

    fn new(recording: &Recording, waits: &Waits) -> WaitState {
        let mut causes: Vec<(u32, i64)> = waits.causes.iter().map(|(rank, ns)| (*rank, *ns)).collect();
        causes.sort_by_key(|(rank, ns)| (Reverse(*ns), *rank));
        WaitState {
            kind: waits.pattern.kind,
            name: waits.pattern.name,
            operation: waits.operation.name(),
            place: Place::of(recording.site(waits.site)),
            seconds: seconds(waits.ns()),
            waits: waits.times(),
            longest_s: seconds(waits.longest_ns()),
            ranks: waits.main_ranks(),
            waited_for: causes.into_iter().map(|(rank, _)| rank).collect(),
        }
    }

    /// Several addresses can belong to one line.
    fn add(&mut self, other: WaitState) {
        self.seconds += other.seconds;
        self.waits += other.waits;
        self.longest_s = self.longest_s.max(other.longest_s);
        self.ranks.extend(other.ranks);
        self.ranks.sort_unstable();
        self.ranks.dedup();
        let new: Vec<u32> = other.waited_for.into_iter().filter(|rank| !self.waited_for.contains(rank)).collect();
        self.waited_for.extend(new);
    }
}

/// A segment that made others wait.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RootCause {
    /// The call before the segment.
    pub from: Place,
    /// The call after it.
    pub to: Place,
    /// Seconds that others waited because of it.
    pub seconds: f64,
    /// Those of them that it caused through others, who waited for it and made others wait in turn.
    pub passed_on_s: f64,
    /// The ranks that were late, most first.
    pub ranks: Vec<u32>,
}

/// What a segment cost, over all ranks that were late in it.
#[derive(Default)]
struct CostSum {
    ns: i64,
    passed_on_ns: i64,
    ranks: BTreeMap<u32, i64>,
}

impl RootCause {
    /// The segments that made others wait, most first.
    pub fn all(recording: &Recording, findings: &Findings) -> Vec<RootCause> {
        let mut sums: BTreeMap<(Place, Place), CostSum> = BTreeMap::new();
        for ((segment, rank), cost) in &findings.costs {
            let all = cost.direct_ns + cost.passed_on_ns;
            let sum = sums.entry(places(recording, *segment)).or_default();
            sum.ns += all;
            sum.passed_on_ns += cost.passed_on_ns;
            *sum.ranks.entry(*rank).or_default() += all;
        }
        let cause = |((from, to), sum): ((Place, Place), CostSum)| {
            let mut ranks: Vec<(u32, i64)> = sum.ranks.into_iter().collect();
            ranks.sort_by_key(|(rank, ns)| (Reverse(*ns), *rank));
            let ranks = ranks.into_iter().map(|(rank, _)| rank).collect();
            RootCause { from, to, seconds: seconds(sum.ns), passed_on_s: seconds(sum.passed_on_ns), ranks }
        };
        let mut causes: Vec<RootCause> = sums.into_iter().map(cause).filter(|cause| cause.seconds > 0.0).collect();
        causes.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        causes
    }
}

/// What made the run as long as it was.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CriticalPath {
    /// Its length in seconds.
    pub seconds: f64,
    /// How often it goes from one rank to another.
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
    pub from: Place,
    /// The call after it.
    pub to: Place,
    /// Seconds on the path.
    pub seconds: f64,
    /// How far that is above what a rank spends in it on average: what sharing it evenly could save.
    pub imbalance_s: f64,
}

/// An MPI call on the critical path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathCall {
    /// Where it was called.
    #[serde(flatten)]
    pub place: Place,
    /// Seconds on the path.
    pub seconds: f64,
}

impl CriticalPath {
    /// The critical path with places.
    pub fn of(recording: &Recording, findings: &Findings) -> CriticalPath {
        let path = &findings.path;
        let ranks = recording.header.size.max(1) as i64;
        let mut segments: BTreeMap<(Place, Place), (i64, i64)> = BTreeMap::new();
        for (segment, ns) in &path.segments {
            let (on_path, mean) = segments.entry(places(recording, *segment)).or_default();
            *on_path += ns;
            let all: i64 = findings.segments.get(segment).map_or(0, |ranks| ranks.values().map(|spent| spent.ns).sum());
            *mean += all / ranks;
        }
        let segment = |((from, to), (ns, mean)): ((Place, Place), (i64, i64))| PathSegment {
            from,
            to,
            seconds: seconds(ns),
            imbalance_s: seconds((ns - mean).max(0)),
        };
        let mut segments: Vec<PathSegment> = segments.into_iter().map(segment).filter(|segment| segment.seconds > 0.0).collect();
        segments.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        let mut calls: BTreeMap<Place, i64> = BTreeMap::new();
        path.calls.iter().for_each(|(site, ns)| *calls.entry(Place::of(recording.site(*site))).or_default() += ns);
        let call = |(place, ns)| PathCall { place, seconds: seconds(ns) };
        let mut calls: Vec<PathCall> = calls.into_iter().map(call).filter(|call| call.seconds > 0.0).collect();
        calls.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        let mut ranks: Vec<(u32, f64)> = path.ranks.iter().map(|(rank, ns)| (*rank, seconds(*ns))).collect();
        ranks.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        CriticalPath { seconds: seconds(path.length_ns()), jumps: path.jumps, segments, calls, ranks }
    }
}

/// What had to be put right about the clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ClockRepair {
    /// Messages that seemed to arrive before they were sent, barriers left before the last one came, and windows closed before the last
    /// access.
    pub violations: u64,
    /// The most seconds by which one of them was too early, and was moved.
    pub largest_s: f64,
}

impl ClockRepair {
    /// What had to be put right.
    pub fn of(findings: &Findings) -> ClockRepair {
        ClockRepair { violations: findings.repair.violations, largest_s: seconds(findings.repair.largest_ns) }
    }
}

fn seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}

fn places(recording: &Recording, segment: Segment) -> (Place, Place) {
    (Place::of(recording.site(segment.from)), Place::of(recording.site(segment.to)))
}
