//! OpenMP: what the threads of each rank did, by region, and the efficiencies of POP for programs with MPI and OpenMP.
//!
//! Times are those of regions that are not nested; a nested region is in the table of regions only, and its threads besides the first are not
//! counted among the threads of the rank.

mod hybrid_efficiency;
mod lock_totals;
mod region_totals;
mod serial_segments;
mod thread_waits;

use rayon::prelude::*;
use serde::Serialize;
use sintonia_recording::Recording;
use sintonia_recording::openmp::RegionExecution;
use sintonia_replay::Error;

use crate::SourceLocation;
use crate::seconds::seconds;
use crate::segment::Segment;

use hybrid_efficiency::RankInput;
pub use hybrid_efficiency::{AdditiveEfficiency, HybridEfficiency};
pub use lock_totals::{LockTotals, ThreadLockWait};
pub use region_totals::{RankImbalance, RegionTotals};
pub(crate) use serial_segments::main_serial_segments;
pub use thread_waits::{THREAD_WAITS, ThreadWait, ThreadWaitPattern};

/// What a report says about OpenMP. The field names are the keys of its JSON form.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpenMpReport {
    /// The most threads of a rank.
    pub max_threads: usize,
    /// Efficiencies that multiply; `None` if nothing was computed.
    pub efficiency: Option<HybridEfficiency>,
    /// Inefficiencies that add up.
    pub additive: Option<AdditiveEfficiency>,
    /// Why threads did not compute, most time first.
    pub waits: Vec<ThreadWait>,
    /// The regions, most time first.
    pub regions: Vec<RegionTotals>,
    /// The ranks.
    pub per_rank: Vec<RankThreads>,
}

/// The threads of one rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RankThreads {
    /// The rank.
    pub rank: u32,
    /// Most threads of a region.
    pub threads: usize,
    /// Seconds in which the main thread was outside MPI, between MPI_Init and MPI_Finalize.
    pub outside_s: f64,
    /// Seconds in which it was in regions, MPI calls inside them included.
    pub region_s: f64,
    /// Seconds in which it computed outside regions.
    pub serial_s: f64,
    /// Share of that in the time outside MPI.
    pub serial_share: f64,
    /// The calls before and after the segment with most of it; `None` without the calls.
    pub serial_between: Option<[SourceLocation; 2]>,
    /// Seconds of each thread in which it computed: inside regions, and the first one outside them as well.
    pub useful_s: Vec<f64>,
    /// Seconds that the threads waited at barriers, and at the end of regions for the others.
    pub barrier_s: f64,
    /// Seconds that they waited for critical sections and locks.
    pub lock_s: f64,
    /// Seconds in which the others were idle while the main thread computed alone, or while a region had fewer threads.
    pub idle_s: f64,
    /// Seconds until threads began with a region, of other synchronisation, and of creating tasks.
    pub overhead_s: f64,
    /// Seconds in MPI calls inside regions.
    pub mpi_s: f64,
}

/// The time outside MPI of the main thread of a rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutsideMpi {
    /// The rank.
    pub rank: u32,
    /// Seconds.
    pub outside_s: f64,
    /// The segment with the most computation outside regions.
    pub main_serial: Option<Segment>,
}

