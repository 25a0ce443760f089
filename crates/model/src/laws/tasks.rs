//! The granularity of a master with workers, from what one run of them took.
//!
//! The laws speak of the mean: what all tasks take together decides. Its interval is Student's; that of the granularity, a ratio of two means,
//! is Fieller's.

use sintonia_fit::student_quantile;
use thiserror::Error;

/// How long something took, again and again: what is needed for the mean and its interval, in constant memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times {
    count: u64,
    mean: f64,
    /// Sum of the squares of what each differs from the mean (Welford).
    deviations: f64,
}

impl Times {
    /// Takes one more into account.
    pub fn add(&mut self, seconds: f64) {
        self.count += 1;
        let before = seconds - self.mean;
        self.mean += before / self.count as f64;
        self.deviations += before * (seconds - self.mean);
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// What they take together.
    pub fn total(&self) -> f64 {
        self.mean * self.count as f64
    }

    /// The square of how far the mean may be off; nothing for one alone.
    fn variance_of_mean(&self) -> Option<f64> {
        let count = self.count as f64;
        (self.count > 1).then(|| self.deviations / (count - 1.0) / count)
    }

    fn estimate(&self) -> Estimate {
        let reach = self.variance_of_mean().map(|variance| student(self.count - 1) * variance.sqrt());
        Estimate { value: self.mean, between: reach.map(|reach| ((self.mean - reach).max(0.0), self.mean + reach)) }
    }
}

impl FromIterator<f64> for Times {
    fn from_iter<I: IntoIterator<Item = f64>>(all: I) -> Times {
        let mut times = Times::default();
        all.into_iter().for_each(|seconds| times.add(seconds));
        times
    }
}

/// What a run of a master with workers showed of its tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tasks {
    /// What workers took to compute each task.
    pub computing: Times,
    /// What the master took to communicate for each task, without waiting.
    pub overhead: Times,
}

/// A value with its interval, in which it is in 95 of 100 runs; nothing is known of that with one task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Its interval; the upper end may be infinite.
    pub between: Option<(f64, f64)>,
}

/// What the laws of granularity need.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Granularity {
    /// RM, seconds to compute one task.
    pub computing: Estimate,
    /// CM, seconds of communication that one task costs.
    pub overhead: Estimate,
    /// M, how many tasks there were.
    pub tasks: u64,
    /// G, the first over the second.
    pub granularity: Estimate,
}

/// Why tasks have no granularity.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum BadTasks {
    /// There are none.
    #[error("there is no task: the granularity is that of a program whose workers get tasks from a master")]
    None,
    /// Each task must have both.
    #[error("{computed} tasks were computed but communication was counted for {communicated}: each task needs both")]
    Unequal {
        /// How many were computed.
        computed: u64,
        /// For how many there is communication.
        communicated: u64,
    },
    /// Times are not negative.
    #[error("tasks took {0} seconds on average to {1}: a time is a positive number")]
    NotPositive(f64, &'static str),
}

impl Tasks {
    /// The granularity, with intervals.
    pub fn granularity(&self) -> Result<Granularity, BadTasks> {
        let (computed, communicated) = (self.computing.count, self.overhead.count);
        if computed == 0 {
            return Err(BadTasks::None);
        }
        if computed != communicated {
            return Err(BadTasks::Unequal { computed, communicated });
        }
        for (times, what) in [(self.computing, "compute"), (self.overhead, "communicate")] {
            if !(times.mean > 0.0 && times.mean.is_finite()) {
                return Err(BadTasks::NotPositive(times.mean, what));
            }
        }
        Ok(Granularity {
            computing: self.computing.estimate(),
            overhead: self.overhead.estimate(),
            tasks: computed,
            granularity: Estimate { value: self.computing.mean / self.overhead.mean, between: self.ratio() },
        })
    }

    /// The interval of a ratio of means: all g for which computing − g·overhead may be zero (Fieller).
    fn ratio(&self) -> Option<(f64, f64)> {
        let (over, under) = (self.computing.mean, self.overhead.mean);
        let reach = student(self.computing.count.checked_sub(1).filter(|freedom| *freedom > 0)?).powi(2);
        let [off_over, off_under] = [self.computing, self.overhead].map(|times| times.variance_of_mean().map(|variance| reach * variance));
        let (off_over, off_under) = (off_over?, off_under?);
        // The roots of (under² − off_under)·g² − 2·over·under·g + (over² − off_over) = 0.
        let leading = under * under - off_under;
        let root = (over * over * off_under + under * under * off_over - off_over * off_under).max(0.0).sqrt();
        let low = ((over * over - off_over) / (over * under + root)).max(0.0);
        // Communication that may be nothing lets the granularity be anything above.
        Some((low, if leading > 0.0 { (over * under + root) / leading } else { f64::INFINITY }))
    }
}

