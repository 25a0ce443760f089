//! Turns hypotheses with fitted exponents into an ensemble of weighted formulas.
//!
//! A hypothesis with real exponents stands for a continuum. It is replaced by a few members spread over the posterior of its exponents, weighted
//! by importance sampling with quasi-random draws, and by members with simple exponents nearby.

use super::ensemble_member::EnsembleMember;
use super::hypothesis::Hypothesis;
use super::least_squares::{LeastSquaresSolver, back_substitute};
use super::prior;
use super::quasi_random::AdditiveSequence;
use super::refine::{Exponents, FittedHypothesis};
use super::scoring::{HypothesisScorer, inverse_row};
use crate::stats::normal_quantile;

/// The step between scanned exponents of a single factor.
const SCAN_STEP: f64 = 0.125;
/// Members whose log posterior is lower than the best by more than this are dropped.
const NEGLIGIBLE: f64 = 7.0;
/// The maximum number of members of a model.
const MAX_MEMBERS: usize = 48;
/// The maximum number of formulas with simple exponents considered for one hypothesis.
const MAX_SIMPLE: usize = 24;

/// A formula that may become a member.
#[derive(Debug, Clone, Copy)]
struct MemberCandidate {
    /// Its log posterior.
    log_posterior: f64,
    /// Its log prior.
    log_prior: f64,
    hypothesis: Hypothesis,
    exponents: Exponents,
    residual: f64,
    nice: bool,
}

/// Simple exponents for the last factors of a hypothesis.
#[derive(Debug, Clone, Copy, Default)]
struct ExponentChoice {
    /// Their log prior.
    log_prior: f64,
    /// Their distance from the best exponents, as a loss of log likelihood.
    log_distance: f64,
    exponents: Exponents,
}

/// A member with its hypothesis and residual.
#[derive(Debug, Clone)]
pub(super) struct ScoredMember {
    pub member: EnsembleMember,
    /// Its log prior: that of its exponents.
    pub log_prior: f64,
    pub hypothesis: Hypothesis,
    pub residual: f64,
    /// Whether all exponents are simple.
    pub is_simple: bool,
}

/// Collects candidate members.
pub(super) struct PosteriorSampler<'s, 'd> {
    solver: &'s mut LeastSquaresSolver<'d>,
    scorer: HypothesisScorer,
    candidates: Vec<MemberCandidate>,
    best: f64,
}

impl<'s, 'd> PosteriorSampler<'s, 'd> {
    pub(super) fn new(solver: &'s mut LeastSquaresSolver<'d>, scorer: HypothesisScorer) -> Self {
        Self { solver, scorer, candidates: Vec::with_capacity(256), best: f64::NEG_INFINITY }
    }

    /// Adds a formula with simple exponents and its log prior.
    pub(super) fn add(&mut self, hypothesis: &Hypothesis, exponents: &[f64], prior: f64) {
        let residual = self.solver.residual(hypothesis, exponents);
        let log_posterior = self.scorer.residual_log_evidence(residual, hypothesis.n_columns()) + prior;
        if residual.is_finite() && log_posterior > self.best - NEGLIGIBLE {
            let log_posterior = log_posterior + self.scorer.nonnegative_log_probability(self.solver, hypothesis, residual);
            self.add_candidate(MemberCandidate {
                log_posterior,
                log_prior: prior,
                hypothesis: *hypothesis,
                exponents: exponents.into(),
                residual,
                nice: true,
            });
        }
    }

    fn add_candidate(&mut self, candidate: MemberCandidate) {
        if candidate.log_posterior > self.best - NEGLIGIBLE {
            self.best = self.best.max(candidate.log_posterior);
            self.candidates.push(candidate);
        }
    }

    /// Adds the members of a hypothesis: about `draws` with real exponents, and those with simple ones.
    pub(super) fn add_hypothesis(&mut self, fitted: &FittedHypothesis, prior: f64, draws: usize) {
        if fitted.hypothesis.factors.is_empty() {
            self.add(&fitted.hypothesis, &[], prior);
            return;
        }
        let spread = self.scorer.variance(fitted.residual, fitted.hypothesis.n_unknowns()).sqrt();
        self.add_simple(fitted, prior, spread);
        if fitted.hypothesis.factors.len() == 1 && spread / fitted.information_root[0] > SCAN_STEP {
            self.add_scanned(fitted, prior);
        } else {
            self.add_sampled(fitted, prior, spread, draws);
        }
    }

