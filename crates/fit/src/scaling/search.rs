//! Search for hypotheses that explain the measurements.
//!
//! With one parameter, all exponents are scanned. With more, partitions of the parameters into summed products come first, without
//! logarithms; the best are then varied: other logarithms, a parameter dropped, an extra term, no constant.

use super::design::{ExperimentDesign, ParameterAxis};
use super::hypothesis::{FactorSet, Hypothesis, LogFactor};
use super::least_squares::{LeastSquaresSolver, RegressionTarget, back_substitute, normalise, project_out};
use super::prior;
use super::refine::{Exponents, FittedHypothesis, RefineContext, refine};
use super::scoring::HypothesisScorer;

/// Hypotheses whose log posterior is lower than the best by more than this are not pursued.
const NEGLIGIBLE_LOG_RATIO: f64 = 9.0;

/// The step between scanned exponents of a single parameter; the best is refined afterwards.
const SCAN_STEP: f64 = 0.5;
/// With more parameters than this, not all partitions are tried.
const MAX_PARTITIONED_PARAMETERS: usize = 4;

/// How many partitions are refined.
const MAX_REFINED_PARTITIONS: usize = 4;

/// The minimum number of points to separate two terms of one parameter.
const MIN_POINTS_FOR_PAIRS: usize = 6;

/// The minimum number of values of a parameter for an extra term: a constant, and a coefficient and an exponent in each of two terms.
const MIN_VALUES_FOR_EXTRA_TERM: usize = 5;

/// The terms that are tried in pairs.
const PAIR_TERMS: [(f64, LogFactor); 12] = [
    (-1.0, LogFactor::None),
    (-0.5, LogFactor::None),
    (0.0, LogFactor::Log2),
    (0.0, LogFactor::Log2Squared),
    (0.5, LogFactor::None),
    (1.0, LogFactor::None),
    (1.0, LogFactor::Log2),
    (1.5, LogFactor::None),
    (2.0, LogFactor::None),
    (2.0, LogFactor::Log2),
    (2.5, LogFactor::None),
    (3.0, LogFactor::None),
];

/// A hypothesis with its score.
#[derive(Debug, Clone)]
pub(super) struct ScoredHypothesis {
    pub fitted: FittedHypothesis,
    /// Its log posterior, up to a constant.
    pub log_posterior: f64,
}

impl ScoredHypothesis {
    /// Scores the hypothesis last solved; negative terms are allowed, at a lower prior, if nothing else fits.
    pub(super) fn score(mut fitted: FittedHypothesis, solver: &LeastSquaresSolver, scorer: &HypothesisScorer) -> Self {
        fitted.hypothesis.allows_negative = false;
        let signs = scorer.nonnegative_log_probability(solver, &fitted.hypothesis, fitted.residual);
        fitted.hypothesis.allows_negative = signs < scorer.negative_term_log_prior();
        Self { log_posterior: scorer.continuous_log_evidence(&fitted) + signs.max(scorer.negative_term_log_prior()), fitted }
    }
}

/// A sum of simple terms of one parameter with given exponents.
#[derive(Debug, Clone, Copy)]
pub(super) struct FixedHypothesis {
    pub hypothesis: Hypothesis,
    pub exponents: Exponents,
    /// The logarithm of its prior probability.
    pub log_prior: f64,
}

/// The state of a search.
pub(super) struct HypothesisSearch<'s, 'd> {
    solver: &'s mut LeastSquaresSolver<'d>,
    design: &'d ExperimentDesign,
    scorer: HypothesisScorer,
    slopes: Vec<f64>,
    pub hypotheses: Vec<ScoredHypothesis>,
    /// Sums of simple terms of one parameter.
    pub fixed: Vec<FixedHypothesis>,
}

impl FixedHypothesis {
    /// A polynomial of one parameter, whose terms may be negative.
    pub(super) fn polynomial(degree: usize) -> Self {
        let hypothesis = (0..degree).fold(Hypothesis::constant_only(), |hypothesis, _| hypothesis.with_separate_term(&[0]));
        Self {
            hypothesis: Hypothesis { allows_negative: true, ..hypothesis },
            exponents: (1..=degree).map(|e| e as f64).collect(),
            log_prior: prior::POLYNOMIAL_LOG_PRIOR,
        }
    }
}

