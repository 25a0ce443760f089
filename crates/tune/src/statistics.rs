//! Mean and deviation of values that come one by one, over a window of the latest; medians, and lines through points of which some are
//! wrong.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// Mean and deviation of all values so far, without keeping them.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Sums {
    count: u64,
    mean: f64,
    squares: f64,
    largest: f64,
}

impl Sums {
    /// Adds a value that stands for `weight` equal ones.
    pub fn add(&mut self, value: f64, weight: u64) {
        if weight == 0 || !value.is_finite() {
            return;
        }
        self.largest = if self.count == 0 { value } else { self.largest.max(value) };
        self.count += weight;
        let change = value - self.mean;
        self.mean += change * weight as f64 / self.count as f64;
        self.squares += weight as f64 * change * (value - self.mean);
    }

    /// Adds all values of another.
    pub fn join(&mut self, other: &Sums) {
        let count = self.count + other.count;
        if count == 0 {
            return;
        }
        self.largest = match (self.count, other.count) {
            (0, _) => other.largest,
            (_, 0) => self.largest,
            _ => self.largest.max(other.largest),
        };
        let change = other.mean - self.mean;
        self.squares += other.squares + change * change * self.count as f64 * other.count as f64 / count as f64;
        self.mean += change * other.count as f64 / count as f64;
        self.count = count;
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean; 0 of none.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The largest; 0 of none.
    pub fn largest(&self) -> f64 {
        self.largest
    }

    /// All together.
    pub fn sum(&self) -> f64 {
        self.mean * self.count as f64
    }

    /// Their deviation from it; 0 of none.
    pub fn deviation(&self) -> f64 {
        if self.count == 0 { 0.0 } else { (self.squares / self.count as f64).max(0.0).sqrt() }
    }
}

/// The values of the latest periods: what was before is forgotten, because the program may have changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    periods: VecDeque<Sums>,
    most: usize,
}

impl Window {
    /// A window of so many periods, at least one.
    pub fn new(most: usize) -> Window {
        Window { periods: VecDeque::from([Sums::default()]), most: most.max(1) }
    }

    /// Begins a period; the oldest is forgotten if there are too many.
    pub fn begin(&mut self) {
        if self.periods.back().is_some_and(|last| last.count == 0) {
            return;
        }
        if self.periods.len() == self.most {
            self.periods.pop_front();
        }
        self.periods.push_back(Sums::default());
    }

    /// Adds a value to the period that runs.
    pub fn add(&mut self, value: f64, weight: u64) {
        if let Some(last) = self.periods.back_mut() {
            last.add(value, weight);
        }
    }

    /// All values in the window.
    pub fn sums(&self) -> Sums {
        self.periods.iter().fold(Sums::default(), |mut all, period| {
            all.join(period);
            all
        })
    }
}

/// The middle one of some values; `None` of none.
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

/// Places that are nearer to each other than this share of the farthest say nothing of a slope.
const APART: f64 = 0.1;

/// The line through points that a quarter of wrong ones does not move (Theil and Sen): its height at 0, and its slope.
///
/// `None` if all places are about the same.
pub fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let apart = APART * points.iter().map(|(x, _)| x.abs()).fold(0.0, f64::max);
    let slopes = points.iter().enumerate().flat_map(|(place, one)| {
        let others = points[place + 1..].iter().filter(move |other| (other.0 - one.0).abs() > apart);
        others.map(move |other| (other.1 - one.1) / (other.0 - one.0))
    });
    let slope = median(slopes)?;
    Some((median(points.iter().map(|(x, y)| y - slope * x))?, slope))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_one_by_one_and_joined_give_the_same() {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        let mut all = Sums::default();
        values.iter().for_each(|value| all.add(*value, 1));
        assert!((all.mean() - 5.0).abs() < 1e-12 && (all.deviation() - 2.0).abs() < 1e-12);
        let (mut one, mut other) = (Sums::default(), Sums::default());
        values[..3].iter().for_each(|value| one.add(*value, 1));
        values[3..].iter().for_each(|value| other.add(*value, 1));
        one.join(&other);
        assert_eq!((one.largest(), one.sum()), (9.0, 40.0));
        assert!((one.mean() - 5.0).abs() < 1e-12 && (one.deviation() - 2.0).abs() < 1e-12);
        let mut weighted = Sums::default();
        [(2.0, 1), (4.0, 3), (5.0, 2), (7.0, 1), (9.0, 1)].into_iter().for_each(|(value, weight)| weighted.add(value, weight));
        assert!((weighted.deviation() - 2.0).abs() < 1e-12);
    }

    #[test]
    fn nothing_and_what_is_no_number_do_no_harm() {
        let mut sums = Sums::default();
        sums.add(f64::NAN, 1);
        sums.add(1.0, 0);
        sums.join(&Sums::default());
        assert_eq!((sums.count(), sums.mean(), sums.deviation()), (0, 0.0, 0.0));
    }

    #[test]
    fn a_window_forgets_the_oldest_period() {
        let mut window = Window::new(2);
        for value in [100.0, 1.0, 3.0] {
            window.begin();
            window.add(value, 1);
        }
        assert_eq!((window.sums().count(), window.sums().mean()), (2, 2.0));
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!((median([f64::NAN]), median([7.0])), (None, Some(7.0)));
    }

    #[test]
    fn a_line_is_not_moved_by_a_few_points_that_are_wrong() {
        let mut points: Vec<(f64, f64)> = (0..20).map(|x| (f64::from(x), 5.0 + 2.0 * f64::from(x))).collect();
        points[3].1 = 1000.0;
        points[11].1 = -1000.0;
        let (height, slope) = line(&points).expect("a line");
        assert!((height - 5.0).abs() < 1e-9 && (slope - 2.0).abs() < 1e-9);
        assert_eq!(line(&[(1.0, 1.0), (1.0, 2.0), (1.01, 3.0)]), None);
    }
}
