//! Scores hypotheses by their log posterior.
//!
//! Bayes' rule with the usual approximations: BIC for the coefficients, Laplace's for the exponents, and the probability that no coefficient is
//! negative. The noise is not assumed known: repetitions count as a few further points, so they dominate while points are few and yield
//! when the residuals contradict them (runs differ by more than repetitions within a run).

use super::bounded_vec::BoundedVec;
use super::ensemble_member::{EnsembleMember, TermFactor, truncate_negative};
use super::hypothesis::{FreeFactor, Hypothesis};
use super::least_squares::{LeastSquaresSolver, MAX_COLUMNS};
use super::refine::FittedHypothesis;
use super::{MAX_PARAMETERS, ParameterKind};

/// What is known of the noise, and the number of points.
#[derive(Debug, Clone, Copy)]
pub(super) struct HypothesisScorer {
    /// How many points the noise estimate is worth.
    pub noise_dof: f64,
    /// The variance of a point's value, relative to its weight.
    pub noise_variance: f64,
    /// The effective number of points.
    pub n_points: f64,
    /// What each parameter is.
    pub parameter_kinds: [ParameterKind; MAX_PARAMETERS],
}

impl HypothesisScorer {
    /// Whether repetitions measure the noise; otherwise it is a guess, worth one point.
    pub(super) fn has_noise_estimate(&self) -> bool {
        self.noise_dof > 1.0
    }

    /// The kind of a factor's parameter.
    pub(super) fn parameter_kind(&self, slot: FreeFactor) -> ParameterKind {
        self.parameter_kinds[slot.axis_index()]
    }

    /// The log prior that a cost of these parameters has a negative term.
    pub(super) fn negative_term_log_prior(&self) -> f64 {
        self.parameter_kinds.iter().map(|kind| kind.negative_term_log_prior()).fold(0.0, f64::min)
    }

    /// The noise contribution to any residual.
    pub(super) fn noise_floor(&self) -> f64 {
        self.noise_dof * self.noise_variance
    }

    /// The degrees of freedom left with this many unknowns.
    pub(super) fn degrees_of_freedom(&self, unknowns: usize) -> f64 {
        (self.noise_dof + self.n_points - unknowns as f64).max(1.0)
    }

    /// The variance of one point implied by a residual.
    pub(super) fn variance(&self, residual: f64, unknowns: usize) -> f64 {
        (residual + self.noise_floor()) / self.degrees_of_freedom(unknowns)
    }

    /// The log evidence of a residual with this many coefficients, exponents aside.
    pub(super) fn residual_log_evidence(&self, residual: f64, columns: usize) -> f64 {
        -0.5 * (self.noise_dof + self.n_points) * (residual + self.noise_floor()).ln() - 0.5 * columns as f64 * self.n_points.ln()
    }

    /// The log evidence of a hypothesis with real exponents around the best ones.
    pub(super) fn continuous_log_evidence(&self, fitted: &FittedHypothesis) -> f64 {
        let (columns, slots) = (fitted.hypothesis.n_columns(), fitted.hypothesis.factors.len());
        let spread = self.variance(fitted.residual, fitted.hypothesis.n_unknowns()).sqrt();
        let width = (2.0 * std::f64::consts::PI).sqrt() * spread;
        let exponents: f64 = fitted
            .hypothesis
            .factors
            .iter()
            .zip(fitted.exponents.iter())
            .enumerate()
            .map(|(k, (slot, e))| {
                let kind = self.parameter_kind(*slot);
                let volume = kind.exponent_density(*e) * width / fitted.information_root[k * slots + k];
                (kind.log_factor_prior(slot.log) * volume.min(1.0)).ln()
            })
            .sum();
        self.residual_log_evidence(fitted.residual, columns) + exponents
    }

    /// The log evidence of a hypothesis with one real exponent, given the log width of the range of exponents that fit as well as the best.
    pub(super) fn scanned_log_evidence(&self, fitted: &FittedHypothesis, width: f64) -> f64 {
        let slot = fitted.hypothesis.factors[0];
        let density =
            self.parameter_kind(slot).log_factor_prior(slot.log) * self.parameter_kind(slot).exponent_density(fitted.exponents[0]);
        self.residual_log_evidence(fitted.residual, fitted.hypothesis.n_columns()) + density.ln() + width
    }

