//! The efficiency metrics of the POP project.

use serde::Serialize;

/// The smallest share of the run for which the busiest thread is active.
const MIN_BUSIEST_SHARE: f64 = 0.1;

/// A thread that calls MPI, as a processing element.
#[derive(Clone, Copy, Debug)]
pub struct ActiveThread {
    /// Seconds of computation.
    pub compute_s: f64,
    /// Seconds for which it was active.
    pub active_s: f64,
}

impl ActiveThread {
    /// Seconds of computation, at most those for which it was active.
    fn compute_s(&self) -> f64 {
        self.compute_s.min(self.active_s)
    }
}

/// The efficiencies of a run, each between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Efficiency {
    /// Mean computation over run time: load balance times communication efficiency.
    pub parallel: f64,
    /// Mean over maximum computation.
    pub load_balance: f64,
    /// Maximum computation over run time.
    pub communication: f64,
    /// Serialisation efficiency: the loss in `communication` that remains on an ideal network; unknown for a profile.
    pub serialisation: Option<f64>,
    /// Transfer efficiency: the loss in `communication` due to data transfer; unknown for a profile.
    pub transfer: Option<f64>,
}

impl Efficiency {
    /// The efficiencies of ranks with these compute times, in a run of `elapsed` seconds; `None` if no rank computed.
    pub fn new(compute: &[f64], elapsed: f64) -> Option<Efficiency> {
        let longest = compute.iter().copied().fold(0.0, f64::max);
        if longest <= 0.0 || elapsed <= 0.0 {
            return None;
        }
        let mean = compute.iter().sum::<f64>() / compute.len() as f64;
        Some(Efficiency {
            parallel: mean / elapsed,
            load_balance: mean / longest,
            communication: longest / elapsed,
            serialisation: None,
            transfer: None,
        })
    }

    /// The efficiencies of threads that are not all active from the begin to the end of a run of `elapsed` seconds; `None` if none computed.
    /// Each thread is weighted by its active time. A thread that is active for less than a tenth of the run does not determine the
    /// communication efficiency.
    pub fn from_threads(threads: &[ActiveThread], elapsed: f64) -> Option<Efficiency> {
        let sum = |pick: fn(&ActiveThread) -> f64| threads.iter().map(pick).sum::<f64>();
        let (compute, active) = (sum(ActiveThread::compute_s), sum(|thread| thread.active_s));
        if compute <= 0.0 || elapsed <= 0.0 {
            return None;
        }
        let parallel = compute / active;
        let long = threads.iter().filter(|thread| thread.active_s >= MIN_BUSIEST_SHARE * elapsed);
        let communication = long.map(|thread| thread.compute_s() / thread.active_s).fold(parallel, f64::max);
        Some(Efficiency { parallel, load_balance: parallel / communication, communication, serialisation: None, transfer: None })
    }

    /// Splits communication efficiency, given that the run would take `ideal` of the `elapsed` seconds on an ideal network. No network
    /// makes a run shorter than its longest computation, nor longer than recorded.
    pub fn with_ideal_network(self, ideal: f64, elapsed: f64) -> Efficiency {
        if ideal <= 0.0 || elapsed <= 0.0 {
            return self;
        }
        let transfer = (ideal / elapsed).max(self.communication).min(1.0);
        Efficiency { serialisation: Some(self.communication / transfer), transfer: Some(transfer), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parallel_efficiency_is_the_product_of_the_two_others() {
        let e = Efficiency::new(&[2.0, 4.0, 6.0, 8.0], 10.0).unwrap();
        assert_eq!((e.parallel, e.load_balance, e.communication), (0.5, 0.625, 0.8));
        assert_eq!(e.parallel, e.load_balance * e.communication);
    }

    #[test]
    fn without_computation_there_is_no_efficiency() {
        assert_eq!(Efficiency::new(&[], 10.0), None);
        assert_eq!(Efficiency::new(&[0.0, 0.0], 10.0), None);
        assert_eq!(Efficiency::new(&[0.0], 0.0), None);
    }

    #[test]
    fn threads_that_are_always_active_are_like_ranks() {
        let threads = [2.0, 4.0, 6.0, 8.0].map(|compute_s| ActiveThread { compute_s, active_s: 10.0 });
        assert_eq!(Efficiency::from_threads(&threads, 10.0), Efficiency::new(&[2.0, 4.0, 6.0, 8.0], 10.0));
    }

    #[test]
    fn a_thread_counts_for_as_long_as_it_is_active() {
        let thread = |compute_s, active_s| ActiveThread { compute_s, active_s };
        let e = Efficiency::from_threads(&[thread(5.0, 10.0), thread(3.0, 4.0), thread(0.5, 0.5), thread(0.0, 1.5)], 10.0).unwrap();
        assert_eq!((e.parallel, e.communication), (8.5 / 16.0, 0.75), "half a second is too short for the busiest thread");
        assert!(e.load_balance <= 1.0);
        let short = Efficiency::from_threads(&[thread(0.0, 10.0), thread(0.9, 0.9)], 10.0).unwrap();
        assert_eq!((short.load_balance, short.communication), (1.0, short.parallel));
        assert_eq!(Efficiency::from_threads(&[thread(0.0, 10.0)], 10.0), None);
        assert_eq!(Efficiency::from_threads(&[thread(12.0, 10.0)], 10.0).unwrap().parallel, 1.0);
    }

    #[test]
    fn an_ideal_network_splits_communication_in_two() {
        let split = |ideal| Efficiency::new(&[2.0, 4.0], 8.0).unwrap().with_ideal_network(ideal, 8.0);
        assert_eq!((split(5.0).serialisation, split(5.0).transfer), (Some(0.8), Some(0.625)));
        assert_eq!((split(3.0).serialisation, split(3.0).transfer), (Some(1.0), Some(0.5)), "the longest computation takes 4 s");
        assert_eq!((split(9.0).serialisation, split(9.0).transfer), (Some(0.5), Some(1.0)), "the run took 8 s");
        assert_eq!(split(0.0).transfer, None);
    }
}
