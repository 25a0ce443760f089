//! Validates fits on held-out points: the largest ones, since predictions extrapolate beyond them.
//!
//! How much small points should count is not only a matter of noise. Where no hypothesis is right, noise-based weights let small points far
//! from the question decide. A pattern in the errors reveals this; the weighting is then the one that best predicts the largest points when
//! they are held out.

use super::correction::{self, ErrorCorrelation};
use super::design::{ExperimentDesign, ParameterAxis};
use super::inference::{FittedEnsemble, HypothesisSet, PointWeighting, held_out_errors};
use super::noise::SummarisedPoints;
use super::search::FixedHypothesis;

/// Growths of the error that are tried besides the one from the repetitions.
const ALTERNATIVE_GROWTHS: [f64; 2] = [0.5, 0.0];
/// Candidate correlations of errors one step apart.
const CORRELATIONS: [f64; 4] = [0.4, 0.7, 0.9, 0.97];
/// The correlation assumed where errors continue their trend.
const TREND_CORRELATION: f64 = 0.9;
/// The trend is assumed unless it leaves more than this multiple of the error left otherwise.
const TREND_TOLERANCE: f64 = 2.0;
/// Neighbouring errors are used if that leaves less than this share of the error.
const CORRECTION_GAIN: f64 = 0.8;
/// A polynomial is considered if it leaves less than this share of the error.
const POLYNOMIAL_GAIN: f64 = 0.4;
/// The minimum number of points of one parameter whose errors can have a pattern: a single deviation is none.
const MIN_POINTS_FOR_PATTERN: usize = 6;
/// The significance level below which errors are a pattern and not noise.
const SIGNIFICANCE_LEVEL: f64 = 0.001;
/// The F ratio above which errors at the same level have a common component.
const PATTERN_F_RATIO: f64 = 5.0;
/// With more noise than this, weights follow a first fit instead of the values themselves.
const REWEIGHT_NOISE: f64 = 0.05;
/// How many points suffice to try a hypothesis on held-out ones.
const MAX_FOLD_POINTS: usize = 200;
/// The minimum number of values for an extrapolation model: one more than a constant, a coefficient and an exponent.
const MIN_EXTRAPOLATION_LEVELS: usize = 4;
/// More points than this are not corrected: the cost is cubic.
const MAX_CORRECTED_POINTS: usize = 150;

/// The result of validation on the largest points.
pub(super) struct ValidatedFit {
    pub ensemble: FittedEnsemble,
    /// The mean relative error at the held-out points, for each parameter whose largest value was held out.
    pub errors: Vec<(usize, f64)>,
    /// The parameter along which the errors have a pattern that no hypothesis explains.
    pub pattern: Option<usize>,
    /// The correlation of neighbouring errors, if it helps to predict.
    pub correlation: Option<ErrorCorrelation>,
}

impl ValidatedFit {
    /// The mean relative error at the held-out points.
    pub(super) fn mean_error(&self) -> Option<f64> {
        (!self.errors.is_empty()).then(|| self.errors.iter().map(|e| e.1).sum::<f64>() / self.errors.len() as f64)
    }
}

/// Fits, choosing how errors grow with the value and whether they have a pattern.
pub(super) fn fit_validated(design: &ExperimentDesign, summary: &SummarisedPoints) -> ValidatedFit {
    let growth = summary.growth.unwrap_or(1.0);
    let usual = HypothesisSet::search(design, summary, PointWeighting { growth, design_effect: 1.0 });
    if usual.spread() > REWEIGHT_NOISE {
        let again = summary.with_expected(&usual.errors(design));
        choose_weighting(design, &again, usual.refit(design, &again, usual.weighting))
    } else {
        choose_weighting(design, summary, usual)
    }
}

fn choose_weighting(design: &ExperimentDesign, summary: &SummarisedPoints, usual: HypothesisSet) -> ValidatedFit {
    let folds = folds(design);
    let polynomials = credible_polynomials(design, summary, &usual);
    let pattern = if polynomials.is_empty() { find_pattern(design, summary, &usual) } else { None };
    let Some(ErrorPattern { axis, design_effect: alike }) = pattern else {
        let errors = fold_errors(design, &hold_out(design, summary, &usual, &folds), &None);
        return ValidatedFit { errors, ensemble: usual.infer_ensemble(design, &polynomials), pattern: None, correlation: None };
    };
    let growth = usual.weighting.growth;
    let growths = std::iter::once(growth).chain(ALTERNATIVE_GROWTHS.into_iter().filter(|g| *g < growth));
    let tried = growths.map(|growth| {
        let forms = usual.refit(design, summary, PointWeighting { growth, design_effect: alike });
        let held_out = hold_out(design, summary, &forms, &folds);
        (fold_errors(design, &held_out, &None).iter().map(|e| e.1).sum::<f64>(), forms, held_out)
    });
    let (_, forms, held_out) = tried.min_by(|a, b| a.0.total_cmp(&b.0)).expect("the usual growth is among those tried");
    let explained = forms.infer_ensemble(design, &[]);
    let likeness = choose_correlation(design, summary, &explained, &held_out);
    ValidatedFit { errors: fold_errors(design, &held_out, &likeness), ensemble: explained, pattern: Some(axis), correlation: likeness }
}

