//! Rounding up and down.

use crate::atom::{Atom, AtomKind, RoundingMode};
use crate::coefficient::Coefficient;
use crate::formula::{Formula, TermMap};
use crate::monomial::{Monomial, PowerFactor};
use crate::rational::Rational;

/// A formula rounded to integers; integer terms stay outside.
pub(crate) fn round(rounding: RoundingMode, formula: &Formula) -> Formula {
    let (mut whole, mut rest) = (TermMap::default(), TermMap::default());
    for (monomial, coefficient) in formula.terms() {
        match coefficient.as_exact() {
            Some(value) if monomial.is_one() => {
                whole.add(monomial, &Coefficient::Exact(value.floor()));
                rest.add(monomial, &Coefficient::Exact(value - &value.floor()));
            }
            Some(value) if value.is_integer() && is_integer(monomial) => whole.add(monomial, coefficient),
            _ => rest.add(monomial, coefficient),
        }
    }
    Formula::from(whole) + round_remainder(rounding, &Formula::from(rest))
}

fn round_remainder(rounding: RoundingMode, rest: &Formula) -> Formula {
    let round = |value: &Rational| match rounding {
        RoundingMode::Up => value.ceil(),
        RoundingMode::Down => value.floor(),
    };
    if let Some(number) = rest.as_coefficient() {
        return Formula::from_coefficient(Coefficient::interval(round(number.low()), round(number.high())));
    }
    Formula::from(Atom::new(AtomKind::Rounded(rounding, rest.clone())))
}

fn is_integer(monomial: &Monomial) -> bool {
    let whole = |factor: &PowerFactor| {
        matches!(factor.atom.kind(), AtomKind::Rounded(..)) && factor.exponent.is_integer() && !factor.exponent.is_negative()
    };
    monomial.factors().iter().all(whole)
}
