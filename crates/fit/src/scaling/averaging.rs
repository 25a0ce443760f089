//! Bayesian model averaging over sums of terms with given exponents: what intervals come from.
//!
//! With few values of a parameter, many laws fit equally well, also laws with as many unknowns as there are values. A proper prior on the
//! coefficients allows them to be weighed all the same, and what the measurements cannot tell stays open: the intervals are those of all laws
//! together. `docs/fit-theory.md` has the method and how well its intervals hold.

mod basis;
mod basis_term;
mod discrepancy;
mod evidence;
mod law_average;
mod noise_grid;
mod refinement;
mod sampling;
mod setting_range;

use crate::measurements::Measurements;
use basis::CandidateSets;
pub use basis_term::BasisTerm;
use evidence::EvidenceProblem;
pub use law_average::{LawAverage, LawSample, SampledForm};
use noise_grid::NoiseGrid;

/// More settings than these tell the law apart without an average over all of them.
const MAX_SETTINGS: usize = 24;

/// Fewer different values than this leave any law possible.
const MIN_SETTINGS: usize = 3;

/// The laws are weighed again with the values that they give if these differ from the measured ones by this much anywhere, as a logarithm.
const CLOSE: f64 = 0.04;

/// Forms less probable than the best by more than this, as a logarithm, do not count; at first, with more forms open, by more than that.
const NEGLIGIBLE_LOG_RATIO: f64 = 11.0;
const COARSE_LOG_RATIO: f64 = 12.0;

/// Averages over all laws of one parameter; `None` with several parameters, or with too few or very many values.
pub(super) fn average(measurements: &Measurements) -> Option<LawAverage> {
    let settings: Vec<f64> = measurements.points().iter().map(|point| point.at[0]).collect();
    if measurements.parameters().len() != 1 || !(MIN_SETTINGS..=MAX_SETTINGS).contains(&settings.len()) {
        return None;
    }
    let noise = NoiseGrid::from_measurements(measurements);
    let mut candidates = CandidateSets::new(measurements.parameter_kinds()[0], &settings);
    refinement::refine(&mut candidates, &settings, &noise);
    // Relative errors are linearised: at the measured values, and where these are not what the laws give, once more.
    let mut problem = EvidenceProblem::new(&settings, &noise, &candidates, &noise.log_values);
    let mut coarse = problem.weigh_coarsely(COARSE_LOG_RATIO);
    let expected = problem.expected_log_values(&settings, &coarse);
    if expected.iter().zip(&noise.log_values).any(|(expected, measured)| (expected - measured).abs() >= CLOSE) {
        problem = EvidenceProblem::new(&settings, &noise, &candidates, &expected);
        coarse = problem.weigh_coarsely(COARSE_LOG_RATIO);
    }
    let weighed = problem.weigh(&EvidenceProblem::promising(&coarse), NEGLIGIBLE_LOG_RATIO);
    sampling::sample(&problem, &weighed)
}
