//! One possible formula among those that explain the measurements, with what is known of its coefficients.

use super::family::Log;
use super::solve::MOST_COLUMNS;
use crate::stats::{normal_below, normal_density};
use serde::{Deserialize, Serialize};

/// A factor `(x / reference)^exponent * log(x) / log(reference)`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Factor {
    /// The parameter, as an index.
    pub parameter: usize,
    /// The exponent.
    pub exponent: f64,
    /// The logarithm.
    pub log: Log,
}

impl Factor {
    /// Its value at a setting.
    pub fn at(&self, x: &[f64], reference: &[f64]) -> f64 {
        let (x, reference) = (x[self.parameter], reference[self.parameter]);
        let power = (self.exponent * (x / reference).ln()).exp();
        if self.log == Log::None { power } else { power * self.log.of(x) / self.log.of(reference) }
    }
}

/// A possible formula: a sum of products of factors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// How much it is believed; all members of a model add up to one.
    pub weight: f64,
    /// The terms, each a product of factors; the empty product is the constant.
    pub terms: Vec<Vec<Factor>>,
    /// The coefficient of each term: its share at the reference setting.
    pub coefficients: Vec<f64>,
    /// The covariance of the coefficients, row by row.
    pub covariance: Vec<f64>,
    /// The degrees of freedom behind the covariance.
    pub freedom: f64,
}

impl Member {
    /// The value and its standard error at a setting.
    pub fn at(&self, x: &[f64], reference: &[f64]) -> (f64, f64) {
        let terms: Vec<f64> = self.terms.iter().map(|t| t.iter().map(|f| f.at(x, reference)).product()).collect();
        let value = terms.iter().zip(&self.coefficients).map(|(t, c)| t * c).sum();
        let size = terms.len();
        let variance: f64 = (0..size * size).map(|k| terms[k / size] * terms[k % size] * self.covariance[k]).sum();
        (value, variance.max(0.0).sqrt())
    }
}

/// Makes the coefficients know that none of them is negative, and says how likely (as a logarithm) that was without being told.
///
/// Each coefficient in turn is cut at zero and the mean and covariance of all are those of the cut distribution; with one coefficient
/// near zero, the usual case, this is exact.
pub fn keep_positive(coefficients: &mut [f64], covariance: &mut [f64]) -> f64 {
    let size = coefficients.len();
    let mut likely = 0.0;
    for k in 0..size {
        let spread = covariance[k * size + k].sqrt();
        if spread <= 0.0 {
            continue;
        }
        let z = coefficients[k] / spread;
        if z > 6.0 {
            continue;
        }
        let inside = normal_below(z);
        if inside < 1e-30 {
            return f64::NEG_INFINITY;
        }
        likely += inside.ln();
        let pull = normal_density(z) / inside;
        let shrink = pull * (pull + z);
        let mut column = [0.0; MOST_COLUMNS];
        (0..size).for_each(|i| column[i] = covariance[i * size + k] / spread);
        for i in 0..size {
            coefficients[i] += pull * column[i];
            for j in 0..size {
                covariance[i * size + j] -= shrink * column[i] * column[j];
            }
        }
    }
    likely
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn cutting_at_zero_gives_the_moments_of_the_cut_distribution() {
        let (mut mean, mut covariance) = (vec![0.3, 2.0], vec![1.0, 0.6, 0.6, 1.0]);
        let likely = keep_positive(&mut mean, &mut covariance).exp();
        let mut random = Random::new(4);
        let (mut kept, mut sum, mut square) = (0.0, [0.0; 2], 0.0);
        const DRAWS: usize = 200_000;
        for _ in 0..DRAWS {
            let (u, v) = (random.normal(), random.normal());
            let c = [0.3 + u, 2.0 + 0.6 * u + 0.8 * v];
            if c[0] > 0.0 && c[1] > 0.0 {
                kept += 1.0;
                sum[0] += c[0];
                sum[1] += c[1];
                square += c[1] * c[1];
            }
        }
        assert!((likely - kept / DRAWS as f64).abs() < 0.01);
        assert!((mean[0] - sum[0] / kept).abs() < 0.02 && (mean[1] - sum[1] / kept).abs() < 0.02, "{mean:?}");
        let variance = square / kept - (sum[1] / kept).powi(2);
        assert!((covariance[3] - variance).abs() < 0.03, "{} {variance}", covariance[3]);
    }
}
