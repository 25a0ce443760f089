//! Which numbers stand before a power of a sum, and which in it.
//!
//! The canonical form takes out of a sum what its coefficients have in common: `1/(0.1234567*n + 4.5)` is kept as `10000000/(1234567*n + 45000000)`,
//! and under a root what was taken out is a product of roots of its own. People put the numbers back where they are short.

use crate::atom::{Atom, Kind};
use crate::monomial::{Factor, Monomial};
use crate::number::Number;
use crate::rational::Rational;

/// Sums of numbers with at most so many letters each are written as they are.
const SHORT: usize = 7;

/// By how many letters a sum may become longer when its numbers are brought near to one.
const LONGER: usize = 3;

/// Longer sums are written as they are.
const MOST_TERMS: usize = 8;

/// Powers of ten that are tried.
const MOST_PLACES: i64 = 18;

/// Inverse exponents of roots for which it is tried.
const MOST_DEGREE: i64 = 4;

/// By what the terms of a sum are multiplied, and the number before its power that goes with it.
pub(crate) struct Scale {
    pub(crate) inside: Rational,
    pub(crate) before: Number,
}

/// The scale of a whole power of a sum of long numbers that brings the largest of them near to one. It depends on the sum alone, so that it is
/// written in the same way wherever it stands.
pub(crate) fn of_power(before: &Number, exponent: &Rational, terms: &[&Number]) -> Option<Scale> {
    // An exact number before a sum would be multiplied out.
    let exponent = exponent.to_i64().filter(|exponent| *exponent != 1 || !before.is_exact())?;
    if !(2..=MOST_TERMS).contains(&terms.len()) || terms.iter().all(|number| letters(number) <= SHORT) {
        return None;
    }
    let largest = terms.iter().map(|number| number.high().abs().max(number.low().abs())).max()?.nearest().log10().floor();
    let inside = Rational::from(10).power(-(largest.clamp(0.0, MOST_PLACES as f64) as i64))?;
    let canonical = terms.iter().map(|number| letters(number)).sum::<usize>();
    multiplied(terms, &inside).filter(|length| *length <= canonical + LONGER)?;
    let before = before.times(&Number::Exact(inside.power(exponent.checked_neg()?)?))?;
    Some(Scale { inside, before })
}

/// The scale of the only root of a sum in a product that leaves no roots of numbers beside it.
pub(crate) fn of_root(before: &Number, monomial: &Monomial) -> Option<(Factor, Scale)> {
    let mut sums = monomial.factors().iter().filter(|factor| !factor.exponent.is_whole() && !is_number(&factor.atom));
    let sum = sums.next().filter(|_| sums.next().is_none())?;
    let Kind::Group(inner) = sum.atom.kind() else { return None };
    let degree = sum.exponent.inverse()?.to_i64().filter(|degree| degree.abs() <= MOST_DEGREE)?;
    let mut roots = monomial.factors().iter().filter_map(|factor| Some((number(&factor.atom)?, &factor.exponent))).peekable();
    roots.peek()?;
    let of_roots = roots.try_fold(Rational::ONE, |product, (base, exponent)| {
        let exponent = (exponent * &Rational::from(degree)).to_i64()?;
        Some(&product * &base.power(exponent)?)
    })?;
    if inner.len() < 2 {
        return None;
    }
    let terms: Vec<&Number> = inner.terms().map(|(_, number)| number).collect();
    // What goes inside the root besides the roots of numbers: a power of ten, or all of the number before it.
    let tens = (-MOST_PLACES..=MOST_PLACES).filter_map(|places| Rational::from(10).power(places));
    let scales = tens.chain(before.exact().map(Rational::abs)).filter_map(|taken| {
        let before = before.times(&Number::Exact(taken.inverse()?))?;
        Some(Scale { inside: &of_roots * &taken.power(degree)?, before })
    });
    let length = |scale: &Scale| Some(letters(&scale.before) + multiplied(&terms, &scale.inside)?);
    let shortest = scales.filter_map(|scale| Some((length(&scale)?, scale))).min_by_key(|(length, _)| *length);
    shortest.map(|(_, scale)| (sum.clone(), scale))
}

/// The number of which an atom is a root.
fn number(atom: &Atom) -> Option<&Rational> {
    match atom.kind() {
        Kind::Group(inner) => inner.as_exact(),
        _ => None,
    }
}

fn is_number(atom: &Atom) -> bool {
    matches!(atom.kind(), Kind::Group(inner) if inner.as_number().is_some())
}

fn multiplied(terms: &[&Number], scale: &Rational) -> Option<usize> {
    terms.iter().map(|number| number.times(&Number::Exact(scale.clone())).map(|number| letters(&number))).sum()
}

fn letters(number: &Number) -> usize {
    if number.is_one() { 0 } else { number.to_string().len() }
}
