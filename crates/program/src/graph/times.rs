//! How long something took that happened many times.
//!
//! Only whole numbers are kept: sums then do not depend on the order in which ranks are added, and two machines agree to the last digit.

use serde::{Deserialize, Serialize};

/// Durations summed up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// How many there were.
    pub count: u64,
    /// All of them together, in nanoseconds.
    pub total_ns: u64,
    /// The shortest.
    pub least_ns: u64,
    /// The longest.
    pub most_ns: u64,
    squares: u128,
}

impl Times {
    /// One more duration.
    pub fn add(&mut self, ns: u64) {
        self.merge(&Times { count: 1, total_ns: ns, least_ns: ns, most_ns: ns, squares: u128::from(ns) * u128::from(ns) });
    }

    /// The durations of another sum as well.
    pub fn merge(&mut self, other: &Times) {
        if other.count == 0 {
            return;
        }
        self.least_ns = if self.count == 0 { other.least_ns } else { self.least_ns.min(other.least_ns) };
        self.most_ns = self.most_ns.max(other.most_ns);
        self.count += other.count;
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.squares = self.squares.saturating_add(other.squares);
    }

    /// Seconds of all of them together.
    pub fn total_s(&self) -> f64 {
        seconds(self.total_ns)
    }

    /// Seconds of the shortest.
    pub fn least_s(&self) -> f64 {
        seconds(self.least_ns)
    }

    /// Seconds of the longest.
    pub fn most_s(&self) -> f64 {
        seconds(self.most_ns)
    }

    /// Seconds of one on average.
    pub fn mean_s(&self) -> f64 {
        self.total_s() / self.count.max(1) as f64
    }

    /// How far they lie around the mean, in seconds: the standard deviation.
    pub fn deviation_s(&self) -> f64 {
        let (count, total) = (u128::from(self.count), u128::from(self.total_ns));
        let spread = count.saturating_mul(self.squares).saturating_sub(total.saturating_mul(total));
        (spread as f64).sqrt() / count.max(1) as f64 * 1e-9
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(durations: &[u64]) -> Times {
        let mut times = Times::default();
        durations.iter().for_each(|ns| times.add(*ns));
        times
    }

    #[test]
    fn mean_and_deviation_are_those_of_the_durations() {
        let times = times(&[2_000_000_000, 4_000_000_000, 4_000_000_000, 6_000_000_000]);
        assert_eq!((times.count, times.least_s(), times.most_s(), times.mean_s()), (4, 2.0, 6.0, 4.0));
        assert!((times.deviation_s() - 2f64.sqrt()).abs() < 1e-12);
        assert_eq!((Times::default().mean_s(), Times::default().deviation_s()), (0.0, 0.0));
    }

    #[test]
    fn sums_do_not_depend_on_their_order() {
        let (mut first, mut second) = (times(&[5, 1]), times(&[7]));
        first.merge(&times(&[7]));
        second.merge(&times(&[1, 5]));
        second.merge(&Times::default());
        assert_eq!(first, second);
    }
}