/// How many standard deviations of the mean reach to both ends of a 95 % interval.
fn student(freedom: u64) -> f64 {
    student_quantile(0.975, freedom as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, share: f64) -> bool {
        (a - b).abs() <= share * b.abs()
    }

    #[test]
    fn a_run_with_equal_tasks_has_its_granularity_exactly() {
        let tasks = Tasks { computing: [0.8; 64].into_iter().collect(), overhead: [0.02; 64].into_iter().collect() };
        let found = tasks.granularity().unwrap();
        assert_eq!((found.tasks, found.computing.value, found.overhead.value), (64, 0.8, 0.02));
        let (low, high) = found.granularity.between.unwrap();
        assert!(close(found.granularity.value, 40.0, 1e-12) && close(low, 40.0, 1e-9) && close(high, 40.0, 1e-9), "{found:?}");
    }

    #[test]
    fn totals_and_means_agree() {
        let times: Times = [1.0, 2.0, 6.0].into_iter().collect();
        assert_eq!((times.count(), times.total(), times.estimate().value), (3, 9.0, 3.0));
        // Variance 7, of the mean 7/3, two degrees of freedom: 3 ± 4.3027·1.5275, and no time is negative.
        let (low, high) = times.estimate().between.unwrap();
        assert!(low == 0.0 && close(high, 9.572, 1e-3), "{high}");
    }

    #[test]
    fn one_task_has_values_but_no_interval() {
        let tasks = Tasks { computing: [2.0].into_iter().collect(), overhead: [0.5].into_iter().collect() };
        let found = tasks.granularity().unwrap();
        assert_eq!((found.granularity.value, found.granularity.between, found.computing.between), (4.0, None, None));
    }

    #[test]
    fn overhead_that_may_be_nothing_leaves_the_granularity_open_above() {
        let tasks = Tasks { computing: [1.0, 1.0].into_iter().collect(), overhead: [1e-9, 1.0].into_iter().collect() };
        let (low, high) = tasks.granularity().unwrap().granularity.between.unwrap();
        assert!(low < 2.0 && low > 0.0 && high == f64::INFINITY, "{low}");
    }

    #[test]
    fn what_is_no_run_of_tasks_is_refused_with_the_reason() {
        let of = |computing: &[f64], overhead: &[f64]| {
            Tasks { computing: computing.iter().copied().collect(), overhead: overhead.iter().copied().collect() }.granularity()
        };
        assert_eq!(of(&[], &[]), Err(BadTasks::None));
        assert_eq!(of(&[1.0, 1.0], &[1.0]), Err(BadTasks::Unequal { computed: 2, communicated: 1 }));
        assert_eq!(of(&[1.0], &[0.0]), Err(BadTasks::NotPositive(0.0, "communicate")));
        assert!(matches!(of(&[f64::NAN], &[1.0]), Err(BadTasks::NotPositive(_, "compute"))));
    }

    #[test]
    fn students_factor_is_that_of_the_tables() {
        for (freedom, factor) in [(1, 12.706), (2, 4.303), (5, 2.571), (10, 2.228), (30, 2.042), (1000, 1.962)] {
            assert!(close(student(freedom), factor, 3e-4), "{freedom}: {}", student(freedom));
        }
        assert!(close(student(1_000_000_000), 1.959_964, 1e-4), "with ever more, that of the normal distribution");
    }

    #[test]
    fn the_interval_holds_the_true_granularity_in_95_of_100_runs() {
        let mut state = 11u64;
        let mut uniform = move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let runs = 4000;
        let mut held = 0;
        for _ in 0..runs {
            let mut tasks = Tasks::default();
            for _ in 0..20 {
                tasks.computing.add(0.5 + uniform());
                tasks.overhead.add(0.05 + 0.1 * uniform());
            }
            let (low, high) = tasks.granularity().unwrap().granularity.between.unwrap();
            held += i32::from((low..=high).contains(&10.0));
        }
        let rate = f64::from(held) / f64::from(runs);
        assert!((0.93..=0.97).contains(&rate), "{rate}");
    }
}
