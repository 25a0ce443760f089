//! What is thought of exponents before anything is measured.
//!
//! Costs of programs mostly grow with simple powers: 1, 2, 3, 1/2, 3/2, with or without a logarithm. Half of the belief lies on such
//! "nice" exponents, the rest is spread over all real ones, so that a simple law is found when it explains the measurements and only then.

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

/// The belief (as a logarithm) in one certain sum of two simple terms.
pub const PAIR: f64 = -6.0;

/// The belief (as a logarithm) in one certain polynomial with terms of any sign.
pub const POLYNOMIAL: f64 = -6.0;

/// How much more (as a logarithm, for each exponent) nice exponents are believed where repetitions tell the noise: only there do the
/// measurements refute a nice exponent that is a little off.
pub const NICE_IF_NOISE_IS_KNOWN: f64 = std::f64::consts::LN_2;

/// What a parameter is, as far as it is known: costs grow with each in ways of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Nature {
    /// Nothing is known: any law of growth is as likely as it is simple.
    #[default]
    Unknown,
    /// The size of a problem. Work on it grows with whole powers; a logarithm comes with sorting and divide-and-conquer.
    Size,
    /// The number of processes. Work is divided among them; talking grows with them or with the depth of a tree, rarely with their square.
    Processes,
}

impl Nature {
    /// The belief in a logarithm.
    pub fn of_log(self, log: Log) -> f64 {
        let [none, once, twice, whole] = match self {
            Nature::Unknown => [0.44, 0.32, 0.21, 0.03],
            Nature::Size => [0.9, 0.08, 0.01, 0.01],
            Nature::Processes => [0.8, 0.1, 0.01, 0.09],
        };
        match log {
            Log::None => none,
            Log::Once => once,
            Log::Twice => twice,
            Log::Whole => whole,
        }
    }

    /// The density of the belief in a real exponent.
    pub fn density(self, exponent: f64) -> f64 {
        // Below zero, up to one, up to three and beyond.
        let [negative, small, usual, large] = match self {
            Nature::Unknown => [0.03, 0.28, 0.28, 0.04],
            Nature::Size => [0.002, 0.03, 0.03, 0.001],
            Nature::Processes => [0.02, 0.02, 1e-5, 1e-8],
        };
        match exponent {
            e if e < 0.0 => negative,
            e if e <= 1.0 => small,
            e if e <= 3.1 => usual,
            _ => large,
        }
    }

    /// The belief in a nice exponent together with a logarithm.
    pub fn of_nice(self, numerator: i64, denominator: i64, log: Log) -> f64 {
        match self {
            Nature::Unknown => of_any(numerator, denominator, log),
            Nature::Size => match (numerator, denominator) {
                (0..=3, 1) => 0.2,
                (1 | 3, 2) => 0.03,
                (4, 1) | (5, 2) => 0.005,
                (1.., 3) => 0.005,
                (1.., _) => 0.001,
                (_, 1) => 0.001,
                _ => 0.0001,
            },
            Nature::Processes => match (numerator, denominator) {
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

    /// The belief (as a logarithm) that a cost has a negative term. Costs are sums, so it is small, but a form that is not quite the right
    /// one may need one to follow the measurements.
    pub fn signed(self) -> f64 {
        match self {
            Nature::Unknown => -4.0,
            Nature::Size | Nature::Processes => -9.0,
        }
    }
}

fn of_any(numerator: i64, denominator: i64, log: Log) -> f64 {
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
