//! Damps rules that go back and forth between values: each time this continues, the value is held for twice as long.

use std::collections::HashMap;

/// Returns to an earlier value within the window that count as flapping.
const MOST_RETURNS: u32 = 6;
/// Window in seconds.
const WINDOW_S: f64 = 10.0;
/// First hold time in seconds.
const FIRST_HOLD_S: f64 = 1.0;
/// Longest hold time in seconds.
const LONGEST_HOLD_S: f64 = 600.0;

/// Whether a change may be made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum FlappingDecision {
    /// It may.
    Go,
    /// Not now; whether it is the first time.
    Hold {
        /// Whether this has not been reported.
        is_first: bool,
    },
}

/// Latest values of a point.
#[derive(Debug, Default)]
struct PointHistory {
    /// The value before the latest one, and the latest one.
    values: [Option<f64>; 2],
    returns: u32,
    window_begin: f64,
    hold_until: f64,
    hold: f64,
    is_reported: bool,
}

/// Damps flapping of all points, by tunlet, point and rank.
#[derive(Debug, Default)]
pub(super) struct FlappingDamper {
    points: HashMap<(usize, usize, Option<u32>), PointHistory>,
}

impl FlappingDamper {
    /// Decides on a change at a time.
    pub(super) fn decide(&mut self, key: (usize, usize, Option<u32>), value: f64, now: f64) -> FlappingDecision {
        let point = self.points.entry(key).or_default();
        if now < point.hold_until {
            return FlappingDecision::Hold { is_first: false };
        }
        if now - point.window_begin > WINDOW_S {
            (point.window_begin, point.returns) = (now, 0);
        }
        let [earlier, latest] = point.values;
        if latest == Some(value) {
            return FlappingDecision::Go;
        }
        point.returns += u32::from(earlier == Some(value));
        if point.returns > MOST_RETURNS {
            point.hold = if point.hold == 0.0 { FIRST_HOLD_S } else { (2.0 * point.hold).min(LONGEST_HOLD_S) };
            (point.hold_until, point.returns) = (now + point.hold, MOST_RETURNS / 2);
            return FlappingDecision::Hold { is_first: !std::mem::replace(&mut point.is_reported, true) };
        }
        point.values = [latest, Some(value)];
        FlappingDecision::Go
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of changes in a time, at 100 requests per second.
    fn changes(seconds: u32, value: impl Fn(u32) -> f64) -> (usize, usize) {
        let mut damper = FlappingDamper::default();
        let decisions: Vec<_> =
            (0..100 * seconds).map(|index| damper.decide((0, 0, None), value(index), f64::from(index) / 100.0)).collect();
        let reported = decisions.iter().filter(|one| **one == FlappingDecision::Hold { is_first: true }).count();
        (decisions.iter().filter(|one| **one == FlappingDecision::Go).count(), reported)
    }

    #[test]
    fn a_rule_that_alternates_is_held_longer_and_longer() {
        let (made, reported) = changes(100, |index| f64::from(index % 2));
        assert!(made < 60 && reported == 1, "{made}");
    }

    #[test]
    fn a_rule_that_adapts_is_not_damped() {
        assert_eq!(changes(10, f64::from), (1000, 0));
        assert_eq!(changes(10, |index| f64::from(index / 300 % 2)), (1000, 0));
    }
}
