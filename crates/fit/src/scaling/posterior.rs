//! From forms with their best exponents to a set of possible formulas, each as likely as the measurements make it.
//!
//! A form with real exponents stands for a continuum. It is replaced by a few members spread over what its exponents may be, weighted by
//! how well each explains the measurements (importance sampling with fixed, even draws), and by members with nice exponents nearby.

use super::family::Family;
use super::judge::{Judge, inverse_row};
use super::member::Member;
use super::prior;
use super::refine::{Exponents, Fitted};
use super::solve::{Solver, back_substitute};
use crate::stats::normal_quantile;

/// The step between exponents where a single one is scanned.
const SCAN_STEP: f64 = 0.125;
/// Members less likely than the likeliest by this factor (as a logarithm) are left out.
const NEGLIGIBLE: f64 = 7.0;
/// How many members a model keeps.
const MOST_MEMBERS: usize = 48;
/// How many formulas with nice exponents are looked at for one form.
const MOST_NICE: usize = 24;

/// A formula that may be a member.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    /// The logarithm of the belief in it.
    belief: f64,
    family: Family,
    exponents: Exponents,
    residual: f64,
    nice: bool,
}

/// Nice exponents for the last factors of a form.
#[derive(Debug, Clone, Copy, Default)]
struct Choice {
    /// The logarithm of the belief in them before measuring.
    prior: f64,
    /// How far they are from the best ones, as a logarithm of likelihood.
    far: f64,
    exponents: Exponents,
}

/// A member with what it was made from.
#[derive(Debug, Clone)]
pub struct Possible {
    pub member: Member,
    pub family: Family,
    pub residual: f64,
    /// Whether all exponents are nice.
    pub nice: bool,
}

/// Collects what may be a member.
pub struct Posterior<'s, 'd> {
    solver: &'s mut Solver<'d>,
    judge: Judge,
    candidates: Vec<Candidate>,
    best: f64,
}

impl<'s, 'd> Posterior<'s, 'd> {
    pub fn new(solver: &'s mut Solver<'d>, judge: Judge) -> Self {
        Self { solver, judge, candidates: Vec::with_capacity(256), best: f64::NEG_INFINITY }
    }

    /// Adds one formula with nice exponents and a prior belief (as a logarithm).
    pub fn add(&mut self, family: &Family, exponents: &[f64], prior: f64) {
        let residual = self.solver.residual(family, exponents);
        let belief = self.judge.of_residual(residual, family.columns()) + prior;
        if residual.is_finite() && belief > self.best - NEGLIGIBLE {
            let belief = belief + self.judge.of_signs(self.solver, family, residual);
            self.keep(Candidate { belief, family: *family, exponents: exponents.into(), residual, nice: true });
        }
    }

    fn keep(&mut self, candidate: Candidate) {
        if candidate.belief > self.best - NEGLIGIBLE {
            self.best = self.best.max(candidate.belief);
            self.candidates.push(candidate);
        }
    }

    /// Adds what a form stands for: some members with real exponents (`draws`, about), and those with nice ones.
    pub fn add_form(&mut self, fitted: &Fitted, prior: f64, draws: usize) {
        if fitted.family.slots.is_empty() {
            self.add(&fitted.family, &[], prior);
            return;
        }
        let spread = self.judge.variance(fitted.residual, fitted.family.unknowns()).sqrt();
        self.add_nice(fitted, prior, spread);
        if fitted.family.slots.len() == 1 && spread / fitted.bend[0] > SCAN_STEP {
            self.add_scanned(fitted, prior);
        } else {
            self.add_drawn(fitted, prior, spread, draws);
        }
    }

    /// Members around the best exponents, drawn from the bell that the bend of the residual suggests.
    fn add_drawn(&mut self, fitted: &Fitted, prior: f64, spread: f64, draws: usize) {
        // A little wider than the bell, since the true shape has heavier flanks.
        const WIDER: f64 = 1.25;
        let slots = fitted.family.slots.len();
        let mut drawn = vec![(fitted.exponents, 0.0)];
        for z in even_normals(slots, draws) {
            let mut moved: Exponents = z.iter().map(|_| 0.0).collect();
            back_substitute(&fitted.bend, slots, &z, &mut moved);
            let exponents: Exponents = fitted.exponents.iter().zip(moved.iter()).map(|(e, m)| e + WIDER * spread * m).collect();
            let inside = (0..slots).all(|k| {
                let (low, high) = prior::range_around(fitted.exponents[k], fitted.family.slots[k].log);
                low <= exponents[k] && exponents[k] <= high
            });
            if inside {
                drawn.push((exponents, -0.5 * z.iter().map(|z| z * z).sum::<f64>()));
            }
        }
        let total = prior + self.judge.of_continuous(fitted);
        self.share(fitted, &drawn, |_| total);
    }

    /// Members for a single exponent that is so uncertain that no bell describes it: evenly spaced over its whole range.
    fn add_scanned(&mut self, fitted: &Fitted, prior: f64) {
        let best = fitted.exponents[0];
        let slot = fitted.family.slots[0];
        let (low, high) = prior::range_around(best, slot.log);
        let density = |e: f64| self.judge.nature(slot).density(e);
        let steps = ((high - low) / SCAN_STEP) as usize;
        let spaced: Vec<(Exponents, f64)> =
            (0..=steps).map(|i| low + SCAN_STEP * i as f64).map(|e| ([e].as_slice().into(), (density(best) / density(e)).ln())).collect();
        let judge = self.judge;
        self.share(fitted, &spaced, |all| prior + judge.of_scanned(fitted, all + SCAN_STEP.ln()));
    }

