//! The granularity of a master-worker program, estimated from one run.
//!
//! The laws are about means. The interval of a mean is Student's; that of the granularity, a ratio of two means, is Fieller's.

use sintonia_fit::student_quantile;
use thiserror::Error;

/// Mean and variance of durations, in constant memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunningMean {
    count: u64,
    mean: f64,
    /// Sum of squared deviations from the mean (Welford).
    sum_of_squares: f64,
}

impl RunningMean {
    /// Adds a duration.
    pub fn push(&mut self, seconds: f64) {
        self.count += 1;
        let before = seconds - self.mean;
        self.mean += before / self.count as f64;
        self.sum_of_squares += before * (seconds - self.mean);
    }

    /// The number of durations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum.
    pub fn total(&self) -> f64 {
        self.mean * self.count as f64
    }

    /// The variance of the mean; none for a single value.
    fn mean_variance(&self) -> Option<f64> {
        let count = self.count as f64;
        (self.count > 1).then(|| self.sum_of_squares / (count - 1.0) / count)
    }

    fn estimate(&self) -> MeanEstimate {
        let reach = self.mean_variance().map(|variance| student_95_quantile(self.count - 1) * variance.sqrt());
        MeanEstimate { value: self.mean, interval: reach.map(|reach| ((self.mean - reach).max(0.0), self.mean + reach)) }
    }
}

impl FromIterator<f64> for RunningMean {
    fn from_iter<I: IntoIterator<Item = f64>>(all: I) -> RunningMean {
        let mut times = RunningMean::default();
        all.into_iter().for_each(|seconds| times.push(seconds));
        times
    }
}

/// Task times of a master-worker run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TaskTimes {
    /// Compute time of each task on its worker.
    pub computing: RunningMean,
    /// Communication time of the master for each task, without waiting.
    pub overhead: RunningMean,
}

/// A mean with its 95 % confidence interval; there is none with one task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanEstimate {
    /// The mean.
    pub value: f64,
    /// Its interval; the upper end may be infinite.
    pub interval: Option<(f64, f64)>,
}

/// The inputs of the granularity laws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TaskGranularity {
    /// RM, the compute time of one task in seconds.
    pub computing: MeanEstimate,
    /// CM, the communication time of one task in seconds.
    pub overhead: MeanEstimate,
    /// M, the number of tasks.
    pub tasks: u64,
    /// G = RM/CM.
    pub granularity: MeanEstimate,
}

/// Why there is no granularity.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum GranularityError {
    /// There are no tasks.
    #[error("there are no tasks: granularity needs a program whose workers get tasks from a master")]
    NoTasks,
    /// A task lacks one of the two times.
    #[error("{computed} tasks were computed but {communicated} were communicated: each task needs both")]
    CountMismatch {
        /// The number of computed tasks.
        computed: u64,
        /// The number of communicated tasks.
        communicated: u64,
    },
    /// A mean time is not positive.
    #[error("tasks took {0} seconds on average to {1}: times must be positive")]
    NotPositive(f64, &'static str),
}

impl TaskTimes {
    /// The granularity, with intervals.
    pub fn granularity(&self) -> Result<TaskGranularity, GranularityError> {
        let (computed, communicated) = (self.computing.count, self.overhead.count);
        if computed == 0 {
            return Err(GranularityError::NoTasks);
        }
        if computed != communicated {
            return Err(GranularityError::CountMismatch { computed, communicated });
        }
        for (times, what) in [(self.computing, "compute"), (self.overhead, "communicate")] {
            if !(times.mean > 0.0 && times.mean.is_finite()) {
                return Err(GranularityError::NotPositive(times.mean, what));
            }
        }
        Ok(TaskGranularity {
            computing: self.computing.estimate(),
            overhead: self.overhead.estimate(),
            tasks: computed,
            granularity: MeanEstimate { value: self.computing.mean / self.overhead.mean, interval: self.fieller_interval() },
        })
    }

    /// Fieller's interval of a ratio of means: all g for which computing − g·overhead may be zero.
    fn fieller_interval(&self) -> Option<(f64, f64)> {
        let (over, under) = (self.computing.mean, self.overhead.mean);
        let reach = student_95_quantile(self.computing.count.checked_sub(1).filter(|freedom| *freedom > 0)?).powi(2);
        let [off_over, off_under] = [self.computing, self.overhead].map(|times| times.mean_variance().map(|variance| reach * variance));
        let (off_over, off_under) = (off_over?, off_under?);
        // The roots of (under² − off_under)·g² − 2·over·under·g + (over² − off_over) = 0.
        let leading = under * under - off_under;
        let root = (over * over * off_under + under * under * off_over - off_over * off_under).max(0.0).sqrt();
        let low = ((over * over - off_over) / (over * under + root)).max(0.0);
        // If the communication time may be zero, the granularity has no upper bound.
        Some((low, if leading > 0.0 { (over * under + root) / leading } else { f64::INFINITY }))
    }
}