/// The first level of a single parameter from which one hypothesis explains the measurements, if that is not the first level.
pub(super) fn find_regime_change(design: &ExperimentDesign, summary: &SummarisedPoints, settled: &ValidatedFit) -> Option<usize> {
    let ([axis], Some(_)) = (design.axes.as_slice(), settled.pattern) else { return None };
    let subset = |first: usize| (0..design.n_points).filter(|i| axis.level_index[*i] as usize >= first).collect::<Vec<usize>>();
    let mut starts = 2..(axis.len() + 1).saturating_sub(MIN_EXTRAPOLATION_LEVELS);
    starts.find(|first| settled.ensemble.hypotheses.fits_subset(design, summary, &subset(*first), SIGNIFICANCE_LEVEL))
}

/// The polynomials that fit all points to within noise and predict the two largest points better than all hypotheses.
///
/// With terms of any sign they follow almost any data and soon diverge, so they must prove themselves.
fn credible_polynomials(design: &ExperimentDesign, summary: &SummarisedPoints, usual: &HypothesisSet) -> Vec<FixedHypothesis> {
    let [axis] = design.axes.as_slice() else { return Vec::new() };
    let beyond = axis.len().saturating_sub(2);
    let (held, kept): (Vec<usize>, Vec<usize>) = (0..design.n_points).partition(|i| axis.level_index[*i] as usize >= beyond);
    let sum = |errors: Vec<f64>| held.iter().map(|&i| errors[i].abs()).sum::<f64>();
    let candidates: Vec<(FixedHypothesis, f64)> = (2..=3)
        .map(FixedHypothesis::polynomial)
        .filter(|p| {
            usual
                .polynomial_noise_ratio(design, p)
                .is_some_and(|(times, freedom)| summary.noise_p_value(times, freedom) >= SIGNIFICANCE_LEVEL)
        })
        .filter_map(|p| held_out_errors(design, summary, usual.weighting, &p, &kept).map(|errors| (p, sum(errors))))
        .collect();
    if candidates.is_empty() {
        return Vec::new();
    }
    let Some(forms) = usual.errors_without_fold(design, summary, &kept).map(sum) else { return Vec::new() };
    candidates.into_iter().filter(|(_, error)| *error < POLYNOMIAL_GAIN * forms).map(|(p, _)| p).collect()
}

/// The relative errors at all points when those of a fold are held out.
struct FoldErrors<'a> {
    fold: &'a HoldOutFold,
    errors: Vec<f64>,
}

fn hold_out<'a>(
    design: &ExperimentDesign,
    summary: &SummarisedPoints,
    forms: &HypothesisSet,
    folds: &'a [HoldOutFold],
) -> Vec<FoldErrors<'a>> {
    folds.iter().filter_map(|fold| Some(FoldErrors { fold, errors: forms.errors_without_fold(design, summary, &fold.fitted)? })).collect()
}

/// The mean error at the held-out points, for each parameter whose largest value was held out.
fn fold_errors(design: &ExperimentDesign, held_out: &[FoldErrors], likeness: &Option<ErrorCorrelation>) -> Vec<(usize, f64)> {
    held_out.iter().map(|h| (h.fold.axis, h.corrected_error(design, likeness) / h.fold.held.len() as f64)).collect()
}

/// The error correlation along each axis, and whether errors continue their trend: what best predicts its largest value.
fn choose_correlation(
    design: &ExperimentDesign,
    summary: &SummarisedPoints,
    explained: &FittedEnsemble,
    held_out: &[FoldErrors],
) -> Option<ErrorCorrelation> {
    if design.n_points > MAX_CORRECTED_POINTS {
        return None;
    }
    let square = explained.errors.iter().map(|e| e * e).sum::<f64>() / explained.errors.len() as f64;
    let noise = summary.noise_prior(&summary.root_weights(1.0)).variance;
    let axes = design.axes.len();
    let none = ErrorCorrelation { along: vec![0.0; axes], goes_on: vec![false; axes], own: (noise / square).clamp(0.01, 0.5) };
    let mut likeness = none.clone();
    for held_out in held_out {
        let axis = held_out.fold.axis;
        let left = |alike: f64, goes_on: bool| {
            let mut tried = none.clone();
            (tried.along[axis], tried.goes_on[axis]) = (alike, goes_on);
            held_out.corrected_error(design, &Some(tried))
        };
        let alone = held_out.corrected_error(design, &None);
        let best = CORRELATIONS.map(|alike| (left(alike, false), alike)).into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
        let near = best.filter(|(left, _)| *left < CORRECTION_GAIN * alone);
        let least = near.map_or(alone, |(left, _)| left);
        if left(TREND_CORRELATION, true) < TREND_TOLERANCE * least {
            (likeness.along[axis], likeness.goes_on[axis]) = (TREND_CORRELATION, true);
        } else if let Some((_, alike)) = near {
            likeness.along[axis] = alike;
        }
    }
    likeness.along.iter().any(|a| *a > 0.0).then_some(likeness)
}

