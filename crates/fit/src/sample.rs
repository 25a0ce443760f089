//! What repeated measurements of one thing say: where the middle is, how sure that is, and what does not fit.
//!
//! Times on a computer have a sharp lower edge and a long upper tail, so the middle is the median and its interval comes from the order of
//! the values alone (no distribution is assumed). Values far outside are told, never removed: whoever reads them decides.

use crate::random::Random;
use crate::stats::fair_coin_at_most;
use serde::{Deserialize, Serialize};

/// The confidence that intervals of this crate have unless told otherwise.
pub const CONFIDENCE: f64 = 0.95;

/// Why values cannot be summarised.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BadSample {
    /// There are no values.
    #[error("no values to summarise")]
    Empty,
    /// One of the values is not a number or is infinite.
    #[error("value {} is {value}: only finite numbers can be summarised", index + 1)]
    NotFinite {
        /// Its place among the values, from 0.
        index: usize,
        /// The value.
        value: f64,
    },
}

/// Where a value lies with a stated confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// How often such an interval holds the true value.
    pub confidence: f64,
}

/// Repeated measurements of one thing, summed up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// How many values there are.
    pub count: usize,
    /// The median.
    pub median: f64,
    /// The mean, for those who must add up.
    pub mean: f64,
    /// Where the true median lies; none with too few values (95 % needs six).
    pub interval: Option<Range>,
    /// The first and the third quartile.
    pub quartiles: [f64; 2],
    /// The smallest and the largest value.
    pub extremes: [f64; 2],
    /// The values more than three times the middle half's width outside of it, in the order they came.
    pub outliers: Vec<f64>,
    /// How alike neighbours in time are, from -1 to 1: far from 0 means that values are not independent and the interval is too narrow.
    pub autocorrelation: f64,
}

impl Summary {
    /// Sums up values in the order they were measured, with intervals of 95 %.
    pub fn of(values: &[f64]) -> Result<Self, BadSample> {
        Self::with_confidence(values, CONFIDENCE)
    }

