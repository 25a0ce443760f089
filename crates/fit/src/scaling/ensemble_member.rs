//! One hypothesis of the ensemble, with the distribution of its coefficients.

use super::hypothesis::LogFactor;
use super::least_squares::MAX_COLUMNS;
use crate::stats::{normal_cdf, normal_pdf};
use serde::{Deserialize, Serialize};

/// A factor `(x / reference)^exponent * log(x) / log(reference)`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TermFactor {
    /// Index of the parameter.
    pub parameter: usize,
    /// The exponent.
    pub exponent: f64,
    /// The logarithm.
    pub log: LogFactor,
}

impl TermFactor {
    /// Its value at a setting.
    pub fn value_at(&self, x: &[f64], reference: &[f64]) -> f64 {
        let (x, reference) = (x[self.parameter], reference[self.parameter]);
        let power = (self.exponent * (x / reference).ln()).exp();
        if self.log == LogFactor::None { power } else { power * self.log.eval(x) / self.log.eval(reference) }
    }
}

/// A weighted hypothesis: a sum of products of factors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EnsembleMember {
    /// Its posterior probability; the weights of a model add up to one.
    pub weight: f64,
    /// The terms, each a product of factors; the empty product is the constant.
    pub terms: Vec<Vec<TermFactor>>,
    /// The coefficient of each term: its share at the reference setting.
    pub coefficients: Vec<f64>,
    /// The covariance matrix of the coefficients, row by row.
    pub covariance: Vec<f64>,
    /// The degrees of freedom of the covariance.
    pub freedom: f64,
}

impl EnsembleMember {
    /// The value and its standard error at a setting.
    pub fn value_and_error_at(&self, x: &[f64], reference: &[f64]) -> (f64, f64) {
        let terms: Vec<f64> = self.terms.iter().map(|t| t.iter().map(|f| f.value_at(x, reference)).product()).collect();
        let value = terms.iter().zip(&self.coefficients).map(|(t, c)| t * c).sum();
        let size = terms.len();
        let variance: f64 = (0..size * size).map(|k| terms[k / size] * terms[k % size] * self.covariance[k]).sum();
        (value, variance.max(0.0).sqrt())
    }
}

/// Conditions the coefficients on being nonnegative, and returns the log probability of that event.
///
/// Each coefficient in turn is truncated at zero, and mean and covariance are those of the truncated distribution. With one coefficient
/// near zero, the usual case, this is exact.
pub(super) fn truncate_negative(coefficients: &mut [f64], covariance: &mut [f64]) -> f64 {
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
        let inside = normal_cdf(z);
        if inside < 1e-30 {
            return f64::NEG_INFINITY;
        }
        likely += inside.ln();
        let pull = normal_pdf(z) / inside;
        let shrink = pull * (pull + z);
        let mut column = [0.0; MAX_COLUMNS];
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
    use crate::split_mix::SplitMix64;

    #[test]
    fn cutting_at_zero_gives_the_moments_of_the_cut_distribution() {
        let (mut mean, mut covariance) = (vec![0.3, 2.0], vec![1.0, 0.6, 0.6, 1.0]);
        let likely = truncate_negative(&mut mean, &mut covariance).exp();
        let mut random = SplitMix64::new(4);
        let (mut kept, mut sum, mut square) = (0.0, [0.0; 2], 0.0);
        const DRAWS: usize = 200_000;
        for _ in 0..DRAWS {
            let (u, v) = (random.standard_normal(), random.standard_normal());
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
