//! Running mean and deviation, sliding windows, medians, and robust line fits.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// Running mean and deviation (Welford).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct RunningStats {
    count: u64,
    mean: f64,
    squares: f64,
    largest: f64,
}

impl RunningStats {
    /// Adds a value with an integer weight.
    pub fn add(&mut self, value: f64, weight: u64) {
        if weight == 0 || !value.is_finite() {
            return;
        }
        self.largest = if self.count == 0 { value } else { self.largest.max(value) };
        self.count += weight;
        let delta = value - self.mean;
        self.mean += delta * weight as f64 / self.count as f64;
        self.squares += weight as f64 * delta * (value - self.mean);
    }

    /// The statistics of values whose total, sum of squares and maximum are known. A maximum below the mean is not that of these values.
    pub fn from_sums(count: u64, total: f64, squares: f64, maximum: f64) -> RunningStats {
        if count == 0 {
            return RunningStats::default();
        }
        let mean = total / count as f64;
        RunningStats { count, mean, squares: (squares - total * mean).max(0.0), largest: maximum.max(mean) }
    }

    /// Merges other statistics.
    pub fn merge(&mut self, other: &RunningStats) {
        let count = self.count + other.count;
        if count == 0 {
            return;
        }
        self.largest = match (self.count, other.count) {
            (0, _) => other.largest,
            (_, 0) => self.largest,
            _ => self.largest.max(other.largest),
        };
        let delta = other.mean - self.mean;
        self.squares += other.squares + delta * delta * self.count as f64 * other.count as f64 / count as f64;
        self.mean += delta * other.count as f64 / count as f64;
        self.count = count;
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean; 0 without values.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Maximum; 0 without values.
    pub fn maximum(&self) -> f64 {
        self.largest
    }

    /// Sum.
    pub fn sum(&self) -> f64 {
        self.mean * self.count as f64
    }

    /// Standard deviation; 0 without values.
    pub fn deviation(&self) -> f64 {
        if self.count == 0 { 0.0 } else { (self.squares / self.count as f64).max(0.0).sqrt() }
    }
}

/// Values of the latest periods; older ones are dropped, because the program may have changed.
#[derive(Debug, Clone, PartialEq)]
pub struct SlidingWindow {
    periods: VecDeque<RunningStats>,
    max_periods: usize,
}

impl SlidingWindow {
    /// A window of `max_periods`, at least one.
    pub fn new(most: usize) -> SlidingWindow {
        SlidingWindow { periods: VecDeque::from([RunningStats::default()]), max_periods: most.max(1) }
    }

    /// Begins a period; drops the oldest if there are too many.
    pub fn begin_period(&mut self) {
        if self.periods.back().is_some_and(|last| last.count == 0) {
            return;
        }
        if self.periods.len() == self.max_periods {
            self.periods.pop_front();
        }
        self.periods.push_back(RunningStats::default());
    }

    /// Adds a value to the current period.
    pub fn add(&mut self, value: f64, weight: u64) {
        if let Some(last) = self.periods.back_mut() {
            last.add(value, weight);
        }
    }

    /// Statistics of all values in the window.
    pub fn stats(&self) -> RunningStats {
        self.periods.iter().fold(RunningStats::default(), |mut all, period| {
            all.merge(period);
            all
        })
    }
}

/// The median; `None` without values.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
    if values.is_empty() {
        return None;
    }
    let middle = values.len() / 2;
    let is_even = values.len().is_multiple_of(2);
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let lower = if is_even { below.iter().copied().fold(f64::NEG_INFINITY, f64::max) } else { *upper };
    Some((lower + *upper) / 2.0)
}

/// Points closer than this share of the largest x do not contribute a slope.
const MIN_SEPARATION: f64 = 0.1;

/// The Theil-Sen line, as intercept and slope; tolerates a quarter of outliers.
///
/// `None` if all points have about the same x.
pub fn theil_sen_line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let apart = MIN_SEPARATION * points.iter().map(|(x, _)| x.abs()).fold(0.0, f64::max);
    let slopes = points.iter().enumerate().flat_map(|(index, one)| {
        let others = points[index + 1..].iter().filter(move |other| (other.0 - one.0).abs() > apart);
        others.map(move |other| (other.1 - one.1) / (other.0 - one.0))
    });
    let slope = median(slopes)?;
    Some((median(points.iter().map(|(x, y)| y - slope * x))?, slope))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adding_and_merging_agree() {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        let mut all = RunningStats::default();
        values.iter().for_each(|value| all.add(*value, 1));
        assert!((all.mean() - 5.0).abs() < 1e-12 && (all.deviation() - 2.0).abs() < 1e-12);
        let (mut one, mut other) = (RunningStats::default(), RunningStats::default());
        values[..3].iter().for_each(|value| one.add(*value, 1));
        values[3..].iter().for_each(|value| other.add(*value, 1));
        one.merge(&other);
        assert_eq!((one.maximum(), one.sum()), (9.0, 40.0));
        assert!((one.mean() - 5.0).abs() < 1e-12 && (one.deviation() - 2.0).abs() < 1e-12);
        let mut weighted = RunningStats::default();
        [(2.0, 1), (4.0, 3), (5.0, 2), (7.0, 1), (9.0, 1)].into_iter().for_each(|(value, weight)| weighted.add(value, weight));
        assert!((weighted.deviation() - 2.0).abs() < 1e-12);
    }

    #[test]
    fn empty_statistics_and_nan_are_tolerated() {
        let mut stats = RunningStats::default();
        stats.add(f64::NAN, 1);
        stats.add(1.0, 0);
        stats.merge(&RunningStats::default());
        assert_eq!((stats.count(), stats.mean(), stats.deviation()), (0, 0.0, 0.0));
    }

    #[test]
    fn a_window_drops_the_oldest_period() {
        let mut window = SlidingWindow::new(2);
        for value in [100.0, 1.0, 3.0] {
            window.begin_period();
            window.add(value, 1);
        }
        assert_eq!((window.stats().count(), window.stats().mean()), (2, 2.0));
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!((median([f64::NAN]), median([7.0])), (None, Some(7.0)));
    }

    #[test]
    fn a_line_tolerates_outliers() {
        let mut points: Vec<(f64, f64)> = (0..20).map(|x| (f64::from(x), 5.0 + 2.0 * f64::from(x))).collect();
        points[3].1 = 1000.0;
        points[11].1 = -1000.0;
        let (height, slope) = theil_sen_line(&points).expect("a line");
        assert!((height - 5.0).abs() < 1e-9 && (slope - 2.0).abs() < 1e-9);
        assert_eq!(theil_sen_line(&[(1.0, 1.0), (1.0, 2.0), (1.01, 3.0)]), None);
    }
}
