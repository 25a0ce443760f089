//! Summaries of repeated measurements: median, confidence interval, outliers.
//!
//! Times on a computer have a sharp lower bound and a long upper tail, so the location is the median and its interval comes from order
//! statistics (no distribution is assumed). Outliers are reported, never removed.

use crate::split_mix::SplitMix64;
use crate::stats::fair_binomial_cdf;
use serde::{Deserialize, Serialize};

/// The default confidence level of intervals.
pub const DEFAULT_CONFIDENCE: f64 = 0.95;

/// Why values cannot be summarised.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SampleError {
    /// There are no values.
    #[error("no values to summarise")]
    Empty,
    /// A value is NaN or infinite.
    #[error("value {} is {value}: only finite numbers can be summarised", index + 1)]
    NotFinite {
        /// Its index among the values.
        index: usize,
        /// The value.
        value: f64,
    },
}

/// A confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ConfidenceInterval {
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
    /// The confidence level.
    pub confidence: f64,
}

/// Summary statistics of repeated measurements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SampleSummary {
    /// The number of values.
    pub count: usize,
    /// The median.
    pub median: f64,
    /// The mean, for use in sums.
    pub mean: f64,
    /// The confidence interval of the median; none with too few values (95 % needs six).
    pub interval: Option<ConfidenceInterval>,
    /// First and third quartile.
    pub quartiles: [f64; 2],
    /// Minimum and maximum.
    pub extremes: [f64; 2],
    /// Values more than three interquartile ranges outside the quartiles, in the order of measurement.
    pub outliers: Vec<f64>,
    /// Lag-1 autocorrelation, from -1 to 1: far from 0 the values are not independent and the interval is too narrow.
    pub autocorrelation: f64,
}

impl SampleSummary {
    /// Summarises values in the order of measurement, with 95 % intervals.
    pub fn from_values(values: &[f64]) -> Result<Self, SampleError> {
        Self::with_confidence(values, DEFAULT_CONFIDENCE)
    }

    /// Summarises values in the order of measurement.
    pub fn with_confidence(values: &[f64], confidence: f64) -> Result<Self, SampleError> {
        let sorted = sorted_values(values)?;
        let quartiles = [quantile(&sorted, 0.25), quantile(&sorted, 0.75)];
        let fence = 3.0 * (quartiles[1] - quartiles[0]);
        Ok(Self {
            count: values.len(),
            median: quantile(&sorted, 0.5),
            mean: mean(values),
            interval: median_interval(&sorted, confidence),
            quartiles,
            extremes: [sorted[0], sorted[sorted.len() - 1]],
            outliers: values.iter().copied().filter(|v| *v < quartiles[0] - fence || *v > quartiles[1] + fence).collect(),
            autocorrelation: autocorrelation(values),
        })
    }

    /// Whether the interval is narrower than this share of the median; a stopping criterion for measuring.
    pub fn is_precise(&self, share: f64) -> bool {
        self.interval.is_some_and(|range| range.high - range.low <= share * self.median.abs())
    }

    /// Whether consecutive values are more alike than chance allows.
    pub fn is_autocorrelated(&self) -> bool {
        self.count >= 6 && self.autocorrelation.abs() > 2.0 / (self.count as f64).sqrt()
    }
}

/// The median over several launches, with an interval that includes the variation between launches.
///
/// Repetitions within one launch share its placement and memory layout, so their spread says nothing about the next launch. A two-level
/// bootstrap with 2,000 resamples draws launches first and repetitions within them second. Launches are few, so the interval is widened by
/// the square root of `launches / (launches - 1)`. A single launch has no interval.
pub fn bootstrap_median(launches: &[Vec<f64>], confidence: f64) -> Result<(f64, Option<ConfidenceInterval>), SampleError> {
    const DRAWS: usize = 2000;
    let medians = launches.iter().map(|values| median(values)).collect::<Result<Vec<_>, _>>()?;
    let middle = median(&medians)?;
    if launches.len() < 2 {
        return Ok((middle, None));
    }
    let mut random = SplitMix64::new(launches.len() as u64);
    let mut drawn: Vec<f64> = (0..DRAWS).map(|_| resampled_median(launches, &mut random)).collect();
    drawn.sort_unstable_by(f64::total_cmp);
    let widen = (launches.len() as f64 / (launches.len() - 1) as f64).sqrt();
    let end = |share: f64| middle + widen * (quantile(&drawn, share) - middle);
    let tail = 0.5 * (1.0 - confidence);
    Ok((middle, Some(ConfidenceInterval { low: end(tail), high: end(1.0 - tail), confidence })))
}

fn resampled_median(launches: &[Vec<f64>], random: &mut SplitMix64) -> f64 {
    let mut medians: Vec<f64> = (0..launches.len())
        .map(|_| {
            let launch = &launches[random.index_below(launches.len())];
            let mut values: Vec<f64> = (0..launch.len()).map(|_| launch[random.index_below(launch.len())]).collect();
            values.sort_unstable_by(f64::total_cmp);
            quantile(&values, 0.5)
        })
        .collect();
    medians.sort_unstable_by(f64::total_cmp);
    quantile(&medians, 0.5)
}

