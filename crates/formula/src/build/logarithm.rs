//! Base-two logarithms and powers of two, which cancel each other.

use super::power;
use super::power::number_power;
use super::product::{common_monomial, content, divide_by_monomial, divide_by_number, normalize_groups, product};
use crate::atom::{Atom, AtomKind};
use crate::coefficient::Coefficient;
use crate::formula::Formula;
use crate::monomial::{Monomial, PowerFactor};
use crate::rational::Rational;

/// The logarithm of a formula. The logarithm of a product is a sum of logarithms where no factor can be negative.
pub(crate) fn log2(formula: &Formula) -> Formula {
    if let Some(number) = formula.as_coefficient() {
        return log2_coefficient(number);
    }
    match formula.as_term() {
        Some((monomial, coefficient)) => log2_term(coefficient, monomial),
        None => log2_sum(formula),
    }
}

fn unevaluated_log2(formula: Formula) -> Formula {
    Formula::from(Atom::new(AtomKind::Log2(formula)))
}

/// The logarithm of a number: integer for powers of two, a difference for fractions.
fn log2_coefficient(number: &Coefficient) -> Formula {
    match number.as_exact() {
        Some(value) if value.sign().is_gt() => log2_integer(&value.numerator()) - log2_integer(&value.denominator()),
        _ => unevaluated_log2(Formula::from_coefficient(number.clone())),
    }
}

fn log2_integer(value: &Rational) -> Formula {
    let (times, odd) = value.remove_factor(2);
    let whole = Formula::integer(times);
    if odd.is_one() {
        return whole;
    }
    // A power of an odd number: 9 is 3^2, 27 is 3^3.
    for degree in [2, 3, 5, 7] {
        if let Some(root) = odd.integer_root(degree) {
            return whole + Formula::integer(i64::from(degree)) * log2_integer(&root);
        }
    }
    whole + unevaluated_log2(Formula::from_rational(odd))
}

fn log2_term(coefficient: &Coefficient, monomial: &Monomial) -> Formula {
    let sure = |factor: &PowerFactor| factor.atom.is_nonnegative() || !factor.exponent.is_integer();
    if !coefficient.is_positive() || !monomial.factors().iter().all(sure) {
        return if monomial.as_atom().is_some() && coefficient.is_one() {
            unevaluated_log2(Formula::from(monomial.clone()))
        } else {
            log2_uncertain_term(coefficient, monomial, sure)
        };
    }
    let logarithms =
        monomial.factors().iter().map(|factor| product(&Formula::from_rational(factor.exponent.clone()), &log2_atom(&factor.atom)));
    log2_coefficient(coefficient) + logarithms.sum::<Formula>()
}

/// The logarithm of a term that may be negative: its nonnegative factors are taken out, the others stay together.
fn log2_uncertain_term(coefficient: &Coefficient, monomial: &Monomial, sure: impl Fn(&PowerFactor) -> bool) -> Formula {
    let (outside, inside) = match coefficient.as_exact() {
        Some(value) if value.is_negative() => (-value, Coefficient::Exact(Rational::from(-1))),
        Some(value) => (value.clone(), Coefficient::Exact(Rational::ONE)),
        None => (Rational::ONE, coefficient.clone()),
    };
    let out = log2_term(&Coefficient::Exact(outside), &monomial.filter(&sure));
    let rest = normalize_groups(inside, &monomial.filter(|factor| !sure(factor)));
    out + if rest.len() == 1 { unevaluated_log2(rest) } else { log2_sum(&rest) }
}

fn log2_atom(atom: &Atom) -> Formula {
    match atom.kind() {
        AtomKind::Exp2(exponent) => exponent.clone(),
        AtomKind::Group(inner) => match inner.as_coefficient() {
            Some(number) => log2_coefficient(number),
            None => unevaluated_log2(inner.clone()),
        },
        _ => unevaluated_log2(Formula::from(atom.clone())),
    }
}

fn log2_sum(sum: &Formula) -> Formula {
    let common = common_monomial(sum, PowerFactor::is_nonnegative);
    if !common.is_one() {
        let rest = divide_by_monomial(sum, &common);
        return log2_term(&Coefficient::Exact(Rational::ONE), &common) + log2(&rest);
    }
    let content = content(sum, false);
    log2_coefficient(&Coefficient::Exact(content.clone())) + unevaluated_log2(divide_by_number(sum, &content))
}

/// Two to the power of a formula: a product of powers for a sum, `x^c` for `c*log2(x)`.
pub(crate) fn exp2(exponent: &Formula) -> Formula {
    let two = Coefficient::Exact(Rational::from(2));
    exponent.terms().fold(Formula::one(), |result, (monomial, coefficient)| {
        let factor = match (coefficient.as_exact(), monomial.as_atom().map(Atom::kind)) {
            (Some(value), _) if monomial.is_one() => number_power(&two, value),
            (Some(value), Some(AtomKind::Log2(inner))) => power(inner, value),
            (Some(value), _) => Formula::from(Monomial::power(Atom::new(AtomKind::Exp2(Formula::from(monomial.clone()))), value.clone())),
            (None, _) => exp2_interval_term(coefficient, monomial),
        };
        product(&result, &factor)
    })
}

/// Two to the power of an interval multiple of a product. The bound that is farther from zero becomes the exponent, so that equal powers
/// have one form.
fn exp2_interval_term(coefficient: &Coefficient, monomial: &Monomial) -> Formula {
    let (low, high) = (coefficient.low(), coefficient.high());
    let scale = if low.abs() > high.abs() { low } else { high };
    let inverse = scale.recip().map(Coefficient::Exact).and_then(|inverse| inverse.times(coefficient));
    let (inner, scale) = match inverse {
        Some(inner) => (inner, scale.clone()),
        None => (coefficient.clone(), Rational::ONE),
    };
    Formula::from(Monomial::power(Atom::new(AtomKind::Exp2(Formula::term(inner, monomial))), scale))
}
