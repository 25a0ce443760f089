//! Inference with given point weights: searches hypotheses and collects the ensemble.

use super::design::ExperimentDesign;
use super::ensemble_member::{EnsembleMember, TermFactor};
use super::hypothesis::{FactorSet, FreeFactor, Hypothesis};
use super::least_squares::{LeastSquaresSolver, RegressionTarget};
use super::noise::SummarisedPoints;
use super::posterior::{PosteriorSampler, ScoredMember};
use super::refine::{Exponents, FittedHypothesis, RefineContext, refine};
use super::scoring::HypothesisScorer;
use super::search::{FixedHypothesis, HypothesisSearch, ScoredHypothesis};

/// Hypotheses whose log posterior is lower than the best by more than this have no members.
const NEGLIGIBLE_LOG_RATIO: f64 = 9.0;
/// The maximum number of hypotheses that have members.
const MAX_HYPOTHESES: usize = 20;
/// More points than this per parameter are subsampled for the search.
const MAX_SEARCH_POINTS: usize = 30;
/// More points than this leave little doubt about exponents, so fewer are sampled.
const MANY_POINTS: usize = 100;
/// Hypotheses whose log posterior on the subsample is lower than the best by more than this are not fitted to all points.
const SUBSAMPLE_LOG_RATIO: f64 = 12.0;
/// The most that better exponents may add to the log posterior, per exponent.
const MAX_GAIN_PER_EXPONENT: f64 = 4.0;
/// The number of members that are compared with the measured values.
const MAX_COMPARED_MEMBERS: usize = 8;
/// The number of hypotheses that are tried on held-out points.
const MAX_VALIDATED: usize = 3;

/// How points are weighted.
#[derive(Debug, Clone, Copy)]
pub(super) struct PointWeighting {
    /// The power of the value that errors grow with.
    pub growth: f64,
    /// How many points count as one, because their errors are correlated.
    pub design_effect: f64,
}

/// Hypotheses fitted to a regression target.
#[derive(Debug, Clone)]
pub(super) struct HypothesisSet {
    pub weighting: PointWeighting,
    pub target: RegressionTarget,
    pub scorer: HypothesisScorer,
    /// Most probable first.
    hypotheses: Vec<ScoredHypothesis>,
    /// Sums of simple terms that were probable enough.
    fixed: Vec<FixedHypothesis>,
}

/// Hypotheses with the ensemble derived from them.
pub(super) struct FittedEnsemble {
    pub hypotheses: HypothesisSet,
    /// Most probable first; their weights add up to one.
    pub members: Vec<ScoredMember>,
    /// The relative error of the most probable members together, at each point.
    pub errors: Vec<f64>,
}

/// Values and weights for fitting all points, and the scorer with the noise estimate.
fn regression_problem(summary: &SummarisedPoints, weighting: PointWeighting) -> (RegressionTarget, HypothesisScorer) {
    let mut root_weights = summary.root_weights(weighting.growth);
    let known = summary.noise_prior(&root_weights);
    root_weights.iter_mut().for_each(|w| *w /= weighting.design_effect.sqrt());
    let scorer = HypothesisScorer {
        noise_dof: known.degrees_of_freedom,
        noise_variance: known.variance,
        n_points: root_weights.len() as f64 / weighting.design_effect,
        parameter_kinds: summary.parameter_kinds,
    };
    (RegressionTarget { values: summary.values.clone(), root_weights }, scorer)
}

/// The same for some of the points.
fn subset_problem(summary: &SummarisedPoints, weighting: PointWeighting, kept: &[usize]) -> (RegressionTarget, HypothesisScorer) {
    let (all, scorer) = regression_problem(summary, weighting);
    let of = |values: &[f64]| kept.iter().map(|i| values[*i]).collect();
    let target = RegressionTarget { values: of(&all.values), root_weights: of(&all.root_weights) };
    (target, HypothesisScorer { n_points: kept.len() as f64 / weighting.design_effect, ..scorer })
}

impl HypothesisSet {
    /// Searches hypotheses; many points are subsampled to see which hypotheses are worth fitting to all.
    pub(super) fn search(design: &ExperimentDesign, summary: &SummarisedPoints, weighting: PointWeighting) -> Self {
        let most = MAX_SEARCH_POINTS * design.axes.len();
        if design.n_points <= most {
            let (target, scorer) = regression_problem(summary, weighting);
            let (found, simple) = run_search(design, &target, scorer);
            return Self::sorted(weighting, target, scorer, found, simple);
        }
        let kept = design.subsample(most);
        let (target, scorer) = subset_problem(summary, weighting, &kept);
        let (mut found, simple) = run_search(&design.select_points(&kept), &target, scorer);
        let best = found.iter().map(|f| f.log_posterior).fold(f64::NEG_INFINITY, f64::max);
        found.retain(|f| f.log_posterior > best - SUBSAMPLE_LOG_RATIO);
        Self::sorted(weighting, target, scorer, found, simple).refit_on_all(design, summary)
    }

