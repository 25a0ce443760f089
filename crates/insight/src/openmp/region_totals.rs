//! The regions of a program by their place in the source.

use std::collections::BTreeMap;
use std::mem;

use serde::Serialize;
use sintonia_recording::Recording;
use sintonia_recording::openmp::{RegionExecution, RegionThread};

use super::imbalance_ns;
use super::lock_totals::{LockSums, LockTotals};
use crate::SourceLocation;
use crate::seconds::seconds;

/// All executions of a region, over all ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RegionTotals {
    /// The source location.
    #[serde(flatten)]
    pub source: SourceLocation,
    /// Number of regions around it.
    pub level: u8,
    /// Number of executions.
    pub executions: u64,
    /// Most threads of an execution.
    pub threads: usize,
    /// Seconds, summed over the ranks.
    pub seconds: f64,
    /// Seconds of all threads in which they computed.
    pub useful_s: f64,
    /// Mean over maximum computation of the threads of each execution, weighted by its time.
    pub load_balance: f64,
    /// Seconds of all threads at barriers inside the region.
    pub barrier_s: f64,
    /// Seconds of all threads at the end of the region, waiting for the others.
    pub end_s: f64,
    /// Seconds of all threads waiting for critical sections and locks.
    pub lock_s: f64,
    /// Seconds of all threads inside critical sections or with a lock.
    pub lock_held_s: f64,
    /// Seconds until threads began, of other synchronisation, and of creating tasks.
    pub overhead_s: f64,
    /// Seconds in MPI calls.
    pub mpi_s: f64,
    /// By how much the longest thread exceeded the mean, by rank.
    pub imbalance: Vec<RankImbalance>,
    /// The critical sections and locks, most waiting first.
    pub locks: Vec<LockTotals>,
    /// Seconds by which the region would be shorter if no thread waited for locks, on the rank for which that is most.
    pub lock_saving_s: f64,
}

/// The imbalance of a region on one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RankImbalance {
    /// The rank.
    pub rank: u32,
    /// Seconds, summed over executions.
    pub seconds: f64,
    /// The thread that computed longest.
    pub longest_thread: usize,
}

/// Sums in nanoseconds.
#[derive(Default)]
struct RegionSums {
    executions: u64,
    threads: usize,
    duration: u64,
    /// Useful, barrier, end, lock, held, overhead, MPI.
    times: [u64; 7],
    longest: u64,
    imbalance: BTreeMap<u32, (u64, Vec<u64>)>,
    lock_saving: BTreeMap<u32, u64>,
    locks: BTreeMap<SourceLocation, LockSums>,
    /// The locks by call site, of which several may be at the same place.
    lock_sites: BTreeMap<u32, LockSums>,
}

/// The regions of all ranks: those that are not nested first, and most time first.
pub(super) fn totals(recording: &Recording, ranks: &[(u32, &[RegionExecution])]) -> Vec<RegionTotals> {
    let mut by_site: BTreeMap<(u32, u8), RegionSums> = BTreeMap::new();
    for (rank, regions) in ranks {
        for region in *regions {
            by_site.entry((region.site, region.level)).or_default().add(*rank, region);
        }
    }
    let mut sums: BTreeMap<(SourceLocation, u8), RegionSums> = BTreeMap::new();
    for ((site, level), mut sum) in by_site {
        sum.locate_locks(recording);
        sums.entry((SourceLocation::of(recording, site), level)).or_default().merge(sum);
    }
    let mut totals: Vec<RegionTotals> = sums.into_iter().map(|((source, level), sum)| sum.totals(source, level)).collect();
    totals.sort_by(|a, b| a.level.cmp(&b.level).then(b.seconds.total_cmp(&a.seconds)));
    totals
}

