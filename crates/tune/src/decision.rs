//! Decisions: what was changed, when, from what to what, and why. Kept as lines of JSON, so that they can be read while the program runs.

use serde::{Deserialize, Serialize};

/// A change that was made, or would have been.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Seconds since the beginning of the tuning.
    pub time_s: f64,
    /// Who decided.
    pub tunlet: String,
    /// What was done: a variable's name, mostly.
    pub action: String,
    /// The process.
    pub rank: u32,
    /// The value before; not known while the program has not answered.
    pub old: Option<f64>,
    /// The value after.
    pub new: f64,
    /// Why.
    pub why: String,
    /// Why it was not done, if it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}
