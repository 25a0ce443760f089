//! Paired comparison of runs with and without a placement.

use sintonia_fit::sample::{self, DEFAULT_CONFIDENCE};
use sintonia_fit::student_quantile;

/// How much faster runs are with a placement.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct PairedRuns {
    /// Number of pairs of runs.
    pub rounds: usize,
    /// Median of the runs without it, in seconds.
    pub now_s: f64,
    /// Median of the runs with it, in seconds.
    pub placed_s: f64,
    /// Speedup: lower bound, mean and upper bound of the interval with [`CONFIDENCE`]; from 0 to infinity for a single pair.
    pub speed_up: [f64; 3],
}

impl PairedRuns {
    /// Pairs of run times without and with the placement. The runs of a pair are consecutive, so a temporary slowdown of the machine
    /// affects both, and only their ratio counts. `None` if there are no pairs or invalid times.
    pub fn from_pairs(pairs: &[[f64; 2]]) -> Option<PairedRuns> {
        let logs: Vec<f64> = pairs.iter().map(|[now, placed]| (now / placed).ln()).collect();
        if logs.is_empty() || !logs.iter().all(|log| log.is_finite()) {
            return None;
        }
        let mean = sample::mean(&logs);
        let freedom = logs.len() as f64 - 1.0;
        let half = match logs.len() {
            1 => f64::INFINITY,
            _ => {
                let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / freedom;
                student_quantile(0.5 + 0.5 * DEFAULT_CONFIDENCE, freedom) * (variance / logs.len() as f64).sqrt()
            }
        };
        let median = |of: usize| sample::median(&pairs.iter().map(|pair| pair[of]).collect::<Vec<_>>()).ok();
        Some(PairedRuns {
            rounds: pairs.len(),
            now_s: median(0)?,
            placed_s: median(1)?,
            speed_up: [(mean - half).exp(), mean.exp(), (mean + half).exp()],
        })
    }

    /// Whether it is faster, slower, or undecided.
    pub fn verdict(&self) -> ComparisonVerdict {
        match self.speed_up {
            [low, ..] if low > 1.0 => ComparisonVerdict::Faster,
            [_, _, high] if high < 1.0 => ComparisonVerdict::Slower,
            _ => ComparisonVerdict::Unsure,
        }
    }
}

/// The conclusion from a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonVerdict {
    /// The whole interval is above 1.
    Faster,
    /// The whole interval is below 1.
    Slower,
    /// The interval contains 1.
    Unsure,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_ratio_is_seen_through_a_machine_that_gets_slower() {
        let pairs = [[2.0, 1.0], [4.1, 2.0], [7.9, 4.0], [16.0, 8.0]];
        let measured = PairedRuns::from_pairs(&pairs).unwrap();
        let [low, middle, high] = measured.speed_up;
        assert!(1.9 < low && low < middle && middle < high && high < 2.1, "{measured:?}");
        assert_eq!(measured.verdict(), ComparisonVerdict::Faster);
    }

    #[test]
    fn the_interval_is_that_of_student() {
        // Logarithms 0 and 1: mean 0.5, standard error 0.5, and 12.706 times that with one degree of freedom.
        let measured = PairedRuns::from_pairs(&[[1.0, 1.0], [std::f64::consts::E, 1.0]]).unwrap();
        assert!((measured.speed_up[2].ln() - (0.5 + 0.5 * 12.7062)).abs() < 1e-3);
        assert_eq!(measured.verdict(), ComparisonVerdict::Unsure);
    }

    #[test]
    fn one_pair_proves_nothing_and_none_says_nothing() {
        let one = PairedRuns::from_pairs(&[[2.0, 1.0]]).unwrap();
        assert_eq!((one.speed_up[0], one.speed_up[2], one.verdict()), (0.0, f64::INFINITY, ComparisonVerdict::Unsure));
        assert_eq!(PairedRuns::from_pairs(&[]), None);
        assert_eq!(PairedRuns::from_pairs(&[[0.0, 0.0]]), None);
    }
}