impl<'s, 'd> HypothesisSearch<'s, 'd> {
    pub(super) fn new(
        solver: &'s mut LeastSquaresSolver<'d>,
        design: &'d ExperimentDesign,
        target: &RegressionTarget,
        scorer: HypothesisScorer,
    ) -> Self {
        Self { solver, design, scorer, slopes: log_log_slopes(design, target), hypotheses: Vec::new(), fixed: Vec::new() }
    }

    /// Runs the search.
    pub(super) fn run(&mut self) {
        self.try_hypothesis(Hypothesis::constant_only(), &[]);
        if self.design.axes.len() == 1 {
            self.scan_single_parameter(true);
            self.scan_single_parameter(false);
            self.try_pairs();
        } else {
            self.try_partitions();
            self.drop_parameters();
            self.vary_logs();
            self.add_shared_terms();
            self.drop_constants();
            self.add_extra_term();
        }
    }

    /// The log posterior of the best hypothesis so far.
    fn best_log_posterior(&self) -> f64 {
        self.hypotheses.iter().map(|f| f.log_posterior).fold(f64::NEG_INFINITY, f64::max)
    }

    /// The best hypotheses so far.
    fn top_hypotheses(&self, most: usize) -> Vec<usize> {
        let limit = self.best_log_posterior() - NEGLIGIBLE_LOG_RATIO;
        let mut leading: Vec<usize> = (0..self.hypotheses.len()).filter(|f| self.hypotheses[*f].log_posterior > limit).collect();
        leading.sort_by(|a, b| self.hypotheses[*b].log_posterior.total_cmp(&self.hypotheses[*a].log_posterior));
        leading.truncate(most);
        leading
    }

    fn hypothesis_at(&self, found: usize) -> (Hypothesis, Exponents) {
        let fitted = &self.hypotheses[found].fitted;
        (fitted.hypothesis, fitted.exponents)
    }

    /// One parameter: scans every exponent with every logarithm.
    fn scan_single_parameter(&mut self, constant: bool) {
        for log in self.design.axes[0].logs() {
            let hypothesis = Hypothesis { constant, ..Hypothesis::from_partition(&[[0]]).with_log(0, log) };
            let steps = ((prior::MAX_EXPONENT - prior::MIN_EXPONENT) / SCAN_STEP) as usize;
            let mut best = (f64::INFINITY, 0.0);
            for e in (0..=steps).map(|i| prior::MIN_EXPONENT + SCAN_STEP * i as f64).filter(|e| prior::is_allowed_exponent(*e, log)) {
                let residual = self.solver.residual(&hypothesis, &[e]);
                if residual < best.0 && !self.solver.has_negative_term(&hypothesis) {
                    best = (residual, e);
                }
            }
            if best.0.is_finite() {
                self.try_hypothesis(hypothesis, &[best.1]);
            }
        }
    }

    /// One parameter: sums of two simple terms, where there are enough points to separate them.
    fn try_pairs(&mut self) {
        if self.design.n_points < MIN_POINTS_FOR_PAIRS {
            return;
        }
        let offered: Vec<(f64, LogFactor)> =
            PAIR_TERMS.into_iter().filter(|(_, log)| self.design.axes[0].logs().any(|l| l == *log)).collect();
        let limit = self.best_log_posterior() - NEGLIGIBLE_LOG_RATIO;
        let mut best = (f64::INFINITY, None);
        for (i, (first, first_log)) in offered.iter().enumerate() {
            for (second, second_log) in &offered[..i] {
                let both = Hypothesis::from_partition(&[[0], [0]]).with_log(0, *first_log).with_log(1, *second_log);
                for hypothesis in [both, both.without_constant()] {
                    let pair =
                        FixedHypothesis { hypothesis, exponents: [*first, *second].as_slice().into(), log_prior: prior::PAIR_LOG_PRIOR };
                    let residual = self.solver.residual(&hypothesis, &pair.exponents);
                    let likely = self.scorer.residual_log_evidence(residual, hypothesis.n_columns()) + prior::PAIR_LOG_PRIOR > limit;
                    if likely && !self.solver.has_negative_term(&hypothesis) {
                        self.fixed.push(pair);
                        if residual < best.0 {
                            best = (residual, Some(pair));
                        }
                    }
                }
            }
        }
        if let Some(pair) = best.1 {
            self.try_hypothesis(pair.hypothesis, &pair.exponents);
        }
    }

