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

/// How much longer than predicted points have taken so far, by two explanations: each repetition waits for a core for a while, or everything is
/// slower. The one that says less is believed, since large points suffer little from the first, and small ones from the second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct MeasuringPace {
    predicted_s: f64,
    actual_s: f64,
    repetitions: f64,
}

impl MeasuringPace {
    /// Seconds of points that are predicted to take this long in all, from what such predictions were worth.
    pub(super) fn seconds(&self, predicted_s: f64, repetitions: usize) -> f64 {
        if self.actual_s <= self.predicted_s {
            return predicted_s;
        }
        let delayed = predicted_s + repetitions as f64 * (self.actual_s - self.predicted_s) / self.repetitions;
        delayed.min(predicted_s * self.actual_s / self.predicted_s)
    }

    /// Learns from a point that has been measured; what came last counts most.
    pub(super) fn learn(&mut self, predicted_s: f64, repetitions: usize, took: Duration) {
        const MEMORY: f64 = 0.95;
        let learn = |known: &mut f64, new: f64| *known = MEMORY * *known + new;
        learn(&mut self.predicted_s, predicted_s);
        learn(&mut self.actual_s, took.as_secs_f64());
        learn(&mut self.repetitions, repetitions as f64);
    }
}

/// Predicted seconds of a point.
pub(super) fn point_seconds(repetitions: usize, repetition_s: f64) -> f64 {
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
        assert_eq!(pace.seconds(point_seconds(100, 1e-3), 100), 0.1005);
        // Each of ten repetitions waits for 10 ms: a small point takes much longer than predicted, a large one hardly.
        let small = point_seconds(10, 1e-6);
        (0..50).for_each(|_| pace.learn(small, 10, Duration::from_millis(100)));
        assert!((pace.seconds(small, 10) - 0.1).abs() < 1e-3, "{pace:?}");
        assert!((pace.seconds(1.0, 10) - 1.1).abs() < 1e-3, "{pace:?}");
        // Large points take twice as long as predicted: small ones do not take as much longer.
        (0..200).for_each(|_| pace.learn(1.0, 10, Duration::from_secs(2)));
        assert!(pace.seconds(small, 10) < 2e-3 && (pace.seconds(1.0, 10) - 2.0).abs() < 1e-2, "{pace:?}");
    }

    #[test]
    fn a_coarse_grid_comes_first() {
        assert_eq!([0, 1, 4, 1 << 20, 1000, 2, 8, 6, 7].map(|bytes| size_priority(bytes, 1000)), [0, 0, 0, 0, 0, 1, 1, 2, 2]);
    }
}
