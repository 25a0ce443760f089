//! Hypotheses: forms of a formula before its exponents are known.
//!
//! A hypothesis is a constant plus products of factors `x^a * log2(x)^j`. The powers j of logarithms belong to the hypothesis; the exponents a
//! are fitted. Terms may share a factor: `c1*f(a) + c2*f(a)*g(b)` has one exponent for `a`.

use super::bounded_vec::{BoundedVec, CAPACITY};
use serde::{Deserialize, Serialize};

/// The logarithm that multiplies the power of a factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LogFactor {
    /// None.
    #[serde(rename = "1")]
    None,
    /// The logarithm to base 2.
    #[serde(rename = "log2")]
    Log2,
    /// Its square.
    #[serde(rename = "log2^2")]
    Log2Squared,
    /// The logarithm rounded up: the depth of a binary tree.
    #[serde(rename = "ceil(log2)")]
    CeilLog2,
}

impl LogFactor {
    /// All variants.
    pub const ALL: [Self; 4] = [Self::None, Self::Log2, Self::Log2Squared, Self::CeilLog2];

    /// Its value, for numbers of at least one.
    pub fn eval(self, x: f64) -> f64 {
        match self {
            Self::None => 1.0,
            Self::Log2 => x.log2(),
            Self::Log2Squared => x.log2().powi(2),
            Self::CeilLog2 => x.log2().ceil(),
        }
    }

    /// The power of the logarithm it grows like.
    pub fn log_degree(self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Log2 | Self::CeilLog2 => 1.0,
            Self::Log2Squared => 2.0,
        }
    }
}

/// A factor whose exponent is to be fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FreeFactor {
    /// The parameter.
    pub parameter: u8,
    /// Its logarithm.
    pub log: LogFactor,
}

impl FreeFactor {
    /// Index of the parameter's axis.
    pub(super) fn axis_index(self) -> usize {
        usize::from(self.parameter)
    }
}

impl Default for FreeFactor {
    fn default() -> Self {
        Self { parameter: 0, log: LogFactor::None }
    }
}

/// The factors of a term, as a bit set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct FactorSet(u16);

impl FactorSet {
    /// The set of these factors.
    pub(super) fn from_indices(slots: impl IntoIterator<Item = usize>) -> Self {
        Self(slots.into_iter().fold(0, |mask, slot| mask | 1 << slot))
    }

    /// The indices of its factors.
    pub(super) fn indices(self) -> impl Iterator<Item = usize> {
        (0..CAPACITY).filter(move |slot| self.0 & 1 << slot != 0)
    }

    /// The number of factors.
    pub(super) fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// The union of both.
    pub(super) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A hypothesis about the form of the formula.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Hypothesis {
    /// Whether there is a constant.
    pub constant: bool,
    /// The factors.
    pub factors: BoundedVec<FreeFactor>,
    /// The terms.
    pub terms: BoundedVec<FactorSet>,
    /// Whether coefficients may be negative.
    pub allows_negative: bool,
}

impl Hypothesis {
    /// A constant only.
    pub(super) fn constant_only() -> Self {
        Self { constant: true, ..Self::default() }
    }

    /// A constant and one product for each block of parameters, without logarithms.
    pub(super) fn from_partition<B: AsRef<[usize]>>(blocks: &[B]) -> Self {
        blocks.iter().fold(Self::constant_only(), |hypothesis, block| hypothesis.with_separate_term(block.as_ref()))
    }

    /// Whether both have the same form, disregarding allowed signs.
    pub(super) fn has_same_form(&self, other: &Self) -> bool {
        Self { allows_negative: other.allows_negative, ..*self } == *other
    }

    /// The number of columns, each with a coefficient.
    pub(super) fn n_columns(&self) -> usize {
        usize::from(self.constant) + self.terms.len()
    }

    /// The number of coefficients and exponents.
    pub(super) fn n_unknowns(&self) -> usize {
        self.n_columns() + self.factors.len()
    }

    /// Whether a further term with this many factors of its own fits.
    pub(super) fn has_room(&self, factors: usize) -> bool {
        self.factors.len() + factors <= CAPACITY && self.n_columns() < CAPACITY
    }

    /// With another logarithm.
    pub(super) fn with_log(mut self, slot: usize, log: LogFactor) -> Self {
        self.factors[slot].log = log;
        self
    }

    /// Without the constant.
    pub(super) fn without_constant(self) -> Self {
        Self { constant: false, ..self }
    }

    /// With one more term, of existing factors.
    pub(super) fn with_term(mut self, term: FactorSet) -> Self {
        self.terms.push(term);
        self
    }

    /// With one more term, of new factors.
    pub(super) fn with_separate_term(mut self, parameters: &[usize]) -> Self {
        let first = self.factors.len();
        parameters.iter().for_each(|&parameter| self.factors.push(FreeFactor { parameter: parameter as u8, log: LogFactor::None }));
        self.terms.push(FactorSet::from_indices(first..self.factors.len()));
        self
    }
}
