//! The formula of a model as people read it: in the parameters themselves, with simple exponents and few digits.

use super::family::Log;
use super::member::{Factor, Member};
use super::model::Model;
use crate::pieces::Estimate;
use crate::sample::rounded;
use crate::stats::student_quantile;
use serde::{Deserialize, Serialize};
use sintonia_formula::{Formula, Piece, Rational};

/// The largest denominator of an exponent that is shown as a fraction.
const LARGEST_DENOMINATOR: i64 = 12;

/// A factor of a term, with the interval of its exponent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShownFactor {
    /// The name of the parameter.
    pub parameter: String,
    /// The exponent.
    pub exponent: Estimate,
    /// The logarithm beside it.
    pub log: Log,
}

/// A term of the formula, with the interval of its coefficient.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShownTerm {
    /// The coefficient.
    pub coefficient: Estimate,
    /// The factors; the constant has none.
    pub factors: Vec<ShownFactor>,
    /// The term's share of the whole at the largest measured values.
    pub share: f64,
}

impl Model {
    /// The formula to show; in two pieces if beyond the measurements another law holds.
    pub fn formula(&self) -> Formula {
        let Some(beyond) = &self.beyond else { return self.sum() };
        let parameter = Formula::symbol(&self.parameters[beyond.parameter]);
        let largest = Formula::decimal(self.reference[beyond.parameter]);
        Formula::pieces(&parameter, [Piece::up_to(largest, self.sum()), Piece::beyond(beyond.model.sum())])
    }

    fn sum(&self) -> Formula {
        let terms = self.shown.terms.iter().zip(&self.shown.coefficients);
        terms.map(|(factors, c)| Formula::decimal(rounded(c * self.scale(factors))) * self.product(factors)).sum()
    }

    /// The terms of the formula to show, within the measurements, with intervals.
    pub fn terms(&self) -> Vec<ShownTerm> {
        let shown = &self.shown;
        let size = shown.terms.len();
        let reach = student_quantile(0.5 * (1.0 + self.confidence), shown.freedom);
        let whole: f64 = shown.coefficients.iter().sum();
        let term = |(k, factors): (usize, &Vec<Factor>)| {
            let (value, scale) = (shown.coefficients[k], self.scale(factors));
            let half = reach * shown.covariance[k * size + k].max(0.0).sqrt();
            ShownTerm {
                coefficient: Estimate { value: value * scale, low: (value - half) * scale, high: (value + half) * scale },
                factors: factors.iter().enumerate().map(|(f, factor)| self.shown_factor(k, f, factor)).collect(),
                share: value / whole,
            }
        };
        shown.terms.iter().enumerate().map(term).collect()
    }

    fn shown_factor(&self, term: usize, factor: usize, shown: &Factor) -> ShownFactor {
        let alike = self.members.iter().filter(|m| same_form(m, &self.shown));
        let mut exponents: Vec<(f64, f64)> = alike.map(|m| (m.terms[term][factor].exponent, m.weight)).collect();
        exponents.sort_by(|a, b| a.0.total_cmp(&b.0));
        let tail = 0.5 * (1.0 - self.confidence);
        let exponent = Estimate {
            value: shown.exponent,
            low: weighted_quantile(&exponents, tail).min(shown.exponent),
            high: weighted_quantile(&exponents, 1.0 - tail).max(shown.exponent),
        };
        ShownFactor { parameter: self.parameters[shown.parameter].clone(), exponent, log: shown.log }
    }

    /// What a coefficient at the reference setting is multiplied with to be one of the parameters themselves.
    fn scale(&self, factors: &[Factor]) -> f64 {
        let at_reference = |f: &Factor| {
            let reference = self.reference[f.parameter];
            reference.powf(shown_exponent(f.exponent).nearest()) * f.log.of(reference)
        };
        1.0 / factors.iter().map(at_reference).product::<f64>()
    }

    fn product(&self, factors: &[Factor]) -> Formula {
        let factor = |f: &Factor| {
            let symbol = Formula::symbol(&self.parameters[f.parameter]);
            let log = match f.log {
                Log::None => Formula::one(),
                Log::Once => symbol.log2(),
                Log::Twice => symbol.log2().power(2),
                Log::Whole => symbol.log2().ceil(),
            };
            symbol.power(shown_exponent(f.exponent)) * log
        };
        factors.iter().map(factor).fold(Formula::one(), |product, factor| product * factor)
    }
}

fn same_form(a: &Member, b: &Member) -> bool {
    let alike = |(a, b): (&Vec<Factor>, &Vec<Factor>)| {
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

/// An exponent as a simple fraction where it is one, otherwise with three digits behind the point.
fn shown_exponent(exponent: f64) -> Rational {
    let whole = |under: &i64| ((exponent * *under as f64) - (exponent * *under as f64).round()).abs() < 1e-9;
    let simple = (1..=LARGEST_DENOMINATOR).find(whole).and_then(|under| Rational::new((exponent * under as f64).round() as i64, under));
    simple.or_else(|| Rational::decimal((exponent * 1e3).round() / 1e3)).unwrap_or(Rational::ZERO)
}
