//! Interval arithmetic with outward rounding.
//!
//! An interval contains every value that the true result can have. Sums, products, quotients and square roots are rounded outward by the
//! sign of their exact rounding error, so that exact results stay exact; powers and logarithms by [`LIBM_ULPS`], which exceeds the error of
//! the system's library.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::rational::Rational;

/// By how many units in the last place results of the math library are widened. The libraries in use promise one.
pub const LIBM_ULPS: u32 = 4;

/// Below this magnitude the rounding error itself may underflow, so results are always widened.
const NEAR_UNDERFLOW: f64 = 1e-280;

/// All numbers from `low` to `high`. The bounds may be infinite, never NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    low: f64,
    high: f64,
}

impl Interval {
    /// All real numbers.
    pub const ALL: Interval = Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };
    /// All nonnegative numbers.
    pub const NONNEGATIVE: Interval = Interval { low: 0.0, high: f64::INFINITY };
    /// Only zero.
    pub const ZERO: Interval = Interval { low: 0.0, high: 0.0 };
    /// Only one.
    pub const ONE: Interval = Interval { low: 1.0, high: 1.0 };

    /// The interval from `low` to `high`; `None` if `low > high`, if one of them is NaN, or if no number lies between them.
    pub fn new(low: f64, high: f64) -> Option<Interval> {
        (low <= high && low < f64::INFINITY && high > f64::NEG_INFINITY).then_some(Interval { low, high })
    }

    /// A single number. NaN gives all numbers, infinity the numbers beyond the largest float.
    pub fn point(value: f64) -> Interval {
        Interval::from_bounds(value, value)
    }

    /// An interval from computed bounds; a bound that is NaN is taken as unknown.
    pub(crate) fn from_bounds(low: f64, high: f64) -> Interval {
        let low = if low.is_nan() { f64::NEG_INFINITY } else { low.min(f64::MAX) };
        let high = if high.is_nan() { f64::INFINITY } else { high.max(f64::MIN) };
        Interval { low, high }
    }

    /// The lower bound.
    pub fn low(self) -> f64 {
        self.low
    }

    /// The upper bound.
    pub fn high(self) -> f64 {
        self.high
    }

    /// A number in the middle, finite even if the bounds are not.
    pub fn midpoint(self) -> f64 {
        if self.low == self.high {
            return self.low;
        }
        match (self.low.is_finite(), self.high.is_finite()) {
            (true, true) => (self.low / 2.0 + self.high / 2.0).clamp(self.low, self.high),
            (true, false) => self.low.max(0.0),
            (false, true) => self.high.min(0.0),
            (false, false) => 0.0,
        }
    }

    /// The distance between the bounds, rounded up.
    pub fn width(self) -> f64 {
        if self.low == self.high { 0.0 } else { (self - Interval::point(self.low)).high }
    }

    /// Whether it is a single number.
    pub fn is_point(self) -> bool {
        self.low == self.high
    }

    /// Whether it contains the number.
    pub fn contains(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Whether it contains the whole other interval.
    pub fn contains_interval(self, other: Interval) -> bool {
        self.low <= other.low && other.high <= self.high
    }

    /// The largest absolute value in it.
    pub fn magnitude(self) -> f64 {
        self.low.abs().max(self.high.abs())
    }

    /// The smallest interval that contains both.
    pub fn hull(self, other: Interval) -> Interval {
        Interval { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// The numbers in both; `None` if the intervals are disjoint.
    pub fn intersection(self, other: Interval) -> Option<Interval> {
        Interval::new(self.low.max(other.low), self.high.min(other.high))
    }

    /// The minimum of a number of each interval.
    pub fn min(self, other: Interval) -> Interval {
        Interval { low: self.low.min(other.low), high: self.high.min(other.high) }
    }

    /// The maximum of a number of each interval.
    pub fn max(self, other: Interval) -> Interval {
        Interval { low: self.low.max(other.low), high: self.high.max(other.high) }
    }

    /// Its numbers rounded up to integers.
    pub fn ceil(self) -> Interval {
        Interval { low: self.low.ceil(), high: self.high.ceil() }
    }

    /// Its numbers rounded down to integers.
    pub fn floor(self) -> Interval {
        Interval { low: self.low.floor(), high: self.high.floor() }
    }

    /// The base-two logarithms of its positive numbers; `None` if there are none.
    pub fn log2(self) -> Option<Interval> {
        if self.high <= 0.0 {
            return None;
        }
        let low = if self.low <= 0.0 { f64::NEG_INFINITY } else { log2_bounds(self.low).low };
        Some(Interval { low, high: log2_bounds(self.high).high })
    }

    /// The natural logarithms of its positive numbers; `None` if there are none.
    pub fn ln(self) -> Option<Interval> {
        if self.high <= 0.0 {
            return None;
        }
        let low = if self.low <= 0.0 { f64::NEG_INFINITY } else { ln_bounds(self.low).low };
        Some(Interval { low, high: ln_bounds(self.high).high })
    }

    /// Two to the power of its numbers.
    pub fn exp2(self) -> Interval {
        Interval { low: exp2_bounds(self.low).low, high: exp2_bounds(self.high).high }
    }

    /// An integer power. If the interval contains zero, even powers start at zero and negative ones are unbounded.
    pub fn powi(self, exponent: i64) -> Interval {
        if exponent < 0 {
            let below = self.powi(exponent.saturating_neg());
            return Interval::ONE / below;
        }
        if exponent % 2 == 1 {
            return Interval { low: power_bounds(self.low, exponent).low, high: power_bounds(self.high, exponent).high };
        }
        let (low, high) = (power_bounds(self.low, exponent), power_bounds(self.high, exponent));
        if self.contains(0.0) && exponent > 0 {
            return Interval { low: 0.0, high: low.high.max(high.high) };
        }
        Interval { low: low.low.min(high.low), high: low.high.max(high.high) }
    }

    /// A rational power of its nonnegative numbers; `None` if there are none.
    ///
    /// Integer exponents allow negative numbers. `None` also for a negative power of exactly zero.
    pub fn powr(self, exponent: &Rational) -> Option<Interval> {
        if exponent.is_negative() {
            let below = self.powr(&-exponent)?;
            return (below != Interval::ZERO).then(|| Interval::ONE / below);
        }
        if exponent.is_integer() {
            return Some(match exponent.to_i64() {
                Some(exponent) => self.powi(exponent),
                None if self.magnitude() <= 1.0 => Interval { low: -1.0, high: 1.0 },
                None => Interval::ALL,
            });
        }
        if self.high < 0.0 {
            return None;
        }
        let base = Interval { low: self.low.max(0.0), high: self.high };
        let whole = exponent.floor();
        let part = (exponent - &whole).to_interval();
        let low = root_bounds(base.low, part).low;
        let high = root_bounds(base.high, part).high;
        Some(Interval { low, high } * base.powr(&whole)?)
    }
}

/// The sum of two numbers rounded down; the sum itself if exact.
fn add_down(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let other = sum - a;
    let error = (a - (sum - other)) + (b - other);
    // If a sum of finite numbers overflows, its error says nothing.
    if error < 0.0 || (sum.is_infinite() && a.is_finite() && b.is_finite()) { sum.next_down() } else { sum }
}

/// The product of two numbers rounded down; the product itself if exact.
fn mul_down(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 {
        return 0.0;
    }
    let product = a * b;
    if product.is_infinite() {
        return if a.is_infinite() || b.is_infinite() || product < 0.0 { product } else { f64::MAX };
    }
    if a.mul_add(b, -product) < 0.0 || product.abs() < NEAR_UNDERFLOW { product.next_down() } else { product }
}

/// The quotient of two numbers rounded down; the quotient itself if exact. The divisor is nonzero.
fn div_down(a: f64, b: f64) -> f64 {
    if a == 0.0 {
        return 0.0;
    }
    let quotient = a / b;
    if b.is_infinite() || a.is_infinite() {
        // Infinity over infinity is unknown; a number over infinity is next to zero, on its side.
        return match (a.is_infinite(), b.is_infinite()) {
            (true, true) if (a > 0.0) == (b > 0.0) => 0.0,
            (true, true) => f64::NEG_INFINITY,
            (false, true) if (a > 0.0) != (b > 0.0) => -f64::MIN_POSITIVE,
            _ => quotient,
        };
    }
    if quotient.is_infinite() {
        return if quotient < 0.0 { quotient } else { f64::MAX };
    }
    let error = (-quotient).mul_add(b, a);
    if (error < 0.0) == (b > 0.0) && error != 0.0 || quotient.abs() < NEAR_UNDERFLOW || a.abs() < NEAR_UNDERFLOW {
        quotient.next_down()
    } else {
        quotient
    }
}

/// A result of the math library widened by its possible error.
fn widen_ulps(value: f64) -> Interval {
    let (mut low, mut high) = (value, value);
    for _ in 0..LIBM_ULPS {
        low = low.next_down();
        high = high.next_up();
    }
    Interval::from_bounds(low, high)
}

/// The exponent of a float that is a power of two.
fn power_of_two(value: f64) -> Option<f64> {
    let normal = value.is_normal() && value.to_bits() & ((1 << 52) - 1) == 0;
    normal.then(|| ((value.to_bits() >> 52) & 0x7ff) as f64 - 1023.0)
}

fn log2_bounds(value: f64) -> Interval {
    match power_of_two(value) {
        Some(exponent) => Interval::point(exponent),
        None => widen_ulps(value.log2()),
    }
}

fn ln_bounds(value: f64) -> Interval {
    if value == 1.0 { Interval::ZERO } else { widen_ulps(value.ln()) }
}

fn exp2_bounds(value: f64) -> Interval {
    if value.fract() == 0.0 && value.abs() < 1000.0 {
        return Interval::point(value.exp2());
    }
    let result = widen_ulps(value.exp2());
    Interval { low: result.low.max(0.0), high: result.high }
}

/// An integer power of one number by repeated squaring, rounded outward at every step.
fn power_bounds(base: f64, exponent: i64) -> Interval {
    let (mut result, mut square, mut rest) = (Interval::ONE, Interval::point(base.abs()), exponent);
    while rest > 0 {
        if rest % 2 == 1 {
            result = result * square;
        }
        rest /= 2;
        if rest > 0 {
            square = square * square;
        }
    }
    if base < 0.0 && exponent % 2 == 1 { -result } else { result }
}

/// A power of one nonnegative number with an exponent between zero and one.
fn root_bounds(base: f64, exponent: Interval) -> Interval {
    if base == 0.0 || base == 1.0 {
        return Interval::point(base);
    }
    if exponent == Interval::point(0.5) {
        let root = base.sqrt();
        let error = (-root).mul_add(root, base);
        let low = if error < 0.0 || base < NEAR_UNDERFLOW { root.next_down() } else { root };
        let high = if error > 0.0 || base < NEAR_UNDERFLOW { root.next_up() } else { root };
        return Interval { low, high };
    }
    let result = widen_ulps(base.powf(exponent.low)).hull(widen_ulps(base.powf(exponent.high)));
    Interval { low: result.low.max(0.0), high: result.high }
}

impl Neg for Interval {
    type Output = Interval;
    fn neg(self) -> Interval {
        Interval { low: -self.high, high: -self.low }
    }
}

impl Add for Interval {
    type Output = Interval;
    fn add(self, other: Interval) -> Interval {
        Interval::from_bounds(add_down(self.low, other.low), -add_down(-self.high, -other.high))
    }
}

impl Sub for Interval {
    type Output = Interval;
    fn sub(self, other: Interval) -> Interval {
        self + -other
    }
}

impl Mul for Interval {
    type Output = Interval;
    fn mul(self, other: Interval) -> Interval {
        if self.low >= 0.0 && other.low >= 0.0 {
            return Interval::from_bounds(mul_down(self.low, other.low), -mul_down(-self.high, other.high));
        }
        corner_hull(self, other, mul_down)
    }
}

impl Div for Interval {
    type Output = Interval;
    /// All quotients of their numbers; unbounded on the side where the divisor reaches zero.
    fn div(self, other: Interval) -> Interval {
        if !other.contains(0.0) {
            return corner_hull(self, other, div_down);
        }
        if self == Interval::ZERO && other != Interval::ZERO {
            return Interval::ZERO;
        }
        // The divisor touches zero on one side only: the quotients have the sign of the dividend and one bound.
        let (positive, negative) = (other.low >= 0.0 && other.high > 0.0, other.high <= 0.0 && other.low < 0.0);
        match (self.low >= 0.0, self.high <= 0.0) {
            (true, _) if positive => Interval::from_bounds(div_down(self.low, other.high), f64::INFINITY),
            (true, _) if negative => Interval::from_bounds(f64::NEG_INFINITY, -div_down(self.low, -other.low)),
            (_, true) if positive => Interval::from_bounds(f64::NEG_INFINITY, -div_down(-self.high, other.high)),
            (_, true) if negative => Interval::from_bounds(div_down(-self.high, -other.low), f64::INFINITY),
            _ => Interval::ALL,
        }
    }
}

/// The hull of an operation on the four pairs of bounds.
fn corner_hull(a: Interval, b: Interval, down: fn(f64, f64) -> f64) -> Interval {
    if a.is_point() && b.is_point() {
        return Interval::from_bounds(down(a.low, b.low), -down(-a.low, b.low));
    }
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for x in [a.low, a.high] {
        for y in [b.low, b.high] {
            low = low.min(down(x, y));
            high = high.max(-down(-x, y));
        }
    }
    Interval::from_bounds(low, high)
}

impl Rational {
    /// The narrowest pair of floats around it.
    pub fn to_interval(&self) -> Interval {
        let (down, exact, _) = self.to_f64_bounds();
        if exact { Interval::point(down) } else { Interval::from_bounds(down, down.next_up()) }
    }
}
