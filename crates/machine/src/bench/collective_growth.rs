//! Growth of a collective with the number of processes, beyond the largest number measured.

use sintonia_formula::Formula;

use crate::CollectiveKind;

/// How the time of a collective may grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GrowthLaw {
    /// With the depth of a tree.
    Logarithmic,
    /// With the number of other processes.
    Linear,
}

impl GrowthLaw {
    fn value(self, processes: f64) -> f64 {
        match self {
            GrowthLaw::Logarithmic => processes.log2(),
            GrowthLaw::Linear => processes - 1.0,
        }
    }

    fn formula(self) -> Formula {
        let processes = Formula::symbol("p");
        match self {
            GrowthLaw::Logarithmic => processes.log2(),
            GrowthLaw::Linear => processes - Formula::one(),
        }
    }

    /// The growth of the usual algorithms.
    fn typical(what: CollectiveKind) -> GrowthLaw {
        match what {
            CollectiveKind::Barrier | CollectiveKind::Bcast | CollectiveKind::Reduce | CollectiveKind::Allreduce | CollectiveKind::Scan => {
                GrowthLaw::Logarithmic
            }
            CollectiveKind::Gather
            | CollectiveKind::Scatter
            | CollectiveKind::Allgather
            | CollectiveKind::Alltoall
            | CollectiveKind::ReduceScatterBlock => GrowthLaw::Linear,
        }
    }
}

/// Factor on either side of the interval where only the usual algorithms are known.
const DEFAULT_SPREAD: f64 = 2.0;

/// The factor over the time at the largest measured number of processes, as a formula in `p`.
///
/// `ratios` are pairs of a number of processes and the time relative to that at the largest number. With several, the law with the smaller
/// residuals is used, and the interval encloses them; with one, the law of the usual algorithms is assumed.
pub(super) fn growth(what: CollectiveKind, ratios: &[(u64, f64)]) -> Formula {
    // Ratios beyond this are disturbances.
    let ratios: Vec<(u64, f64)> = ratios.iter().map(|(processes, ratio)| (*processes, ratio.clamp(1e-9, 1e9))).collect();
    let Some(&(largest, _)) = ratios.iter().max_by_key(|(processes, _)| *processes) else { return Formula::one() };
    let residuals = |law: GrowthLaw| {
        let errors = ratios.iter().map(|(processes, ratio)| ratio * law.value(largest as f64) / law.value(*processes as f64));
        errors.fold([1.0f64, 1.0], |[low, high], error| [low.min(error), high.max(error)])
    };
    let (law, [low, high]) = if ratios.len() < 2 {
        (GrowthLaw::typical(what), [1.0 / DEFAULT_SPREAD, DEFAULT_SPREAD])
    } else {
        let width = |law: &GrowthLaw| residuals(*law)[1] / residuals(*law)[0];
        let law = if width(&GrowthLaw::Logarithmic) <= width(&GrowthLaw::Linear) { GrowthLaw::Logarithmic } else { GrowthLaw::Linear };
        (law, residuals(law))
    };
    let scale = law.value(largest as f64);
    let digits = |value: f64| format!("{value:.3e}").parse().unwrap_or(value);
    Formula::interval(digits(low / scale), digits(high / scale)) * law.formula()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_formula::{Interval, SymbolValues};

    fn at(formula: &Formula, processes: f64) -> [f64; 2] {
        let value = formula.enclose(&SymbolValues::new().with_value("p", Interval::point(processes))).unwrap();
        [value.low(), value.high()]
    }

    #[test]
    fn measurements_decide_the_law() {
        let linear = growth(CollectiveKind::Bcast, &[(2, 1.0 / 7.0), (4, 3.0 / 7.0), (8, 1.0)]);
        let [low, high] = at(&linear, 15.0);
        assert!((low - 2.0).abs() < 0.01 && (high - 2.0).abs() < 0.01, "{low} {high}");
        let tree = growth(CollectiveKind::Alltoall, &[(2, 1.0 / 3.0), (4, 2.0 / 3.0), (8, 1.0)]);
        let [low, high] = at(&tree, 64.0);
        assert!((low - 2.0).abs() < 0.01 && (high - 2.0).abs() < 0.01, "{low} {high}");
    }

    #[test]
    fn with_one_number_of_processes_the_interval_is_wide() {
        let [low, high] = at(&growth(CollectiveKind::Barrier, &[(2, 1.0)]), 16.0);
        assert!((low - 2.0).abs() < 0.01 && (high - 8.0).abs() < 0.01, "{low} {high}");
    }

    #[test]
    fn residuals_are_in_the_interval() {
        let [low, high] = at(&growth(CollectiveKind::Bcast, &[(2, 0.6), (4, 1.0)]), 4.0);
        assert!(low <= 1.0 && (high - 1.2).abs() < 0.01, "{low} {high}");
    }
}
