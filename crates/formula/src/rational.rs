//! Exact numbers.
//!
//! A coefficient that was measured as 0.0879182 must still be that after a formula was simplified, printed and parsed: formulas hold
//! fractions, never floats. Most fractions fit two machine words; those that do not go to big integers.

use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, Mul, Neg, Sub};

use num_bigint::{BigInt, BigUint, Sign};
use num_integer::Integer;
use num_rational::Ratio;
use num_traits::{One, Pow, Signed, ToPrimitive, Zero};

use crate::interval::Interval;

/// The largest size, in bits of numerator and denominator together, that a product of exact numbers may have.
///
/// Larger products stay unevaluated in formulas: nothing that a float can hold needs them, and they would fill the memory.
pub(crate) const MOST_BITS: u64 = 4_096;

/// The most digits, and the largest power of ten, that a written number may have.
const MOST_DIGITS: usize = 1_300;

/// Decimals with more digits than a float needs are written as fractions.
const DECIMAL_DIGITS: usize = 17;

/// Fractions of numbers below this stay fractions when digits are cut off.
const SIMPLE: i64 = 1_000;

/// Decimals with more zeros behind the point are written with a power of ten.
const MOST_ZEROS: i64 = 3;

/// A fraction in lowest terms.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Rational(Size);

/// `Small` whenever numerator and denominator fit, so that equal numbers are equal values.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Size {
    Small { over: i64, under: i64 },
    Big(Box<Ratio<BigInt>>),
}
use Size::{Big, Small};

impl Rational {
    /// Zero.
    pub const ZERO: Rational = Rational(Small { over: 0, under: 1 });
    /// One.
    pub const ONE: Rational = Rational(Small { over: 1, under: 1 });
    /// One half.
    pub const HALF: Rational = Rational(Small { over: 1, under: 2 });

    /// The fraction `over / under`, or nothing when `under` is zero.
    pub fn new(over: i64, under: i64) -> Option<Rational> {
        (under != 0).then(|| reduced(i128::from(over), i128::from(under)))
    }

    /// The shortest decimal that reads as this float, or nothing when it is not finite.
    pub fn decimal(value: f64) -> Option<Rational> {
        if !value.is_finite() {
            return None;
        }
        Rational::parse(&format!("{value:e}"))
    }

    /// The float itself, bit by bit, or nothing when it is not finite.
    pub fn exactly(value: f64) -> Option<Rational> {
        if !value.is_finite() {
            return None;
        }
        let (bits, field) = (value.to_bits(), (value.to_bits() >> 52) & 0x7ff);
        let mantissa = (bits & ((1 << 52) - 1)) | if field == 0 { 0 } else { 1 << 52 };
        let power = field.max(1) as i64 - 1075;
        let zeros = i64::from(mantissa.trailing_zeros()).min(-power);
        if mantissa != 0 && power <= 0 && (-62..=0).contains(&(power + zeros)) {
            let over = (mantissa >> zeros) as i64;
            return Some(Rational(Small { over: if value < 0.0 { -over } else { over }, under: 1 << -(power + zeros) }));
        }
        let signed = BigInt::from(mantissa) * if value < 0.0 { -1 } else { 1 };
        let scale = BigInt::one() << power.unsigned_abs();
        Some(if power < 0 { Ratio::new(signed, scale) } else { Ratio::from_integer(signed * scale) }.into())
    }