impl RegionSums {
    fn add(&mut self, rank: u32, region: &RegionExecution) {
        self.executions += region.executions;
        self.threads = self.threads.max(region.threads.len());
        self.duration += region.duration;
        self.longest += region.longest * region.threads.len() as u64;
        let (imbalance, useful) = self.imbalance.entry(rank).or_default();
        *imbalance += unequal_work_ns(region);
        useful.resize(useful.len().max(region.threads.len()), 0);
        for (thread, useful) in region.threads.iter().zip(useful) {
            *useful += thread.useful;
            let times = [
                thread.useful,
                thread.barrier,
                region.wait_at_end(thread),
                thread.lock,
                thread.lock_held,
                thread.start + thread.other,
                thread.mpi,
            ];
            self.times.iter_mut().zip(times).for_each(|(sum, time)| *sum += time);
        }
        *self.lock_saving.entry(rank).or_default() += lock_saving_ns(region);
        for lock in &region.locks {
            self.lock_sites.entry(lock.site).or_default().add(rank, lock);
        }
    }

    /// Replaces the call sites of locks by their places in the source.
    fn locate_locks(&mut self, recording: &Recording) {
        for (site, sums) in mem::take(&mut self.lock_sites) {
            self.locks.entry(SourceLocation::of(recording, site)).or_default().merge(sums);
        }
    }

    fn merge(&mut self, other: RegionSums) {
        self.executions += other.executions;
        self.threads = self.threads.max(other.threads);
        self.duration += other.duration;
        self.longest += other.longest;
        self.times.iter_mut().zip(other.times).for_each(|(sum, time)| *sum += time);
        for (rank, (ns, useful)) in other.imbalance {
            let (imbalance, sums) = self.imbalance.entry(rank).or_default();
            *imbalance += ns;
            sums.resize(sums.len().max(useful.len()), 0);
            sums.iter_mut().zip(useful).for_each(|(sum, time)| *sum += time);
        }
        for (rank, ns) in other.lock_saving {
            *self.lock_saving.entry(rank).or_default() += ns;
        }
        for (source, sums) in other.locks {
            self.locks.entry(source).or_default().merge(sums);
        }
    }

    fn totals(self, source: SourceLocation, level: u8) -> RegionTotals {
        let [useful_s, barrier_s, end_s, lock_s, lock_held_s, overhead_s, mpi_s] = self.times.map(seconds);
        let imbalance = |(rank, (ns, useful)): (u32, (u64, Vec<u64>))| RankImbalance {
            rank,
            seconds: seconds(ns),
            longest_thread: (0..useful.len()).max_by_key(|thread| (useful[*thread], std::cmp::Reverse(*thread))).unwrap_or(0),
        };
        RegionTotals {
            source,
            level,
            executions: self.executions,
            threads: self.threads,
            seconds: seconds(self.duration),
            useful_s,
            load_balance: if self.longest > 0 { self.times[0] as f64 / self.longest as f64 } else { 1.0 },
            barrier_s,
            end_s,
            lock_s,
            lock_held_s,
            overhead_s,
            mpi_s,
            imbalance: self.imbalance.into_iter().map(imbalance).collect(),
            locks: LockTotals::sorted(self.locks),
            lock_saving_s: seconds(self.lock_saving.values().copied().max().unwrap_or(0)),
        }
    }
}

/// How much longer than the mean the longest thread of a region computed; 0 if threads mostly wait for locks: then the one that got them most
/// often computed longest.
fn unequal_work_ns(region: &RegionExecution) -> u64 {
    if waits_mostly_for_locks(region) { 0 } else { imbalance_ns(region) }
}

/// By how much a region would be shorter if no thread waited for locks. The thread that then takes longest determines its duration, as far as
/// threads wait at barriers because others wait for locks; no more is saved than a thread waits. If threads mostly wait for locks, they take
/// their work as they get them, and without locks it would be even.
fn lock_saving_ns(region: &RegionExecution) -> u64 {
    let longest_wait = region.threads.iter().map(|thread| thread.lock).max().unwrap_or(0);
    let without_waits = |thread: &RegionThread| thread.busy().saturating_sub(thread.lock).saturating_sub(thread.barrier);
    let [longest, mean] = longest_and_mean(region, without_waits);
    region.duration.saturating_sub(if waits_mostly_for_locks(region) { mean } else { longest }).min(longest_wait)
}