    /// Sums up values in the order they were measured.
    pub fn with_confidence(values: &[f64], confidence: f64) -> Result<Self, BadSample> {
        let sorted = sorted(values)?;
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

    /// Whether the interval is narrower than this share of the median: the question of whoever measures until it is good enough.
    pub fn is_sharp(&self, share: f64) -> bool {
        self.interval.is_some_and(|range| range.high - range.low <= share * self.median.abs())
    }

    /// Whether neighbours in time are more alike than chance makes independent values.
    pub fn is_dependent(&self) -> bool {
        self.count >= 6 && self.autocorrelation.abs() > 2.0 / (self.count as f64).sqrt()
    }
}

/// The median of values measured in several launches, with an interval that knows that launches differ.
///
/// Repetitions within one launch share its placement and memory layout: their spread says nothing about the next launch. So launches are
/// drawn first and repetitions within them second (a two-level bootstrap), 2,000 times; since launches are few, the interval is widened by
/// the usual factor `launches / (launches - 1)` of a variance. One launch alone has no interval.
pub fn over_launches(launches: &[Vec<f64>], confidence: f64) -> Result<(f64, Option<Range>), BadSample> {
    const DRAWS: usize = 2000;
    let medians = launches.iter().map(|values| median(values)).collect::<Result<Vec<_>, _>>()?;
    let middle = median(&medians)?;
    if launches.len() < 2 {
        return Ok((middle, None));
    }
    let mut random = Random::new(launches.len() as u64);
    let mut drawn: Vec<f64> = (0..DRAWS).map(|_| middle_of_drawn(launches, &mut random)).collect();
    drawn.sort_unstable_by(f64::total_cmp);
    let widen = (launches.len() as f64 / (launches.len() - 1) as f64).sqrt();
    let end = |share: f64| middle + widen * (quantile(&drawn, share) - middle);
    let tail = 0.5 * (1.0 - confidence);
    Ok((middle, Some(Range { low: end(tail), high: end(1.0 - tail), confidence })))
}

fn middle_of_drawn(launches: &[Vec<f64>], random: &mut Random) -> f64 {
    let mut medians: Vec<f64> = (0..launches.len())
        .map(|_| {
            let launch = &launches[random.below(launches.len())];
            let mut values: Vec<f64> = (0..launch.len()).map(|_| launch[random.below(launch.len())]).collect();
            values.sort_unstable_by(f64::total_cmp);
            quantile(&values, 0.5)
        })
        .collect();
    medians.sort_unstable_by(f64::total_cmp);
    quantile(&medians, 0.5)
}

/// The median of finite values.
pub fn median(values: &[f64]) -> Result<f64, BadSample> {
    Ok(quantile(&sorted(values)?, 0.5))
}

/// The arithmetic mean; of nothing, 0.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The value below which this share of sorted values lies, interpolated; `sorted` is not empty.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}

/// A number with the seven digits that are shown: more than any measurement has.
pub(crate) fn rounded(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}

fn sorted(values: &[f64]) -> Result<Vec<f64>, BadSample> {
    if values.is_empty() {
        return Err(BadSample::Empty);
    }
    if let Some(index) = values.iter().position(|v| !v.is_finite()) {
        return Err(BadSample::NotFinite { index, value: values[index] });
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Ok(sorted)
}

/// The narrowest pair of values, equally far from both ends, between which the true median lies with the confidence asked for.
fn median_interval(sorted: &[f64], confidence: f64) -> Option<Range> {
    let tail = 0.5 * (1.0 - confidence);
    let outside = (0..sorted.len() / 2).take_while(|k| fair_coin_at_most(*k, sorted.len()) <= tail).last()?;
    Some(Range {
        low: sorted[outside],
        high: sorted[sorted.len() - 1 - outside],
        confidence: 1.0 - 2.0 * fair_coin_at_most(outside, sorted.len()),
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
        let five = Summary::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!(five.interval, None);
        let six = Summary::of(&[6.0, 1.0, 2.0, 5.0, 3.0, 4.0]).unwrap();
        let range = six.interval.unwrap();
        assert_eq!((range.low, range.high), (1.0, 6.0));
        assert!((range.confidence - 0.96875).abs() < 1e-12);
        assert_eq!(six.median, 3.5);
    }

    #[test]
    fn the_interval_holds_the_true_median_as_often_as_it_says() {
        let mut random = Random::new(3);
        let mut held = 0;
        for _ in 0..2000 {
            let values: Vec<f64> = (0..15).map(|_| random.normal().exp()).collect();
            let range = Summary::of(&values).unwrap().interval.unwrap();
            held += usize::from(range.low <= 1.0 && 1.0 <= range.high);
        }
        let share = held as f64 / 2000.0;
        assert!((0.945..0.985).contains(&share), "held in {share}");
    }

    #[test]
    fn outliers_are_told_and_still_counted() {
        let summary = Summary::of(&[10.0, 10.1, 9.9, 10.0, 31.0, 10.2, 9.8]).unwrap();
        assert_eq!(summary.outliers, vec![31.0]);
        assert_eq!(summary.count, 7);
        assert_eq!(summary.extremes[1], 31.0);
    }

    #[test]
    fn a_drift_is_seen_as_dependence() {
        let drift: Vec<f64> = (0..30).map(f64::from).collect();
        assert!(Summary::of(&drift).unwrap().is_dependent());
        let mut random = Random::new(5);
        let still: Vec<f64> = (0..30).map(|_| random.normal()).collect();
        assert!(!Summary::of(&still).unwrap().is_dependent());
    }

    #[test]
    fn launches_that_differ_widen_the_interval_however_many_repetitions_there_are() {
        let mut random = Random::new(11);
        let launches: Vec<Vec<f64>> =
            [1.0, 1.2, 0.9, 1.1].iter().map(|level| (0..200).map(|_| level + 0.001 * random.normal()).collect()).collect();
        let (middle, range) = over_launches(&launches, 0.95).unwrap();
        let range = range.unwrap();
        assert!((middle - 1.05).abs() < 0.01);
        assert!(range.high - range.low > 0.1, "{range:?}");
        assert_eq!(over_launches(&launches[..1], 0.95).unwrap().1, None);
    }

    #[test]
    fn what_is_not_a_number_is_refused_with_its_place() {
        assert_eq!(Summary::of(&[]), Err(BadSample::Empty));
        assert!(matches!(Summary::of(&[1.0, f64::NAN]), Err(BadSample::NotFinite { index: 1, .. })));
    }
}