    /// Reads `12`, `0.5` or `2.12e-7`, or nothing when it is no number or too long to be one.
    pub fn parse(text: &str) -> Option<Rational> {
        let (digits, power) = match text.split_once(['e', 'E']) {
            Some((digits, power)) => (digits, power.parse::<i64>().ok()?),
            None => (text, 0),
        };
        let (negative, digits) = match digits.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, digits),
        };
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        let all = [whole, part].concat();
        let limit = MOST_DIGITS as i64;
        if all.is_empty() || all.len() > MOST_DIGITS || power.abs() > limit || !all.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let power = power - part.len() as i64;
        if let (Ok(digits), Some(scale)) = (all.parse::<i64>(), 10i64.checked_pow(power.unsigned_abs() as u32)) {
            let digits = if negative { -digits } else { digits };
            return Some(if power < 0 { reduced(digits.into(), scale.into()) } else { reduced(i128::from(digits) * i128::from(scale), 1) });
        }
        let mantissa = BigInt::from_biguint(if negative { Sign::Minus } else { Sign::Plus }, BigUint::parse_bytes(all.as_bytes(), 10)?);
        let scale = Pow::pow(BigInt::from(10), power.unsigned_abs());
        Some(if power < 0 { Ratio::new(mantissa, scale) } else { Ratio::from_integer(mantissa * scale) }.into())
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.0 == Small { over: 0, under: 1 }
    }

    /// Whether it is one.
    pub fn is_one(&self) -> bool {
        self.0 == Small { over: 1, under: 1 }
    }

    /// Whether it has no fractional part.
    pub fn is_whole(&self) -> bool {
        match &self.0 {
            Small { under, .. } => *under == 1,
            Big(ratio) => ratio.is_integer(),
        }
    }

    /// Whether it is whole and divisible by two.
    pub fn is_even(&self) -> bool {
        match &self.0 {
            Small { over, under } => *under == 1 && over % 2 == 0,
            Big(ratio) => ratio.is_integer() && ratio.numer().is_even(),
        }
    }

    /// Less than, equal to or greater than zero.
    pub fn sign(&self) -> Ordering {
        match &self.0 {
            Small { over, .. } => over.cmp(&0),
            Big(ratio) => ratio.numer().cmp(&BigInt::zero()),
        }
    }

    /// Whether it is below zero.
    pub fn is_negative(&self) -> bool {
        self.sign().is_lt()
    }

    /// Its distance from zero.
    pub fn abs(&self) -> Rational {
        if self.is_negative() { -self } else { self.clone() }
    }

    /// The greatest whole number that is not above it.
    pub fn floor(&self) -> Rational {
        match &self.0 {
            Small { over, under } => Rational::from(over.div_euclid(*under)),
            Big(ratio) => ratio.floor().into(),
        }
    }

    /// The least whole number that is not below it.
    pub fn ceil(&self) -> Rational {
        -(-self).floor()
    }

    /// One over it, or nothing when it is zero.
    pub fn inverse(&self) -> Option<Rational> {
        match &self.0 {
            Small { over: 0, .. } => None,
            Small { over, under } => Some(reduced(i128::from(*under), i128::from(*over))),
            Big(ratio) => Some(ratio.recip().into()),
        }
    }

    /// The quotient of the two, or nothing when the other is zero.
    pub fn over(&self, other: &Rational) -> Option<Rational> {
        Some(self * &other.inverse()?)
    }

    /// Its value as a machine integer, when it is whole and fits.
    pub fn to_i64(&self) -> Option<i64> {
        match self.0 {
            Small { over, under: 1 } => Some(over),
            _ => None,
        }
    }

    /// Its numerator as an exact number.
    pub fn numerator(&self) -> Rational {
        match &self.0 {
            Small { over, .. } => Rational::from(*over),
            Big(ratio) => Ratio::from_integer(ratio.numer().clone()).into(),
        }
    }

    /// Its denominator, which is positive, as an exact number.
    pub fn denominator(&self) -> Rational {
        match &self.0 {
            Small { under, .. } => Rational::from(*under),
            Big(ratio) => Ratio::from_integer(ratio.denom().clone()).into(),
        }
    }

    /// The number over the number under the line with which it is written: one when it is written as a decimal.
    pub(crate) fn as_written(&self) -> (Rational, Rational) {
        match decimal_digits(&self.big()) {
            Some(_) => (self.clone(), Rational::ONE),
            None => (self.numerator(), self.denominator()),
        }
    }

    /// The nearest number with so many significant digits; whole numbers and simple fractions stay as they are.
    pub(crate) fn shortened(&self, digits: usize) -> Rational {
        self.cut(digits, |scaled| (scaled + &Rational::HALF).floor())
    }

    /// The nearest number below with so many significant digits; whole numbers and simple fractions stay as they are.
    pub(crate) fn shortened_down(&self, digits: usize) -> Rational {
        self.cut(digits, Rational::floor)
    }

    fn cut(&self, digits: usize, round: impl Fn(&Rational) -> Rational) -> Rational {
        let (over, under) = self.as_written();
        let simple = !under.is_one() && over.abs().max(under) < Rational::from(SIMPLE);
        let leading = self.nearest().abs().log10();
        if self.is_whole() || simple || !leading.is_finite() {
            return self.clone();
        }
        let places = digits.clamp(1, DECIMAL_DIGITS) as i64 - 1 - leading.floor() as i64;
        let scale = Rational::from(10).power(places);
        scale.and_then(|scale| round(&(self * &scale)).over(&scale)).unwrap_or_else(|| self.clone())
    }

    /// Bits of numerator and denominator together.
    pub(crate) fn bits(&self) -> u64 {
        match &self.0 {
            Small { over, under } => u64::from(128 - over.unsigned_abs().leading_zeros() - under.leading_zeros()),
            Big(ratio) => ratio.numer().bits() + ratio.denom().bits(),
        }
    }

    /// A whole power, or nothing when it is undefined or too large to write down.
    pub fn power(&self, exponent: i64) -> Option<Rational> {
        if exponent < 0 {
            return self.inverse()?.power(exponent.checked_neg()?);
        }
        let size = if self.abs().is_one() || self.is_zero() { 0 } else { self.bits().saturating_mul(exponent.unsigned_abs()) };
        (size <= MOST_BITS).then(|| self.repeated(exponent.unsigned_abs()))
    }

    fn repeated(&self, mut exponent: u64) -> Rational {
        let (mut result, mut square) = (Rational::ONE, self.clone());
        while exponent > 0 {
            if exponent % 2 == 1 {
                result = &result * &square;
            }
            exponent /= 2;
            if exponent > 0 {
                square = &square * &square;
            }
        }
        result
    }

    /// A power of two of any size; the caller answers for the size.
    pub(crate) fn two_to(exponent: i64) -> Rational {
        let power = Ratio::from_integer(BigInt::one() << exponent.unsigned_abs());
        if exponent < 0 { power.recip().into() } else { power.into() }
    }

    /// The whole number whose given power is this one, when there is one.
    pub(crate) fn whole_root(&self, degree: u32) -> Option<Rational> {
        if degree == 1 {
            return Some(self.clone()).filter(|whole| whole.is_whole() && !whole.is_negative());
        }
        let number = self.whole()?;
        let root = number.nth_root(degree);
        (Pow::pow(&root, degree) == number).then(|| Ratio::from_integer(root).into())
    }

    /// Its numerator, when it is whole and not negative.
    fn whole(&self) -> Option<BigInt> {
        (self.is_whole() && !self.is_negative()).then(|| self.big().numer().clone())
    }

    /// How often a small number divides this whole number, and what is left then.
    pub(crate) fn divided_out(&self, divisor: u32) -> (i64, Rational) {
        match &self.0 {
            Small { over, under: 1 } if *over != 0 => {
                let (mut times, mut rest) = (0, *over);
                while rest % i64::from(divisor) == 0 {
                    (times, rest) = (times + 1, rest / i64::from(divisor));
                }
                (times, Rational::from(rest))
            }
            Big(ratio) if ratio.is_integer() => {
                let (times, rest) = divided_out(ratio.numer().clone(), divisor);
                (times, Ratio::from_integer(rest).into())
            }
            _ => (0, self.clone()),
        }
    }

    /// The greatest number that divides both a whole number of times.
    pub(crate) fn common(&self, other: &Rational) -> Rational {
        let (a, b) = (self.big(), other.big());
        Ratio::new(a.numer().gcd(b.numer()), a.denom().lcm(b.denom())).into()
    }

    fn big(&self) -> Ratio<BigInt> {
        match &self.0 {
            Small { over, under } => Ratio::new_raw(BigInt::from(*over), BigInt::from(*under)),
            Big(ratio) => (**ratio).clone(),
        }
    }

    /// The narrowest pair of floats around it.
    pub fn enclosing(&self) -> Interval {
        let (down, exact, _) = self.rounded();
        if exact { Interval::point(down) } else { Interval::between(down, down.next_up()) }
    }

    /// The float next to it; infinite when it is beyond all floats.
    pub fn nearest(&self) -> f64 {
        self.rounded().2
    }

    /// The float at or below it, whether that is exact, and the nearest float.
    fn rounded(&self) -> (f64, bool, f64) {
        const PLAIN: i64 = 1 << 53;
        if let Small { over, under } = self.0
            && over.abs() <= PLAIN
            && under <= PLAIN
        {
            let quotient = over as f64 / under as f64;
            let excess = quotient.mul_add(under as f64, -(over as f64));
            return (if excess > 0.0 { quotient.next_down() } else { quotient }, excess == 0.0, quotient);
        }
        let ratio = self.big();
        let (below, exact, near) = magnitude(ratio.numer().magnitude(), ratio.denom().magnitude());
        match (self.is_negative(), exact) {
            (false, _) => (below, exact, near),
            (true, true) => (-below, true, -near),
            (true, false) => (-below.next_up(), false, -near),
        }
    }
}

