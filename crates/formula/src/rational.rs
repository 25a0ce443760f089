//! Exact rational numbers.
//!
//! A coefficient measured as 0.0879182 must still be that after a formula was simplified, printed and parsed, so formulas store fractions,
//! never floats. Most fractions fit two machine words; the others use big integers.

use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, Mul, Neg, Sub};

use num_bigint::{BigInt, BigUint, Sign};
use num_integer::Integer;
use num_rational::Ratio;
use num_traits::{One, Pow, Signed, ToPrimitive, Zero};

/// The maximum size, in bits of numerator and denominator together, of a product of exact numbers.
///
/// Larger products stay unevaluated: no float needs them, and they would exhaust memory.
pub(crate) const MAX_BITS: u64 = 4_096;

/// The maximum number of digits, and the largest power of ten, of a number in text.
const MAX_DIGITS: usize = 1_300;

/// Decimals with more digits than a float needs are printed as fractions.
const DECIMAL_DIGITS: usize = 17;

/// Fractions of smaller numbers stay fractions when rounded to significant digits.
const SIMPLE_FRACTION_LIMIT: i64 = 1_000;

/// Decimals with more leading zeros are printed in scientific notation.
const MAX_LEADING_ZEROS: i64 = 3;

/// A fraction in lowest terms.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Rational(RationalRepr);

/// `Small` whenever numerator and denominator fit, so that equal numbers have equal representations.
#[derive(Clone, PartialEq, Eq, Hash)]
enum RationalRepr {
    Small { numerator: i64, denominator: i64 },
    Big(Box<Ratio<BigInt>>),
}
use RationalRepr::{Big, Small};

impl Rational {
    /// Zero.
    pub const ZERO: Rational = Rational(Small { numerator: 0, denominator: 1 });
    /// One.
    pub const ONE: Rational = Rational(Small { numerator: 1, denominator: 1 });
    /// One half.
    pub const HALF: Rational = Rational(Small { numerator: 1, denominator: 2 });

    /// The fraction `numerator / denominator`; `None` if the denominator is zero.
    pub fn new(numerator: i64, denominator: i64) -> Option<Rational> {
        (denominator != 0).then(|| from_i128(i128::from(numerator), i128::from(denominator)))
    }

    /// The shortest decimal that parses as this float; `None` if it is not finite.
    pub fn from_f64_shortest(value: f64) -> Option<Rational> {
        if !value.is_finite() {
            return None;
        }
        Rational::parse(&format!("{value:e}"))
    }

    /// The exact value of the float; `None` if it is not finite.
    pub fn from_f64_exact(value: f64) -> Option<Rational> {
        if !value.is_finite() {
            return None;
        }
        let (bits, field) = (value.to_bits(), (value.to_bits() >> 52) & 0x7ff);
        let mantissa = (bits & ((1 << 52) - 1)) | if field == 0 { 0 } else { 1 << 52 };
        let power = field.max(1) as i64 - 1075;
        let zeros = i64::from(mantissa.trailing_zeros()).min(-power);
        if mantissa != 0 && power <= 0 && (-62..=0).contains(&(power + zeros)) {
            let numerator = (mantissa >> zeros) as i64;
            return Some(Rational(Small {
                numerator: if value < 0.0 { -numerator } else { numerator },
                denominator: 1 << -(power + zeros),
            }));
        }
        let signed = BigInt::from(mantissa) * if value < 0.0 { -1 } else { 1 };
        let scale = BigInt::one() << power.unsigned_abs();
        Some(if power < 0 { Ratio::new(signed, scale) } else { Ratio::from_integer(signed * scale) }.into())
    }

