//! POP's efficiencies for MPI and OpenMP together: a model whose parts multiply, and one whose inefficiencies add up.
//!
//! With U(p,t) the useful time of thread t of process p, O(p) the time of process p outside MPI, R the run time and T the number of threads of all
//! processes: see `docs/report.md` for the formulas.

use serde::Serialize;

use super::RankThreads;

/// What is needed of a rank.
pub(super) struct RankInput<'a> {
    pub rank: &'a RankThreads,
    /// Seconds by which the longest thread of each execution of a region exceeded the mean, summed up.
    pub imbalance_s: f64,
}

/// The efficiencies that multiply, each between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HybridEfficiency {
    /// Mean useful time of all threads over run time: `load_balance` times `communication`, and `mpi` times `openmp`.
    pub parallel: f64,
    /// Mean over maximum useful time of all threads.
    pub load_balance: f64,
    /// Maximum useful time over run time.
    pub communication: f64,
    /// Mean time outside MPI over run time: `mpi_load_balance` times `mpi_communication`.
    pub mpi: f64,
    /// Mean over maximum time outside MPI.
    pub mpi_load_balance: f64,
    /// Maximum time outside MPI over run time.
    pub mpi_communication: f64,
    /// `openmp_load_balance` times `openmp_communication`.
    pub openmp: f64,
    /// `load_balance` over `mpi_load_balance`; more than 1 if threads even out the difference between ranks.
    pub openmp_load_balance: f64,
    /// `communication` over `mpi_communication`.
    pub openmp_communication: f64,
}

impl HybridEfficiency {
    /// `None` if nothing was computed.
    pub(super) fn new(ranks: &[RankInput], run_s: f64) -> Option<HybridEfficiency> {
        let useful: Vec<f64> = ranks.iter().flat_map(|input| input.rank.useful_s.iter().copied()).collect();
        let outside: Vec<f64> = ranks.iter().map(|input| input.rank.outside_s).collect();
        let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len().max(1) as f64;
        let max = |times: &[f64]| times.iter().copied().fold(0.0, f64::max);
        let (longest_useful, longest_outside) = (max(&useful), max(&outside));
        if run_s <= 0.0 || longest_useful <= 0.0 || longest_outside <= 0.0 {
            return None;
        }
        let (load_balance, communication) = (mean(&useful) / longest_useful, longest_useful / run_s);
        let (mpi_load_balance, mpi_communication) = (mean(&outside) / longest_outside, longest_outside / run_s);
        let parallel = load_balance * communication;
        let mpi = mpi_load_balance * mpi_communication;
        Some(HybridEfficiency {
            parallel,
            load_balance,
            communication,
            mpi,
            mpi_load_balance,
            mpi_communication,
            openmp: parallel / mpi,
            openmp_load_balance: load_balance / mpi_load_balance,
            openmp_communication: communication / mpi_communication,
        })
    }
}

/// The efficiencies whose inefficiencies add up, each between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AdditiveEfficiency {
    /// 1 less what is lost in processes and in threads.
    pub parallel: f64,
    /// 1 less the time in MPI outside regions.
    pub process: f64,
    /// 1 less what is lost in regions and in serial parts.
    pub thread: f64,
    /// 1 less the time inside regions in which threads did not compute.
    pub region: f64,
    /// 1 less the part of that which is due to threads that compute longer than others.
    pub region_load_balance: f64,
    /// 1 less the rest of it: start of threads, barriers, locks, MPI inside regions.
    pub region_overhead: f64,
    /// 1 less the time in which the other threads of a process are idle while its main thread computes (Amdahl).
    pub serial: f64,
}

impl AdditiveEfficiency {
    /// `None` if nothing was computed.
    pub(super) fn new(ranks: &[RankInput], run_s: f64) -> Option<AdditiveEfficiency> {
        let threads: f64 = ranks.iter().map(|input| input.rank.threads as f64).sum();
        if run_s <= 0.0 || threads <= 0.0 {
            return None;
        }
        let weighted = |of: fn(&RankInput) -> f64| ranks.iter().map(|input| input.rank.threads as f64 * of(input)).sum::<f64>() / threads;
        let (region, serial) = (weighted(|input| input.rank.region_s), weighted(|input| input.rank.serial_s));
        let imbalance = weighted(|input| input.imbalance_s);
        let useful = ranks.iter().flat_map(|input| &input.rank.useful_s).sum::<f64>() / threads;
        let idle = ranks.iter().map(|input| (input.rank.threads - 1) as f64 * input.rank.serial_s).sum::<f64>() / threads;
        let lost_in_regions = (region + serial - useful - idle).max(0.0);
        let process = (region + serial) / run_s;
        let thread = 1.0 - (region + serial - useful) / run_s;
        Some(AdditiveEfficiency {
            parallel: 1.0 - (1.0 - process) - (1.0 - thread),
            process,
            thread,
            region: 1.0 - lost_in_regions / run_s,
            region_load_balance: 1.0 - imbalance / run_s,
            region_overhead: 1.0 - (lost_in_regions - imbalance) / run_s,
            serial: 1.0 - idle / run_s,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(rank: u32, outside_s: f64, region_s: f64, useful_s: &[f64]) -> RankThreads {
        let serial_s = outside_s - region_s;
        RankThreads { rank, threads: useful_s.len(), outside_s, region_s, serial_s, useful_s: useful_s.to_vec(), ..RankThreads::default() }
    }

    fn near(found: f64, expected: f64) -> bool {
        (found - expected).abs() < 1e-9
    }

    /// A run of 10 s: rank 0 is outside MPI for 9 s, of that 6 s in regions; rank 1 for 8 s, all of it in regions.
    fn ranks() -> [RankThreads; 2] {
        [rank(0, 9.0, 6.0, &[8.0, 3.0]), rank(1, 8.0, 8.0, &[7.0, 6.0])]
    }

    #[test]
    fn efficiencies_multiply() {
        let ranks = ranks();
        let inputs = ranks.each_ref().map(|rank| RankInput { rank, imbalance_s: 0.0 });
        let found = HybridEfficiency::new(&inputs, 10.0).unwrap();
        assert!(near(found.parallel, 24.0 / 4.0 / 10.0) && near(found.load_balance, 6.0 / 8.0) && near(found.communication, 0.8));
        assert!(near(found.mpi, 0.85) && near(found.mpi_load_balance, 8.5 / 9.0) && near(found.mpi_communication, 0.9));
        assert!(near(found.openmp, 0.6 / 0.85) && near(found.openmp_load_balance * found.openmp_communication, found.openmp));
    }

    #[test]
    fn inefficiencies_add_up() {
        let ranks = ranks();
        let inputs = [RankInput { rank: &ranks[0], imbalance_s: 1.0 }, RankInput { rank: &ranks[1], imbalance_s: 0.5 }];
        let found = AdditiveEfficiency::new(&inputs, 10.0).unwrap();
        assert!(near(found.process, 0.85) && near(found.parallel, 0.6), "{found:?}");
        // Rank 0 computes alone for 3 s: one of four threads is idle.
        assert!(near(found.serial, 1.0 - 3.0 / 40.0));
        // Rank 0: 12 s of threads in regions, 8 of them useful; rank 1: 16 s, 13 of them useful.
        assert!(near(found.region, 1.0 - 7.0 / 40.0));
        assert!(near(found.region_load_balance, 1.0 - 3.0 / 40.0));
        assert!(near(1.0 - found.thread, (1.0 - found.region) + (1.0 - found.serial)));
        assert!(near(1.0 - found.region, (1.0 - found.region_load_balance) + (1.0 - found.region_overhead)));
    }
}