/// How often a small number divides a large one that is not zero, and what is left then.
fn divided_out(number: BigInt, divisor: u32) -> (i64, BigInt) {
    let (mut times, mut rest) = (0, number);
    // Many at once first: large numbers here are mostly powers of ten.
    let chunk = u32::MAX.ilog(divisor);
    for at_once in [chunk, 1] {
        let power = divisor.pow(at_once);
        loop {
            let (quotient, remainder) = rest.div_rem(&BigInt::from(power));
            if !remainder.is_zero() {
                break;
            }
            (times, rest) = (times + i64::from(at_once), quotient);
        }
    }
    (times, rest)
}

/// The float at or below a positive quotient of large integers, whether that is exact, and the nearest float.
fn magnitude(over: &BigUint, under: &BigUint) -> (f64, bool, f64) {
    // A quotient of 64 or 65 bits: the first 53 are the float, the others and the remainder say on which side the number lies.
    let shift = 64 + under.bits() as i64 - over.bits() as i64;
    let (quotient, remainder) = if shift >= 0 { (over << shift).div_rem(under) } else { over.div_rem(&(under << -shift)) };
    let top = quotient.bits() as i64 - 1 - shift;
    if top > 1023 {
        return (f64::MAX, false, f64::INFINITY);
    }
    // Floats near zero have fewer bits than 53.
    let missing = (-1022 - top).clamp(0, 54) as u64;
    let extra = quotient.bits() - 53 + missing;
    let mantissa = (&quotient >> extra).to_u64().expect("53 bits fit 64");
    let below =
        if missing > 0 { f64::from_bits(mantissa) } else { f64::from_bits((((top + 1023) as u64) << 52) | (mantissa & ((1 << 52) - 1))) };
    let rest = &quotient - (BigUint::from(mantissa) << extra);
    let exact = rest.is_zero() && remainder.is_zero();
    let up = match rest.cmp(&(BigUint::one() << (extra - 1))) {
        Ordering::Less => false,
        Ordering::Equal => !remainder.is_zero() || mantissa % 2 == 1,
        Ordering::Greater => true,
    };
    (below, exact, if up { below.next_up() } else { below })
}