    /// Refits to all points those hypotheses that are not hopeless with their present exponents.
    fn refit_on_all(mut self, design: &ExperimentDesign, summary: &SummarisedPoints) -> Self {
        let (target, scorer) = regression_problem(summary, self.weighting);
        let mut solver = LeastSquaresSolver::new(design, &target);
        let mut best = f64::NEG_INFINITY;
        self.hypotheses.retain(|form| {
            let residual = solver.residual(&form.fitted.hypothesis, &form.fitted.exponents);
            let log_posterior = scorer.residual_log_evidence(residual, form.fitted.hypothesis.n_columns());
            best = best.max(log_posterior);
            log_posterior > best - NEGLIGIBLE_LOG_RATIO - MAX_GAIN_PER_EXPONENT * form.fitted.exponents.len() as f64
        });
        self.refit(design, summary, self.weighting)
    }

    /// Refits the same hypotheses with other weights, without another search.
    pub(super) fn refit(&self, design: &ExperimentDesign, summary: &SummarisedPoints, weighting: PointWeighting) -> Self {
        let (target, scorer) = regression_problem(summary, weighting);
        let mut solver = LeastSquaresSolver::new(design, &target);
        let mut known = RefineContext { noise_floor: scorer.noise_floor(), best_residual: f64::INFINITY };
        let mut found = Vec::with_capacity(self.hypotheses.len());
        for form in &self.hypotheses {
            if let Some(fitted) = refine(&mut solver, &form.fitted.hypothesis, &form.fitted.exponents, known) {
                known.best_residual = known.best_residual.min(fitted.residual);
                found.push(ScoredHypothesis::score(fitted, &solver, &scorer));
            }
        }
        // Columns may overflow at points outside the subsample; a constant never does.
        if found.is_empty()
            && let Some(constant) = refine(&mut solver, &Hypothesis::constant_only(), &[], known)
        {
            found.push(ScoredHypothesis::score(constant, &solver, &scorer));
        }
        Self::sorted(weighting, target, scorer, found, self.fixed.clone())
    }

    fn sorted(
        weighting: PointWeighting,
        target: RegressionTarget,
        scorer: HypothesisScorer,
        mut hypotheses: Vec<ScoredHypothesis>,
        fixed: Vec<FixedHypothesis>,
    ) -> Self {
        hypotheses.retain(|f| f.log_posterior > f64::NEG_INFINITY);
        hypotheses.sort_by(|a, b| b.log_posterior.total_cmp(&a.log_posterior));
        Self { weighting, target, scorer, hypotheses, fixed }
    }

    /// The relative spread of a typical point around the best hypothesis.
    pub(super) fn spread(&self) -> f64 {
        self.scorer.variance(self.hypotheses[0].fitted.residual, self.hypotheses[0].fitted.hypothesis.n_unknowns()).sqrt()
    }

    /// The residual variance of the best hypothesis relative to the noise, and its degrees of freedom.
    pub(super) fn noise_ratio(&self) -> (f64, f64) {
        let best = &self.hypotheses[0].fitted;
        let freedom = (self.scorer.n_points - best.hypothesis.n_unknowns() as f64).max(1.0);
        (best.residual / freedom / self.scorer.noise_variance, freedom)
    }

    /// The same for a polynomial; none if it decreases in the end, which no cost does.
    pub(super) fn polynomial_noise_ratio(&self, design: &ExperimentDesign, polynomial: &FixedHypothesis) -> Option<(f64, f64)> {
        let mut solver = LeastSquaresSolver::new(design, &self.target);
        let residual = solver.residual(&polynomial.hypothesis, &polynomial.exponents);
        let freedom = self.scorer.n_points - polynomial.hypothesis.n_columns() as f64;
        let grows = solver.coefficients.last().is_some_and(|c| *c > 0.0);
        (residual.is_finite() && freedom > 0.0 && grows).then(|| (residual / freedom / self.scorer.noise_variance, freedom))
    }

    /// The relative error of the best hypotheses together, at each point.
    pub(super) fn errors(&self, design: &ExperimentDesign) -> Vec<f64> {
        let mut solver = LeastSquaresSolver::new(design, &self.target);
        let members = self.best().map(|form| {
            let FittedHypothesis { hypothesis, exponents, residual, .. } = &form.fitted;
            solver.residual(hypothesis, exponents);
            (form.log_posterior, self.scorer.ensemble_member(&solver, hypothesis, exponents, *residual, 0.0))
        });
        posterior_weighted_errors(design, &self.target.values, &members.collect::<Vec<_>>())
    }