    /// Several parameters: partitions into products, exhaustively while there are few.
    fn try_partitions(&mut self) {
        let parameters: Vec<usize> = (0..self.design.axes.len()).collect();
        if parameters.len() <= MAX_PARTITIONED_PARAMETERS {
            let mut screened: Vec<(f64, Vec<Vec<usize>>)> =
                partitions(&parameters).into_iter().map(|b| (self.screen_partition(&b), b)).collect();
            screened.sort_by(|a, b| a.0.total_cmp(&b.0));
            for (_, blocks) in screened.iter().take(MAX_REFINED_PARTITIONS) {
                self.try_partition(blocks);
            }
            return;
        }
        let alone: Vec<Vec<usize>> = parameters.iter().map(|p| vec![*p]).collect();
        self.merge_blocks(alone);
        self.try_partition(&[parameters]);
    }

    /// The residual of a partition after two Gauss-Newton steps: enough to reject hopeless ones.
    fn screen_partition(&mut self, blocks: &[Vec<usize>]) -> f64 {
        let hypothesis = Hypothesis::from_partition(blocks);
        let mut exponents = self.guess_exponents(&hypothesis);
        let mut least = self.solver.residual(&hypothesis, &exponents);
        for _ in 0..2 {
            if least.is_finite() {
                self.solver.gauss_newton_step(&hypothesis);
                for (exponent, step) in exponents.iter_mut().zip(&self.solver.step) {
                    *exponent = (*exponent + step.clamp(-1.0, 1.0)).clamp(prior::MIN_EXPONENT, prior::MAX_EXPONENT);
                }
                least = least.min(self.solver.residual(&hypothesis, &exponents));
            }
        }
        least
    }

