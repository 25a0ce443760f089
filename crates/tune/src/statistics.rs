//! Mean and deviation of values that come one by one, over a window of the latest.

use std::collections::VecDeque;

/// Mean and deviation of all values so far, without keeping them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sums {
    count: u64,
    mean: f64,
    squares: f64,
}

impl Sums {
    /// Adds a value that stands for `weight` equal ones.
    pub fn add(&mut self, value: f64, weight: u64) {
        if weight == 0 || !value.is_finite() {
            return;
        }
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
}
