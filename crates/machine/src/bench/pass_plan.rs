//! What can be measured in the time that is left: predicts how long points take, and reduces or leaves out what does not fit.

use std::time::Duration;

/// How the first pass measures a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PointPlan {
    /// With all repetitions.
    Full,
    /// With few, since not all points could have all.
    Reduced,
    /// Not at all: it takes too long.
    LeftOut,
}

/// Seconds for the commands of a point.
const COMMAND_SECONDS: f64 = 0.5e-3;
/// One point takes at most the time left divided by this, so that others get some too.
const FAIR_PARTS: usize = 8;

/// Predicted and actual durations so far: disturbed or slow machines take longer than predicted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MeasuringPace {
    predicted: f64,
    actual: f64,
}

impl Default for MeasuringPace {
    fn default() -> MeasuringPace {
        MeasuringPace { predicted: 1e-3, actual: 1e-3 }
    }
}

impl MeasuringPace {
    /// Predicted seconds of a number of repetitions.
    pub(super) fn seconds(&self, repetitions: usize, repetition_s: f64) -> f64 {
        self.factor() * predicted(repetitions, repetition_s)
    }

    /// Learns from a point that has been measured; what came last counts most.
    pub(super) fn learn(&mut self, repetitions: usize, repetition_s: f64, took: Duration) {
        const MEMORY: f64 = 0.95;
        self.predicted = MEMORY * self.predicted + predicted(repetitions, repetition_s);
        self.actual = MEMORY * self.actual + took.as_secs_f64();
    }

    /// How many times as long as predicted points take.
    pub(super) fn factor(&self) -> f64 {
        (self.actual / self.predicted).max(0.5)
    }
}

fn predicted(repetitions: usize, repetition_s: f64) -> f64 {
    COMMAND_SECONDS + repetitions as f64 * repetition_s
}

/// Plans a point: `all_in_full` is what this and all later points take with all repetitions, `reduced` what this one takes with few.
pub(super) fn plan_point(left: Duration, all_in_full: f64, reduced: f64, points_left: usize) -> PointPlan {
    let left = left.as_secs_f64();
    if all_in_full <= left {
        PointPlan::Full
    } else if reduced <= left / points_left.clamp(1, FAIR_PARTS) as f64 {
        PointPlan::Reduced
    } else {
        PointPlan::LeftOut
    }
}

/// Order of sizes where not all can be measured: a coarse grid first, and its ends.
pub(super) fn size_priority(bytes: u64, most: u64) -> u8 {
    match bytes {
        0 => 0,
        bytes if bytes == most => 0,
        bytes if bytes.is_power_of_two() => (bytes.trailing_zeros() % 2) as u8,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_reduced_before_they_are_left_out() {
        let plan = |left: u64, all: f64, reduced: f64, points: usize| plan_point(Duration::from_secs(left), all, reduced, points);
        assert_eq!(plan(10, 9.0, 1.0, 20), PointPlan::Full);
        assert_eq!(plan(10, 11.0, 1.0, 20), PointPlan::Reduced);
        assert_eq!(plan(10, 11.0, 2.0, 20), PointPlan::LeftOut, "the others get some time too");
        assert_eq!(plan(10, 11.0, 9.0, 1), PointPlan::Reduced, "there are no others");
        assert_eq!(plan(0, 11.0, 1e-3, 1), PointPlan::LeftOut);
    }

    #[test]
    fn the_pace_follows_what_points_really_take() {
        let mut pace = MeasuringPace::default();
        assert_eq!(pace.seconds(100, 1e-3), 0.1005);
        (0..50).for_each(|_| pace.learn(10, 1e-3, Duration::from_millis(105)));
        assert!((pace.factor() - 10.0).abs() < 0.1, "{pace:?}");
    }

    #[test]
    fn a_coarse_grid_comes_first() {
        assert_eq!([0, 1, 4, 1 << 20, 1000, 2, 8, 6, 7].map(|bytes| size_priority(bytes, 1000)), [0, 0, 0, 0, 0, 1, 1, 2, 2]);
    }
}
