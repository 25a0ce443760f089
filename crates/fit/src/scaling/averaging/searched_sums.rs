//! The sums that the search for the displayed formula finds: with several parameters it tries exponents and logarithms that are too many for a
//! list of usual factors.

use super::basis_term::{BasisFactor, BasisTerm};
use super::candidates::MAX_TERMS;
use crate::measurements::Measurements;
use crate::scaling::design::ExperimentDesign;
use crate::scaling::ensemble_member::TermFactor;
use crate::scaling::hypothesis::LogFactor;
use crate::scaling::noise::SummarisedPoints;
use crate::scaling::posterior::ScoredMember;
use crate::scaling::validate::fit_validated;

/// The probability of such a sum, for each of the ways to share the parameters out among terms.
pub(super) const PROBABILITY: f64 = 0.05;

/// A sum with given exponents.
pub(super) struct SearchedSum {
    pub terms: Vec<BasisTerm>,
    pub log_prior: f64,
}

/// The sums that the search keeps.
pub(super) fn search(measurements: &Measurements) -> Vec<SearchedSum> {
    let design = ExperimentDesign::from_measurements(measurements);
    let summary = SummarisedPoints::from_measurements(measurements);
    let found = fit_validated(&design, &summary).ensemble.members;
    let parameters = measurements.parameters().len();
    let is_usable = |member: &&ScoredMember| !member.hypothesis.allows_negative && member.hypothesis.n_columns() <= MAX_TERMS;
    let sum = |member: &ScoredMember| SearchedSum {
        terms: member.member.terms.iter().map(|factors| basis_term(factors, parameters)).collect(),
        log_prior: PROBABILITY.ln() + member.log_prior,
    };
    found.iter().filter(is_usable).map(sum).collect()
}

fn basis_term(factors: &[TermFactor], parameters: usize) -> BasisTerm {
    let factor = |parameter: usize| {
        let found = factors.iter().find(|factor| factor.parameter == parameter);
        found.map_or(BasisFactor::new(0.0, LogFactor::None), |factor| BasisFactor::new(factor.exponent, factor.log))
    };
    BasisTerm::new((0..parameters).map(factor).collect())
}
