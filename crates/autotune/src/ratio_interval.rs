//! How much faster runs are, from pairs of runs: an estimate and an interval that assume no distribution.
//!
//! On shared machines run times have a long tail, which a mean follows. The estimate is that of Hodges and Lehmann (the median of all means
//! of two logarithms of ratios), the interval that of Wilcoxon's signed-rank test with its exact distribution. The order within a pair
//! alternates, so the logarithms are distributed symmetrically around the truth, which is all that the test needs.

use serde::{Deserialize, Serialize};

/// The confidence of intervals.
const CONFIDENCE: f64 = 0.95;
/// Fewer pairs have no interval with this confidence.
pub(crate) const MIN_PAIRS: usize = 6;

/// A ratio of run times with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RatioInterval {
    /// Lower end of the interval with 95 % confidence; 0 for too few pairs.
    pub low: f64,
    /// The estimate: reference time over new time, so more than 1 is faster.
    pub ratio: f64,
    /// Upper end; infinite for too few pairs.
    #[serde(with = "infinite_as_null")]
    pub high: f64,
    /// Number of pairs.
    pub pairs: usize,
}

impl RatioInterval {
    /// From pairs of reference time and new time. `None` without pairs, or if a time is not positive.
    pub fn from_pairs(pairs: &[[f64; 2]]) -> Option<RatioInterval> {
        let logs: Vec<f64> = pairs.iter().map(|[reference, new]| (reference / new).ln()).collect();
        if logs.is_empty() || !logs.iter().all(|log| log.is_finite()) {
            return None;
        }
        let means = walsh_averages(&logs);
        let middle = sintonia_fit::sample::median(&means).ok()?;
        let (low, high) = match outside_averages(logs.len()) {
            Some(outside) => (means[outside].exp(), means[means.len() - 1 - outside].exp()),
            None => (0.0, f64::INFINITY),
        };
        Some(RatioInterval { low, ratio: middle.exp(), high, pairs: pairs.len() })
    }
}

/// All means of two values (a value with itself, too), in order.
fn walsh_averages(values: &[f64]) -> Vec<f64> {
    let with_later = |(index, one): (usize, &f64)| values[index..].iter().map(|other| 0.5 * (one + other)).collect::<Vec<_>>();
    let mut means: Vec<f64> = values.iter().enumerate().flat_map(with_later).collect();
    means.sort_by(f64::total_cmp);
    means
}

/// How many means lie outside the interval at each end; `None` if there are too few pairs for the confidence.
fn outside_averages(pairs: usize) -> Option<usize> {
    let tail = 0.5 * (1.0 - CONFIDENCE);
    let mut cumulative = 0.0;
    let mut outside = None;
    for (rank_sum, probability) in signed_rank_distribution(pairs).into_iter().enumerate() {
        cumulative += probability;
        if cumulative > tail {
            break;
        }
        outside = Some(rank_sum);
    }
    outside
}

/// Probability of each sum of positive ranks if both signs are equally likely.
fn signed_rank_distribution(pairs: usize) -> Vec<f64> {
    let mut probabilities = vec![1.0];
    for rank in 1..=pairs {
        let mut next = vec![0.0; probabilities.len() + rank];
        for (sum, probability) in probabilities.iter().enumerate() {
            next[sum] += 0.5 * probability;
            next[sum + rank] += 0.5 * probability;
        }
        probabilities = next;
    }
    probabilities
}

/// JSON has no infinity.
mod infinite_as_null {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        value.is_finite().then_some(*value).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(Option::<f64>::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_fit::SplitMix64;

    #[test]
    fn critical_values_are_those_of_the_tables() {
        // Two-sided 5 %: the critical values of Wilcoxon's table, which count from the outermost mean.
        for (pairs, critical) in [(6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (12, 13), (15, 25), (20, 52)] {
            assert_eq!(outside_averages(pairs), Some(critical), "{pairs} pairs");
        }
        assert_eq!(outside_averages(MIN_PAIRS - 1), None);
    }

    #[test]
    fn a_steady_ratio_is_seen_through_a_machine_that_gets_slower() {
        let pairs: Vec<[f64; 2]> = (1..=8).map(|scale| [1.2 * f64::from(scale), f64::from(scale)]).collect();
        let interval = RatioInterval::from_pairs(&pairs).unwrap();
        assert!((interval.low - 1.2).abs() < 1e-9 && (interval.high - 1.2).abs() < 1e-9, "{interval:?}");
    }

    #[test]
    fn one_disturbed_run_hardly_matters() {
        let mut pairs = vec![[1.1, 1.0]; 9];
        pairs.push([1.1, 30.0]);
        let interval = RatioInterval::from_pairs(&pairs).unwrap();
        assert!((interval.ratio - 1.1).abs() < 1e-9 && interval.low > 0.1, "{interval:?}");
    }

    #[test]
    fn the_interval_holds_the_truth_as_often_as_it_says() {
        let mut random = SplitMix64::new(7);
        let mut held = 0;
        for _ in 0..2000 {
            // A long tail: every fifth run takes up to twice the time.
            let mut time = |scale: f64| {
                let tail = if random.uniform() < 0.2 { random.uniform() } else { 0.0 };
                scale * (0.02 * random.standard_normal() + tail).exp()
            };
            let pairs: Vec<[f64; 2]> = (0..8).map(|_| [time(1.3), time(1.0)]).collect();
            let interval = RatioInterval::from_pairs(&pairs).unwrap();
            held += u32::from(interval.low <= 1.3 && 1.3 <= interval.high);
        }
        assert!((1880..1960).contains(&held), "{held} of 2000");
    }

    #[test]
    fn nothing_is_said_about_no_pairs_and_impossible_times() {
        assert_eq!(RatioInterval::from_pairs(&[]), None);
        assert_eq!(RatioInterval::from_pairs(&[[0.0, 1.0]]), None);
        assert_eq!(RatioInterval::from_pairs(&[[1.0, 1.0]; 3]).unwrap().low, 0.0);
    }
}