    /// The log probability that no coefficient of the solver's last solution is negative.
    pub(super) fn nonnegative_log_probability(&self, solver: &LeastSquaresSolver, hypothesis: &Hypothesis, residual: f64) -> f64 {
        if hypothesis.allows_negative {
            return 0.0;
        }
        // Coefficients far from zero need no exact treatment.
        let columns = hypothesis.n_columns();
        let spread = self.variance(residual, hypothesis.n_unknowns()).sqrt();
        let sure = (0..columns).all(|k| solver.coefficients[k] > 6.0 * spread * inverse_row(&solver.cholesky, columns, k).1);
        // A floor for what is undecidable or underflows: some formula must always remain.
        const HARDLY: f64 = -700.0;
        if sure {
            return 0.0;
        }
        let (mut coefficients, mut covariance) = ([0.0; MAX_COLUMNS], [0.0; MAX_COLUMNS * MAX_COLUMNS]);
        coefficients[..columns].copy_from_slice(&solver.coefficients);
        fill_covariance(&solver.cholesky, columns, spread * spread, &mut covariance[..columns * columns]);
        truncate_negative(&mut coefficients[..columns], &mut covariance[..columns * columns]).max(HARDLY)
    }

    /// The ensemble member of the solver's last solution.
    pub(super) fn ensemble_member(
        &self,
        solver: &LeastSquaresSolver,
        hypothesis: &Hypothesis,
        exponents: &[f64],
        residual: f64,
        weight: f64,
    ) -> EnsembleMember {
        let columns = hypothesis.n_columns();
        let mut coefficients = solver.coefficients.clone();
        let mut covariance = vec![0.0; columns * columns];
        fill_covariance(&solver.cholesky, columns, self.variance(residual, hypothesis.n_unknowns()), &mut covariance);
        if !hypothesis.allows_negative {
            truncate_negative(&mut coefficients, &mut covariance);
        }
        EnsembleMember {
            weight,
            terms: terms(hypothesis, exponents),
            coefficients,
            covariance,
            freedom: self.degrees_of_freedom(hypothesis.n_unknowns()),
        }
    }
}

/// The terms of a hypothesis with its exponents filled in.
fn terms(hypothesis: &Hypothesis, exponents: &[f64]) -> Vec<Vec<TermFactor>> {
    let constant = hypothesis.constant.then(Vec::new);
    let factor =
        |i: usize| TermFactor { parameter: hypothesis.factors[i].axis_index(), exponent: exponents[i], log: hypothesis.factors[i].log };
    constant.into_iter().chain(hypothesis.terms.iter().map(|term| term.indices().map(factor).collect())).collect()
}

/// Fills in `variance` times the inverse of the Gram matrix, from its Cholesky factor.
fn fill_covariance(triangle: &[f64], size: usize, variance: f64, out: &mut [f64]) {
    let rows: BoundedVec<BoundedVec<f64>> = (0..size).map(|k| inverse_row(triangle, size, k).0).collect();
    for (k, entry) in out.iter_mut().enumerate() {
        *entry = variance * rows[k / size].iter().zip(rows[k % size].iter()).map(|(a, b)| a * b).sum::<f64>();
    }
}

/// A row of the inverse of an upper triangular matrix, and its norm.
pub(super) fn inverse_row(triangle: &[f64], size: usize, row: usize) -> (BoundedVec<f64>, f64) {
    let mut inverse: BoundedVec<f64> = (0..size).map(|_| 0.0).collect();
    inverse[row] = 1.0 / triangle[row * size + row];
    for j in row + 1..size {
        let sum: f64 = (row..j).map(|i| inverse[i] * triangle[i * size + j]).sum();
        inverse[j] = -sum / triangle[j * size + j];
    }
    let length = inverse.iter().map(|v| v * v).sum::<f64>().sqrt();
    (inverse, length)
}