    fn best(&self) -> impl Iterator<Item = &ScoredHypothesis> {
        let likely = self.hypotheses[0].log_posterior - NEGLIGIBLE_LOG_RATIO;
        self.hypotheses.iter().take_while(move |f| f.log_posterior > likely).take(MAX_VALIDATED)
    }

    /// The ensemble of the best hypotheses and further sums.
    pub(super) fn infer_ensemble(self, design: &ExperimentDesign, further: &[FixedHypothesis]) -> FittedEnsemble {
        let best = self.hypotheses[0].log_posterior;
        let worth_it = || self.hypotheses.iter().take_while(|f| f.log_posterior > best - NEGLIGIBLE_LOG_RATIO).take(MAX_HYPOTHESES);
        let all: f64 = worth_it().map(|f| (f.log_posterior - best).exp()).sum();
        let mut solver = LeastSquaresSolver::new(design, &self.target);
        let draws = if design.n_points > MANY_POINTS { 12.0 } else { 28.0 };
        let mut posterior = PosteriorSampler::new(&mut solver, self.scorer);
        for form in worth_it() {
            let share = (form.log_posterior - best).exp() / all;
            posterior.add_hypothesis(&form.fitted, sign_log_prior(&self.scorer, &form.fitted), 4 + (draws * share) as usize);
        }
        for sum in self.fixed.iter().chain(further) {
            posterior.add(&sum.hypothesis, &sum.exponents, sum.log_prior);
        }
        let possible = posterior.finish();
        let errors = ensemble_errors(design, &self.target.values, &possible);
        FittedEnsemble { hypotheses: self, members: possible, errors }
    }

    /// The relative errors at all points when only some are fitted: the best hypotheses stay, their numbers are refitted.
    pub(super) fn errors_without_fold(&self, design: &ExperimentDesign, summary: &SummarisedPoints, kept: &[usize]) -> Option<Vec<f64>> {
        let fewer = design.select_points(kept);
        let (target, scorer) = subset_problem(summary, self.weighting, kept);
        let mut solver = LeastSquaresSolver::new(&fewer, &target);
        let known = RefineContext { noise_floor: scorer.noise_floor(), best_residual: f64::INFINITY };
        let mut again: Vec<(f64, EnsembleMember)> = Vec::new();
        for form in self.best() {
            let hypothesis = &form.fitted.hypothesis;
            if hypothesis.n_unknowns() > kept.len() {
                continue;
            }
            let Some(fitted) = refine(&mut solver, hypothesis, &form.fitted.exponents, known) else { continue };
            let log_posterior = scorer.continuous_log_evidence(&fitted)
                + scorer.nonnegative_log_probability(&solver, hypothesis, fitted.residual)
                + sign_log_prior(&scorer, &fitted);
            if log_posterior.is_finite() {
                again.push((log_posterior, scorer.ensemble_member(&solver, hypothesis, &fitted.exponents, fitted.residual, 0.0)));
            }
        }
        (!again.is_empty()).then(|| posterior_weighted_errors(design, &self.target.values, &again))
    }

    /// Whether one of the hypotheses fits some points to within noise, at this significance level.
    pub(super) fn fits_subset(&self, design: &ExperimentDesign, summary: &SummarisedPoints, kept: &[usize], chance: f64) -> bool {
        let fewer = design.select_points(kept);
        let (target, scorer) = subset_problem(summary, self.weighting, kept);
        let mut solver = LeastSquaresSolver::new(&fewer, &target);
        let known = RefineContext { noise_floor: scorer.noise_floor(), best_residual: f64::INFINITY };
        let explains = |form: &ScoredHypothesis| {
            let hypothesis = &form.fitted.hypothesis;
            let freedom = kept.len().saturating_sub(hypothesis.n_unknowns()) as f64;
            if freedom == 0.0 {
                return false;
            }
            let left = refine(&mut solver, hypothesis, &form.fitted.exponents, known).map(|fitted| fitted.residual);
            left.is_some_and(|residual| summary.noise_p_value(residual / freedom / scorer.noise_variance, freedom) >= chance)
        };
        self.hypotheses.iter().any(explains)
    }
}

