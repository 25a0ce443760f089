//! Rounding up and down.

use crate::atom::{Atom, Kind, Rounding};
use crate::formula::{Formula, Terms};
use crate::monomial::{Factor, Monomial};
use crate::number::Number;
use crate::rational::Rational;

/// A formula rounded to whole numbers; what is whole already stays outside.
pub(crate) fn rounded(rounding: Rounding, formula: &Formula) -> Formula {
    let (mut whole, mut rest) = (Terms::default(), Terms::default());
    for (monomial, coefficient) in formula.terms() {
        match coefficient.exact() {
            Some(value) if monomial.is_one() => {
                whole.add(monomial, &Number::Exact(value.floor()));
                rest.add(monomial, &Number::Exact(value - &value.floor()));
            }
            Some(value) if value.is_whole() && is_whole(monomial) => whole.add(monomial, coefficient),
            _ => rest.add(monomial, coefficient),
        }
    }
    Formula::from(whole) + of_rest(rounding, &Formula::from(rest))
}

fn of_rest(rounding: Rounding, rest: &Formula) -> Formula {
    let round = |value: &Rational| match rounding {
        Rounding::Up => value.ceil(),
        Rounding::Down => value.floor(),
    };
    if let Some(number) = rest.as_number() {
        return Formula::number(Number::between(round(number.low()), round(number.high())));
    }
    Formula::from(Atom::new(Kind::Rounded(rounding, rest.clone())))
}

/// Whether a product can only be a whole number.
fn is_whole(monomial: &Monomial) -> bool {
    let whole =
        |factor: &Factor| matches!(factor.atom.kind(), Kind::Rounded(..)) && factor.exponent.is_whole() && !factor.exponent.is_negative();
    monomial.factors().iter().all(whole)
}