impl OpenMpReport {
    /// Reads the regions of a recording; `None` if there are none. `work_s` is the time from MPI_Init to MPI_Finalize.
    pub(crate) fn from_recording(recording: &Recording, outside: &[OutsideMpi], work_s: f64) -> Result<Option<OpenMpReport>, Error> {
        let read = |rank: &OutsideMpi| Ok((*rank, recording.openmp_regions(rank.rank)?));
        let ranks: Vec<(OutsideMpi, Vec<RegionExecution>)> = outside.par_iter().map(read).collect::<Result<_, Error>>()?;
        if ranks.iter().all(|(_, regions)| regions.is_empty()) {
            return Ok(None);
        }
        let threads = |(outside, regions): &(OutsideMpi, Vec<RegionExecution>)| {
            let between = |segment: Segment| [segment.from, segment.to].map(|site| SourceLocation::of(recording, site));
            RankThreads { serial_between: outside.main_serial.map(between), ..RankThreads::new(*outside, regions) }
        };
        let per_rank: Vec<RankThreads> = ranks.iter().map(threads).collect();
        let imbalance = |regions: &[RegionExecution]| regions.iter().filter(|region| region.level == 0).map(imbalance_ns).sum::<u64>();
        let inputs: Vec<RankInput> =
            per_rank.iter().zip(&ranks).map(|(rank, (_, regions))| RankInput { rank, imbalance_s: seconds(imbalance(regions)) }).collect();
        Ok(Some(OpenMpReport {
            max_threads: per_rank.iter().map(|rank| rank.threads).max().unwrap_or(0),
            efficiency: HybridEfficiency::new(&inputs, work_s),
            additive: AdditiveEfficiency::new(&inputs, work_s),
            waits: thread_waits::sum(&per_rank, work_s),
            regions: region_totals::totals(recording, &ranks.iter().map(|(rank, regions)| (rank.rank, &regions[..])).collect::<Vec<_>>()),
            per_rank,
        }))
    }
}

/// How much longer than the mean the longest thread of a region computed, summed over its executions.
fn imbalance_ns(region: &RegionExecution) -> u64 {
    let useful: u64 = region.threads.iter().map(|thread| thread.useful).sum();
    region.longest.saturating_sub(useful / region.threads.len().max(1) as u64)
}

impl RankThreads {
    fn new(outside: OutsideMpi, regions: &[RegionExecution]) -> RankThreads {
        let outer = || regions.iter().filter(|region| region.level == 0);
        let threads = outer().map(|region| region.threads.len()).max().unwrap_or(1).max(1);
        let sum = |of: fn(&RegionExecution) -> u64| seconds(outer().map(of).sum::<u64>());
        let region_s = sum(|region| region.duration);
        let main_mpi_s = sum(|region| region.threads.first().map_or(0, |main| main.mpi));
        let serial_s = (outside.outside_s - (region_s - main_mpi_s)).max(0.0);
        let mut useful_s = vec![0.0; threads];
        for region in outer() {
            for (sum, thread) in useful_s.iter_mut().zip(&region.threads) {
                *sum += seconds(thread.useful);
            }
        }
        useful_s[0] += serial_s;
        let missing_s: f64 = outer().map(|region| (threads - region.threads.len()) as f64 * seconds(region.duration)).sum();
        RankThreads {
            rank: outside.rank,
            threads,
            outside_s: outside.outside_s,
            region_s,
            serial_s,
            serial_share: if outside.outside_s > 0.0 { serial_s / outside.outside_s } else { 0.0 },
            serial_between: None,
            useful_s,
            barrier_s: sum(|region| region.threads.iter().map(|thread| thread.barrier + region.wait_at_end(thread)).sum()),
            lock_s: sum(|region| region.threads.iter().map(|thread| thread.lock).sum()),
            idle_s: (threads - 1) as f64 * serial_s + missing_s,
            overhead_s: sum(|region| region.threads.iter().map(|thread| thread.start + thread.other).sum()),
            mpi_s: sum(|region| region.threads.iter().map(|thread| thread.mpi).sum()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_recording::openmp::RegionThread;

    #[test]
    fn what_a_rank_does_outside_regions_is_serial() {
        let thread = |useful, mpi| RegionThread { start: 10, useful, mpi, ..RegionThread::default() };
        let region = RegionExecution {
            executions: 1,
            duration: 3_000_000_000,
            threads: vec![thread(2_000_000_000, 500_000_000), thread(1_000_000_000, 0)],
            longest: 2_000_000_000,
            ..RegionExecution::default()
        };
        let nested = RegionExecution { level: 1, ..region.clone() };
        let rank = RankThreads::new(OutsideMpi { rank: 0, outside_s: 6.5, main_serial: None }, &[region, nested]);
        assert_eq!((rank.threads, rank.region_s, rank.serial_s), (2, 3.0, 4.0));
        assert_eq!(rank.useful_s, [6.0, 1.0]);
        assert_eq!(rank.idle_s, 4.0);
        assert!((rank.barrier_s - 2.5).abs() < 1e-6, "{}", rank.barrier_s);
    }
}
