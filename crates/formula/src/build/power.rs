//! Powers with rational exponents.
//!
//! Symbols are not negative, so `(x^a)^b` is `x^(a*b)` for them and for everything built from them that cannot be negative. What may be
//! negative keeps its roots.

use super::product::{common_number, common_product, divided, finished, is_expandable, multiplied_out, product, without};
use crate::atom::{Atom, Kind};
use crate::formula::Formula;
use crate::monomial::{Factor, Monomial};
use crate::number::Number;
use crate::rational::Rational;

/// Numbers under roots are split into these and a rest, so that `8^(1/2)` and `2*2^(1/2)` are the same.
const PRIMES: [u32; 25] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97];

/// A power of a formula.
pub(crate) fn power(base: &Formula, exponent: &Rational) -> Formula {
    if exponent.is_zero() {
        return Formula::one();
    }
    if exponent.is_one() {
        return base.clone();
    }
    if let Some(number) = base.as_number() {
        return number_power(number, exponent);
    }
    match base.as_term() {
        Some((monomial, coefficient)) => term_power(coefficient, monomial, exponent),
        None => sum_power(base, exponent),
    }
}

fn term_power(coefficient: &Number, monomial: &Monomial, exponent: &Rational) -> Formula {
    if exponent.is_whole() {
        return product(&number_power(coefficient, exponent), &finished(one(), &monomial.raised(exponent)));
    }
    let merges = |factor: &Factor| factor.atom.is_nonnegative() || !factor.exponent.is_whole();
    let (sure, unsure) = (monomial.filtered(merges), monomial.filtered(|factor| !merges(factor)));
    let sure = finished(one(), &sure.raised(exponent));
    if unsure.is_one() {
        return product(&number_power(coefficient, exponent), &sure);
    }
    // A factor that may be negative keeps the sign of the number with it: their product may be positive.
    let (outside, inside) = match coefficient.exact() {
        Some(value) if value.is_negative() => (Number::Exact(-value), Number::Exact(Rational::from(-1))),
        Some(value) => (Number::Exact(value.clone()), one()),
        None => (one(), coefficient.clone()),
    };
    let rest = finished(inside, &unsure);
    let kept = match rest.len() {
        1 => Formula::from(Monomial::power(Atom::new(Kind::Group(rest)), exponent.clone())),
        _ => sum_power(&rest, exponent),
    };
    product(&product(&number_power(&outside, exponent), &sure), &kept)
}

fn one() -> Number {
    Number::Exact(Rational::ONE)
}

fn sum_power(base: &Formula, exponent: &Rational) -> Formula {
    if is_expandable(base, exponent) {
        return repeated(base, exponent.to_i64().unwrap_or(1));
    }
    let whole = exponent.is_whole();
    let common = common_product(base, |factor| whole || factor.is_nonnegative());
    if !common.is_one() {
        let rest = without(base, &common);
        return product(&term_power(&one(), &common, exponent), &power(&rest, exponent));
    }
    let content = common_number(base, whole);
    let group = Monomial::power(Atom::new(Kind::Group(divided(base, &content))), exponent.clone());
    product(&number_power(&Number::Exact(content), exponent), &Formula::from(group))
}

/// A power multiplied out. Its terms were counted, and there are fewer of them than products of terms on the way.
fn repeated(base: &Formula, exponent: i64) -> Formula {
    (1..exponent).fold(base.clone(), |result, _| multiplied_out(&result, base))
}

/// A power of a number: exact where it is a fraction, otherwise with the roots that remain.
pub(crate) fn number_power(base: &Number, exponent: &Rational) -> Formula {
    let kept = || Formula::from(Monomial::power(Atom::new(Kind::Group(Formula::number(base.clone()))), exponent.clone()));
    if base.is_one() || exponent.is_zero() {
        return Formula::one();
    }
    if let Some(value) = exponent.to_i64().and_then(|exponent| base.power(exponent)) {
        return Formula::number(value);
    }
    match base.exact() {
        Some(value) if value.is_zero() && !exponent.is_negative() => Formula::zero(),
        Some(value) if value.sign().is_gt() => {
            let over = whole_power(&value.numerator(), exponent);
            let under = whole_power(&value.denominator(), &-exponent);
            product(&over, &under)
        }
        _ => kept(),
    }
}

/// A power of a positive whole number, split into prime factors as far as they are small.
fn whole_power(base: &Rational, exponent: &Rational) -> Formula {
    let mut rest = base.clone();
    let mut result = Formula::one();
    for prime in PRIMES {
        let (times, left) = rest.divided_out(prime);
        if times > 0 {
            result = product(&result, &root(&Rational::from(prime), &(exponent * &Rational::from(times))));
            rest = left;
        }
    }
    let degree = exponent.denominator().to_i64().and_then(|degree| u32::try_from(degree).ok());
    match degree.and_then(|degree| rest.whole_root(degree)) {
        Some(exact) => product(&result, &root(&exact, &exponent.numerator())),
        None => product(&result, &root(&rest, exponent)),
    }
}

/// A power of a number without roots of its own: the whole part of the exponent is carried out, the rest stays.
fn root(base: &Rational, exponent: &Rational) -> Formula {
    if base.is_one() {
        return Formula::one();
    }
    let whole = exponent.floor();
    let (outside, inside) = match whole.to_i64().and_then(|whole| base.power(whole)) {
        Some(value) => (value, exponent - &whole),
        None => (Rational::ONE, exponent.clone()),
    };
    let group = Monomial::power(Atom::new(Kind::Group(Formula::exact(base.clone()))), inside);
    Formula::term(Number::Exact(outside), &group)
}