impl FoldErrors<'_> {
    /// The sum of the errors at the held-out points after correction by the errors of the others.
    fn corrected_error(&self, design: &ExperimentDesign, likeness: &Option<ErrorCorrelation>) -> f64 {
        let Some(likeness) = likeness else { return self.fold.held.iter().map(|&i| self.errors[i].abs()).sum() };
        let suggested = correction::interpolated_errors(design, &log_ratios(&self.errors), &self.fold.kept, &self.fold.held, likeness);
        self.fold.held.iter().zip(suggested).map(|(&i, s)| ((1.0 + self.errors[i]) * (-s).exp() - 1.0).abs()).sum()
    }
}

/// Relative errors as logarithms of ratios; values far too low count as a hundredth.
pub(super) fn log_ratios(errors: &[f64]) -> Vec<f64> {
    errors.iter().map(|e| (1.0 + e).max(0.01).ln()).collect()
}

/// What errors have in common.
struct ErrorPattern {
    /// The parameter at whose levels they are correlated.
    axis: usize,
    /// How many points are worth one.
    design_effect: f64,
}

/// Whether the errors of a fit are more correlated than by chance.
fn find_pattern(design: &ExperimentDesign, summary: &SummarisedPoints, forms: &HypothesisSet) -> Option<ErrorPattern> {
    if design.axes.len() > 1 {
        let errors = forms.errors(design);
        let found = design
            .axes
            .iter()
            .enumerate()
            .filter_map(|(axis, a)| Some(ErrorPattern { axis, design_effect: axis_design_effect(a, &errors)? }));
        return found.max_by(|a, b| a.design_effect.total_cmp(&b.design_effect));
    }
    let (times, freedom) = forms.noise_ratio();
    let is_pattern = design.n_points >= MIN_POINTS_FOR_PATTERN && summary.noise_p_value(times, freedom) < SIGNIFICANCE_LEVEL;
    is_pattern.then_some(ErrorPattern { axis: 0, design_effect: 1.0 })
}

/// How many points are worth one if errors at the same level of an axis are correlated.
fn axis_design_effect(axis: &ParameterAxis, errors: &[f64]) -> Option<f64> {
    let mut sums = vec![(0.0, 0.0); axis.len()];
    for (error, level) in errors.iter().zip(&axis.level_index) {
        let (count, sum) = &mut sums[*level as usize];
        (*count, *sum) = (*count + 1.0, *sum + error);
    }
    let common: f64 = sums.iter().map(|(count, sum)| sum * sum / count).sum();
    let own = errors.iter().map(|e| e * e).sum::<f64>() - common;
    let (points, levels) = (errors.len() as f64, axis.len() as f64);
    let (common, own) = (common / levels, own.max(0.0) / (points - levels).max(1.0));
    let each = points / levels;
    // The intraclass correlation, and the design effect that follows from it.
    let correlation = (common - own) / (common + (each - 1.0) * own);
    (points > levels && common > PATTERN_F_RATIO * own).then_some(1.0 + (each - 1.0) * correlation)
}

/// The points at the largest value of an axis, and all others.
struct HoldOutFold {
    axis: usize,
    held: Vec<usize>,
    kept: Vec<usize>,
    /// Those of the others that are fitted to: a subsample if there are very many.
    fitted: Vec<usize>,
}

/// One fold per axis with enough values.
fn folds(design: &ExperimentDesign) -> Vec<HoldOutFold> {
    let enough = if design.axes.len() == 1 { 4 } else { 3 };
    (0..design.axes.len())
        .filter(|axis| design.axes[*axis].len() >= enough)
        .map(|axis| {
            let last = design.axes[axis].len() as u32 - 1;
            let (held, kept): (Vec<usize>, Vec<usize>) = (0..design.n_points).partition(|i| design.axes[axis].level_index[*i] == last);
            let fitted = design.select_points(&kept).subsample(MAX_FOLD_POINTS).into_iter().map(|i| kept[i]).collect();
            HoldOutFold { axis, held, kept, fitted }
        })
        .filter(|fold| fold.kept.len() >= 4)
        .collect()
}