    /// Parses `12`, `0.5` or `2.12e-7`; `None` if it is no number or has too many digits.
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
        let limit = MAX_DIGITS as i64;
        if all.is_empty() || all.len() > MAX_DIGITS || power.abs() > limit || !all.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let power = power - part.len() as i64;
        if let (Ok(digits), Some(scale)) = (all.parse::<i64>(), 10i64.checked_pow(power.unsigned_abs() as u32)) {
            let digits = if negative { -digits } else { digits };
            return Some(if power < 0 {
                from_i128(digits.into(), scale.into())
            } else {
                from_i128(i128::from(digits) * i128::from(scale), 1)
            });
        }
        let mantissa = BigInt::from_biguint(if negative { Sign::Minus } else { Sign::Plus }, BigUint::parse_bytes(all.as_bytes(), 10)?);
        let scale = Pow::pow(BigInt::from(10), power.unsigned_abs());
        Some(if power < 0 { Ratio::new(mantissa, scale) } else { Ratio::from_integer(mantissa * scale) }.into())
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.0 == Small { numerator: 0, denominator: 1 }
    }

    /// Whether it is one.
    pub fn is_one(&self) -> bool {
        self.0 == Small { numerator: 1, denominator: 1 }
    }

    /// Whether it is an integer.
    pub fn is_integer(&self) -> bool {
        match &self.0 {
            Small { denominator, .. } => *denominator == 1,
            Big(ratio) => ratio.is_integer(),
        }
    }

    /// Whether it is an even integer.
    pub fn is_even(&self) -> bool {
        match &self.0 {
            Small { numerator, denominator } => *denominator == 1 && numerator % 2 == 0,
            Big(ratio) => ratio.is_integer() && ratio.numer().is_even(),
        }
    }

    /// Its sign, compared with zero.
    pub fn sign(&self) -> Ordering {
        match &self.0 {
            Small { numerator, .. } => numerator.cmp(&0),
            Big(ratio) => ratio.numer().cmp(&BigInt::zero()),
        }
    }

    /// Whether it is negative.
    pub fn is_negative(&self) -> bool {
        self.sign().is_lt()
    }

    /// The absolute value.
    pub fn abs(&self) -> Rational {
        if self.is_negative() { -self } else { self.clone() }
    }

    /// The largest integer not greater than it.
    pub fn floor(&self) -> Rational {
        match &self.0 {
            Small { numerator, denominator } => Rational::from(numerator.div_euclid(*denominator)),
            Big(ratio) => ratio.floor().into(),
        }
    }

    /// The smallest integer not less than it.
    pub fn ceil(&self) -> Rational {
        -(-self).floor()
    }

    /// The reciprocal; `None` for zero.
    pub fn recip(&self) -> Option<Rational> {
        match &self.0 {
            Small { numerator: 0, .. } => None,
            Small { numerator, denominator } => Some(from_i128(i128::from(*denominator), i128::from(*numerator))),
            Big(ratio) => Some(ratio.recip().into()),
        }
    }

    /// The quotient; `None` if the other is zero.
    pub fn checked_div(&self, other: &Rational) -> Option<Rational> {
        Some(self * &other.recip()?)
    }

    /// Its value as an `i64`, if it is an integer and fits.
    pub fn to_i64(&self) -> Option<i64> {
        match self.0 {
            Small { numerator, denominator: 1 } => Some(numerator),
            _ => None,
        }
    }

    /// Its numerator.
    pub fn numerator(&self) -> Rational {
        match &self.0 {
            Small { numerator, .. } => Rational::from(*numerator),
            Big(ratio) => Ratio::from_integer(ratio.numer().clone()).into(),
        }
    }

    /// Its positive denominator.
    pub fn denominator(&self) -> Rational {
        match &self.0 {
            Small { denominator, .. } => Rational::from(*denominator),
            Big(ratio) => Ratio::from_integer(ratio.denom().clone()).into(),
        }
    }

    /// The numerator and denominator as printed; the denominator is one if it is printed as a decimal.
    pub(crate) fn printed_fraction(&self) -> (Rational, Rational) {
        match decimal_digits(&self.to_big_ratio()) {
            Some(_) => (self.clone(), Rational::ONE),
            None => (self.numerator(), self.denominator()),
        }
    }

    /// The nearest number with `digits` significant digits; integers and simple fractions are kept.
    pub(crate) fn round_significant(&self, digits: usize) -> Rational {
        self.round_digits(digits, |scaled| (scaled + &Rational::HALF).floor())
    }

    /// The next lower number with `digits` significant digits; integers and simple fractions are kept.
    pub(crate) fn floor_significant(&self, digits: usize) -> Rational {
        self.round_digits(digits, Rational::floor)
    }

    fn round_digits(&self, digits: usize, round: impl Fn(&Rational) -> Rational) -> Rational {
        let (numerator, denominator) = self.printed_fraction();
        let simple = !denominator.is_one() && numerator.abs().max(denominator) < Rational::from(SIMPLE_FRACTION_LIMIT);
        let leading = self.to_f64().abs().log10();
        if self.is_integer() || simple || !leading.is_finite() {
            return self.clone();
        }
        let places = digits.clamp(1, DECIMAL_DIGITS) as i64 - 1 - leading.floor() as i64;
        let scale = Rational::from(10).power(places);
        scale.and_then(|scale| round(&(self * &scale)).checked_div(&scale)).unwrap_or_else(|| self.clone())
    }

    /// Bits of numerator and denominator together.
    pub(crate) fn bits(&self) -> u64 {
        match &self.0 {
            Small { numerator, denominator } => u64::from(128 - numerator.unsigned_abs().leading_zeros() - denominator.leading_zeros()),
            Big(ratio) => ratio.numer().bits() + ratio.denom().bits(),
        }
    }

    /// An integer power; `None` if it is undefined or too large to store.
    pub fn power(&self, exponent: i64) -> Option<Rational> {
        if exponent < 0 {
            return self.recip()?.power(exponent.checked_neg()?);
        }
        let size = if self.abs().is_one() || self.is_zero() { 0 } else { self.bits().saturating_mul(exponent.unsigned_abs()) };
        (size <= MAX_BITS).then(|| self.pow_by_squaring(exponent.unsigned_abs()))
    }

    fn pow_by_squaring(&self, mut exponent: u64) -> Rational {
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

    /// A power of two of any size; the caller limits the size.
    pub(crate) fn power_of_two(exponent: i64) -> Rational {
        let power = Ratio::from_integer(BigInt::one() << exponent.unsigned_abs());
        if exponent < 0 { power.recip().into() } else { power.into() }
    }

    /// The integer whose given power this is, if there is one.
    pub(crate) fn integer_root(&self, degree: u32) -> Option<Rational> {
        if degree == 1 {
            return Some(self.clone()).filter(|whole| whole.is_integer() && !whole.is_negative());
        }
        let number = self.to_natural()?;
        let root = number.nth_root(degree);
        (Pow::pow(&root, degree) == number).then(|| Ratio::from_integer(root).into())
    }

    /// Its numerator, if it is a nonnegative integer.
    fn to_natural(&self) -> Option<BigInt> {
        (self.is_integer() && !self.is_negative()).then(|| self.to_big_ratio().numer().clone())
    }

    /// The multiplicity of a small divisor in this integer, and the cofactor.
    pub(crate) fn remove_factor(&self, divisor: u32) -> (i64, Rational) {
        match &self.0 {
            Small { numerator, denominator: 1 } if *numerator != 0 => {
                let (mut times, mut rest) = (0, *numerator);
                while rest % i64::from(divisor) == 0 {
                    (times, rest) = (times + 1, rest / i64::from(divisor));
                }
                (times, Rational::from(rest))
            }
            Big(ratio) if ratio.is_integer() => {
                let (times, rest) = remove_big_factor(ratio.numer().clone(), divisor);
                (times, Ratio::from_integer(rest).into())
            }
            _ => (0, self.clone()),
        }
    }

    /// The greatest rational of which both are integer multiples.
    pub(crate) fn gcd(&self, other: &Rational) -> Rational {
        let (a, b) = (self.to_big_ratio(), other.to_big_ratio());
        Ratio::new(a.numer().gcd(b.numer()), a.denom().lcm(b.denom())).into()
    }

    fn to_big_ratio(&self) -> Ratio<BigInt> {
        match &self.0 {
            Small { numerator, denominator } => Ratio::new_raw(BigInt::from(*numerator), BigInt::from(*denominator)),
            Big(ratio) => (**ratio).clone(),
        }
    }

    /// The nearest float; infinite if it overflows.
    pub fn to_f64(&self) -> f64 {
        self.to_f64_bounds().2
    }

    /// The float at or below it, whether that is exact, and the nearest float.
    pub(crate) fn to_f64_bounds(&self) -> (f64, bool, f64) {
        const PLAIN: i64 = 1 << 53;
        if let Small { numerator, denominator } = self.0
            && numerator.abs() <= PLAIN
            && denominator <= PLAIN
        {
            let quotient = numerator as f64 / denominator as f64;
            let excess = quotient.mul_add(denominator as f64, -(numerator as f64));
            return (if excess > 0.0 { quotient.next_down() } else { quotient }, excess == 0.0, quotient);
        }
        let ratio = self.to_big_ratio();
        let (below, exact, near) = quotient_to_f64(ratio.numer().magnitude(), ratio.denom().magnitude());
        match (self.is_negative(), exact) {
            (false, _) => (below, exact, near),
            (true, true) => (-below, true, -near),
            (true, false) => (-below.next_up(), false, -near),
        }
    }
}