/// The fraction in lowest terms with a positive denominator; `under` is not zero.
fn reduced(over: i128, under: i128) -> Rational {
    let divisor = over.unsigned_abs().gcd(&under.unsigned_abs());
    let negative = (over < 0) != (under < 0);
    let (over, under) = (over.unsigned_abs() / divisor, under.unsigned_abs() / divisor);
    match (i64::try_from(over), i64::try_from(under)) {
        (Ok(over), Ok(under)) => Rational(Small { over: if negative { -over } else { over }, under }),
        _ => {
            let sign = if negative { Sign::Minus } else { Sign::Plus };
            Rational(Big(Box::new(Ratio::new_raw(BigInt::from_biguint(sign, over.into()), under.into()))))
        }
    }
}

impl From<Ratio<BigInt>> for Rational {
    fn from(ratio: Ratio<BigInt>) -> Rational {
        match (ratio.numer().to_i64(), ratio.denom().to_i64()) {
            (Some(over), Some(under)) if over > i64::MIN => Rational(Small { over, under }),
            _ => Rational(Big(Box::new(ratio))),
        }
    }
}

impl From<i64> for Rational {
    fn from(value: i64) -> Rational {
        if value == i64::MIN { Ratio::from_integer(BigInt::from(value)).into() } else { Rational(Small { over: value, under: 1 }) }
    }
}

impl From<i32> for Rational {
    fn from(value: i32) -> Rational {
        Rational::from(i64::from(value))
    }
}

impl From<u32> for Rational {
    fn from(value: u32) -> Rational {
        Rational::from(i64::from(value))
    }
}

impl Ord for Rational {
    fn cmp(&self, other: &Rational) -> Ordering {
        match (&self.0, &other.0) {
            (Small { over: a, under: b }, Small { over: c, under: d }) => {
                (i128::from(*a) * i128::from(*d)).cmp(&(i128::from(*c) * i128::from(*b)))
            }
            _ => self.big().cmp(&other.big()),
        }
    }
}

