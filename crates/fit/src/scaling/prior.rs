//! Prior probabilities of exponents.
//!
//! Program costs mostly grow with simple powers: 1, 2, 3, 1/2, 3/2, with or without a logarithm. Half of the prior mass is on such simple
//! exponents, the rest is spread over all real ones, so a simple form is chosen when the measurements support it and only then.

use super::hypothesis::LogFactor;
use crate::measurements::ParameterKind;

/// The allowed exponents: between these, and at least [`MIN_ABS_EXPONENT`] in size unless a logarithm gives the term a shape.
pub(super) const MIN_EXPONENT: f64 = -3.5;
/// See [`MIN_EXPONENT`].
pub(super) const MAX_EXPONENT: f64 = 4.0;
/// See [`MIN_EXPONENT`].
pub(super) const MIN_ABS_EXPONENT: f64 = 0.1;

/// The simple positive exponents, as fractions.
pub(super) const SIMPLE_EXPONENTS: [(i64, i64); 20] = [
    (1, 4),
    (1, 3),
    (1, 2),
    (2, 3),
    (3, 4),
    (4, 5),
    (1, 1),
    (5, 4),
    (4, 3),
    (3, 2),
    (5, 3),
    (7, 4),
    (2, 1),
    (9, 4),
    (7, 3),
    (5, 2),
    (8, 3),
    (11, 4),
    (3, 1),
    (4, 1),
];

/// The log prior of one particular sum of two simple terms.
pub(super) const PAIR_LOG_PRIOR: f64 = -6.0;

/// The log prior of one particular polynomial with terms of any sign.
pub(super) const POLYNOMIAL_LOG_PRIOR: f64 = -6.0;

/// Added to the log prior of each simple exponent where repetitions measure the noise: only then can the measurements refute a simple
/// exponent that is slightly wrong.
pub(super) const KNOWN_NOISE_BONUS: f64 = std::f64::consts::LN_2;

impl ParameterKind {
    /// The prior probability of a logarithm.
    pub fn log_factor_prior(self, log: LogFactor) -> f64 {
        let [none, once, twice, whole] = match self {
            ParameterKind::Unknown => [0.44, 0.32, 0.21, 0.03],
            ParameterKind::Size => [0.9, 0.08, 0.01, 0.01],
            ParameterKind::Processes => [0.8, 0.1, 0.01, 0.09],
        };
        match log {
            LogFactor::None => none,
            LogFactor::Log2 => once,
            LogFactor::Log2Squared => twice,
            LogFactor::CeilLog2 => whole,
        }
    }

    /// The prior density of a real exponent.
    pub fn exponent_density(self, exponent: f64) -> f64 {
        // Negative, up to one, up to three, and larger.
        let [negative, small, usual, large] = match self {
            ParameterKind::Unknown => [0.03, 0.28, 0.28, 0.04],
            ParameterKind::Size => [0.002, 0.03, 0.03, 0.001],
            ParameterKind::Processes => [0.02, 0.02, 1e-5, 1e-8],
        };
        match exponent {
            e if e < 0.0 => negative,
            e if e <= 1.0 => small,
            e if e <= 3.1 => usual,
            _ => large,
        }
    }

    /// The prior probability of a simple exponent together with a logarithm.
    pub fn simple_exponent_prior(self, numerator: i64, denominator: i64, log: LogFactor) -> f64 {
        match self {
            ParameterKind::Unknown => generic_exponent_prior(numerator, denominator, log),
            ParameterKind::Size => match (numerator, denominator) {
                (0..=3, 1) => 0.2,
                (1 | 3, 2) => 0.03,
                (4, 1) | (5, 2) => 0.005,
                (1.., 3) => 0.005,
                (1.., _) => 0.001,
                (_, 1) => 0.001,
                _ => 0.0001,
            },
            ParameterKind::Processes => match (numerator, denominator) {
                (-1, 1) => 0.4,
                (0 | 1, 1) => 0.2,
                (-1 | 1, 2) | (-2, 3) => 0.03,
                (..0, 1 | 3) | (1 | 2, 3) => 0.003,
                (2, 1) => 5e-4,
                (1.., _) if numerator > denominator => 1e-5,
                _ => 0.001,
            },
        }
    }

    /// The log prior of a negative term. Costs are sums, so it is low, but a form that is not quite right may need one to follow the
    /// measurements.
    pub fn negative_term_log_prior(self) -> f64 {
        match self {
            ParameterKind::Unknown => -4.0,
            ParameterKind::Size | ParameterKind::Processes => -9.0,
        }
    }
}

fn generic_exponent_prior(numerator: i64, denominator: i64, log: LogFactor) -> f64 {
    let simple = match (denominator, log) {
        (1 | 2, _) => 0.06,
        (_, LogFactor::None) => 0.05,
        _ => 0.03,
    };
    let likely = match numerator {
        n if n < 0 => 0.15,
        4 if denominator == 1 => 0.1,
        _ => 1.0,
    };
    simple * likely
}

/// The simple exponents allowed between `low` and `high`, as fractions; zero only with a logarithm.
pub(super) fn simple_exponents_between(low: f64, high: f64, log: LogFactor) -> impl Iterator<Item = (i64, i64)> {
    let negative = SIMPLE_EXPONENTS.iter().rev().map(|&(n, d)| (-n, d));
    let zero = (log != LogFactor::None).then_some((0, 1));
    negative.chain(zero).chain(SIMPLE_EXPONENTS).filter(move |&(n, d)| {
        let exponent = n as f64 / d as f64;
        low <= exponent && exponent <= high && is_allowed_exponent(exponent, log)
    })
}

/// Whether an exponent is allowed together with a logarithm.
pub(super) fn is_allowed_exponent(exponent: f64, log: LogFactor) -> bool {
    (MIN_EXPONENT..=MAX_EXPONENT).contains(&exponent) && (log != LogFactor::None || exponent.abs() >= MIN_ABS_EXPONENT)
}

/// The range in which an exponent may move from its start: it keeps its sign.
pub(super) fn exponent_range(exponent: f64, log: LogFactor) -> (f64, f64) {
    match (exponent < 0.0, log) {
        (true, _) => (MIN_EXPONENT, -MIN_ABS_EXPONENT),
        (false, LogFactor::None) => (MIN_ABS_EXPONENT, MAX_EXPONENT),
        (false, _) => (0.0, MAX_EXPONENT),
    }
}
