//! The forms a formula may have, before its exponents are known.
//!
//! A family is a sum of a constant and products of factors `x^a * log2(x)^j`; the logarithms' powers j are part of the family, the
//! exponents a are what a fit finds. Two terms may share a factor: `c1*f(a) + c2*f(a)*g(b)` has one exponent for `a`.

use super::short::{MOST, Short};
use serde::{Deserialize, Serialize};

/// What a factor has beside its power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Log {
    /// Nothing.
    #[serde(rename = "1")]
    None,
    /// The logarithm to base 2.
    #[serde(rename = "log2")]
    Once,
    /// Its square.
    #[serde(rename = "log2^2")]
    Twice,
    /// The logarithm rounded up: the depth of a binary tree.
    #[serde(rename = "ceil(log2)")]
    Whole,
}

impl Log {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::None, Self::Once, Self::Twice, Self::Whole];

    /// Its value, for numbers from one on.
    pub fn of(self, x: f64) -> f64 {
        match self {
            Self::None => 1.0,
            Self::Once => x.log2(),
            Self::Twice => x.log2().powi(2),
            Self::Whole => x.log2().ceil(),
        }
    }

    /// How many powers of a logarithm it grows like.
    pub fn powers(self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Once | Self::Whole => 1.0,
            Self::Twice => 2.0,
        }
    }
}

/// A factor whose exponent is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// The parameter.
    pub parameter: u8,
    /// Its logarithm.
    pub log: Log,
}

impl Slot {
    /// The parameter as an index.
    pub fn axis(self) -> usize {
        usize::from(self.parameter)
    }
}

impl Default for Slot {
    fn default() -> Self {
        Self { parameter: 0, log: Log::None }
    }
}

/// Which factors a term is the product of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Product(u16);

impl Product {
    /// The product of some factors.
    pub fn of(slots: impl IntoIterator<Item = usize>) -> Self {
        Self(slots.into_iter().fold(0, |mask, slot| mask | 1 << slot))
    }

    /// Its factors.
    pub fn slots(self) -> impl Iterator<Item = usize> {
        (0..MOST).filter(move |slot| self.0 & 1 << slot != 0)
    }

    /// How many factors it has.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// The product of both.
    pub fn times(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A form of formula.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Family {
    /// Whether there is a constant.
    pub constant: bool,
    /// The factors.
    pub slots: Short<Slot>,
    /// The terms.
    pub terms: Short<Product>,
    /// Whether coefficients may be negative.
    pub signed: bool,
}

impl Family {
    /// A constant alone.
    pub fn constant() -> Self {
        Self { constant: true, ..Self::default() }
    }

    /// A constant and one product for each block of parameters, without logarithms.
    pub fn of_blocks<B: AsRef<[usize]>>(blocks: &[B]) -> Self {
        blocks.iter().fold(Self::constant(), |family, block| family.with_own_term(block.as_ref()))
    }

    /// Whether it is the same form, apart from the signs that are allowed.
    pub fn is_like(&self, other: &Self) -> bool {
        Self { signed: other.signed, ..*self } == *other
    }

    /// The number of columns, each with a coefficient.
    pub fn columns(&self) -> usize {
        usize::from(self.constant) + self.terms.len()
    }

    /// The number of coefficients and exponents.
    pub fn unknowns(&self) -> usize {
        self.columns() + self.slots.len()
    }

    /// Whether there is room for a further term of so many factors of its own.
    pub fn has_room(&self, factors: usize) -> bool {
        self.slots.len() + factors <= MOST && self.columns() < MOST
    }

    /// The same with another logarithm.
    pub fn with_log(mut self, slot: usize, log: Log) -> Self {
        self.slots[slot].log = log;
        self
    }

    /// The same without the constant.
    pub fn without_constant(self) -> Self {
        Self { constant: false, ..self }
    }

    /// The same with one more term, made of factors that are there already.
    pub fn with_term(mut self, term: Product) -> Self {
        self.terms.push(term);
        self
    }

    /// The same with one more term of factors of its own.
    pub fn with_own_term(mut self, parameters: &[usize]) -> Self {
        let first = self.slots.len();
        parameters.iter().for_each(|&parameter| self.slots.push(Slot { parameter: parameter as u8, log: Log::None }));
        self.terms.push(Product::of(first..self.slots.len()));
        self
    }
}