    /// Members around the best exponents, sampled from the Laplace approximation.
    fn add_sampled(&mut self, fitted: &FittedHypothesis, prior: f64, spread: f64, draws: usize) {
        // Slightly wider than the approximation, since the true posterior has heavier tails.
        const WIDER: f64 = 1.25;
        let slots = fitted.hypothesis.factors.len();
        let mut drawn = vec![(fitted.exponents, 0.0)];
        for z in quasi_random_normals(slots, draws) {
            let mut moved: Exponents = z.iter().map(|_| 0.0).collect();
            back_substitute(&fitted.information_root, slots, &z, &mut moved);
            let exponents: Exponents = fitted.exponents.iter().zip(moved.iter()).map(|(e, m)| e + WIDER * spread * m).collect();
            let inside = (0..slots).all(|k| {
                let (low, high) = prior::exponent_range(fitted.exponents[k], fitted.hypothesis.factors[k].log);
                low <= exponents[k] && exponents[k] <= high
            });
            if inside {
                drawn.push((exponents, -0.5 * z.iter().map(|z| z * z).sum::<f64>()));
            }
        }
        let total = prior + self.scorer.continuous_log_evidence(fitted);
        self.distribute_posterior(fitted, &drawn, |_| total);
    }

    /// Members for a single exponent too uncertain for the approximation: evenly spaced over its range.
    fn add_scanned(&mut self, fitted: &FittedHypothesis, prior: f64) {
        let best = fitted.exponents[0];
        let slot = fitted.hypothesis.factors[0];
        let (low, high) = prior::exponent_range(best, slot.log);
        let density = |e: f64| self.scorer.parameter_kind(slot).exponent_density(e);
        let steps = ((high - low) / SCAN_STEP) as usize;
        let spaced: Vec<(Exponents, f64)> =
            (0..=steps).map(|i| low + SCAN_STEP * i as f64).map(|e| ([e].as_slice().into(), (density(best) / density(e)).ln())).collect();
        let scorer = self.scorer;
        self.distribute_posterior(fitted, &spaced, |all| prior + scorer.scanned_log_evidence(fitted, all + SCAN_STEP.ln()));
    }

    /// Distributes the posterior of a hypothesis over exponents, each given with its log sampling density.
    fn distribute_posterior(&mut self, fitted: &FittedHypothesis, drawn: &[(Exponents, f64)], total: impl Fn(f64) -> f64) {
        let freedom = self.scorer.degrees_of_freedom(fitted.hypothesis.n_columns());
        let floor = self.scorer.noise_floor();
        let mut shares = Vec::with_capacity(drawn.len());
        for (exponents, density) in drawn {
            let residual = self.solver.residual(&fitted.hypothesis, exponents);
            if residual.is_finite() {
                let likelihood = -0.5 * freedom * ((residual + floor) / (fitted.residual + floor)).ln() - density;
                let signs = self.scorer.nonnegative_log_probability(self.solver, &fitted.hypothesis, residual);
                shares.push((likelihood, signs, residual, exponents));
            }
        }
        // Far from the best fit, likelihoods overflow their exponentials, so they are taken relative to the largest.
        let largest = shares.iter().map(|s| s.0).fold(f64::NEG_INFINITY, f64::max);
        let all = largest + shares.iter().map(|s| (s.0 - largest).exp()).sum::<f64>().ln();
        let total = total(all) - all;
        for (likelihood, signs, residual, exponents) in shares {
            let log_posterior = total + likelihood + signs;
            let log_evidence = self.scorer.residual_log_evidence(residual, fitted.hypothesis.n_columns()) + signs;
            self.add_candidate(MemberCandidate {
                log_posterior,
                log_prior: log_posterior - log_evidence,
                hypothesis: fitted.hypothesis,
                exponents: *exponents,
                residual,
                nice: false,
            });
        }
    }

