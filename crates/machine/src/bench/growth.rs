//! How an operation of a group grows with the number of processes, beyond the largest number that was measured.

use sintonia_formula::Formula;

use crate::Collective;

/// How the time of an operation may grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Law {
    /// With the levels of a tree.
    Tree,
    /// With the number of the others.
    Others,
}

impl Law {
    fn value(self, processes: f64) -> f64 {
        match self {
            Law::Tree => processes.log2(),
            Law::Others => processes - 1.0,
        }
    }

    fn formula(self) -> Formula {
        let processes = Formula::symbol("p");
        match self {
            Law::Tree => processes.log2(),
            Law::Others => processes - Formula::one(),
        }
    }

    /// What the usual algorithms make of an operation.
    fn usual(what: Collective) -> Law {
        match what {
            Collective::Barrier | Collective::Bcast | Collective::Reduce | Collective::Allreduce | Collective::Scan => Law::Tree,
            Collective::Gather | Collective::Scatter | Collective::Allgather | Collective::Alltoall | Collective::ReduceScatterBlock => {
                Law::Others
            }
        }
    }
}

/// How wide the interval is on either side where only the usual algorithms speak, as a factor.
const UNKNOWN: f64 = 2.0;

/// The factor by which the time at the largest measured number of processes grows, as a formula in `p`.
///
/// `ratios` are pairs of a number of processes and the time relative to that at the largest number. With several of them, the law that
/// explains them better is taken, and the interval holds all that it does not explain; with one, the law is that of the usual algorithms.
pub fn growth(what: Collective, ratios: &[(u64, f64)]) -> Formula {
    let Some(&(largest, _)) = ratios.iter().max_by_key(|(processes, _)| *processes) else { return Formula::one() };
    let unexplained = |law: Law| {
        let errors = ratios.iter().map(|(processes, ratio)| ratio * law.value(largest as f64) / law.value(*processes as f64));
        errors.fold([1.0f64, 1.0], |[low, high], error| [low.min(error), high.max(error)])
    };
    let (law, [low, high]) = if ratios.len() < 2 {
        (Law::usual(what), [1.0 / UNKNOWN, UNKNOWN])
    } else {
        let width = |law: &Law| unexplained(*law)[1] / unexplained(*law)[0];
        let law = if width(&Law::Tree) <= width(&Law::Others) { Law::Tree } else { Law::Others };
        (law, unexplained(law))
    };
    let scale = law.value(largest as f64);
    let digits = |value: f64| format!("{value:.3e}").parse().unwrap_or(value);
    Formula::between(digits(low / scale), digits(high / scale)) * law.formula()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_formula::{Interval, Values};

    fn at(formula: &Formula, processes: f64) -> [f64; 2] {
        let value = formula.enclose(&Values::new().with("p", Interval::point(processes))).unwrap();
        [value.low(), value.high()]
    }

    #[test]
    fn what_was_measured_decides_the_law() {
        let linear = growth(Collective::Bcast, &[(2, 1.0 / 7.0), (4, 3.0 / 7.0), (8, 1.0)]);
        let [low, high] = at(&linear, 15.0);
        assert!((low - 2.0).abs() < 0.01 && (high - 2.0).abs() < 0.01, "{low} {high}");
        let tree = growth(Collective::Alltoall, &[(2, 1.0 / 3.0), (4, 2.0 / 3.0), (8, 1.0)]);
        let [low, high] = at(&tree, 64.0);
        assert!((low - 2.0).abs() < 0.01 && (high - 2.0).abs() < 0.01, "{low} {high}");
    }

    #[test]
    fn with_one_number_of_processes_the_interval_is_wide() {
        let [low, high] = at(&growth(Collective::Barrier, &[(2, 1.0)]), 16.0);
        assert!((low - 2.0).abs() < 0.01 && (high - 8.0).abs() < 0.01, "{low} {high}");
    }

    #[test]
    fn what_the_law_does_not_explain_is_in_the_interval() {
        let [low, high] = at(&growth(Collective::Bcast, &[(2, 0.6), (4, 1.0)]), 4.0);
        assert!(low <= 1.0 && (high - 1.2).abs() < 0.01, "{low} {high}");
    }
}
