//! Advice: what to change so that the program runs faster, ranked by what it would save.

use serde::Serialize;
use sintonia_recording::Recording;

use crate::findings::Findings;
use crate::{Place, Summary};

/// What to change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// The rule, for programs.
    pub kind: &'static str,
    /// What is wrong, in one sentence.
    pub what: String,
    /// Where.
    #[serde(flatten)]
    pub place: Place,
    /// The seconds, ranks and shares it rests on.
    pub evidence: String,
    /// What to try.
    pub try_this: String,
    /// Seconds by which the run would get shorter, at best.
    pub saves_s: f64,
    /// How that was estimated.
    pub basis: String,
}

impl Advice {
    /// The advice for a run, most worthwhile first.
    pub fn all(_recording: &Recording, _summary: &Summary, _findings: &Findings) -> Vec<Advice> {
        Vec::new()
    }
}
