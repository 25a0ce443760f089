//! How much of the machine's time was spent computing, and what kept the rest: the efficiencies of the POP project.

use serde::Serialize;

/// The efficiencies of a run, each between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Efficiency {
    /// Mean time outside MPI over the run time: load balance times communication.
    pub parallel: f64,
    /// Mean time outside MPI over the longest: how evenly the computation is shared.
    pub load_balance: f64,
    /// Longest time outside MPI over the run time: what communication leaves.
    pub communication: f64,
    /// The part of `communication` that waiting for each other leaves, even on an ideal network; not known from sums alone.
    pub serialisation: Option<f64>,
    /// The part of `communication` that moving data leaves; not known from sums alone.
    pub transfer: Option<f64>,
}

impl Efficiency {
    /// The efficiencies of ranks that were outside MPI for so long, in a run that took so long; `None` if nobody computed at all.
    pub fn new(outside: &[f64], elapsed: f64) -> Option<Efficiency> {
        let longest = outside.iter().copied().fold(0.0, f64::max);
        if longest <= 0.0 || elapsed <= 0.0 {
            return None;
        }
        let mean = outside.iter().sum::<f64>() / outside.len() as f64;
        Some(Efficiency {
            parallel: mean / elapsed,
            load_balance: mean / longest,
            communication: longest / elapsed,
            serialisation: None,
            transfer: None,
        })
    }

    /// The same with communication split in two: on an ideal network the run would have taken `ideal` of the `elapsed` seconds. No network
    /// makes a run shorter than its longest computation, nor longer than it was.
    pub fn on_ideal_network(self, ideal: f64, elapsed: f64) -> Efficiency {
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
    fn an_ideal_network_splits_communication_in_two() {
        let split = |ideal| Efficiency::new(&[2.0, 4.0], 8.0).unwrap().on_ideal_network(ideal, 8.0);
        assert_eq!((split(5.0).serialisation, split(5.0).transfer), (Some(0.8), Some(0.625)));
        assert_eq!((split(3.0).serialisation, split(3.0).transfer), (Some(1.0), Some(0.5)), "the longest computation takes 4 s");
        assert_eq!((split(9.0).serialisation, split(9.0).transfer), (Some(0.5), Some(1.0)), "the run took 8 s");
        assert_eq!(split(0.0).transfer, None);
    }
}
