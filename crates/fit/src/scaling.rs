//! Scaling models: how a measured quantity grows with the parameters of a run.
//!
//! A model is a sum of products of powers and logarithms, `c0 + c1 * n^(3/2) * log2(p) + ...`. Exponents are real numbers found by least
//! squares; simple fractions are preferred when they explain the measurements as well. Several hypotheses usually explain the same
//! measurements, so a [`ScalingModel`] keeps all of them with weights and predicts with all (Bayesian model averaging); the most probable one is
//! displayed. `docs/fit-theory.md` has the method and its evaluation.

mod averaged_formula;
mod averaging;
mod bounded_vec;
mod cholesky;
mod correction;
mod data_check;
mod design;
mod display;
mod ensemble_member;
mod hold_out;
mod hypothesis;
mod inference;
mod least_squares;
mod model;
mod noise;
mod parallel_fit;
mod posterior;
mod prior;
mod quasi_random;
mod refine;
mod scoring;
mod search;
mod searched_fit;
#[cfg(test)]
mod tests;
mod validate;

use crate::measurements::Measurements;
pub use crate::measurements::{MAX_PARAMETERS, ParameterKind};
use crate::sample::DEFAULT_CONFIDENCE;
use averaging::ExplainedRuns;
pub use averaging::{BasisFactor, BasisTerm, FormAverage, FormSample, SampledForm};
pub use correction::{ErrorCorrelation, KrigingCorrection};
pub use data_check::{InsufficientData, NamedSetting, next_value};
use design::ExperimentDesign;
pub use display::{FactorEstimate, TermEstimate};
pub use ensemble_member::{EnsembleMember, TermFactor};
pub(crate) use hold_out::hold_out_error_percent;
pub use hypothesis::LogFactor;
use inference::{FittedEnsemble, HypothesisSet, PointWeighting};
pub use model::{ErrorPercent, ExtrapolationModel, ModelDiscrepancy, NoiseEstimate, PosteriorCurve, ScalingModel};
use noise::SummarisedPoints;
pub use parallel_fit::fit_many;
use posterior::ScoredMember;
use searched_fit::SearchedFit;
use validate::ValidatedFit;

/// How much lower the log posterior of a formula with simple exponents may be for it to be displayed instead of the most probable one.
const SIMPLE_FORM_TOLERANCE: f64 = 2.0;

/// The mean absolute value of normal errors, as a share of their standard deviation.
const MEAN_ABS_OF_NORMAL: f64 = 0.8;

/// Fits a scaling model.
pub fn fit(measurements: &Measurements) -> Result<ScalingModel, InsufficientData> {
    data_check::check(measurements)?;
    let ExplainedRuns { measurements, disturbed, searched, average } = averaging::explain(measurements);
    let SearchedFit { design, summary, validated } = searched;
    let changed = validate::find_regime_change(&design, &summary, &validated);
    let model = ScalingModel { disturbed, ..build_model(&measurements, &design, &summary, validated) };
    let beyond = changed.map(|first| fit_extrapolation(&measurements, first));
    // Where no sum of products is near the truth of several parameters, predictions follow the pattern of the errors.
    let follows_pattern = model.correction.is_some() && design.axes.len() > 1;
    let average = average.filter(|average| !(follows_pattern && average.is_rough()));
    let model = ScalingModel { beyond, average, ..model };
    Ok(averaged_formula::better_fit(&model, &measurements).unwrap_or(model))
}

/// Fits the points from the given level of the single parameter upwards, for extrapolation.
fn fit_extrapolation(measurements: &Measurements, first: usize) -> ExtrapolationModel {
    let largest = measurements.distinct_values(0).last().copied().unwrap_or_default();
    let least = measurements.distinct_values(0)[first];
    let measurements = measurements.filtered(|point| point.at[0] >= least);
    let SearchedFit { design, summary, validated: settled } = SearchedFit::from_measurements(&measurements);
    // Where the growth has changed once it may change again, so the prediction errors of held-out points count in full.
    let mut ahead = vec![0.0; design.axes.len()];
    settled.errors.iter().for_each(|(axis, error)| ahead[*axis] = error / MEAN_ABS_OF_NORMAL);
    let model = build_model(&measurements, &design, &summary, settled);
    let steps = design.axes.iter().map(correction::log_step).collect();
    ExtrapolationModel {
        parameter: 0,
        above: largest,
        model: Box::new(ScalingModel { unexplained: Some(ModelDiscrepancy { within: 0.0, ahead, steps }), ..model }),
    }
}

