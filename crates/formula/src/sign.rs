//! What can be said about the sign of a formula at once, knowing only that no symbol is negative.
//!
//! A sum whose terms cannot be negative cannot be negative. That one rule prunes maxima and shows that ranges are not empty; where a maximum
//! or a rounding stands in the way, something that bounds it is put in its place.

use std::cmp::Ordering;

use crate::atom::{Extreme, Kind, Rounding};
use crate::formula::Formula;
use crate::monomial::Monomial;
use crate::number::Number;

/// How many bounds in a row are put in place of maxima and roundings.
const MOST_BOUNDS: u32 = 3;

/// With more of them than this in one sum, or more entries in them together, it is not tried.
const MOST_BOUNDED: usize = 5;
const MOST_ENTRIES: usize = 16;

/// Whether the formula is shown to be nowhere below zero.
pub(crate) fn is_nonnegative(formula: &Formula) -> bool {
    is_nonnegative_with(formula, MOST_BOUNDS)
}

/// Whether the formula is shown to be everywhere above zero.
pub(crate) fn is_positive(formula: &Formula) -> bool {
    formula.constant().is_positive() && terms_are_nonnegative(formula)
}

/// Whether the first formula is shown to be nowhere below the second.
pub(crate) fn is_at_least(a: &Formula, b: &Formula) -> bool {
    if !a.is_plain() || !b.is_plain() {
        return is_nonnegative(&(a - b));
    }
    // Without building the difference: most comparisons end at the first term.
    let (mut left, mut right) = (a.terms().peekable(), b.terms().peekable());
    loop {
        let order = match (left.peek(), right.peek()) {
            (Some((x, _)), Some((y, _))) => x.cmp(y),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return true,
        };
        let own = if order.is_le() { left.next() } else { None };
        let other = if order.is_ge() { right.next() } else { None };
        let above = match (own, other) {
            (Some((monomial, x)), Some((_, y))) => (x.is_exact() && x == y) || (x.low() >= y.high() && monomial.is_nonnegative()),
            (Some((monomial, x)), None) => x.is_nonnegative() && monomial.is_nonnegative(),
            (None, Some((monomial, y))) => y.negated().is_nonnegative() && monomial.is_nonnegative(),
            (None, None) => return true,
        };
        if !above {
            return false;
        }
    }
}

/// Whether all terms are shown to have the same sign, so that an unknown factor of the sum can be one of each term as well.
pub(crate) fn is_of_one_sign(formula: &Formula) -> bool {
    let negative = |(monomial, coefficient): (&Monomial, &Number)| coefficient.negated().is_nonnegative() && monomial.is_nonnegative();
    terms_are_nonnegative(formula) || formula.terms().all(negative)
}

fn terms_are_nonnegative(formula: &Formula) -> bool {
    formula.terms().all(|(monomial, coefficient)| coefficient.is_nonnegative() && monomial.is_nonnegative())
}

fn is_nonnegative_with(formula: &Formula, bounds: u32) -> bool {
    if terms_are_nonnegative(formula) {
        return true;
    }
    // All of them are tried, so that the answer does not depend on the order of the terms.
    let bounded: Vec<_> = formula.terms().filter(|(monomial, coefficient)| is_bounded(monomial) && coefficient.is_exact()).collect();
    let entries = |monomial: &Monomial| monomial.as_atom().map_or(0, |atom| atom.kind().parts().len());
    if bounds == 0 || bounded.len() > MOST_BOUNDED || bounded.iter().map(|(monomial, _)| entries(monomial)).sum::<usize>() > MOST_ENTRIES {
        return false;
    }
    bounded.into_iter().any(|(monomial, coefficient)| is_nonnegative_by(formula, monomial, coefficient, bounds - 1))
}

/// Whether a sum is shown not to be negative with bounds in place of one of its terms.
fn is_nonnegative_by(formula: &Formula, monomial: &Monomial, coefficient: &Number, bounds: u32) -> bool {
    let (Some(atom), Some(value)) = (monomial.as_atom(), coefficient.exact()) else { return false };
    let rest = formula - Formula::term(coefficient.clone(), monomial);
    let with = |bound: &Formula| is_nonnegative_with(&(&rest + Formula::exact(value.clone()) * bound), bounds);
    match atom.kind() {
        // The maximum is at least any entry; it is at most something only if all entries are.
        Kind::Extreme(side, entries) if (*side == Extreme::Max) != value.is_negative() => entries.iter().any(with),
        Kind::Extreme(_, entries) => entries.iter().all(with),
        Kind::Rounded(rounding, inner) => match (rounding, value.is_negative()) {
            (Rounding::Up, false) | (Rounding::Down, true) => with(inner),
            (Rounding::Up, true) => with(&(inner + Formula::one())),
            (Rounding::Down, false) => with(&(inner - Formula::one())),
        },
        _ => false,
    }
}

/// Whether there is something simpler that bounds this product.
pub(crate) fn is_bounded(monomial: &Monomial) -> bool {
    monomial.as_atom().is_some_and(|atom| !atom.facts().loose && matches!(atom.kind(), Kind::Extreme(..) | Kind::Rounded(..)))
}

/// Whether an atom of this kind cannot be below zero.
pub(crate) fn atom_is_nonnegative(kind: &Kind) -> bool {
    match kind {
        Kind::Symbol(_) | Kind::Ln2 | Kind::Exp(_) => true,
        Kind::TooDeep => false,
        Kind::Group(inner) | Kind::Rounded(_, inner) => is_nonnegative(inner),
        Kind::Log(inner) => is_at_least(inner, &Formula::one()),
        Kind::Extreme(Extreme::Max, entries) => entries.iter().any(is_nonnegative),
        Kind::Extreme(Extreme::Min, entries) => entries.iter().all(is_nonnegative),
        Kind::Fold(fold) => is_nonnegative(&fold.body),
        Kind::Pieces(_, pieces) => pieces.iter().all(|piece| is_nonnegative(&piece.formula)),
    }
}
