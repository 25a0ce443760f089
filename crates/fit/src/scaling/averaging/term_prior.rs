//! The usual factors of terms, and what each is worth before anything was measured.

use crate::measurements::ParameterKind;
use crate::scaling::hypothesis::LogFactor::{self, CeilLog2, Log2, Log2Squared, None as NoLog};

/// What a falling term beside a steep one is worth: time that falls is divided among processes, and does not grow steeply with them.
const UNLIKELY_PAIR: f64 = 0.02;
const STEEP: f64 = 1.1;

/// A term with its weight as a cost of a problem size, of a number of processes, and of anything.
pub(super) type TermWeights = (f64, LogFactor, f64, f64, f64);

pub(super) const TERMS: [TermWeights; 37] = [
    (0.0, NoLog, 1.0, 1.0, 1.0),
    (1.0, NoLog, 1.0, 0.6, 1.0),
    (2.0, NoLog, 0.7, 0.03, 0.7),
    (3.0, NoLog, 0.7, 0.001, 0.6),
    (4.0, NoLog, 0.03, 0.002, 0.03),
    (-1.0, NoLog, 0.002, 1.0, 0.8),
    (-2.0, NoLog, 0.002, 0.002, 0.03),
    (0.5, NoLog, 0.15, 0.15, 0.3),
    (1.5, NoLog, 0.3, 0.05, 0.3),
    (2.5, NoLog, 0.08, 0.002, 0.15),
    (-0.5, NoLog, 0.002, 0.15, 0.2),
    (1.0 / 3.0, NoLog, 0.03, 0.05, 0.1),
    (2.0 / 3.0, NoLog, 0.1, 0.05, 0.15),
    (4.0 / 3.0, NoLog, 0.06, 0.002, 0.1),
    (5.0 / 3.0, NoLog, 0.04, 0.002, 0.1),
    (7.0 / 3.0, NoLog, 0.03, 0.002, 0.06),
    (8.0 / 3.0, NoLog, 0.03, 0.002, 0.06),
    (-1.0 / 3.0, NoLog, 0.002, 0.03, 0.05),
    (-2.0 / 3.0, NoLog, 0.002, 0.1, 0.1),
    (0.25, NoLog, 0.02, 0.002, 0.08),
    (0.75, NoLog, 0.02, 0.002, 0.08),
    (1.25, NoLog, 0.02, 0.002, 0.08),
    (1.75, NoLog, 0.02, 0.002, 0.08),
    (2.25, NoLog, 0.02, 0.002, 0.06),
    (2.75, NoLog, 0.02, 0.002, 0.06),
    (0.0, Log2, 0.1, 0.4, 0.5),
    (0.0, Log2Squared, 0.02, 0.1, 0.15),
    (0.0, CeilLog2, 0.002, 0.4, 0.3),
    (1.0, Log2, 0.3, 0.25, 0.5),
    (1.0, Log2Squared, 0.05, 0.02, 0.2),
    (2.0, Log2, 0.08, 0.002, 0.2),
    (2.0, Log2Squared, 0.02, 0.002, 0.08),
    (3.0, Log2, 0.03, 0.002, 0.1),
    (0.5, Log2, 0.02, 0.05, 0.15),
    (1.5, Log2, 0.02, 0.002, 0.1),
    (-1.0, Log2, 0.002, 0.08, 0.1),
    (-0.5, Log2, 0.002, 0.03, 0.04),
];

/// What a falling term makes a steep one worth.
pub(super) fn pair_weight(exponent: f64, other: f64) -> f64 {
    if exponent.min(other) < 0.0 && exponent.max(other) > STEEP { UNLIKELY_PAIR } else { 1.0 }
}

/// What a parameter may be, which holds for all terms of a sum: one that falls makes steep growth improbable beside it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Nature {
    Size,
    Processes,
    Any,
}

impl Nature {
    pub(super) fn from_kind(kind: ParameterKind) -> Self {
        match kind {
            ParameterKind::Unknown => Self::Any,
            ParameterKind::Size => Self::Size,
            ParameterKind::Processes => Self::Processes,
        }
    }

    pub(super) fn weight(self, term: usize) -> f64 {
        let (_, _, size, processes, any) = TERMS[term];
        match self {
            Self::Size => size,
            Self::Processes => processes,
            Self::Any => any,
        }
    }
}

/// What a parameter of a kind may be, with probabilities.
pub(super) fn natures(kind: ParameterKind) -> Vec<(Nature, f64)> {
    match kind {
        ParameterKind::Unknown => vec![(Nature::Size, 0.4), (Nature::Processes, 0.4), (Nature::Any, 0.2)],
        ParameterKind::Size | ParameterKind::Processes => vec![(Nature::from_kind(kind), 0.9), (Nature::Any, 0.1)],
    }
}

/// The index of a usual term.
pub(super) fn term_index(exponent: f64, log: LogFactor) -> usize {
    let found = TERMS.iter().position(|term| (term.0, term.1) == (exponent, log));
    found.unwrap_or_else(|| unreachable!("the exponent {exponent} is a usual one"))
}