    /// Greedily merges the two blocks whose product improves the score most.
    fn merge_blocks(&mut self, mut blocks: Vec<Vec<usize>>) {
        let mut log_posterior = self.try_partition(&blocks);
        while blocks.len() > 1 {
            let joined = |i: usize, j: usize| {
                let mut joined = blocks.clone();
                let second = joined.remove(j);
                joined[i].extend(second);
                joined
            };
            let pairs = (0..blocks.len()).flat_map(|j| (0..j).map(move |i| (i, j)));
            let tried = pairs.map(|(i, j)| joined(i, j)).map(|blocks| (self.try_partition(&blocks), blocks));
            let Some(best) = tried.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|best| best.0 > log_posterior) else { return };
            (log_posterior, blocks) = best;
        }
    }

    /// Tries a sum of products with and without a constant, and returns the better score.
    fn try_partition(&mut self, blocks: &[Vec<usize>]) -> f64 {
        let hypothesis = Hypothesis::from_partition(blocks);
        let guess = self.guess_exponents(&hypothesis);
        let with = self.try_hypothesis(hypothesis, &guess);
        let exponents = with.map_or(guess, |f| self.hypotheses[f].fitted.exponents);
        let without = self.try_hypothesis(hypothesis.without_constant(), &exponents);
        with.into_iter().chain(without).map(|f| self.hypotheses[f].log_posterior).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Initial exponents from the log-log slopes; a constant or other terms make the true ones steeper.
    fn guess_exponents(&self, hypothesis: &Hypothesis) -> Exponents {
        let (steeper, least, most) = if hypothesis.terms.len() == 1 { (1.2, 0.3, 3.0) } else { (1.5, 1.0, 2.5) };
        let guess = |slope: f64| (steeper * slope.abs()).clamp(least, most).copysign(slope);
        hypothesis.factors.iter().map(|slot| guess(self.slopes[slot.axis_index()])).collect()
    }

    /// Drops each parameter in turn from the best hypothesis.
    fn drop_parameters(&mut self) {
        for lead in self.top_hypotheses(1) {
            for parameter in 0..self.design.axes.len() {
                let (hypothesis, guess) = without_parameter(&self.hypotheses[lead].fitted, parameter);
                self.try_hypothesis(hypothesis, &guess);
            }
        }
    }

    /// Varies the logarithm of one factor at a time, starting from the best hypotheses, until nothing improves.
    fn vary_logs(&mut self) {
        for lead in self.top_hypotheses(3) {
            let mut current = lead;
            for _ in 0..3 {
                let before = current;
                for slot in 0..self.hypotheses[current].fitted.hypothesis.factors.len() {
                    current = self.vary_log(current, slot);
                }
                if current == before {
                    break;
                }
            }
        }
    }

    fn vary_log(&mut self, current: usize, slot: usize) -> usize {
        let (hypothesis, exponents) = self.hypothesis_at(current);
        let (parameter, now) = (hypothesis.factors[slot].axis_index(), hypothesis.factors[slot].log);
        let mut best = current;
        for log in self.design.axes[parameter].logs().filter(|l| *l != now) {
            let mut guess = exponents;
            guess[slot] = self.compensate_exponent(parameter, guess[slot], now.log_degree() - log.log_degree());
            if let Some(found) = self.try_hypothesis(hypothesis.with_log(slot, log), &guess)
                && self.hypotheses[found].log_posterior > self.hypotheses[best].log_posterior
            {
                best = found;
            }
        }
        best
    }

    /// The exponent that compensates for `logs` powers of a logarithm in the upper part of the axis; the sign stays.
    fn compensate_exponent(&self, parameter: usize, exponent: f64, logs: f64) -> f64 {
        let axis = &self.design.axes[parameter];
        let middle = (axis.reference.ln() + 0.35 * axis.log_ratios[0]).max(0.7);
        let moved = exponent + logs / middle;
        if exponent < 0.0 { moved.min(-prior::MIN_ABS_EXPONENT) } else { moved.max(0.0) }
    }

    /// Adds terms from existing factors: one factor of a product, or the product of two terms.
    fn add_shared_terms(&mut self) {
        for lead in self.top_hypotheses(2) {
            let (hypothesis, exponents) = self.hypothesis_at(lead);
            let parts =
                hypothesis.terms.iter().filter(|t| t.len() > 1).flat_map(|t| t.indices().map(|slot| FactorSet::from_indices([slot])));
            let mut extra: Vec<FactorSet> = parts.collect();
            if let [first, second] = *hypothesis.terms {
                extra.push(first.union(second));
            }
            for term in extra.into_iter().filter(|t| !hypothesis.terms.contains(t) && hypothesis.has_room(0)) {
                self.try_hypothesis(hypothesis.with_term(term), &exponents);
            }
        }
    }

    fn drop_constants(&mut self) {
        for lead in self.top_hypotheses(3) {
            let (hypothesis, exponents) = self.hypothesis_at(lead);
            if hypothesis.constant && !hypothesis.terms.is_empty() {
                self.try_hypothesis(hypothesis.without_constant(), &exponents);
            }
        }
    }

    /// Adds a separate term to the best hypothesis, if noise alone does not explain its residual.
    fn add_extra_term(&mut self) {
        for lead in self.top_hypotheses(1) {
            let (hypothesis, exponents) = self.hypothesis_at(lead);
            let variance = self.scorer.variance(self.hypotheses[lead].fitted.residual, hypothesis.n_unknowns());
            if self.scorer.has_noise_estimate() && variance < 2.0 * self.scorer.noise_variance || !hypothesis.has_room(1) {
                continue;
            }
            for parameter in (0..self.design.axes.len()).filter(|p| self.design.axes[*p].len() >= MIN_VALUES_FOR_EXTRA_TERM) {
                let extended = hypothesis.with_separate_term(&[parameter]);
                let guess = |e: f64| exponents.iter().copied().chain([e]).collect::<Exponents>();
                let tried = [-1.0, 0.5, 1.0, 2.0, 3.0].map(|e| (self.solver.residual(&extended, &guess(e)), e));
                if let Some((_, best)) = tried.into_iter().min_by(|a, b| a.0.total_cmp(&b.0))
                    && let Some(found) = self.try_hypothesis(extended, &guess(best))
                    && self.hypotheses[found]
                        .fitted
                        .exponents
                        .last()
                        .is_some_and(|e| *e <= prior::MIN_EXPONENT || *e >= prior::MAX_EXPONENT)
                {
                    // An exponent at the edge of the allowed range means that nothing was found.
                    self.hypotheses[found].log_posterior = f64::NEG_INFINITY;
                }
            }
        }
    }

    /// Fits a hypothesis from initial exponents, unless it is known already or there are too few points.
    fn try_hypothesis(&mut self, hypothesis: Hypothesis, guess: &[f64]) -> Option<usize> {
        if let Some(known) = self.hypotheses.iter().position(|f| f.fitted.hypothesis.has_same_form(&hypothesis)) {
            return Some(known);
        }
        if hypothesis.n_unknowns() > self.design.n_points {
            return None;
        }
        let least = self.hypotheses.iter().map(|f| f.fitted.residual).fold(f64::INFINITY, f64::min);
        let known = RefineContext { noise_floor: self.scorer.noise_floor(), best_residual: least };
        let fitted = refine(self.solver, &hypothesis, guess, known)?;
        self.hypotheses.push(ScoredHypothesis::score(fitted, self.solver, &self.scorer));
        Some(self.hypotheses.len() - 1)
    }
}

