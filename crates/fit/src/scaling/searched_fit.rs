//! The fit that the search gives: the displayed formula comes from it, and the average takes its sums as further candidates.

use super::design::ExperimentDesign;
use super::noise::SummarisedPoints;
use super::validate::{ValidatedFit, fit_validated};
use crate::measurements::Measurements;

/// The result of the search, with the form of the measurements that it works on.
pub(super) struct SearchedFit {
    pub design: ExperimentDesign,
    pub summary: SummarisedPoints,
    pub validated: ValidatedFit,
}

impl SearchedFit {
    pub(super) fn from_measurements(measurements: &Measurements) -> Self {
        let design = ExperimentDesign::from_measurements(measurements);
        let summary = SummarisedPoints::from_measurements(measurements);
        let validated = fit_validated(&design, &summary);
        Self { design, summary, validated }
    }
}