/// Half width of a 95 % interval in standard errors.
fn student_95_quantile(freedom: u64) -> f64 {
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
        let tasks = TaskTimes { computing: [0.8; 64].into_iter().collect(), overhead: [0.02; 64].into_iter().collect() };
        let found = tasks.granularity().unwrap();
        assert_eq!((found.tasks, found.computing.value, found.overhead.value), (64, 0.8, 0.02));
        let (low, high) = found.granularity.interval.unwrap();
        assert!(close(found.granularity.value, 40.0, 1e-12) && close(low, 40.0, 1e-9) && close(high, 40.0, 1e-9), "{found:?}");
    }

    #[test]
    fn totals_and_means_agree() {
        let times: RunningMean = [1.0, 2.0, 6.0].into_iter().collect();
        assert_eq!((times.count(), times.total(), times.estimate().value), (3, 9.0, 3.0));
        // Variance 7, of the mean 7/3, two degrees of freedom: 3 ± 4.3027·1.5275, and no time is negative.
        let (low, high) = times.estimate().interval.unwrap();
        assert!(low == 0.0 && close(high, 9.572, 1e-3), "{high}");
    }

    #[test]
    fn one_task_has_values_but_no_interval() {
        let tasks = TaskTimes { computing: [2.0].into_iter().collect(), overhead: [0.5].into_iter().collect() };
        let found = tasks.granularity().unwrap();
        assert_eq!((found.granularity.value, found.granularity.interval, found.computing.interval), (4.0, None, None));
    }

    #[test]
    fn overhead_that_may_be_nothing_leaves_the_granularity_open_above() {
        let tasks = TaskTimes { computing: [1.0, 1.0].into_iter().collect(), overhead: [1e-9, 1.0].into_iter().collect() };
        let (low, high) = tasks.granularity().unwrap().granularity.interval.unwrap();
        assert!(low < 2.0 && low > 0.0 && high == f64::INFINITY, "{low}");
    }

    #[test]
    fn what_is_no_run_of_tasks_is_refused_with_the_reason() {
        let of = |computing: &[f64], overhead: &[f64]| {
            TaskTimes { computing: computing.iter().copied().collect(), overhead: overhead.iter().copied().collect() }.granularity()
        };
        assert_eq!(of(&[], &[]), Err(GranularityError::NoTasks));
        assert_eq!(of(&[1.0, 1.0], &[1.0]), Err(GranularityError::CountMismatch { computed: 2, communicated: 1 }));
        assert_eq!(of(&[1.0], &[0.0]), Err(GranularityError::NotPositive(0.0, "communicate")));
        assert!(matches!(of(&[f64::NAN], &[1.0]), Err(GranularityError::NotPositive(_, "compute"))));
    }

    #[test]
    fn students_factor_is_that_of_the_tables() {
        for (freedom, factor) in [(1, 12.706), (2, 4.303), (5, 2.571), (10, 2.228), (30, 2.042), (1000, 1.962)] {
            assert!(close(student_95_quantile(freedom), factor, 3e-4), "{freedom}: {}", student_95_quantile(freedom));
        }
        assert!(close(student_95_quantile(1_000_000_000), 1.959_964, 1e-4), "with ever more, that of the normal distribution");
    }

    #[test]
    fn the_interval_holds_the_true_granularity_in_95_of_100_runs() {
        let mut random = sintonia_fit::SplitMix64::new(11);
        let mut uniform = move || random.uniform();
        let runs = 4000;
        let mut held = 0;
        for _ in 0..runs {
            let mut tasks = TaskTimes::default();
            for _ in 0..20 {
                tasks.computing.push(0.5 + uniform());
                tasks.overhead.push(0.05 + 0.1 * uniform());
            }
            let (low, high) = tasks.granularity().unwrap().granularity.interval.unwrap();
            held += i32::from((low..=high).contains(&10.0));
        }
        let rate = f64::from(held) / f64::from(runs);
        assert!((0.93..=0.97).contains(&rate), "{rate}");
    }
}
