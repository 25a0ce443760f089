//! Numbers in formulas: exact, or known to lie between two exact ones.
//!
//! A measured cost is rarely one number. `[0.1, 0.2]` in a formula is an unknown number between the two, and every place where such a number
//! stands is another unknown: `[1, 2] - [1, 2]` is `[-1, 1]`. That is never too narrow, whatever the numbers came from.

use std::fmt;

use crate::interval::Interval;
use crate::rational::{MOST_BITS, Rational};

/// Sums with more bits than [`MOST_BITS`] are rounded outward to this many; only hostile formulas get there.
const KEPT_BITS: u64 = 256;

/// An exact number, or an unknown one between two exact ones.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Number {
    Exact(Rational),
    /// The first is less than the second.
    Between(Rational, Rational),
}
use Number::{Between, Exact};

impl Number {
    pub(crate) fn between(a: Rational, b: Rational) -> Number {
        match a.cmp(&b) {
            std::cmp::Ordering::Less => Between(a, b),
            std::cmp::Ordering::Equal => Exact(a),
            std::cmp::Ordering::Greater => Between(b, a),
        }
    }

    pub(crate) fn low(&self) -> &Rational {
        match self {
            Exact(value) | Between(value, _) => value,
        }
    }

    pub(crate) fn high(&self) -> &Rational {
        match self {
            Exact(value) | Between(_, value) => value,
        }
    }

    pub(crate) fn exact(&self) -> Option<&Rational> {
        match self {
            Exact(value) => Some(value),
            Between(..) => None,
        }
    }

    pub(crate) fn is_exact(&self) -> bool {
        matches!(self, Exact(_))
    }

    pub(crate) fn is_zero(&self) -> bool {
        matches!(self, Exact(value) if value.is_zero())
    }

    pub(crate) fn is_one(&self) -> bool {
        matches!(self, Exact(value) if value.is_one())
    }

    /// Whether it cannot be below zero.
    pub(crate) fn is_nonnegative(&self) -> bool {
        !self.low().is_negative()
    }

    /// Whether it must be above zero.
    pub(crate) fn is_positive(&self) -> bool {
        self.low().sign().is_gt()
    }

    /// The exact number in the middle.
    pub(crate) fn middle(&self) -> Rational {
        match self {
            Exact(value) => value.clone(),
            Between(low, high) => &(low + high) * &Rational::HALF,
        }
    }

    pub(crate) fn enclosing(&self) -> Interval {
        match self {
            Exact(value) => value.enclosing(),
            Between(low, high) => Interval::between(low.enclosing().low(), high.enclosing().high()),
        }
    }

    pub(crate) fn negated(&self) -> Number {
        match self {
            Exact(value) => Exact(-value),
            Between(low, high) => Between(-high, -low),
        }
    }

    pub(crate) fn plus(&self, other: &Number) -> Number {
        let sum = match (self, other) {
            (Exact(a), Exact(b)) => Exact(a + b),
            _ => Between(self.low() + other.low(), self.high() + other.high()),
        };
        if sum.low().bits().max(sum.high().bits()) > MOST_BITS { sum.rounded() } else { sum }
    }

    /// The product, or nothing when it is too large to write down.
    pub(crate) fn times(&self, other: &Number) -> Option<Number> {
        let bits = |number: &Number| number.low().bits().max(number.high().bits());
        if !self.is_one() && !other.is_one() && bits(self) + bits(other) > MOST_BITS {
            return None;
        }
        Some(match (self, other) {
            (Exact(a), Exact(b)) => Exact(a * b),
            _ => {
                let corners = [self.low() * other.low(), self.low() * other.high(), self.high() * other.low(), self.high() * other.high()];
                let low = corners.iter().min().expect("four corners").clone();
                let high = corners.iter().max().expect("four corners").clone();
                Number::between(low, high)
            }
        })
    }

    /// A whole power of one unknown number, or nothing when it is undefined or too large to write down.
    pub(crate) fn power(&self, exponent: i64) -> Option<Number> {
        match self {
            Exact(value) => value.power(exponent).map(Exact),
            Between(low, high) => {
                let around_zero = low.is_negative() && high.sign().is_gt();
                if exponent < 0 && (around_zero || low.is_zero() || high.is_zero()) {
                    return None;
                }
                let (a, b) = (low.power(exponent)?, high.power(exponent)?);
                let powers = Number::between(a, b);
                Some(if around_zero && exponent % 2 == 0 { Number::between(Rational::ZERO, powers.high().clone()) } else { powers })
            }
        }
    }

    /// It with so many significant digits: the nearest such number, or an interval around it.
    pub(crate) fn shortened(&self, digits: usize) -> Number {
        match self {
            Exact(value) => Exact(value.shortened(digits)),
            Between(low, high) => Number::between(low.shortened_down(digits), -(-high).shortened_down(digits)),
        }
    }

    /// The interval of short numbers around it.
    fn rounded(&self) -> Number {
        let (low, high) = (round_down(self.low()), -round_down(&-self.high()));
        Number::between(low, high)
    }
}

/// A short number at or below this one.
fn round_down(value: &Rational) -> Rational {
    let size = |part: Rational| part.bits() as i64;
    let scale = Rational::two_to(KEPT_BITS as i64 - size(value.numerator()) + size(value.denominator()));
    (value * &scale).floor().over(&scale).expect("a power of two is not zero")
}

impl fmt::Display for Number {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exact(value) => write!(out, "{value}"),
            Between(low, high) => write!(out, "[{low}, {high}]"),
        }
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}
