//! Powers with rational exponents.
//!
//! Symbols are nonnegative, so `(x^a)^b` is `x^(a*b)` for them and for every nonnegative formula built from them. A base that may be
//! negative keeps its roots.

use super::product::{common_monomial, content, divide_by_monomial, divide_by_number, expand, is_expandable, normalize_groups, product};
use crate::atom::{Atom, AtomKind};
use crate::coefficient::Coefficient;
use crate::formula::Formula;
use crate::monomial::{Monomial, PowerFactor};
use crate::rational::Rational;

/// Numbers under a root are split into these primes and a remainder, so that `8^(1/2)` and `2*2^(1/2)` are equal.
const PRIMES: [u32; 25] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97];

pub(crate) fn power(base: &Formula, exponent: &Rational) -> Formula {
    if exponent.is_zero() {
        return Formula::one();
    }
    if exponent.is_one() {
        return base.clone();
    }
    if let Some(number) = base.as_coefficient() {
        return number_power(number, exponent);
    }
    match base.as_term() {
        Some((monomial, coefficient)) => term_power(coefficient, monomial, exponent),
        None => sum_power(base, exponent),
    }
}

fn term_power(coefficient: &Coefficient, monomial: &Monomial, exponent: &Rational) -> Formula {
    if exponent.is_integer() {
        return product(&number_power(coefficient, exponent), &normalize_groups(one(), &monomial.pow(exponent)));
    }
    let merges = |factor: &PowerFactor| factor.atom.is_nonnegative() || !factor.exponent.is_integer();
    let (sure, unsure) = (monomial.filter(merges), monomial.filter(|factor| !merges(factor)));
    let sure = normalize_groups(one(), &sure.pow(exponent));
    if unsure.is_one() {
        return product(&number_power(coefficient, exponent), &sure);
    }
    // A factor that may be negative keeps the sign of the coefficient with it: their product may be positive.
    let (outside, inside) = match coefficient.as_exact() {
        Some(value) if value.is_negative() => (Coefficient::Exact(-value), Coefficient::Exact(Rational::from(-1))),
        Some(value) => (Coefficient::Exact(value.clone()), one()),
        None => (one(), coefficient.clone()),
    };
    let rest = normalize_groups(inside, &unsure);
    let kept = match rest.len() {
        1 => Formula::from(Monomial::power(Atom::new(AtomKind::Group(rest)), exponent.clone())),
        _ => sum_power(&rest, exponent),
    };
    product(&product(&number_power(&outside, exponent), &sure), &kept)
}

fn one() -> Coefficient {
    Coefficient::Exact(Rational::ONE)
}

fn sum_power(base: &Formula, exponent: &Rational) -> Formula {
    if is_expandable(base, exponent) {
        return expand_power(base, exponent.to_i64().unwrap_or(1));
    }
    let whole = exponent.is_integer();
    let common = common_monomial(base, |factor| whole || factor.is_nonnegative());
    if !common.is_one() {
        let rest = divide_by_monomial(base, &common);
        return product(&term_power(&one(), &common, exponent), &power(&rest, exponent));
    }
    let content = content(base, whole);
    let group = Monomial::power(Atom::new(AtomKind::Group(divide_by_number(base, &content))), exponent.clone());
    product(&number_power(&Coefficient::Exact(content), exponent), &Formula::from(group))
}

/// The expanded power. The caller has counted its terms; the intermediate products have more.
fn expand_power(base: &Formula, exponent: i64) -> Formula {
    (1..exponent).fold(base.clone(), |result, _| expand(&result, base))
}

/// A power of a number: exact if it is a fraction, otherwise with the remaining roots.
pub(crate) fn number_power(base: &Coefficient, exponent: &Rational) -> Formula {
    let kept = || Formula::from(Monomial::power(Atom::new(AtomKind::Group(Formula::from_coefficient(base.clone()))), exponent.clone()));
    if base.is_one() || exponent.is_zero() {
        return Formula::one();
    }
    if let Some(value) = exponent.to_i64().and_then(|exponent| base.power(exponent)) {
        return Formula::from_coefficient(value);
    }
    match base.as_exact() {
        Some(value) if value.is_zero() && !exponent.is_negative() => Formula::zero(),
        Some(value) if value.sign().is_gt() => {
            let numerator = integer_power(&value.numerator(), exponent);
            let denominator = integer_power(&value.denominator(), &-exponent);
            product(&numerator, &denominator)
        }
        _ => kept(),
    }
}

/// A power of a positive integer, split into small prime factors.
fn integer_power(base: &Rational, exponent: &Rational) -> Formula {
    let mut rest = base.clone();
    let mut result = Formula::one();
    for prime in PRIMES {
        let (times, left) = rest.remove_factor(prime);
        if times > 0 {
            result = product(&result, &partial_root(&Rational::from(prime), &(exponent * &Rational::from(times))));
            rest = left;
        }
    }
    let degree = exponent.denominator().to_i64().and_then(|degree| u32::try_from(degree).ok());
    match degree.and_then(|degree| rest.integer_root(degree)) {
        Some(exact) => product(&result, &partial_root(&exact, &exponent.numerator())),
        None => product(&result, &partial_root(&rest, exponent)),
    }
}

/// A power of an integer that is no perfect power: the integer part of the exponent is evaluated, the rest stays.
fn partial_root(base: &Rational, exponent: &Rational) -> Formula {
    if base.is_one() {
        return Formula::one();
    }
    let whole = exponent.floor();
    let (outside, inside) = match whole.to_i64().and_then(|whole| base.power(whole)) {
        Some(value) => (value, exponent - &whole),
        None => (Rational::ONE, exponent.clone()),
    };
    let group = Monomial::power(Atom::new(AtomKind::Group(Formula::from_rational(base.clone()))), inside);
    Formula::term(Coefficient::Exact(outside), &group)
}