/// The hypothesis without a parameter.
fn without_parameter(fitted: &FittedHypothesis, parameter: usize) -> (Hypothesis, Exponents) {
    let hypothesis = &fitted.hypothesis;
    let kept: Vec<usize> = (0..hypothesis.factors.len()).filter(|i| hypothesis.factors[*i].axis_index() != parameter).collect();
    let mut less = Hypothesis {
        constant: hypothesis.constant,
        factors: kept.iter().map(|i| hypothesis.factors[*i]).collect(),
        ..Hypothesis::default()
    };
    for term in hypothesis.terms.iter() {
        let product = FactorSet::from_indices(term.indices().filter_map(|slot| kept.iter().position(|k| *k == slot)));
        if product.len() > 0 && !less.terms.contains(&product) {
            less.terms.push(product);
        }
    }
    (less, kept.iter().map(|i| fitted.exponents[*i]).collect())
}

/// All partitions of a list.
fn partitions(items: &[usize]) -> Vec<Vec<Vec<usize>>> {
    let Some((first, rest)) = items.split_first() else { return vec![Vec::new()] };
    let mut all = Vec::new();
    for partition in partitions(rest) {
        for block in 0..partition.len() {
            let mut joined = partition.clone();
            joined[block].insert(0, *first);
            all.push(joined);
        }
        let mut alone = vec![vec![*first]];
        alone.extend(partition);
        all.push(alone);
    }
    all
}

/// The slope of the log value over the logarithm of each parameter.
fn log_log_slopes(design: &ExperimentDesign, target: &RegressionTarget) -> Vec<f64> {
    let logarithm = |axis: &ParameterAxis| axis.level_index.iter().map(|level| axis.log_ratios[*level as usize]).collect::<Vec<f64>>();
    let mut columns: Vec<Vec<f64>> = std::iter::once(vec![1.0; design.n_points]).chain(design.axes.iter().map(logarithm)).collect();
    let mut rest: Vec<f64> = target.values.iter().map(|y| y.ln()).collect();
    let size = columns.len();
    let (mut triangle, mut right, mut solution) = (vec![0.0; size * size], vec![0.0; size], vec![0.0; size]);
    for j in 0..size {
        let (done, after) = columns.split_at_mut(j + 1);
        let length = normalise(&mut done[j]).max(1e-12);
        triangle[j * size + j] = length;
        for (l, other) in after.iter_mut().enumerate() {
            triangle[j * size + j + 1 + l] = project_out(other, &done[j]);
        }
        right[j] = project_out(&mut rest, &done[j]);
    }
    back_substitute(&triangle, size, &right, &mut solution);
    solution.split_off(1)
}