/// Whether threads wait for locks at least twice as long as for each other.
fn waits_mostly_for_locks(region: &RegionExecution) -> bool {
    let sum = |time: &dyn Fn(&RegionThread) -> u64| region.threads.iter().map(time).sum::<u64>();
    let locks = sum(&|thread| thread.lock);
    locks > 0 && locks >= 2 * sum(&|thread| thread.barrier + region.wait_at_end(thread))
}

/// The maximum and the mean over the threads of a region.
fn longest_and_mean(region: &RegionExecution, time: impl Fn(&RegionThread) -> u64) -> [u64; 2] {
    let longest = region.threads.iter().map(&time).max().unwrap_or(0);
    [longest, region.threads.iter().map(&time).sum::<u64>() / region.threads.len().max(1) as u64]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_two_sites_are_those_of_all_their_executions() {
        let region = |useful: [u64; 2]| RegionExecution {
            executions: 1,
            duration: 100,
            longest: useful[0].max(useful[1]),
            threads: useful.map(|useful| RegionThread { useful, ..RegionThread::default() }).to_vec(),
            ..RegionExecution::default()
        };
        let (mut one, mut other) = (RegionSums::default(), RegionSums::default());
        one.add(0, &region([80, 40]));
        other.add(0, &region([10, 50]));
        other.add(1, &region([60, 60]));
        one.merge(other);
        let totals = one.totals(SourceLocation::default(), 0);
        assert_eq!((totals.executions, totals.threads), (3, 2));
        assert!((totals.load_balance - 300.0 / 380.0).abs() < 1e-9, "{totals:?}");
        let imbalance: Vec<(u32, usize)> = totals.imbalance.iter().map(|rank| (rank.rank, rank.longest_thread)).collect();
        assert_eq!(imbalance, [(0, 0), (1, 0)]);
        assert!((totals.imbalance[0].seconds - 40e-9).abs() < 1e-15);
        assert!((totals.end_s - 300e-9).abs() < 1e-15, "{totals:?}");
    }

    #[test]
    fn without_locks_a_region_takes_as_long_as_its_longest_thread() {
        let thread = |useful, lock, barrier| RegionThread { useful, lock, barrier, ..RegionThread::default() };
        let saving = |threads: [RegionThread; 2]| {
            lock_saving_ns(&RegionExecution { duration: 100, threads: threads.to_vec(), ..RegionExecution::default() })
        };
        assert_eq!(saving([thread(60, 20, 0), thread(40, 30, 0)]), 30);
        assert_eq!(saving([thread(60, 20, 20), thread(40, 30, 0)]), 30);
        // Threads that do little but wait for locks would divide the work evenly.
        assert_eq!(saving([thread(60, 20, 20), thread(50, 50, 0)]), 45);
        // The barrier is waited at for another reason.
        assert_eq!(saving([thread(30, 5, 65), thread(20, 0, 80)]), 5);
        assert_eq!(saving([thread(100, 0, 0), thread(50, 0, 0)]), 0);
        // The second one seldom gets the lock, and has less to do for that reason.
        assert_eq!(saving([thread(70, 30, 0), thread(30, 70, 0)]), 50);
    }

    #[test]
    fn threads_that_wait_for_locks_have_no_less_to_do() {
        let thread = |useful, lock| RegionThread { useful, lock, ..RegionThread::default() };
        let unequal = |threads: [RegionThread; 2]| {
            let longest = threads.iter().map(|thread| thread.useful).max().unwrap();
            unequal_work_ns(&RegionExecution { duration: 100, longest, threads: threads.to_vec(), ..RegionExecution::default() })
        };
        assert_eq!(unequal([thread(70, 30), thread(30, 70)]), 0);
        assert_eq!(unequal([thread(100, 0), thread(40, 10)]), 30);
    }
}
