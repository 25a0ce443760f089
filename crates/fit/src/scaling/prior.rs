//! What is thought of exponents before anything is measured.
//!
//! Costs of programs mostly grow with simple powers: 1, 2, 3, 1/2, 3/2, with or without a logarithm. Half of the belief lies on such
//! "nice" exponents, half is spread over all real ones, so that a simple law is found when it explains the measurements and only then.

use super::family::Log;

/// The exponents a fit may find: between these, and not nearer to zero than [`LEAST`] where no logarithm gives the term a shape.
pub const LOWEST: f64 = -3.5;
/// See [`LOWEST`].
pub const HIGHEST: f64 = 4.0;
/// See [`LOWEST`].
pub const LEAST: f64 = 0.1;

/// The nice exponents above zero, each as a fraction.
pub const NICE: [(i64, i64); 20] = [
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

/// The belief (as a logarithm) that a cost has a negative term. Costs are sums, so it is small, but a form that is not quite the right one
/// may need one to follow the measurements.
pub const SIGNED: f64 = -4.0;

/// The belief (as a logarithm) in one certain sum of two simple terms.
pub const PAIR: f64 = -6.0;

/// The belief (as a logarithm) in one certain polynomial with terms of any sign.
pub const POLYNOMIAL: f64 = -6.0;

/// The belief in a logarithm.
pub fn of_log(log: Log) -> f64 {
    match log {
        Log::None => 0.44,
        Log::Once => 0.32,
        Log::Twice => 0.21,
        Log::Whole => 0.03,
    }
}

/// The density of the belief in a real exponent.
pub fn density(exponent: f64) -> f64 {
    match exponent {
        e if e > 3.1 => 0.04,
        e if e >= 0.0 => 0.28,
        _ => 0.03,
    }
}

/// The belief in a nice exponent together with a logarithm.
pub fn of_nice(numerator: i64, denominator: i64, log: Log) -> f64 {
    let simple = match (denominator, log) {
        (1 | 2, _) => 0.06,
        (_, Log::None) => 0.05,
        _ => 0.03,
    };
    let likely = match numerator {
        n if n < 0 => 0.15,
        4 if denominator == 1 => 0.1,
        _ => 1.0,
    };
    simple * likely
}

/// The nice exponents that a fit may find from `low` to `high`, as fractions; zero only if a logarithm gives the factor a shape.
pub fn nice_between(low: f64, high: f64, log: Log) -> impl Iterator<Item = (i64, i64)> {
    let negative = NICE.iter().rev().map(|&(n, d)| (-n, d));
    let zero = (log != Log::None).then_some((0, 1));
    negative.chain(zero).chain(NICE).filter(move |&(n, d)| {
        let exponent = n as f64 / d as f64;
        low <= exponent && exponent <= high && allows(exponent, log)
    })
}

/// Whether an exponent may be found beside a logarithm.
pub fn allows(exponent: f64, log: Log) -> bool {
    (LOWEST..=HIGHEST).contains(&exponent) && (log != Log::None || exponent.abs() >= LEAST)
}

/// The range around a starting exponent in which a fit may move: the sign does not change on the way.
pub fn range_around(exponent: f64, log: Log) -> (f64, f64) {
    match (exponent < 0.0, log) {
        (true, _) => (LOWEST, -LEAST),
        (false, Log::None) => (LEAST, HIGHEST),
        (false, _) => (0.0, HIGHEST),
    }
}
