//! The operators and methods that build formulas from formulas.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

use super::{extreme, fold, log2, pieces, power, product, rounded, two_to};
use crate::atom::{Atom, Extreme, How, Kind, Piece, Rounding, Symbol};
use crate::formula::Formula;
use crate::number::Number;
use crate::rational::Rational;

impl Formula {
    /// A power; a root of a negative number is undefined, `0^0` is one.
    pub fn power(&self, exponent: impl Into<Rational>) -> Formula {
        power(self, &exponent.into())
    }

    /// A power whose exponent is a formula; where that is not a number, the base must be positive.
    pub fn to_the(&self, exponent: &Formula) -> Formula {
        match exponent.as_exact() {
            Some(exponent) => power(self, exponent),
            None => two_to(&product(exponent, &log2(self))),
        }
    }

    /// The square root.
    pub fn sqrt(&self) -> Formula {
        power(self, &Rational::HALF)
    }

    /// The logarithm to base two; undefined where the formula is not positive.
    pub fn log2(&self) -> Formula {
        log2(self)
    }

    /// The natural logarithm; undefined where the formula is not positive.
    pub fn ln(&self) -> Formula {
        product(&Formula::from(Atom::new(Kind::Ln2)), &log2(self))
    }

    /// The least whole number that is not below it.
    pub fn ceil(&self) -> Formula {
        rounded(Rounding::Up, self)
    }

    /// The greatest whole number that is not above it.
    pub fn floor(&self) -> Formula {
        rounded(Rounding::Down, self)
    }

    /// The largest of several formulas; undefined when there is none.
    pub fn max_of(entries: impl IntoIterator<Item = Formula>) -> Formula {
        extreme(Extreme::Max, entries.into_iter().collect())
    }

    /// The smallest of several formulas; undefined when there is none.
    pub fn min_of(entries: impl IntoIterator<Item = Formula>) -> Formula {
        extreme(Extreme::Min, entries.into_iter().collect())
    }

    /// The sum of the body for the index `from`, `from + 1` and so on up to `to`; zero when `from` is above `to`.
    pub fn sum(index: &str, from: &Formula, to: &Formula, body: &Formula) -> Formula {
        fold(How::Sum, &Symbol::named(index), index, from, to, body)
    }

    /// The largest value of the body for the index `from`, `from + 1` and so on up to `to`, of which there must be one.
    pub fn max_over(index: &str, from: &Formula, to: &Formula, body: &Formula) -> Formula {
        fold(How::Extreme(Extreme::Max), &Symbol::named(index), index, from, to, body)
    }

    /// The smallest value of the body for the index `from`, `from + 1` and so on up to `to`, of which there must be one.
    pub fn min_over(index: &str, from: &Formula, to: &Formula, body: &Formula) -> Formula {
        fold(How::Extreme(Extreme::Min), &Symbol::named(index), index, from, to, body)
    }

    /// The first piece whose bound is not below the value of `variable`; undefined beyond the last bound if no piece holds there.
    pub fn pieces(variable: &Formula, list: impl IntoIterator<Item = Piece>) -> Formula {
        pieces(variable, list.into_iter().collect())
    }
}

fn sum(mut larger: Formula, mut smaller: Formula) -> Formula {
    if larger.len() < smaller.len() {
        std::mem::swap(&mut larger, &mut smaller);
    }
    if smaller.is_zero() {
        return larger;
    }
    let mut terms = larger.into_terms();
    terms.add_all(smaller.inner());
    terms.into()
}

fn negated(formula: &Formula) -> Formula {
    product(&Formula::number(Number::Exact(Rational::from(-1))), formula)
}

fn difference(a: Formula, b: Formula) -> Formula {
    sum(a, negated(&b))
}

fn quotient(a: Formula, b: Formula) -> Formula {
    product(&a, &power(&b, &Rational::from(-1)))
}

macro_rules! operator {
    ($($operation:ident $method:ident $function:expr;)*) => {$(
        impl $operation for Formula {
            type Output = Formula;
            fn $method(self, other: Formula) -> Formula {
                $function(self, other)
            }
        }
        impl $operation<&Formula> for Formula {
            type Output = Formula;
            fn $method(self, other: &Formula) -> Formula {
                $function(self, other.clone())
            }
        }
        impl $operation<Formula> for &Formula {
            type Output = Formula;
            fn $method(self, other: Formula) -> Formula {
                $function(self.clone(), other)
            }
        }
        impl $operation for &Formula {
            type Output = Formula;
            fn $method(self, other: &Formula) -> Formula {
                $function(self.clone(), other.clone())
            }
        }
    )*};
}
operator! {
    Add add sum;
    Sub sub difference;
    Mul mul |a: Formula, b: Formula| product(&a, &b);
    Div div quotient;
}

impl Neg for Formula {
    type Output = Formula;
    fn neg(self) -> Formula {
        negated(&self)
    }
}

impl Neg for &Formula {
    type Output = Formula;
    fn neg(self) -> Formula {
        negated(self)
    }
}

impl AddAssign for Formula {
    fn add_assign(&mut self, other: Formula) {
        *self = sum(std::mem::replace(self, Formula::zero()), other);
    }
}

impl Sum for Formula {
    fn sum<I: Iterator<Item = Formula>>(formulas: I) -> Formula {
        formulas.fold(Formula::zero(), sum)
    }
}
