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
    /// How far a setting is outside, in doublings.
    pub(super) fn doublings_outside(self, x: f64) -> f64 {
        (x / self.high).log2().max((self.low / x).log2()).max(0.0)
    }
}
