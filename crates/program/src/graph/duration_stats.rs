//! Statistics of durations.
//!
//! Only integers are kept, so sums do not depend on the order in which ranks are added, and all machines agree to the last digit.

use serde::{Deserialize, Serialize};

/// Sum, extrema and variance of durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DurationStats {
    /// Number of durations.
    pub count: u64,
    /// Their sum in nanoseconds.
    pub total_ns: u64,
    /// The shortest.
    pub min_ns: u64,
    /// The longest.
    pub max_ns: u64,
    sum_of_squares: u128,
}

impl DurationStats {
    /// Adds a duration.
    pub fn add(&mut self, ns: u64) {
        self.merge(&DurationStats { count: 1, total_ns: ns, min_ns: ns, max_ns: ns, sum_of_squares: u128::from(ns) * u128::from(ns) });
    }

    /// Adds the durations of another sum.
    pub fn merge(&mut self, other: &DurationStats) {
        if other.count == 0 {
            return;
        }
        self.min_ns = if self.count == 0 { other.min_ns } else { self.min_ns.min(other.min_ns) };
        self.max_ns = self.max_ns.max(other.max_ns);
        self.count += other.count;
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.sum_of_squares = self.sum_of_squares.saturating_add(other.sum_of_squares);
    }

    /// Their sum in seconds.
    pub fn total_s(&self) -> f64 {
        seconds(self.total_ns)
    }

    /// The shortest in seconds.
    pub fn min_s(&self) -> f64 {
        seconds(self.min_ns)
    }

    /// The longest in seconds.
    pub fn max_s(&self) -> f64 {
        seconds(self.max_ns)
    }

    /// The mean in seconds.
    pub fn mean_s(&self) -> f64 {
        self.total_s() / self.count.max(1) as f64
    }

    /// The standard deviation in seconds.
    pub fn std_dev_s(&self) -> f64 {
        let (count, total) = (u128::from(self.count), u128::from(self.total_ns));
        let spread = count.saturating_mul(self.sum_of_squares).saturating_sub(total.saturating_mul(total));
        (spread as f64).sqrt() / count.max(1) as f64 * 1e-9
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(durations: &[u64]) -> DurationStats {
        let mut times = DurationStats::default();
        durations.iter().for_each(|ns| times.add(*ns));
        times
    }

    #[test]
    fn mean_and_deviation_are_those_of_the_durations() {
        let times = times(&[2_000_000_000, 4_000_000_000, 4_000_000_000, 6_000_000_000]);
        assert_eq!((times.count, times.min_s(), times.max_s(), times.mean_s()), (4, 2.0, 6.0, 4.0));
        assert!((times.std_dev_s() - 2f64.sqrt()).abs() < 1e-12);
        assert_eq!((DurationStats::default().mean_s(), DurationStats::default().std_dev_s()), (0.0, 0.0));
    }

    #[test]
    fn sums_do_not_depend_on_their_order() {
        let (mut first, mut second) = (times(&[5, 1]), times(&[7]));
        first.merge(&times(&[7]));
        second.merge(&times(&[1, 5]));
        second.merge(&DurationStats::default());
        assert_eq!(first, second);
    }
}
