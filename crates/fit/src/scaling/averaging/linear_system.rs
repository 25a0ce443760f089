//! Relative errors as linear functions of the shares of terms, and what a form explains of them.

use super::candidates::{CandidateSet, MAX_TERMS};
use super::noise_grid::{NoiseDeviation, NoiseGrid};
use crate::scaling::cholesky::CholeskyFactor;
use crate::stats::ln_normal_cdf;
use std::f64::consts::LN_2;
use std::rc::Rc;

/// The scale of the prior of a term's largest share of the value.
const SHARE_SCALE: f64 = 0.7;
/// Its logarithm.
const LOG_SHARE_SCALE: f64 = -0.356_674_943_938_732_45;

/// Squares below this are zero.
const TINY: f64 = 1e-300;

/// The distribution of coefficients before negative ones are excluded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gaussian {
    pub mean: [f64; MAX_TERMS],
    /// Lower Cholesky factor of the inverse covariance.
    pub root: [[f64; MAX_TERMS]; MAX_TERMS],
    /// The logarithm of the evidence without the probability that no coefficient is negative.
    pub log_evidence: f64,
    /// The most that the logarithm of that probability can be.
    pub log_positive: f64,
}

impl Gaussian {
    /// The most that the logarithm of the evidence can be.
    pub(super) fn log_bound(&self) -> f64 {
        self.log_evidence + self.log_positive
    }
}

/// Relative errors as a linear function of the shares of all terms.
pub(super) struct LinearSystem {
    log_probability: f64,
    correlation: Rc<CholeskyFactor>,
    /// What the values of terms are multiplied by.
    weights: Vec<f64>,
    /// The whitened columns of all terms, one after the other.
    columns: Vec<f64>,
    target: Vec<f64>,
    target_squares: f64,
    /// What the coefficients are multiplied by to give shares; infinite for terms that cannot be used.
    pub scales: Vec<f64>,
}

impl LinearSystem {
    pub(super) fn new(
        noise: &NoiseGrid,
        expected: &[f64],
        correlation: &Rc<CholeskyFactor>,
        is_reciprocal: bool,
        probability: f64,
    ) -> Self {
        let sign = if is_reciprocal { -1.0 } else { 1.0 };
        let mut target: Vec<f64> = noise.log_values.iter().zip(expected).map(|(log, expected)| 1.0 + sign * (log - expected)).collect();
        correlation.whiten(&mut target);
        Self {
            log_probability: probability.ln() - correlation.log_determinant(),
            correlation: Rc::clone(correlation),
            weights: expected.iter().map(|log| (-sign * log).exp()).collect(),
            columns: Vec::new(),
            target_squares: squares(&target),
            target,
            scales: Vec::new(),
        }
    }

    fn settings(&self) -> usize {
        self.target.len()
    }

    /// Adds a term with these values.
    pub(super) fn push(&mut self, values: &[f64]) {
        let begin = self.columns.len();
        self.columns.extend(values.iter().zip(&self.weights).map(|(value, weight)| value * weight));
        let column = &mut self.columns[begin..];
        let scale = column.iter().copied().fold(0.0, f64::max);
        let is_usable = scale > 0.0 && scale.is_finite();
        column.iter_mut().for_each(|value| *value /= scale);
        self.correlation.whiten(column);
        self.scales.push(if is_usable { scale } else { f64::INFINITY });
    }

    /// Adds a term that no form uses.
    pub(super) fn push_unused(&mut self) {
        self.columns.resize(self.columns.len() + self.settings(), 0.0);
        self.scales.push(f64::INFINITY);
    }

    fn column(&self, term: usize) -> &[f64] {
        &self.columns[term * self.settings()..(term + 1) * self.settings()]
    }

    /// The normal equations of a form; `None` if one of its terms is zero at all settings.
    pub(super) fn normal_equations(&self, set: &CandidateSet) -> Option<NormalEquations<'_>> {
        let mut gram = [[0.0; MAX_TERMS]; MAX_TERMS];
        let mut right = [0.0; MAX_TERMS];
        for (i, term) in set.terms().enumerate() {
            if self.scales[term].is_infinite() {
                return None;
            }
            right[i] = dot(self.column(term), &self.target);
            for (j, other) in set.terms().enumerate().take(i + 1) {
                gram[i][j] = dot(self.column(term), self.column(other));
            }
        }
        let known = set.log_prior + self.log_probability;
        Some(NormalEquations::new(self, known, set.terms().len(), gram, right))
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The normal equations of a form, for noise of size one.
pub(super) struct NormalEquations<'a> {
    system: &'a LinearSystem,
    /// The logarithm of the prior probability of the form and of the discrepancy.
    log_prior: f64,
    terms: usize,
    gram: [[f64; MAX_TERMS]; MAX_TERMS],
    right: [f64; MAX_TERMS],
    /// The squares that least squares leave.
    residual: f64,
    /// Half the logarithm of the determinant.
    log_determinant_root: f64,
}

