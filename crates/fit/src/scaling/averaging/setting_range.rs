//! The measured range of a parameter.

use serde::{Deserialize, Serialize};

/// The smallest and the largest measured value of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SettingRange {
    /// The smallest.
    pub low: f64,
    /// The largest.
    pub high: f64,
}

impl SettingRange {
    /// The range of each parameter.
    pub(super) fn from_settings(settings: &[Vec<f64>]) -> Vec<Self> {
        let none = Self { low: f64::INFINITY, high: f64::NEG_INFINITY };
        let mut ranges = vec![none; settings.first().map_or(0, Vec::len)];
        for setting in settings {
            for (range, x) in ranges.iter_mut().zip(setting) {
                *range = Self { low: range.low.min(*x), high: range.high.max(*x) };
            }
        }
        ranges
    }

    /// How far a setting is outside, in doublings.
    pub(super) fn doublings_outside(self, x: f64) -> f64 {
        (x / self.high).log2().max((self.low / x).log2()).max(0.0)
    }

    pub(super) fn is_valid(self) -> bool {
        0.0 < self.low && self.low <= self.high && self.high.is_finite()
    }
}
