//! The distribution of numbers between a power of a sum and its coefficient when printed.
//!
//! The canonical form takes the common divisor out of a sum: `1/(0.1234567*n + 4.5)` is stored as `10000000/(1234567*n + 45000000)`, and
//! under a root what was taken out is a product of roots. For printing, the numbers are put back where that is short.

use crate::atom::{Atom, AtomKind};
use crate::coefficient::Coefficient;
use crate::monomial::{Monomial, PowerFactor};
use crate::rational::Rational;

/// Sums whose coefficients have at most this many characters are printed unscaled.
const SHORT_LEN: usize = 7;

/// By how many characters a sum may grow when its coefficients are scaled close to one.
const MAX_EXTRA_LEN: usize = 3;

/// Longer sums are printed unscaled.
const MAX_TERMS: usize = 8;

/// The largest power of ten that is tried.
const MAX_POWER_OF_TEN: i64 = 18;

/// The largest degree of a root for which it is tried.
const MAX_ROOT_DEGREE: i64 = 4;

/// The factor for the terms of a sum, and the matching coefficient of its power.
pub(crate) struct DisplayScale {
    pub(crate) inner_factor: Rational,
    pub(crate) outer_coefficient: Coefficient,
}

/// The scale of an integer power of a sum with long coefficients that brings the largest of them close to one. It depends only on the sum,
/// so that equal sums are printed equally.
pub(crate) fn scale_of_power(before: &Coefficient, exponent: &Rational, terms: &[&Coefficient]) -> Option<DisplayScale> {
    // An exact coefficient of a sum would be multiplied into it.
    let exponent = exponent.to_i64().filter(|exponent| *exponent != 1 || !before.is_exact())?;
    if !(2..=MAX_TERMS).contains(&terms.len()) || terms.iter().all(|number| printed_len(number) <= SHORT_LEN) {
        return None;
    }
    let largest = terms.iter().map(|number| number.high().abs().max(number.low().abs())).max()?.to_f64().log10().floor();
    let inside = Rational::from(10).power(-(largest.clamp(0.0, MAX_POWER_OF_TEN as f64) as i64))?;
    let canonical = terms.iter().map(|number| printed_len(number)).sum::<usize>();
    scaled_len(terms, &inside).filter(|length| *length <= canonical + MAX_EXTRA_LEN)?;
    let before = before.times(&Coefficient::Exact(inside.power(exponent.checked_neg()?)?))?;
    Some(DisplayScale { inner_factor: inside, outer_coefficient: before })
}

/// The scale of the only root of a sum in a product that leaves no roots of numbers beside it.
pub(crate) fn scale_of_root(before: &Coefficient, monomial: &Monomial) -> Option<(PowerFactor, DisplayScale)> {
    let mut sums = monomial.factors().iter().filter(|factor| !factor.exponent.is_integer() && !is_number(&factor.atom));
    let sum = sums.next().filter(|_| sums.next().is_none())?;
    let AtomKind::Group(inner) = sum.atom.kind() else { return None };
    let degree = sum.exponent.recip()?.to_i64().filter(|degree| degree.abs() <= MAX_ROOT_DEGREE)?;
    let mut roots = monomial.factors().iter().filter_map(|factor| Some((radicand(&factor.atom)?, &factor.exponent))).peekable();
    roots.peek()?;
    let of_roots = roots.try_fold(Rational::ONE, |product, (base, exponent)| {
        let exponent = (exponent * &Rational::from(degree)).to_i64()?;
        Some(&product * &base.power(exponent)?)
    })?;
    if inner.len() < 2 {
        return None;
    }
    let terms: Vec<&Coefficient> = inner.terms().map(|(_, number)| number).collect();
    // Candidates to move under the root besides the roots of numbers: a power of ten, or the whole coefficient.
    let tens = (-MAX_POWER_OF_TEN..=MAX_POWER_OF_TEN).filter_map(|places| Rational::from(10).power(places));
    let scales = tens.chain(before.as_exact().map(Rational::abs)).filter_map(|taken| {
        let before = before.times(&Coefficient::Exact(taken.recip()?))?;
        Some(DisplayScale { inner_factor: &of_roots * &taken.power(degree)?, outer_coefficient: before })
    });
    let length = |scale: &DisplayScale| Some(printed_len(&scale.outer_coefficient) + scaled_len(&terms, &scale.inner_factor)?);
    let shortest = scales.filter_map(|scale| Some((length(&scale)?, scale))).min_by_key(|(length, _)| *length);
    shortest.map(|(_, scale)| (sum.clone(), scale))
}

/// The number of which an atom is a root.
fn radicand(atom: &Atom) -> Option<&Rational> {
    match atom.kind() {
        AtomKind::Group(inner) => inner.as_exact(),
        _ => None,
    }
}

fn is_number(atom: &Atom) -> bool {
    matches!(atom.kind(), AtomKind::Group(inner) if inner.as_coefficient().is_some())
}

fn scaled_len(terms: &[&Coefficient], scale: &Rational) -> Option<usize> {
    terms.iter().map(|number| number.times(&Coefficient::Exact(scale.clone())).map(|number| printed_len(&number))).sum()
}

fn printed_len(number: &Coefficient) -> usize {
    if number.is_one() { 0 } else { number.to_string().len() }
}
