//! The formula of a model for display: in the parameters themselves, with simple exponents and few digits.

use super::ensemble_member::{EnsembleMember, TermFactor};
use super::hypothesis::LogFactor;
use super::model::ScalingModel;
use crate::piecewise::IntervalEstimate;
use crate::sample::round_for_display;
use crate::stats::student_quantile;
use serde::{Deserialize, Serialize};
use sintonia_formula::{Formula, PiecewiseCase, Rational};

/// The largest denominator of an exponent displayed as a fraction.
const MAX_DENOMINATOR: i64 = 12;

/// A factor of a term, with the interval of its exponent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FactorEstimate {
    /// The name of the parameter.
    pub parameter: String,
    /// The exponent.
    pub exponent: IntervalEstimate,
    /// Its logarithm.
    pub log: LogFactor,
}

/// A term of the formula, with the interval of its coefficient.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TermEstimate {
    /// The coefficient.
    pub coefficient: IntervalEstimate,
    /// The factors; the constant has none.
    pub factors: Vec<FactorEstimate>,
    /// The term's share of the total at the largest measured values.
    pub share: f64,
}

impl TermEstimate {
    /// The product of its factors.
    pub fn product(&self) -> Formula {
        product_formula(self.factors.iter().map(|factor| (factor.parameter.as_str(), factor.exponent.value, factor.log)))
    }
}

impl ScalingModel {
    /// The displayed formula; in two pieces if another model applies to large values.
    pub fn formula(&self) -> Formula {
        let Some(beyond) = &self.beyond else { return self.sum_formula() };
        let parameter = Formula::symbol(&self.parameters[beyond.parameter]);
        Formula::piecewise(
            &parameter,
            [PiecewiseCase::up_to(Formula::decimal(beyond.above), self.sum_formula()), PiecewiseCase::beyond(beyond.model.sum_formula())],
        )
    }

    fn sum_formula(&self) -> Formula {
        let terms = self.shown.terms.iter().zip(&self.shown.coefficients);
        terms
            .map(|(factors, c)| {
                let product = product_formula(factors.iter().map(|f| (self.parameters[f.parameter].as_str(), f.exponent, f.log)));
                Formula::decimal(round_for_display(c * self.reference_scale(factors))) * product
            })
            .sum()
    }

    /// The terms of the displayed formula within the measured range, with intervals.
    pub fn terms(&self) -> Vec<TermEstimate> {
        let shown = &self.shown;
        let size = shown.terms.len();
        let reach = student_quantile(0.5 * (1.0 + self.confidence), shown.freedom);
        let whole: f64 = shown.coefficients.iter().sum();
        let term = |(k, factors): (usize, &Vec<TermFactor>)| {
            let (value, scale) = (shown.coefficients[k], self.reference_scale(factors));
            let half = reach * shown.covariance[k * size + k].max(0.0).sqrt();
            TermEstimate {
                coefficient: IntervalEstimate { value: value * scale, low: (value - half) * scale, high: (value + half) * scale },
                factors: factors.iter().enumerate().map(|(f, factor)| self.display_factor(k, f, factor)).collect(),
                share: value / whole,
            }
        };
        shown.terms.iter().enumerate().map(term).collect()
    }

    fn display_factor(&self, term: usize, factor: usize, shown: &TermFactor) -> FactorEstimate {
        let alike = self.members.iter().filter(|m| same_form(m, &self.shown));
        let mut exponents: Vec<(f64, f64)> = alike.map(|m| (m.terms[term][factor].exponent, m.weight)).collect();
        exponents.sort_by(|a, b| a.0.total_cmp(&b.0));
        let tail = 0.5 * (1.0 - self.confidence);
        let exponent = IntervalEstimate {
            value: shown.exponent,
            low: weighted_quantile(&exponents, tail).min(shown.exponent),
            high: weighted_quantile(&exponents, 1.0 - tail).max(shown.exponent),
        };
        FactorEstimate { parameter: self.parameters[shown.parameter].clone(), exponent, log: shown.log }
    }

    /// The factor from a coefficient at the reference setting to one of the parameters themselves.
    fn reference_scale(&self, factors: &[TermFactor]) -> f64 {
        let at_reference = |f: &TermFactor| {
            let reference = self.reference[f.parameter];
            reference.powf(display_exponent(f.exponent).to_f64()) * f.log.eval(reference)
        };
        1.0 / factors.iter().map(at_reference).product::<f64>()
    }
}

/// A product of factors, each with its parameter, exponent and logarithm.
fn product_formula<'a>(factors: impl Iterator<Item = (&'a str, f64, LogFactor)>) -> Formula {
    let factor = |(parameter, exponent, log): (&str, f64, LogFactor)| {
        let symbol = Formula::symbol(parameter);
        let log = match log {
            LogFactor::None => Formula::one(),
            LogFactor::Log2 => symbol.log2(),
            LogFactor::Log2Squared => symbol.log2().power(2),
            LogFactor::CeilLog2 => symbol.log2().ceil(),
        };
        symbol.power(display_exponent(exponent)) * log
    };
    factors.map(factor).fold(Formula::one(), |product, factor| product * factor)
}

fn same_form(a: &EnsembleMember, b: &EnsembleMember) -> bool {
    let alike = |(a, b): (&Vec<TermFactor>, &Vec<TermFactor>)| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.parameter == b.parameter && a.log == b.log)
    };
    a.terms.len() == b.terms.len() && a.terms.iter().zip(&b.terms).all(alike)
}

fn weighted_quantile(sorted: &[(f64, f64)], share: f64) -> f64 {
    let all: f64 = sorted.iter().map(|s| s.1).sum();
    let mut below = 0.0;
    let found = sorted.iter().find(|s| {
        below += s.1;
        below >= share * all
    });
    found.or(sorted.last()).map_or(f64::NAN, |s| s.0)
}

/// An exponent as a simple fraction if it is one, otherwise with three decimals.
fn display_exponent(exponent: f64) -> Rational {
    let whole = |under: &i64| ((exponent * *under as f64) - (exponent * *under as f64).round()).abs() < 1e-9;
    let simple = (1..=MAX_DENOMINATOR).find(whole).and_then(|under| Rational::new((exponent * under as f64).round() as i64, under));
    simple.or_else(|| Rational::from_f64_shortest((exponent * 1e3).round() / 1e3)).unwrap_or(Rational::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_are_simple_fractions_where_they_can_be() {
        assert_eq!(display_exponent(1.5), Rational::new(3, 2).unwrap());
        assert_eq!(display_exponent(-1.0 / 3.0), Rational::new(-1, 3).unwrap());
        assert_eq!(display_exponent(2.84371).to_f64(), 2.844);
    }
}