/// A linear system for the coefficients, factorised and half solved.
struct Factorised {
    /// The lower Cholesky factor.
    root: [[f64; MAX_TERMS]; MAX_TERMS],
    /// The factor's inverse times the right-hand side.
    solved: [f64; MAX_TERMS],
    /// The product of the factor's diagonal.
    diagonal: f64,
}

impl<'a> NormalEquations<'a> {
    fn new(system: &'a LinearSystem, log_prior: f64, terms: usize, gram: [[f64; MAX_TERMS]; MAX_TERMS], right: [f64; MAX_TERMS]) -> Self {
        /// Added to the diagonal for dependent terms: less than the prior adds for any size of the noise.
        const DEPENDENT: f64 = 1e-9;
        let normal = Self { system, log_prior, terms, gram, right, residual: 0.0, log_determinant_root: 0.0 };
        let least_squares = normal.factorise(1.0, DEPENDENT);
        let residual = (system.target_squares - squares(&least_squares.solved)).max(0.0);
        Self { residual, log_determinant_root: least_squares.diagonal.ln(), ..normal }
    }

    /// The system with the Gram matrix times `precision` and the given diagonal of the prior.
    fn factorise(&self, precision: f64, prior: f64) -> Factorised {
        let mut root = [[0.0; MAX_TERMS]; MAX_TERMS];
        let mut solved = [0.0; MAX_TERMS];
        let mut diagonal = 1.0;
        for i in 0..self.terms {
            for j in 0..=i {
                let prior = if i == j { prior } else { 0.0 };
                let rest = self.gram[i][j] * precision + prior - (0..j).map(|k| root[i][k] * root[j][k]).sum::<f64>();
                root[i][j] = if i == j { rest.max(TINY).sqrt() } else { rest / root[j][j] };
            }
            let known: f64 = (0..i).map(|k| root[i][k] * solved[k]).sum();
            solved[i] = (self.right[i] * precision - known) / root[i][i];
            diagonal *= root[i][i];
        }
        Factorised { root, solved, diagonal }
    }

    /// What the logarithm of the evidence does not owe to the coefficients.
    fn log_known(&self, noise: NoiseDeviation) -> f64 {
        self.log_prior + noise.log_probability - self.system.settings() as f64 * noise.log_deviation
            + self.terms as f64 * (LN_2 - LOG_SHARE_SCALE)
    }

    /// The most that the logarithm of the evidence can be for noise of this size: the prior can only add to the residual and the determinant.
    fn log_bound(&self, noise: NoiseDeviation) -> f64 {
        let terms = self.terms as f64;
        let log_determinant_root = (self.log_determinant_root - terms * noise.log_deviation).max(-terms * LOG_SHARE_SCALE);
        self.log_known(noise) - 0.5 * self.residual * noise.precision - log_determinant_root
    }

    /// The posterior for noise of this size; `None` if its evidence is below `least`.
    pub(super) fn gaussian(&self, noise: NoiseDeviation, least: f64) -> Option<Gaussian> {
        if self.log_bound(noise) <= least {
            return None;
        }
        let Factorised { root, solved, diagonal } = self.factorise(noise.precision, SHARE_SCALE.powi(-2));
        let unexplained = self.system.target_squares * noise.precision - squares(&solved);
        let log_evidence = self.log_known(noise) - 0.5 * unexplained - diagonal.ln();
        if log_evidence <= least {
            return None;
        }
        let mut mean = [0.0; MAX_TERMS];
        for i in (0..self.terms).rev() {
            let known: f64 = (i + 1..self.terms).map(|k| root[k][i] * mean[k]).sum();
            mean[i] = (solved[i] - known) / root[i][i];
        }
        Some(Gaussian { mean, root, log_evidence, log_positive: self.log_positive(&mean, &root) })
    }

    /// No coefficient is negative at most as often as the one of which that is least probable by itself.
    fn log_positive(&self, mean: &[f64; MAX_TERMS], root: &[[f64; MAX_TERMS]; MAX_TERMS]) -> f64 {
        let mut inverse = [[0.0; MAX_TERMS]; MAX_TERMS];
        for i in 0..self.terms {
            let known = |j: usize| (j..i).map(|k| root[i][k] * inverse[k][j]).sum::<f64>();
            inverse[i] = std::array::from_fn(|j| if j > i { 0.0 } else { (f64::from(u8::from(i == j)) - known(j)) / root[i][i] });
        }
        let distance = |j: usize| mean[j] / (j..self.terms).map(|i| inverse[i][j].powi(2)).sum::<f64>().sqrt();
        ln_normal_cdf((0..self.terms).map(distance).fold(f64::INFINITY, f64::min))
    }
}

fn squares(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum()
}
