//! Logarithms to base two and powers of two, which undo each other.

use super::power;
use super::power::number_power;
use super::product::{common_number, common_product, divided, finished, product, without};
use crate::atom::{Atom, Kind};
use crate::formula::Formula;
use crate::monomial::{Factor, Monomial};
use crate::number::Number;
use crate::rational::Rational;

/// The logarithm of a formula: of products the sum of the logarithms, where no factor can be negative.
pub(crate) fn log2(formula: &Formula) -> Formula {
    if let Some(number) = formula.as_number() {
        return of_number(number);
    }
    match formula.as_term() {
        Some((monomial, coefficient)) => of_term(coefficient, monomial),
        None => of_sum(formula),
    }
}

fn kept(formula: Formula) -> Formula {
    Formula::from(Atom::new(Kind::Log(formula)))
}

/// The logarithm of a number: powers of two are whole, fractions are differences.
fn of_number(number: &Number) -> Formula {
    match number.exact() {
        Some(value) if value.sign().is_gt() => of_whole(&value.numerator()) - of_whole(&value.denominator()),
        _ => kept(Formula::number(number.clone())),
    }
}

fn of_whole(value: &Rational) -> Formula {
    let (times, odd) = value.divided_out(2);
    let whole = Formula::integer(times);
    if odd.is_one() {
        return whole;
    }
    // A power of an odd number: 9 is 3^2, 27 is 3^3.
    for degree in [2, 3, 5, 7] {
        if let Some(root) = odd.whole_root(degree) {
            return whole + Formula::integer(i64::from(degree)) * of_whole(&root);
        }
    }
    whole + kept(Formula::exact(odd))
}

fn of_term(coefficient: &Number, monomial: &Monomial) -> Formula {
    let sure = |factor: &Factor| factor.atom.is_nonnegative() || !factor.exponent.is_whole();
    if !coefficient.is_positive() || !monomial.factors().iter().all(sure) {
        return if monomial.as_atom().is_some() && coefficient.is_one() {
            kept(Formula::from(monomial.clone()))
        } else {
            unsure(coefficient, monomial, sure)
        };
    }
    let logarithms = monomial.factors().iter().map(|factor| product(&Formula::exact(factor.exponent.clone()), &of_atom(&factor.atom)));
    of_number(coefficient) + logarithms.sum::<Formula>()
}

/// A term that may be negative: the factors that cannot be come out, the others stay together.
fn unsure(coefficient: &Number, monomial: &Monomial, sure: impl Fn(&Factor) -> bool) -> Formula {
    let (outside, inside) = match coefficient.exact() {
        Some(value) if value.is_negative() => (-value, Number::Exact(Rational::from(-1))),
        Some(value) => (value.clone(), Number::Exact(Rational::ONE)),
        None => (Rational::ONE, coefficient.clone()),
    };
    let out = of_term(&Number::Exact(outside), &monomial.filtered(&sure));
    let rest = finished(inside, &monomial.filtered(|factor| !sure(factor)));
    out + if rest.len() == 1 { kept(rest) } else { of_sum(&rest) }
}

fn of_atom(atom: &Atom) -> Formula {
    match atom.kind() {
        Kind::Exp(exponent) => exponent.clone(),
        Kind::Group(inner) => match inner.as_number() {
            Some(number) => of_number(number),
            None => kept(inner.clone()),
        },
        _ => kept(Formula::from(atom.clone())),
    }
}

fn of_sum(sum: &Formula) -> Formula {
    let common = common_product(sum, Factor::is_nonnegative);
    if !common.is_one() {
        let rest = without(sum, &common);
        return of_term(&Number::Exact(Rational::ONE), &common) + log2(&rest);
    }
    let content = common_number(sum, false);
    of_number(&Number::Exact(content.clone())) + kept(divided(sum, &content))
}

/// Two to the power of a formula: of a sum the product of the powers, of `c*log2(x)` the power `x^c`.
pub(crate) fn two_to(exponent: &Formula) -> Formula {
    let two = Number::Exact(Rational::from(2));
    exponent.terms().fold(Formula::one(), |result, (monomial, coefficient)| {
        let factor = match (coefficient.exact(), monomial.as_atom().map(Atom::kind)) {
            (Some(value), _) if monomial.is_one() => number_power(&two, value),
            (Some(value), Some(Kind::Log(inner))) => power(inner, value),
            (Some(value), _) => Formula::from(Monomial::power(Atom::new(Kind::Exp(Formula::from(monomial.clone()))), value.clone())),
            (None, _) => unknown_power(coefficient, monomial),
        };
        product(&result, &factor)
    })
}

/// Two to the power of an unknown multiple of a product. The end that is farther from zero becomes the exponent, so that equal powers have
/// one form.
fn unknown_power(coefficient: &Number, monomial: &Monomial) -> Formula {
    let (low, high) = (coefficient.low(), coefficient.high());
    let scale = if low.abs() > high.abs() { low } else { high };
    let inverse = scale.inverse().map(Number::Exact).and_then(|inverse| inverse.times(coefficient));
    let (inner, scale) = match inverse {
        Some(inner) => (inner, scale.clone()),
        None => (coefficient.clone(), Rational::ONE),
    };
    Formula::from(Monomial::power(Atom::new(Kind::Exp(Formula::term(inner, monomial))), scale))
}