/// Fits a known form: the exponents of the terms are given, and coefficients may be negative.
///
/// `growth` says how errors grow with the value: 1 proportionally, 0 not at all (ordinary least squares).
pub fn fit_form(measurements: &Measurements, terms: &[Vec<TermFactor>], growth: f64) -> Result<ScalingModel, InsufficientData> {
    data_check::check_hypothesis(measurements, terms)?;
    let design = ExperimentDesign::from_measurements(measurements);
    let summary = SummarisedPoints::from_measurements(measurements);
    let explained = FittedEnsemble::from_terms(&design, &summary, growth, terms).ok_or(InsufficientData::DependentTerms)?;
    Ok(build_model(
        measurements,
        &design,
        &summary,
        ValidatedFit { ensemble: explained, errors: Vec::new(), pattern: None, correlation: None },
    ))
}

fn build_model(measurements: &Measurements, design: &ExperimentDesign, summary: &SummarisedPoints, settled: ValidatedFit) -> ScalingModel {
    let unexplained = estimate_discrepancy(design, &settled);
    let error = settled.mean_error();
    let ValidatedFit { ensemble: explained, correlation: likeness, .. } = settled;
    let errors = &explained.errors;
    let spread = explained.spread();
    let HypothesisSet { weighting: PointWeighting { growth, design_effect: alike }, target, .. } = &explained.hypotheses;
    // Weights treat correlated points as one; the spread is that of each point.
    let root_weight = target.root_weights[0] * alike.sqrt();
    let settings = || measurements.points().iter().map(|p| p.at.clone()).collect();
    ScalingModel {
        parameters: measurements.parameters().to_vec(),
        reference: design.axes.iter().map(|a| a.reference).collect(),
        smallest: design.axes.iter().map(|a| a.smallest).collect(),
        shown: displayed_member(&explained).member.clone(),
        spread: spread / (root_weight * target.values[0].powf(*growth)),
        noise: NoiseEstimate {
            percent: 100.0 * spread,
            growth: *growth,
            repetitions_percent: summary.repetition_spread.map(|r| 100.0 * r),
            outliers: summary.outliers,
        },
        error_percent: ErrorPercent { in_sample: 100.0 * mean_abs(errors), validated: error.map(|e| 100.0 * e) },
        correction: likeness.map(|likeness| KrigingCorrection::new(design, settings(), &validate::log_ratios(errors), likeness)),
        unexplained,
        confidence: DEFAULT_CONFIDENCE,
        disturbed: Vec::new(),
        beyond: None,
        average: None,
        members: explained.members.into_iter().map(|p| p.member).collect(),
    }
}

/// The discrepancy between model and measurements beyond noise: a pattern in the errors, or surprising errors at held-out points.
fn estimate_discrepancy(design: &ExperimentDesign, settled: &ValidatedFit) -> Option<ModelDiscrepancy> {
    /// Errors at held-out points are surprising above this multiple of the points' spread.
    const SURPRISING: f64 = 2.0;
    let errors = &settled.ensemble.errors;
    let within = match (settled.pattern, &settled.correlation) {
        (None, _) => 0.0,
        (Some(_), None) => mean_abs(errors),
        (Some(_), Some(likeness)) => correction::leave_one_out_error(design, &validate::log_ratios(errors), likeness),
    };
    let several = design.axes.len() > 1;
    let surprising = if settled.pattern.is_some() { 0.0 } else { SURPRISING * MEAN_ABS_OF_NORMAL * settled.ensemble.spread() };
    let mut ahead = vec![0.0; design.axes.len()];
    for &(axis, error) in settled.errors.iter().filter(|(_, error)| (several || settled.pattern.is_some()) && *error > surprising) {
        ahead[axis] = error / MEAN_ABS_OF_NORMAL;
    }
    let any = within > 0.0 || ahead.iter().any(|a| *a > 0.0);
    any.then(|| ModelDiscrepancy {
        within: within / MEAN_ABS_OF_NORMAL,
        ahead,
        steps: design.axes.iter().map(correction::log_step).collect(),
    })
}

fn mean_abs(errors: &[f64]) -> f64 {
    errors.iter().map(|e| e.abs()).sum::<f64>() / errors.len() as f64
}

/// The member to display: the most probable, or the most probable with simple exponents if that one is nearly as good.
fn displayed_member(explained: &FittedEnsemble) -> &ScoredMember {
    let best = &explained.members[0];
    let scorer = &explained.hypotheses.scorer;
    let likelihood = |p: &ScoredMember| scorer.residual_log_evidence(p.residual, p.hypothesis.n_columns());
    let limit = likelihood(best) - SIMPLE_FORM_TOLERANCE;
    explained.members.iter().find(|p| p.is_simple && likelihood(p) >= limit).unwrap_or(best)
}