    /// Shares the belief in a form among exponents, each given with the logarithm of the density it was drawn from.
    fn share(&mut self, fitted: &Fitted, drawn: &[(Exponents, f64)], total: impl Fn(f64) -> f64) {
        let freedom = self.judge.freedom(fitted.family.columns());
        let floor = self.judge.floor();
        let mut shares = Vec::with_capacity(drawn.len());
        for (exponents, density) in drawn {
            let residual = self.solver.residual(&fitted.family, exponents);
            if residual.is_finite() {
                let likelihood = -0.5 * freedom * ((residual + floor) / (fitted.residual + floor)).ln() - density;
                let signs = self.judge.of_signs(self.solver, &fitted.family, residual);
                shares.push((likelihood, signs, residual, exponents));
            }
        }
        // Far from the best fit the likelihoods can be too large for their exponentials, so these are taken relative to the largest.
        let largest = shares.iter().map(|s| s.0).fold(f64::NEG_INFINITY, f64::max);
        let all = largest + shares.iter().map(|s| (s.0 - largest).exp()).sum::<f64>().ln();
        let total = total(all) - all;
        for (likelihood, signs, residual, exponents) in shares {
            let belief = total + likelihood + signs;
            self.keep(Candidate { belief, family: fitted.family, exponents: *exponents, residual, nice: false });
        }
    }

    /// Members whose exponents are all nice, the likeliest by the bend of the residual.
    fn add_nice(&mut self, fitted: &Fitted, prior: f64, spread: f64) {
        let slots = fitted.family.slots.len();
        let mut chosen = vec![Choice::default()];
        // From the last factor to the first, so that each row of the triangle is complete when it is needed.
        for k in (0..slots).rev() {
            chosen = with_nice(&self.judge, fitted, k, &chosen, spread);
        }
        let refutable = if self.judge.knows_noise() { prior::NICE_IF_NOISE_IS_KNOWN * slots as f64 } else { 0.0 };
        for choice in chosen {
            self.add(&fitted.family, &choice.exponents, prior + choice.prior + refutable);
        }
    }

    /// The members worth keeping, likeliest first, with weights that add up to one.
    pub fn finish(mut self) -> Vec<Possible> {
        let limit = self.best - NEGLIGIBLE;
        self.candidates.retain(|c| c.belief > limit);
        self.candidates.sort_by(|a, b| b.belief.total_cmp(&a.belief));
        self.candidates.truncate(MOST_MEMBERS);
        let all: f64 = self.candidates.iter().map(|c| (c.belief - self.best).exp()).sum();
        let mut possible = Vec::with_capacity(self.candidates.len());
        for Candidate { belief, family, exponents, residual, nice } in self.candidates {
            self.solver.residual(&family, &exponents);
            let weight = (belief - self.best).exp() / all;
            let member = self.judge.member(self.solver, &family, &exponents, residual, weight);
            possible.push(Possible { member, family, residual, nice });
        }
        possible
    }
}

/// The choices with a nice exponent for one more factor, the best of them.
fn with_nice(judge: &Judge, fitted: &Fitted, k: usize, chosen: &[Choice], spread: f64) -> Vec<Choice> {
    let slots = fitted.family.slots.len();
    let log = fitted.family.slots[k].log;
    let nature = judge.nature(fitted.family.slots[k]);
    let row = &fitted.bend[k * slots + k..(k + 1) * slots];
    let reach = (3.5 * spread * inverse_row(&fitted.bend, slots, k).1).max(0.02);
    let near = prior::nice_between(fitted.exponents[k] - reach, fitted.exponents[k] + reach, log);
    let others = |choice: &Choice| {
        let moved = choice.exponents.iter().zip(&fitted.exponents[k + 1..]).map(|(e, best)| e - best);
        moved.zip(&row[1..]).map(|(m, b)| m * b).sum::<f64>()
    };
    let others: Vec<f64> = chosen.iter().map(others).collect();
    // Only numbers are compared, since most choices are dropped again: the score, the belief before measuring, the exponent, the choice.
    let mut scored: Vec<(f64, f64, f64, usize)> = Vec::new();
    let mut best = f64::NEG_INFINITY;
    for (numerator, denominator) in near {
        let exponent = numerator as f64 / denominator as f64;
        let prior = (nature.of_nice(numerator, denominator, log) * nature.of_log(log)).ln();
        for (index, (choice, others)) in chosen.iter().zip(&others).enumerate() {
            let far = choice.far + 0.5 * ((row[0] * (exponent - fitted.exponents[k]) + others) / spread).powi(2);
            let score = choice.prior + prior - far;
            if score > best - NEGLIGIBLE {
                best = best.max(score);
                scored.push((score, choice.prior + prior, exponent, index));
            }
        }
    }
    scored.retain(|s| s.0 > best - NEGLIGIBLE);
    scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    scored.truncate(MOST_NICE);
    let longer = |(score, prior, exponent, index): (f64, f64, f64, usize)| {
        let exponents = std::iter::once(exponent).chain(chosen[index].exponents.iter().copied()).collect();
        Choice { prior, far: prior - score, exponents }
    };
    scored.into_iter().map(longer).collect()
}

/// Points that fill a normal distribution evenly: Roberts's additive sequence through the normal quantile.
fn even_normals(dimensions: usize, count: usize) -> impl Iterator<Item = Exponents> {
    let golden = (0..40).fold(2.0_f64, |g, _| (1.0 + g).powf(1.0 / (dimensions as f64 + 1.0)));
    (1..=count).map(move |i| {
        let share = |d: usize| (0.5 + golden.powi(-(d as i32)) * i as f64).fract();
        (1..=dimensions).map(|d| normal_quantile(share(d).clamp(1e-6, 1.0 - 1e-6))).collect()
    })
}