/// The median of finite values.
pub fn median(values: &[f64]) -> Result<f64, SampleError> {
    Ok(quantile(&sorted_values(values)?, 0.5))
}

/// The arithmetic mean; 0 for an empty slice.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The interpolated quantile of sorted values; `sorted` must not be empty.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let position = share * (sorted.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (position - below as f64) * (sorted[above] - sorted[below])
}

/// Rounds to the seven digits that are displayed.
pub(crate) fn round_for_display(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}

fn sorted_values(values: &[f64]) -> Result<Vec<f64>, SampleError> {
    if values.is_empty() {
        return Err(SampleError::Empty);
    }
    if let Some(index) = values.iter().position(|v| !v.is_finite()) {
        return Err(SampleError::NotFinite { index, value: values[index] });
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Ok(sorted)
}

/// The narrowest symmetric pair of order statistics that covers the true median with this confidence.
fn median_interval(sorted: &[f64], confidence: f64) -> Option<ConfidenceInterval> {
    let tail = 0.5 * (1.0 - confidence);
    let outside = (0..sorted.len() / 2).take_while(|k| fair_binomial_cdf(*k, sorted.len()) <= tail).last()?;
    Some(ConfidenceInterval {
        low: sorted[outside],
        high: sorted[sorted.len() - 1 - outside],
        confidence: 1.0 - 2.0 * fair_binomial_cdf(outside, sorted.len()),
    })
}

fn autocorrelation(values: &[f64]) -> f64 {
    let middle = mean(values);
    let all: f64 = values.iter().map(|v| (v - middle).powi(2)).sum();
    let neighbours: f64 = values.windows(2).map(|pair| (pair[0] - middle) * (pair[1] - middle)).sum();
    if all > 0.0 { neighbours / all } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_values_are_the_fewest_with_an_interval_of_95_percent() {
        let five = SampleSummary::from_values(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!(five.interval, None);
        let six = SampleSummary::from_values(&[6.0, 1.0, 2.0, 5.0, 3.0, 4.0]).unwrap();
        let range = six.interval.unwrap();
        assert_eq!((range.low, range.high), (1.0, 6.0));
        assert!((range.confidence - 0.96875).abs() < 1e-12);
        assert_eq!(six.median, 3.5);
    }

    #[test]
    fn the_interval_holds_the_true_median_as_often_as_it_says() {
        let mut random = SplitMix64::new(3);
        let mut held = 0;
        for _ in 0..2000 {
            let values: Vec<f64> = (0..15).map(|_| random.standard_normal().exp()).collect();
            let range = SampleSummary::from_values(&values).unwrap().interval.unwrap();
            held += usize::from(range.low <= 1.0 && 1.0 <= range.high);
        }
        let share = held as f64 / 2000.0;
        assert!((0.945..0.985).contains(&share), "held in {share}");
    }

    #[test]
    fn outliers_are_told_and_still_counted() {
        let summary = SampleSummary::from_values(&[10.0, 10.1, 9.9, 10.0, 31.0, 10.2, 9.8]).unwrap();
        assert_eq!(summary.outliers, vec![31.0]);
        assert_eq!(summary.count, 7);
        assert_eq!(summary.extremes[1], 31.0);
    }

    #[test]
    fn a_drift_is_seen_as_dependence() {
        let drift: Vec<f64> = (0..30).map(f64::from).collect();
        assert!(SampleSummary::from_values(&drift).unwrap().is_autocorrelated());
        let mut random = SplitMix64::new(5);
        let still: Vec<f64> = (0..30).map(|_| random.standard_normal()).collect();
        assert!(!SampleSummary::from_values(&still).unwrap().is_autocorrelated());
    }

    #[test]
    fn launches_that_differ_widen_the_interval_however_many_repetitions_there_are() {
        let mut random = SplitMix64::new(11);
        let launches: Vec<Vec<f64>> =
            [1.0, 1.2, 0.9, 1.1].iter().map(|level| (0..200).map(|_| level + 0.001 * random.standard_normal()).collect()).collect();
        let (middle, range) = bootstrap_median(&launches, 0.95).unwrap();
        let range = range.unwrap();
        assert!((middle - 1.05).abs() < 0.01);
        assert!(range.high - range.low > 0.1, "{range:?}");
        assert_eq!(bootstrap_median(&launches[..1], 0.95).unwrap().1, None);
    }

    #[test]
    fn what_is_not_a_number_is_refused_with_its_place() {
        assert_eq!(SampleSummary::from_values(&[]), Err(SampleError::Empty));
        assert!(matches!(SampleSummary::from_values(&[1.0, f64::NAN]), Err(SampleError::NotFinite { index: 1, .. })));
    }
}
