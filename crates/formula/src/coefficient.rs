//! Coefficients: exact numbers, or intervals between two exact numbers.
//!
//! A measured cost is rarely one number. `[0.1, 0.2]` in a formula is an unknown number between the two, and every occurrence is
//! independent: `[1, 2] - [1, 2]` is `[-1, 1]`. That is never too narrow, whatever the numbers came from.

use std::fmt;

use crate::interval::Interval;
use crate::rational::{MAX_BITS, Rational};

/// Sums with more than [`MAX_BITS`] bits are rounded outward to this many; only adversarial formulas get there.
const KEPT_BITS: u64 = 256;

/// An exact number, or an unknown one between two exact bounds.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Coefficient {
    Exact(Rational),
    /// The first bound is less than the second.
    Bounded(Rational, Rational),
}
use Coefficient::{Bounded, Exact};

impl Coefficient {
    pub(crate) fn interval(a: Rational, b: Rational) -> Coefficient {
        match a.cmp(&b) {
            std::cmp::Ordering::Less => Bounded(a, b),
            std::cmp::Ordering::Equal => Exact(a),
            std::cmp::Ordering::Greater => Bounded(b, a),
        }
    }

    pub(crate) fn low(&self) -> &Rational {
        match self {
            Exact(value) | Bounded(value, _) => value,
        }
    }

    pub(crate) fn high(&self) -> &Rational {
        match self {
            Exact(value) | Bounded(_, value) => value,
        }
    }

    pub(crate) fn as_exact(&self) -> Option<&Rational> {
        match self {
            Exact(value) => Some(value),
            Bounded(..) => None,
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

    /// Whether it cannot be negative.
    pub(crate) fn is_nonnegative(&self) -> bool {
        !self.low().is_negative()
    }

    /// Whether it must be positive.
    pub(crate) fn is_positive(&self) -> bool {
        self.low().sign().is_gt()
    }

    /// The exact midpoint.
    pub(crate) fn midpoint(&self) -> Rational {
        match self {
            Exact(value) => value.clone(),
            Bounded(low, high) => &(low + high) * &Rational::HALF,
        }
    }

    pub(crate) fn to_interval(&self) -> Interval {
        match self {
            Exact(value) => value.to_interval(),
            Bounded(low, high) => Interval::from_bounds(low.to_interval().low(), high.to_interval().high()),
        }
    }

    pub(crate) fn negated(&self) -> Coefficient {
        match self {
            Exact(value) => Exact(-value),
            Bounded(low, high) => Bounded(-high, -low),
        }
    }

    pub(crate) fn plus(&self, other: &Coefficient) -> Coefficient {
        let sum = match (self, other) {
            (Exact(a), Exact(b)) => Exact(a + b),
            _ => Bounded(self.low() + other.low(), self.high() + other.high()),
        };
        if sum.low().bits().max(sum.high().bits()) > MAX_BITS { sum.round_outward() } else { sum }
    }

    /// The product; `None` if it is too large to store.
    pub(crate) fn times(&self, other: &Coefficient) -> Option<Coefficient> {
        let bits = |number: &Coefficient| number.low().bits().max(number.high().bits());
        if !self.is_one() && !other.is_one() && bits(self) + bits(other) > MAX_BITS {
            return None;
        }
        Some(match (self, other) {
            (Exact(a), Exact(b)) => Exact(a * b),
            _ => {
                let corners = [self.low() * other.low(), self.low() * other.high(), self.high() * other.low(), self.high() * other.high()];
                let low = corners.iter().min().expect("four corners").clone();
                let high = corners.iter().max().expect("four corners").clone();
                Coefficient::interval(low, high)
            }
        })
    }

    /// An integer power of one unknown number; `None` if it is undefined or too large to store.
    pub(crate) fn power(&self, exponent: i64) -> Option<Coefficient> {
        match self {
            Exact(value) => value.power(exponent).map(Exact),
            Bounded(low, high) => {
                let around_zero = low.is_negative() && high.sign().is_gt();
                if exponent < 0 && (around_zero || low.is_zero() || high.is_zero()) {
                    return None;
                }
                let (a, b) = (low.power(exponent)?, high.power(exponent)?);
                let powers = Coefficient::interval(a, b);
                Some(if around_zero && exponent % 2 == 0 { Coefficient::interval(Rational::ZERO, powers.high().clone()) } else { powers })
            }
        }
    }

    /// It with `digits` significant digits: rounded to nearest, or outward for an interval.
    pub(crate) fn round_significant(&self, digits: usize) -> Coefficient {
        match self {
            Exact(value) => Exact(value.round_significant(digits)),
            Bounded(low, high) => Coefficient::interval(low.floor_significant(digits), -(-high).floor_significant(digits)),
        }
    }

    /// A short interval around it.
    fn round_outward(&self) -> Coefficient {
        let (low, high) = (truncate_down(self.low()), -truncate_down(&-self.high()));
        Coefficient::interval(low, high)
    }
}

/// A short number at or below this one.
fn truncate_down(value: &Rational) -> Rational {
    let size = |part: Rational| part.bits() as i64;
    let scale = Rational::power_of_two(KEPT_BITS as i64 - size(value.numerator()) + size(value.denominator()));
    (value * &scale).floor().checked_div(&scale).expect("a power of two is not zero")
}

impl fmt::Display for Coefficient {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exact(value) => write!(out, "{value}"),
            Bounded(low, high) => write!(out, "[{low}, {high}]"),
        }
    }
}

impl fmt::Debug for Coefficient {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}
