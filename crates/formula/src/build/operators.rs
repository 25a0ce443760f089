//! Operators and methods that build formulas from formulas.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

use super::{exp2, extremum, fold, log2, piecewise, power, product, round};
use crate::atom::{Atom, AtomKind, Extremum, FoldOp, PiecewiseCase, RoundingMode, SymbolId};
use crate::coefficient::Coefficient;
use crate::formula::Formula;
use crate::rational::Rational;

impl Formula {
    /// A power; a root of a negative number is undefined, `0^0` is one.
    pub fn power(&self, exponent: impl Into<Rational>) -> Formula {
        power(self, &exponent.into())
    }

    /// A power whose exponent is a formula; unless the exponent is a number, the base must be positive.
    pub fn pow_formula(&self, exponent: &Formula) -> Formula {
        match exponent.as_exact() {
            Some(exponent) => power(self, exponent),
            None => exp2(&product(exponent, &log2(self))),
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
        product(&Formula::from(Atom::new(AtomKind::Ln2)), &log2(self))
    }

    /// The smallest integer not less than it.
    pub fn ceil(&self) -> Formula {
        round(RoundingMode::Up, self)
    }

    /// The largest integer not greater than it.
    pub fn floor(&self) -> Formula {
        round(RoundingMode::Down, self)
    }

    /// The maximum of several formulas; undefined if there are none.
    pub fn max_of(entries: impl IntoIterator<Item = Formula>) -> Formula {
        extremum(Extremum::Max, entries.into_iter().collect())
    }

    /// The minimum of several formulas; undefined if there are none.
    pub fn min_of(entries: impl IntoIterator<Item = Formula>) -> Formula {
        extremum(Extremum::Min, entries.into_iter().collect())
    }

    /// The sum of the body for the indexes `from`, `from + 1`, ... up to `to`; zero if `from > to`.
    pub fn sum(index: &str, from: &Formula, to: &Formula, body: &Formula) -> Formula {
        fold(FoldOp::Sum, &SymbolId::named(index), index, from, to, body)
    }

    /// The maximum of the body for the indexes `from`, `from + 1`, ... up to `to`; undefined for an empty range.
    pub fn max_over(index: &str, from: &Formula, to: &Formula, body: &Formula) -> Formula {
        fold(FoldOp::Extremum(Extremum::Max), &SymbolId::named(index), index, from, to, body)
    }

    /// The minimum of the body for the indexes `from`, `from + 1`, ... up to `to`; undefined for an empty range.
    pub fn min_over(index: &str, from: &Formula, to: &Formula, body: &Formula) -> Formula {
        fold(FoldOp::Extremum(Extremum::Min), &SymbolId::named(index), index, from, to, body)
    }

    /// A piecewise formula: the first case whose bound is not below `variable`; undefined beyond the last bound.
    pub fn piecewise(variable: &Formula, list: impl IntoIterator<Item = PiecewiseCase>) -> Formula {
        piecewise(variable, list.into_iter().collect())
    }
}

fn sum(mut larger: Formula, mut smaller: Formula) -> Formula {
    if larger.len() < smaller.len() {
        std::mem::swap(&mut larger, &mut smaller);
    }
    if smaller.is_zero() {
        return larger;
    }
    let mut terms = larger.into_term_map();
    terms.add_all(smaller.term_map());
    terms.into()
}

fn negated(formula: &Formula) -> Formula {
    product(&Formula::from_coefficient(Coefficient::Exact(Rational::from(-1))), formula)
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
