//! How well a form explains the measurements, as the logarithm of a belief.
//!
//! Bayes' rule with the usual approximations: BIC for the coefficients, Laplace's for the exponents, and the chance that no coefficient is
//! negative. The noise is not assumed known: what repetitions say of it counts as a few further points, so that it rules while points are
//! few and gives way when the residuals contradict it (runs differ by more than repetitions within a run do).

use super::MOST_PARAMETERS;
use super::family::{Family, Slot};
use super::member::{Factor, Member, keep_positive};
use super::prior::Nature;
use super::refine::Fitted;
use super::short::Short;
use super::solve::{MOST_COLUMNS, Solver};

/// What is known of the noise, and how many points there are.
#[derive(Debug, Clone, Copy)]
pub struct Judge {
    /// How many points the knowledge of the noise is worth.
    pub noise_freedom: f64,
    /// The variance of a point's value, relative to its weight.
    pub noise_variance: f64,
    /// The number of points.
    pub points: f64,
    /// What each parameter is.
    pub natures: [Nature; MOST_PARAMETERS],
}

impl Judge {
    /// Whether repetitions tell the noise; otherwise it is a guess, which is worth one point.
    pub fn knows_noise(&self) -> bool {
        self.noise_freedom > 1.0
    }

    /// What the parameter of a factor is.
    pub fn nature(&self, slot: Slot) -> Nature {
        self.natures[slot.axis()]
    }

    /// The belief (as a logarithm) that a cost of these parameters has a negative term.
    pub fn signed(&self) -> f64 {
        self.natures.iter().map(|nature| nature.signed()).fold(0.0, f64::min)
    }

    /// What the noise adds to any residual.
    pub fn floor(&self) -> f64 {
        self.noise_freedom * self.noise_variance
    }

    /// The degrees of freedom left beside this many unknowns.
    pub fn freedom(&self, unknowns: usize) -> f64 {
        (self.noise_freedom + self.points - unknowns as f64).max(1.0)
    }

    /// The variance of one point that a residual shows.
    pub fn variance(&self, residual: f64, unknowns: usize) -> f64 {
        (residual + self.floor()) / self.freedom(unknowns)
    }

    /// The belief in a residual with this many coefficients, exponents apart.
    pub fn of_residual(&self, residual: f64, columns: usize) -> f64 {
        -0.5 * (self.noise_freedom + self.points) * (residual + self.floor()).ln() - 0.5 * columns as f64 * self.points.ln()
    }

    /// The belief in a form with real exponents around its best ones.
    pub fn of_continuous(&self, fitted: &Fitted) -> f64 {
        let (columns, slots) = (fitted.family.columns(), fitted.family.slots.len());
        let spread = self.variance(fitted.residual, fitted.family.unknowns()).sqrt();
        let width = (2.0 * std::f64::consts::PI).sqrt() * spread;
        let exponents: f64 = fitted
            .family
            .slots
            .iter()
            .zip(fitted.exponents.iter())
            .enumerate()
            .map(|(k, (slot, e))| {
                let nature = self.nature(*slot);
                let volume = nature.density(*e) * width / fitted.bend[k * slots + k];
                (nature.of_log(slot.log) * volume.min(1.0)).ln()
            })
            .sum();
        self.of_residual(fitted.residual, columns) + exponents
    }

    /// The belief in a form with one real exponent, given the logarithm of the width of the range of exponents that are as good as the
    /// best.
    pub fn of_scanned(&self, fitted: &Fitted, width: f64) -> f64 {
        let slot = fitted.family.slots[0];
        let density = self.nature(slot).of_log(slot.log) * self.nature(slot).density(fitted.exponents[0]);
        self.of_residual(fitted.residual, fitted.family.columns()) + density.ln() + width
    }

    /// The belief that no coefficient of the solver's last solution is negative.
    pub fn of_signs(&self, solver: &Solver, family: &Family, residual: f64) -> f64 {
        if family.signed {
            return 0.0;
        }
        // Coefficients far from zero need no more than a look.
        let columns = family.columns();
        let spread = self.variance(residual, family.unknowns()).sqrt();
        let sure = (0..columns).all(|k| solver.coefficients[k] > 6.0 * spread * inverse_row(&solver.triangle, columns, k).1);
        // What cannot be told, or is too unlikely for a number, is still believed a little: there must always be a formula left.
        const HARDLY: f64 = -700.0;
        if sure {
            return 0.0;
        }
        let (mut coefficients, mut covariance) = ([0.0; MOST_COLUMNS], [0.0; MOST_COLUMNS * MOST_COLUMNS]);
        coefficients[..columns].copy_from_slice(&solver.coefficients);
        fill_covariance(&solver.triangle, columns, spread * spread, &mut covariance[..columns * columns]);
        keep_positive(&mut coefficients[..columns], &mut covariance[..columns * columns]).max(HARDLY)
    }

    /// The member that belongs to the solver's last solution.
    pub fn member(&self, solver: &Solver, family: &Family, exponents: &[f64], residual: f64, weight: f64) -> Member {
        let columns = family.columns();
        let mut coefficients = solver.coefficients.clone();
        let mut covariance = vec![0.0; columns * columns];
        fill_covariance(&solver.triangle, columns, self.variance(residual, family.unknowns()), &mut covariance);
        if !family.signed {
            keep_positive(&mut coefficients, &mut covariance);
        }
        Member { weight, terms: terms(family, exponents), coefficients, covariance, freedom: self.freedom(family.unknowns()) }
    }
}

/// A form with numbers for its exponents.
fn terms(family: &Family, exponents: &[f64]) -> Vec<Vec<Factor>> {
    let constant = family.constant.then(Vec::new);
    let factor = |i: usize| Factor { parameter: family.slots[i].axis(), exponent: exponents[i], log: family.slots[i].log };
    constant.into_iter().chain(family.terms.iter().map(|term| term.slots().map(factor).collect())).collect()
}

/// Fills in `variance` times the inverse of the triangle's square.
fn fill_covariance(triangle: &[f64], size: usize, variance: f64, out: &mut [f64]) {
    let rows: Short<Short<f64>> = (0..size).map(|k| inverse_row(triangle, size, k).0).collect();
    for (k, entry) in out.iter_mut().enumerate() {
        *entry = variance * rows[k / size].iter().zip(rows[k % size].iter()).map(|(a, b)| a * b).sum::<f64>();
    }
}

/// A row of the inverse of an upper triangle, and its length.
pub fn inverse_row(triangle: &[f64], size: usize, row: usize) -> (Short<f64>, f64) {
    let mut inverse: Short<f64> = (0..size).map(|_| 0.0).collect();
    inverse[row] = 1.0 / triangle[row * size + row];
    for j in row + 1..size {
        let sum: f64 = (row..j).map(|i| inverse[i] * triangle[i * size + j]).sum();
        inverse[j] = -sum / triangle[j * size + j];
    }
    let length = inverse.iter().map(|v| v * v).sum::<f64>().sqrt();
    (inverse, length)
}