    /// Members whose exponents are all simple, the most probable by the Laplace approximation.
    fn add_simple(&mut self, fitted: &FittedHypothesis, prior: f64, spread: f64) {
        let slots = fitted.hypothesis.factors.len();
        let mut chosen = vec![ExponentChoice::default()];
        // From the last factor to the first, so that each row of the triangle is complete when it is needed.
        for k in (0..slots).rev() {
            chosen = extend_simple_exponents(&self.scorer, fitted, k, &chosen, spread);
        }
        let refutable = if self.scorer.has_noise_estimate() { prior::KNOWN_NOISE_BONUS * slots as f64 } else { 0.0 };
        for choice in chosen {
            self.add(&fitted.hypothesis, &choice.exponents, prior + choice.log_prior + refutable);
        }
    }

    /// The members worth keeping, most probable first, with weights that add up to one.
    pub(super) fn finish(mut self) -> Vec<ScoredMember> {
        let limit = self.best - NEGLIGIBLE;
        self.candidates.retain(|c| c.log_posterior > limit);
        self.candidates.sort_by(|a, b| b.log_posterior.total_cmp(&a.log_posterior));
        self.candidates.truncate(MAX_MEMBERS);
        let all: f64 = self.candidates.iter().map(|c| (c.log_posterior - self.best).exp()).sum();
        let mut possible = Vec::with_capacity(self.candidates.len());
        for MemberCandidate { log_posterior, log_prior, hypothesis, exponents, residual, nice } in self.candidates {
            self.solver.residual(&hypothesis, &exponents);
            let weight = (log_posterior - self.best).exp() / all;
            let member = self.scorer.ensemble_member(self.solver, &hypothesis, &exponents, residual, weight);
            possible.push(ScoredMember { member, log_prior, hypothesis, residual, is_simple: nice });
        }
        possible
    }
}

/// Extends choices by a simple exponent for one more factor, keeping the best.
fn extend_simple_exponents(
    scorer: &HypothesisScorer,
    fitted: &FittedHypothesis,
    k: usize,
    chosen: &[ExponentChoice],
    spread: f64,
) -> Vec<ExponentChoice> {
    let slots = fitted.hypothesis.factors.len();
    let log = fitted.hypothesis.factors[k].log;
    let kind = scorer.parameter_kind(fitted.hypothesis.factors[k]);
    let row = &fitted.information_root[k * slots + k..(k + 1) * slots];
    let reach = (3.5 * spread * inverse_row(&fitted.information_root, slots, k).1).max(0.02);
    let near = prior::simple_exponents_between(fitted.exponents[k] - reach, fitted.exponents[k] + reach, log);
    let others = |choice: &ExponentChoice| {
        let moved = choice.exponents.iter().zip(&fitted.exponents[k + 1..]).map(|(e, best)| e - best);
        moved.zip(&row[1..]).map(|(m, b)| m * b).sum::<f64>()
    };
    let others: Vec<f64> = chosen.iter().map(others).collect();
    // Only numbers are compared, since most choices are dropped: score, log prior, exponent, index of the choice.
    let mut scored: Vec<(f64, f64, f64, usize)> = Vec::new();
    let mut best = f64::NEG_INFINITY;
    for (numerator, denominator) in near {
        let exponent = numerator as f64 / denominator as f64;
        let prior = (kind.simple_exponent_prior(numerator, denominator, log) * kind.log_factor_prior(log)).ln();
        for (index, (choice, others)) in chosen.iter().zip(&others).enumerate() {
            let far = choice.log_distance + 0.5 * ((row[0] * (exponent - fitted.exponents[k]) + others) / spread).powi(2);
            let score = choice.log_prior + prior - far;
            if score > best - NEGLIGIBLE {
                best = best.max(score);
                scored.push((score, choice.log_prior + prior, exponent, index));
            }
        }
    }
    scored.retain(|s| s.0 > best - NEGLIGIBLE);
    scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    scored.truncate(MAX_SIMPLE);
    let longer = |(score, prior, exponent, index): (f64, f64, f64, usize)| {
        let exponents = std::iter::once(exponent).chain(chosen[index].exponents.iter().copied()).collect();
        ExponentChoice { log_prior: prior, log_distance: prior - score, exponents }
    };
    scored.into_iter().map(longer).collect()
}

/// Quasi-random points of a normal distribution.
fn quasi_random_normals(dimensions: usize, count: usize) -> impl Iterator<Item = Exponents> {
    let sequence = AdditiveSequence::new(dimensions);
    (1..=count).map(move |point| (0..dimensions).map(|coordinate| normal_quantile(sequence.coordinate(point, coordinate))).collect())
}
