//! A setting that may make the program faster.

use serde::Serialize;

use crate::trial_settings::TrialSettings;

/// A setting to try.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TuningCandidate {
    /// What it does, in a few words.
    pub name: String,
    /// Candidates of one group are alternatives: only one of them is part of a combination.
    pub group: String,
    /// What it sets.
    pub settings: TrialSettings,
    /// Why it is tried for this program.
    pub reason: String,
    /// Share of the program's time that it can affect, as far as the recorded run tells; those with more are tried first.
    pub relevance: f64,
}