impl PartialOrd for Rational {
    fn partial_cmp(&self, other: &Rational) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Neg for &Rational {
    type Output = Rational;
    fn neg(self) -> Rational {
        match &self.0 {
            Small { over, under } => Rational(Small { over: -over, under: *under }),
            Big(ratio) => Rational(Big(Box::new(-(**ratio).clone()))),
        }
    }
}

impl Neg for Rational {
    type Output = Rational;
    fn neg(self) -> Rational {
        -&self
    }
}

impl Add for &Rational {
    type Output = Rational;
    fn add(self, other: &Rational) -> Rational {
        match (&self.0, &other.0) {
            (Small { over: a, under: 1 }, Small { over: b, under: 1 }) => match a.checked_add(*b) {
                Some(sum) => Rational::from(sum),
                None => reduced(i128::from(*a) + i128::from(*b), 1),
            },
            (Small { over: a, under: b }, Small { over: c, under: d }) => {
                let (a, b, c, d) = (i128::from(*a), i128::from(*b), i128::from(*c), i128::from(*d));
                reduced(a * d + c * b, b * d)
            }
            _ => (self.big() + other.big()).into(),
        }
    }
}

impl Sub for &Rational {
    type Output = Rational;
    fn sub(self, other: &Rational) -> Rational {
        self + &-other
    }
}

impl Mul for &Rational {
    type Output = Rational;
    fn mul(self, other: &Rational) -> Rational {
        match (&self.0, &other.0) {
            (Small { over: a, under: b }, Small { over: c, under: d }) => {
                reduced(i128::from(*a) * i128::from(*c), i128::from(*b) * i128::from(*d))
            }
            // Whole numbers have no common divisor with what they are divided by, which is one.
            _ if self.is_whole() && other.is_whole() => Ratio::from_integer(self.big().numer() * other.big().numer()).into(),
            _ => (self.big() * other.big()).into(),
        }
    }
}

macro_rules! owned_operations {
    ($($operation:ident $method:ident),*) => {$(
        impl $operation for Rational {
            type Output = Rational;
            fn $method(self, other: Rational) -> Rational {
                (&self).$method(&other)
            }
        }
    )*};
}
owned_operations!(Add add, Sub sub, Mul mul);

impl fmt::Display for Rational {
    /// A decimal when it ends after few digits, a fraction otherwise: both read back exactly.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match decimal_digits(&self.big()) {
            Some((digits, power)) => write_decimal(out, self.is_negative(), &digits, power),
            None => write!(out, "{}/{}", self.big().numer(), self.big().denom()),
        }
    }
}

impl fmt::Debug for Rational {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// The significant digits and the power of ten of the last one, when the fraction ends and is worth writing as a decimal.
fn decimal_digits(ratio: &Ratio<BigInt>) -> Option<(String, i64)> {
    let (twos, rest) = divided_out(ratio.denom().clone(), 2);
    let (fives, rest) = divided_out(rest, 5);
    let places = u32::try_from(twos.max(fives)).ok().filter(|places| *places as usize <= MOST_DIGITS)?;
    if !rest.is_one() {
        return None;
    }
    let digits = (ratio.numer().abs() * Pow::pow(BigInt::from(10), places) / ratio.denom()).to_string();
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return Some(("0".to_owned(), 0));
    }
    let dropped = (digits.len() - significant.len()) as i64;
    (places == 0 || significant.len() <= DECIMAL_DIGITS).then(|| (significant.to_owned(), dropped - i64::from(places)))
}

/// Writes `digits * 10^power` plainly when that is short, with an exponent otherwise.
fn write_decimal(out: &mut fmt::Formatter<'_>, negative: bool, digits: &str, power: i64) -> fmt::Result {
    if negative {
        out.write_str("-")?;
    }
    let leading = digits.len() as i64 - 1 + power;
    if power >= 0 && leading < 16 {
        return write!(out, "{digits}{}", "0".repeat(power as usize));
    }
    if power < 0 && (-MOST_ZEROS - 1..16).contains(&leading) {
        return if leading < 0 {
            write!(out, "0.{}{digits}", "0".repeat((-leading - 1) as usize))
        } else {
            let (whole, part) = digits.split_at(leading as usize + 1);
            write!(out, "{whole}.{part}")
        };
    }
    let (first, others) = digits.split_at(1);
    if others.is_empty() { write!(out, "{first}e{leading}") } else { write!(out, "{first}.{others}e{leading}") }
}
