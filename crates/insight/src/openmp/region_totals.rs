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
    site: u32,
    executions: u64,
    threads: usize,
    duration: u64,
    /// Useful, barrier, end, lock, held, overhead, MPI.
    times: [u64; 7],
    longest: u64,
    imbalance: BTreeMap<u32, (u64, Vec<u64>)>,
}

/// The regions of all ranks, most time first.
pub(super) fn totals(recording: &Recording, ranks: &[(u32, &[RegionExecution])]) -> Vec<RegionTotals> {
    let paths = recording.call_paths();
    let mut sums: BTreeMap<(u32, u8), RegionSums> = BTreeMap::new();
    for (rank, regions) in ranks {
        for region in *regions {
            let sum = sums.entry((paths.canonical(region.site), region.level)).or_default();
            sum.site = region.site;
            sum.add(*rank, region);
        }
    }
    let mut totals: Vec<RegionTotals> = sums.into_iter().map(|((_, level), sum)| sum.totals(recording, level)).collect();
    totals.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
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

    fn totals(self, recording: &Recording, level: u8) -> RegionTotals {
        let [useful_s, barrier_s, end_s, lock_s, lock_held_s, overhead_s, mpi_s] = self.times.map(seconds);
        let imbalance = |(rank, (ns, useful)): (u32, (u64, Vec<u64>))| RankImbalance {
            rank,
            seconds: seconds(ns),
            longest_thread: (0..useful.len()).max_by_key(|thread| (useful[*thread], std::cmp::Reverse(*thread))).unwrap_or(0),
        };
        RegionTotals {
            source: SourceLocation::of(recording, self.site),
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
