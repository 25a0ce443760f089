//! Critical sections and locks of a region: where they are, and which threads wait for them.

use std::collections::BTreeMap;

use serde::Serialize;
use sintonia_recording::openmp::RegionLock;

use crate::SourceLocation;
use crate::seconds::seconds;

/// A place at which threads of a region get a lock, or enter a critical section.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LockTotals {
    /// The source location.
    #[serde(flatten)]
    pub source: SourceLocation,
    /// How often threads got it.
    pub acquisitions: u64,
    /// Seconds that threads waited for it.
    pub wait_s: f64,
    /// Seconds that threads had it.
    pub held_s: f64,
    /// The threads that waited, longest first.
    pub threads: Vec<ThreadLockWait>,
}

/// How long a thread waited for a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ThreadLockWait {
    /// Its rank.
    pub rank: u32,
    /// Its number in the team.
    pub thread: u16,
    /// Seconds.
    pub wait_s: f64,
}

/// Sums in nanoseconds.
#[derive(Default)]
pub(super) struct LockSums {
    acquisitions: u64,
    held: u64,
    waited: BTreeMap<(u32, u16), u64>,
}

impl LockSums {
    pub(super) fn add(&mut self, rank: u32, lock: &RegionLock) {
        self.acquisitions += lock.acquisitions;
        self.held += lock.held;
        *self.waited.entry((rank, lock.thread)).or_default() += lock.waited;
    }

    pub(super) fn merge(&mut self, other: LockSums) {
        self.acquisitions += other.acquisitions;
        self.held += other.held;
        for (thread, ns) in other.waited {
            *self.waited.entry(thread).or_default() += ns;
        }
    }

    fn totals(self, source: SourceLocation) -> LockTotals {
        let wait = |((rank, thread), ns): ((u32, u16), u64)| ThreadLockWait { rank, thread, wait_s: seconds(ns) };
        let mut threads: Vec<ThreadLockWait> = self.waited.into_iter().map(wait).collect();
        threads.sort_by(|a, b| b.wait_s.total_cmp(&a.wait_s));
        let wait_s = threads.iter().map(|thread| thread.wait_s).sum();
        LockTotals { source, acquisitions: self.acquisitions, wait_s, held_s: seconds(self.held), threads }
    }
}

impl LockTotals {
    /// From sums by place, most waiting first.
    pub(super) fn sorted(sums: BTreeMap<SourceLocation, LockSums>) -> Vec<LockTotals> {
        let mut totals: Vec<LockTotals> = sums.into_iter().map(|(source, sums)| sums.totals(source)).collect();
        totals.sort_by(|a, b| b.wait_s.total_cmp(&a.wait_s));
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_that_waits_longest_comes_first() {
        let lock = |thread, waited| RegionLock { thread, site: 0, acquisitions: 2, waited, held: 5 };
        let (mut one, mut other) = (LockSums::default(), LockSums::default());
        one.add(0, &lock(0, 1_000_000_000));
        other.add(0, &lock(1, 500_000_000));
        other.add(0, &lock(1, 1_500_000_000));
        one.merge(other);
        let totals = one.totals(SourceLocation::default());
        assert_eq!((totals.acquisitions, totals.wait_s), (6, 3.0));
        assert_eq!(totals.threads.iter().map(|thread| thread.thread).collect::<Vec<_>>(), [1, 0]);
    }
}