impl FittedEnsemble {
    /// Fits one form with given exponents; none if its terms are collinear.
    pub(super) fn from_terms(
        design: &ExperimentDesign,
        summary: &SummarisedPoints,
        growth: f64,
        terms: &[Vec<TermFactor>],
    ) -> Option<Self> {
        let weighting = PointWeighting { growth, design_effect: 1.0 };
        let (target, scorer) = regression_problem(summary, weighting);
        let mut hypothesis = Hypothesis { allows_negative: true, ..Hypothesis::default() };
        let mut exponents = Exponents::default();
        for term in terms {
            if term.is_empty() {
                hypothesis.constant = true;
                continue;
            }
            let first = hypothesis.factors.len();
            for factor in term {
                hypothesis.factors.push(FreeFactor { parameter: factor.parameter as u8, log: factor.log });
                exponents.push(factor.exponent);
            }
            hypothesis.terms.push(FactorSet::from_indices(first..hypothesis.factors.len()));
        }
        let mut solver = LeastSquaresSolver::new(design, &target);
        let mut posterior = PosteriorSampler::new(&mut solver, scorer);
        posterior.add(&hypothesis, &exponents, 0.0);
        let possible = posterior.finish();
        if possible.is_empty() {
            return None;
        }
        let errors = ensemble_errors(design, &target.values, &possible);
        let forms = HypothesisSet { weighting, target, scorer, hypotheses: Vec::new(), fixed: Vec::new() };
        Some(Self { hypotheses: forms, members: possible, errors })
    }

    /// The relative spread of a typical point around the best member.
    pub(super) fn spread(&self) -> f64 {
        let best = &self.members[0];
        self.hypotheses.scorer.variance(best.residual, best.hypothesis.n_unknowns()).sqrt()
    }
}

/// The relative errors of one formula at all points when only some are fitted.
pub(super) fn held_out_errors(
    design: &ExperimentDesign,
    summary: &SummarisedPoints,
    weighting: PointWeighting,
    formula: &FixedHypothesis,
    kept: &[usize],
) -> Option<Vec<f64>> {
    if kept.len() <= formula.hypothesis.n_columns() {
        return None;
    }
    let fewer = design.select_points(kept);
    let (target, scorer) = subset_problem(summary, weighting, kept);
    let mut solver = LeastSquaresSolver::new(&fewer, &target);
    let residual = solver.residual(&formula.hypothesis, &formula.exponents);
    let member = residual.is_finite().then(|| scorer.ensemble_member(&solver, &formula.hypothesis, &formula.exponents, residual, 1.0))?;
    Some(relative_errors(design, &summary.values, std::iter::once((1.0, &member))))
}

fn run_search(
    design: &ExperimentDesign,
    target: &RegressionTarget,
    scorer: HypothesisScorer,
) -> (Vec<ScoredHypothesis>, Vec<FixedHypothesis>) {
    let mut solver = LeastSquaresSolver::new(design, target);
    let mut search = HypothesisSearch::new(&mut solver, design, target, scorer);
    search.run();
    (search.hypotheses, search.fixed)
}

fn sign_log_prior(scorer: &HypothesisScorer, fitted: &FittedHypothesis) -> f64 {
    if fitted.hypothesis.allows_negative { scorer.negative_term_log_prior() } else { 0.0 }
}

/// The relative error of the most probable members together, at all points.
fn ensemble_errors(design: &ExperimentDesign, values: &[f64], possible: &[ScoredMember]) -> Vec<f64> {
    let likeliest = &possible[..possible.len().min(MAX_COMPARED_MEMBERS)];
    let all: f64 = likeliest.iter().map(|p| p.member.weight).sum();
    relative_errors(design, values, likeliest.iter().map(|p| (p.member.weight / all, &p.member)))
}

/// The relative error of members weighted by their log posterior, at all points.
fn posterior_weighted_errors(design: &ExperimentDesign, values: &[f64], members: &[(f64, EnsembleMember)]) -> Vec<f64> {
    let best = members.iter().map(|m| m.0).fold(f64::NEG_INFINITY, f64::max);
    let all: f64 = members.iter().map(|m| (m.0 - best).exp()).sum();
    relative_errors(design, values, members.iter().map(|(log_posterior, member)| ((log_posterior - best).exp() / all, member)))
}

/// The relative error of weighted members together, at all points.
fn relative_errors<'a>(design: &ExperimentDesign, values: &[f64], members: impl Iterator<Item = (f64, &'a EnsembleMember)>) -> Vec<f64> {
    let mut predicted = vec![0.0; design.n_points];
    let mut product = vec![0.0; design.n_points];
    for (weight, member) in members {
        for (term, coefficient) in member.terms.iter().zip(&member.coefficients) {
            product.fill(weight * coefficient);
            for factor in term {
                let axis = &design.axes[factor.parameter];
                let powers: Vec<f64> = (0..axis.len()).map(|level| axis.factor(level, factor.exponent, factor.log)).collect();
                product.iter_mut().zip(&axis.level_index).for_each(|(value, level)| *value *= powers[*level as usize]);
            }
            predicted.iter_mut().zip(&product).for_each(|(sum, value)| *sum += value);
        }
    }
    predicted.iter().zip(values).map(|(predicted, value)| predicted / value - 1.0).collect()
}
