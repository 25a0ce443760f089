//! The regions of a program by their place in the source.

use std::collections::BTreeMap;

use serde::Serialize;
use sintonia_recording::Recording;
use sintonia_recording::openmp::RegionExecution;

use super::{imbalance_ns, seconds};
use crate::SourceLocation;

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
    for ((site, level), sum) in by_site {
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
        *imbalance += imbalance_ns(region);
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_recording::openmp::RegionThread;

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
}
