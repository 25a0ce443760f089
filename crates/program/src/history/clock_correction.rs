//! Corrects timestamps that violate the clock condition.
//!
//! Clock offsets are measured before and after a run and interpolated, so a message can appear to arrive before it was sent. Such a receive
//! is moved to the time of the send. Later events of its location move along, by an amount that decreases over time (controlled logical
//! clock with forward amortisation). The order of events does not change, and no interval becomes negative.

use bytemuck::{Pod, Zeroable};

use super::call_dependency::{MemberDependency, call_dependency};
use super::causal_walk::{CausalVisitor, causal_walk};
use super::{CallId, History, NO_ROW};
use crate::process_group::ProcessGroup;

/// The correction of a location decays by one part in this many of the elapsed time.
const AMORTISATION: i64 = 100;

/// Violations of the clock condition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockViolations {
    /// Receives before their sends, barriers left before the last member entered, and exposure epochs closed before the last access.
    pub violations: u64,
    /// The largest violation in nanoseconds, which is also the largest correction.
    pub largest_ns: i64,
}

/// Counts the violations in a history, over all processes.
pub(super) fn count_violations(history: &History, comm: &dyn ProcessGroup) -> ClockViolations {
    let mut found = ViolationCount { violations: 0, largest_ns: 0 };
    let mut check = |leave: i64, needed: i64| {
        if leave < needed {
            found.violations += 1;
            found.largest_ns = found.largest_ns.max(needed - leave);
        }
    };
    for location in &history.locations {
        let leave = |row: u32| location.calls.leave[row as usize];
        let received = location.received.iter().filter(|received| received.sender != CallId::NONE);
        received.for_each(|received| check(leave(received.row), received.send_enter));
        for collective in location.collectives.iter().filter(|collective| collective.completion != NO_ROW) {
            let instance = &history.collectives[collective.instance as usize];
            let needed = match call_dependency(location, collective, instance) {
                MemberDependency::All => Some(instance.last),
                MemberDependency::Root => Some(instance.root),
                MemberDependency::Subset | MemberDependency::Member => location.dependency(collective).map(|before| before.last),
                MemberDependency::None => None,
            };
            if let Some((_, enter)) = needed.filter(|(at, _)| *at != CallId::NONE) {
                check(leave(collective.completion), enter);
            }
        }
        let ended = location.exposures.iter().filter(|exposure| exposure.wait != NO_ROW && exposure.complete != CallId::NONE);
        ended.for_each(|exposure| check(leave(exposure.wait), exposure.complete_enter));
    }
    let all = comm.all_to_all(vec![vec![found]; comm.size()]);
    let add = |sum: ClockViolations, more: ViolationCount| ClockViolations {
        violations: sum.violations + more.violations,
        largest_ns: sum.largest_ns.max(more.largest_ns),
    };
    all.into_iter().flatten().fold(ClockViolations::default(), add)
}

#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct ViolationCount {
    violations: u64,
    largest_ns: i64,
}

/// Corrects all timestamps; returns what was violated.
pub(super) fn correct_clocks(history: &mut History, comm: &dyn ProcessGroup) -> ClockViolations {
    let mut clock =
        ClockCorrector { history, locations: history.locations.iter().map(|location| CorrectedTimes::new(location.len())).collect() };
    causal_walk(history, comm, &mut clock);
    let moved = clock.locations;
    for (location, moved) in history.locations.iter_mut().zip(moved) {
        (location.calls.enter, location.calls.leave) = (moved.enter, moved.leave);
    }
    history.clock_violations
}

/// The corrected timestamps of a location.
struct CorrectedTimes {
    enter: Vec<i64>,
    leave: Vec<i64>,
    offset: i64,
    offset_since: i64,
}

impl CorrectedTimes {
    fn new(calls: usize) -> CorrectedTimes {
        CorrectedTimes { enter: Vec::with_capacity(calls), leave: Vec::with_capacity(calls), offset: 0, offset_since: 0 }
    }

    /// The corrected value of a recorded timestamp.
    fn corrected(&self, recorded: i64) -> i64 {
        recorded + (self.offset - (recorded - self.offset_since).max(0) / AMORTISATION).max(0)
    }
}

struct ClockCorrector<'a> {
    history: &'a History,
    locations: Vec<CorrectedTimes>,
}

impl CausalVisitor for ClockCorrector<'_> {
    fn enter(&mut self, location: usize, row: usize) -> i64 {
        let moved = &mut self.locations[location];
        let last = moved.leave.last().copied().unwrap_or(i64::MIN);
        let enter = moved.corrected(self.history.locations[location].calls.enter[row]).max(last);
        moved.enter.push(enter);
        enter
    }

    fn leave(&mut self, location: usize, row: usize, needed: Option<i64>) {
        let recorded = self.history.locations[location].calls.leave[row];
        let moved = &mut self.locations[location];
        let natural = moved.corrected(recorded).max(moved.enter[row]);
        let leave = natural.max(needed.unwrap_or(i64::MIN));
        if leave > natural {
            (moved.offset, moved.offset_since) = (leave - recorded, recorded);
        }
        moved.leave.push(leave);
    }
}
