//! One product of real powers of several parameters, alone or beside a constant.
//!
//! Exponents are not on a grid: nodes of importance sampling around the least-squares exponents stand for all of them.

use super::basis_term::{BasisFactor, BasisTerm};
use crate::scaling::MAX_PARAMETERS;
use crate::scaling::cholesky::CholeskyFactor;
use crate::scaling::hypothesis::LogFactor;
use crate::scaling::quasi_random::AdditiveSequence;
use crate::stats::{normal_quantile, normal_to_student};

/// The probability of such a form.
pub(super) const PROBABILITY: f64 = 0.12;

/// The number of nodes.
const NODES: usize = 80;
/// Degrees of freedom of the distribution of nodes.
const FREEDOM: f64 = 5.0;
/// How much wider the nodes are spread than least squares say, without and with a constant.
const SPREAD_ALONE: f64 = 1.3;
const SPREAD_BESIDE_CONSTANT: f64 = 2.5;
/// Exponents are within this distance of one, with equal probability.
const MAX_DISTANCE: f64 = 2.5;
/// Shares of the smallest value that the constant may be.
const CONSTANT_SHARES: [f64; 10] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97];
/// The least variance of relative errors.
const MIN_VARIANCE: f64 = 1e-7;

/// A form with given exponents.
pub(super) struct RealPowerNode {
    pub term: BasisTerm,
    pub with_constant: bool,
    pub log_prior: f64,
}

/// Nodes of both kinds of forms; none where the settings do not tell the exponents.
pub(super) fn nodes(settings: &[Vec<f64>], log_values: &[f64]) -> Vec<RealPowerNode> {
    let parameters = settings.first().map_or(0, Vec::len);
    if settings.len() < parameters + 3 {
        return Vec::new();
    }
    let logs: Vec<Vec<f64>> = settings.iter().map(|x| std::iter::once(1.0).chain(x.iter().map(|x| x.ln())).collect()).collect();
    let alone = PowerFit::new(&logs, log_values, 0.0);
    let beside = CONSTANT_SHARES.iter().filter_map(|share| PowerFit::new(&logs, log_values, *share));
    let beside = beside.min_by(|a, b| a.variance.total_cmp(&b.variance));
    let alone = alone.into_iter().flat_map(|fit| fit.nodes(SPREAD_ALONE, false));
    alone.chain(beside.into_iter().flat_map(|fit| fit.nodes(SPREAD_BESIDE_CONSTANT, true))).collect()
}

/// Weighted least squares of the logarithms of what a constant leaves.
struct PowerFit {
    /// The logarithm of the coefficient, and the exponents.
    solution: Vec<f64>,
    variance: f64,
    factor: CholeskyFactor,
}

impl PowerFit {
    /// `None` if the settings do not tell the exponents.
    fn new(logs: &[Vec<f64>], log_values: &[f64], constant_share: f64) -> Option<Self> {
        /// A diagonal this small, relative to the largest, is one of dependent columns.
        const DEPENDENT: f64 = 1e-7;
        let size = logs[0].len();
        let smallest = log_values.iter().copied().fold(f64::INFINITY, f64::min);
        // The share of each value that the constant leaves, by which relative errors grow in the logarithm.
        let shares: Vec<f64> = log_values.iter().map(|log| 1.0 - constant_share * (smallest - log).exp()).collect();
        let weighted =
            |element: &dyn Fn(usize) -> f64| shares.iter().enumerate().map(|(row, share)| share * share * element(row)).sum::<f64>();
        let rests: Vec<f64> = log_values.iter().zip(&shares).map(|(log, share)| log + share.ln()).collect();
        let factor = CholeskyFactor::new(size, |i, j| weighted(&|row| logs[row][i] * logs[row][j]));
        let diagonal = |i: usize| factor.at(i, i);
        let largest = (0..size).map(diagonal).fold(0.0, f64::max);
        if (0..size).any(|i| diagonal(i) < DEPENDENT * largest) {
            return None;
        }
        let right: Vec<f64> = (0..size).map(|i| weighted(&|row| logs[row][i] * rests[row])).collect();
        let solution = factor.solve_upper(&factor.solve_lower(&right));
        let error = |row: usize| rests[row] - logs[row].iter().zip(&solution).map(|(a, b)| a * b).sum::<f64>();
        let freedom = logs.len().saturating_sub(size).max(1);
        let variance = (weighted(&|row| error(row).powi(2)) / freedom as f64).max(MIN_VARIANCE);
        Some(Self { solution, variance, factor })
    }

    fn nodes(&self, spread: f64, with_constant: bool) -> Vec<RealPowerNode> {
        let size = self.solution.len();
        let deviation = spread * self.variance.sqrt();
        // Errors `L^-T t` have the covariance of the solution; those of the exponents do not depend on the component of the coefficient.
        let log_volume = (1..size).map(|i| (deviation / self.factor.at(i, i)).ln()).sum::<f64>();
        let sequence = AdditiveSequence::new(MAX_PARAMETERS);
        let node = |index: usize| {
            let normal = |coordinate: usize| normal_quantile(sequence.coordinate(index + 1, coordinate));
            let mut draws: Vec<f64> = (0..size - 1).map(|coordinate| normal_to_student(normal(coordinate), FREEDOM)).collect();
            let log_density = draws.iter().map(|t| log_student_density(*t)).sum::<f64>() - log_volume;
            draws.insert(0, 0.0);
            let errors = self.factor.solve_upper(&draws);
            let exponents: Vec<f64> = self.solution.iter().zip(errors).skip(1).map(|(e, error)| e + deviation * error).collect();
            let is_possible = exponents.iter().all(|exponent| (exponent - 1.0).abs() < MAX_DISTANCE);
            let prior = -((size - 1) as f64) * (2.0 * MAX_DISTANCE).ln();
            let log_prior = (0.5 * PROBABILITY / NODES as f64).ln() + prior - log_density;
            let factors = exponents.into_iter().map(|exponent| BasisFactor::new(exponent, LogFactor::None)).collect();
            is_possible.then(|| RealPowerNode { term: BasisTerm::new(factors), with_constant, log_prior })
        };
        (0..NODES).filter_map(node).collect()
    }
}

/// The logarithm of the density of Student's t with [`FREEDOM`] degrees of freedom.
fn log_student_density(t: f64) -> f64 {
    /// Of the normalisation 8 / (3 pi sqrt 5).
    const LOG_NORMALISATION: f64 = -0.968_619_589_054_724_7;
    LOG_NORMALISATION - 0.5 * (FREEDOM + 1.0) * (t * t / FREEDOM).ln_1p()
}