/// The multiplicity of a small divisor in a nonzero big integer, and the cofactor.
fn remove_big_factor(number: BigInt, divisor: u32) -> (i64, BigInt) {
    let (mut times, mut rest) = (0, number);
    // Chunks of several factors first: large numbers here are mostly powers of ten.
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

/// The float at or below a positive quotient of big integers, whether that is exact, and the nearest float.
fn quotient_to_f64(numerator: &BigUint, denominator: &BigUint) -> (f64, bool, f64) {
    // A quotient of 64 or 65 bits: the first 53 are the mantissa, the rest and the remainder determine the rounding.
    let shift = 64 + denominator.bits() as i64 - numerator.bits() as i64;
    let (quotient, remainder) =
        if shift >= 0 { (numerator << shift).div_rem(denominator) } else { numerator.div_rem(&(denominator << -shift)) };
    let top = quotient.bits() as i64 - 1 - shift;
    if top > 1023 {
        return (f64::MAX, false, f64::INFINITY);
    }
    // Subnormal floats have fewer than 53 bits.
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

/// The fraction in lowest terms with a positive denominator; `denominator` is nonzero.
fn from_i128(numerator: i128, denominator: i128) -> Rational {
    let divisor = numerator.unsigned_abs().gcd(&denominator.unsigned_abs());
    let negative = (numerator < 0) != (denominator < 0);
    let (numerator, denominator) = (numerator.unsigned_abs() / divisor, denominator.unsigned_abs() / divisor);
    match (i64::try_from(numerator), i64::try_from(denominator)) {
        (Ok(numerator), Ok(denominator)) => Rational(Small { numerator: if negative { -numerator } else { numerator }, denominator }),
        _ => {
            let sign = if negative { Sign::Minus } else { Sign::Plus };
            Rational(Big(Box::new(Ratio::new_raw(BigInt::from_biguint(sign, numerator.into()), denominator.into()))))
        }
    }
}

impl From<Ratio<BigInt>> for Rational {
    fn from(ratio: Ratio<BigInt>) -> Rational {
        match (ratio.numer().to_i64(), ratio.denom().to_i64()) {
            (Some(numerator), Some(denominator)) if numerator > i64::MIN => Rational(Small { numerator, denominator }),
            _ => Rational(Big(Box::new(ratio))),
        }
    }
}

impl From<i64> for Rational {
    fn from(value: i64) -> Rational {
        if value == i64::MIN {
            Ratio::from_integer(BigInt::from(value)).into()
        } else {
            Rational(Small { numerator: value, denominator: 1 })
        }
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
            (Small { numerator: a, denominator: b }, Small { numerator: c, denominator: d }) => {
                (i128::from(*a) * i128::from(*d)).cmp(&(i128::from(*c) * i128::from(*b)))
            }
            _ => self.to_big_ratio().cmp(&other.to_big_ratio()),
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
            Small { numerator, denominator } => Rational(Small { numerator: -numerator, denominator: *denominator }),
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
            (Small { numerator: a, denominator: 1 }, Small { numerator: b, denominator: 1 }) => match a.checked_add(*b) {
                Some(sum) => Rational::from(sum),
                None => from_i128(i128::from(*a) + i128::from(*b), 1),
            },
            (Small { numerator: a, denominator: b }, Small { numerator: c, denominator: d }) => {
                let (a, b, c, d) = (i128::from(*a), i128::from(*b), i128::from(*c), i128::from(*d));
                from_i128(a * d + c * b, b * d)
            }
            _ => (self.to_big_ratio() + other.to_big_ratio()).into(),
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
            (Small { numerator: a, denominator: b }, Small { numerator: c, denominator: d }) => {
                from_i128(i128::from(*a) * i128::from(*c), i128::from(*b) * i128::from(*d))
            }
            // Integers need no reduction.
            _ if self.is_integer() && other.is_integer() => {
                Ratio::from_integer(self.to_big_ratio().numer() * other.to_big_ratio().numer()).into()
            }
            _ => (self.to_big_ratio() * other.to_big_ratio()).into(),
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
    /// A decimal if it terminates after few digits, a fraction otherwise; both parse back exactly.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match decimal_digits(&self.to_big_ratio()) {
            Some((digits, power)) => write_decimal(out, self.is_negative(), &digits, power),
            None => write!(out, "{}/{}", self.to_big_ratio().numer(), self.to_big_ratio().denom()),
        }
    }
}

impl fmt::Debug for Rational {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// The significant digits and the power of ten of the last one, if the fraction terminates and is short enough for a decimal.
fn decimal_digits(ratio: &Ratio<BigInt>) -> Option<(String, i64)> {
    let (twos, rest) = remove_big_factor(ratio.denom().clone(), 2);
    let (fives, rest) = remove_big_factor(rest, 5);
    let places = u32::try_from(twos.max(fives)).ok().filter(|places| *places as usize <= MAX_DIGITS)?;
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

/// Writes `digits * 10^power` in plain notation if that is short, in scientific notation otherwise.
fn write_decimal(out: &mut fmt::Formatter<'_>, negative: bool, digits: &str, power: i64) -> fmt::Result {
    if negative {
        out.write_str("-")?;
    }
    let leading = digits.len() as i64 - 1 + power;
    if power >= 0 && leading < 16 {
        return write!(out, "{digits}{}", "0".repeat(power as usize));
    }
    if power < 0 && (-MAX_LEADING_ZEROS - 1..16).contains(&leading) {
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
