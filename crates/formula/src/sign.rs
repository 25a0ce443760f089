//! Sign analysis of formulas, knowing only that symbols are nonnegative.
//!
//! A sum of nonnegative terms is nonnegative. That one rule prunes maxima and shows that ranges are not empty; a maximum or a rounding in
//! the way is replaced by a bound.

use std::cmp::Ordering;

use crate::atom::{AtomKind, Extremum, RoundingMode};
use crate::coefficient::Coefficient;
use crate::formula::Formula;
use crate::monomial::Monomial;

/// How many maxima and roundings are replaced by bounds in a row.
const MAX_BOUND_DEPTH: u32 = 3;

/// With more of them in one sum, or more entries in total, it is not tried.
const MAX_BOUNDED: usize = 5;
const MAX_ENTRIES: usize = 16;

/// Whether the formula is provably nonnegative.
pub(crate) fn is_nonnegative(formula: &Formula) -> bool {
    is_nonnegative_within(formula, MAX_BOUND_DEPTH)
}

/// Whether the formula is provably positive.
pub(crate) fn is_positive(formula: &Formula) -> bool {
    formula.constant().is_positive() && terms_are_nonnegative(formula)
}

/// Whether the first formula is provably nowhere less than the second.
pub(crate) fn is_at_least(a: &Formula, b: &Formula) -> bool {
    if !a.is_directly_comparable() || !b.is_directly_comparable() {
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

/// Whether all terms provably have the same sign, so that an interval factor of the sum can be distributed.
pub(crate) fn has_uniform_sign(formula: &Formula) -> bool {
    let negative = |(monomial, coefficient): (&Monomial, &Coefficient)| coefficient.negated().is_nonnegative() && monomial.is_nonnegative();
    terms_are_nonnegative(formula) || formula.terms().all(negative)
}

fn terms_are_nonnegative(formula: &Formula) -> bool {
    formula.terms().all(|(monomial, coefficient)| coefficient.is_nonnegative() && monomial.is_nonnegative())
}

fn is_nonnegative_within(formula: &Formula, bounds: u32) -> bool {
    if terms_are_nonnegative(formula) {
        return true;
    }
    // All of them are tried, so that the result does not depend on the order of the terms.
    let bounded: Vec<_> = formula.terms().filter(|(monomial, coefficient)| has_simple_bound(monomial) && coefficient.is_exact()).collect();
    let entries = |monomial: &Monomial| monomial.as_atom().map_or(0, |atom| atom.kind().operands().len());
    if bounds == 0 || bounded.len() > MAX_BOUNDED || bounded.iter().map(|(monomial, _)| entries(monomial)).sum::<usize>() > MAX_ENTRIES {
        return false;
    }
    bounded.into_iter().any(|(monomial, coefficient)| is_nonnegative_bounding(formula, monomial, coefficient, bounds - 1))
}

/// Whether a sum is provably nonnegative with one of its terms replaced by bounds.
fn is_nonnegative_bounding(formula: &Formula, monomial: &Monomial, coefficient: &Coefficient, bounds: u32) -> bool {
    let (Some(atom), Some(value)) = (monomial.as_atom(), coefficient.as_exact()) else { return false };
    let rest = formula - Formula::term(coefficient.clone(), monomial);
    let with = |bound: &Formula| is_nonnegative_within(&(&rest + Formula::from_rational(value.clone()) * bound), bounds);
    match atom.kind() {
        // The maximum is at least any entry; it is at most something only if all entries are.
        AtomKind::Extremum(side, entries) if (*side == Extremum::Max) != value.is_negative() => entries.iter().any(with),
        AtomKind::Extremum(_, entries) => entries.iter().all(with),
        AtomKind::Rounded(rounding, inner) => match (rounding, value.is_negative()) {
            (RoundingMode::Up, false) | (RoundingMode::Down, true) => with(inner),
            (RoundingMode::Up, true) => with(&(inner + Formula::one())),
            (RoundingMode::Down, false) => with(&(inner - Formula::one())),
        },
        _ => false,
    }
}

/// Whether the monomial has a simpler bound.
pub(crate) fn has_simple_bound(monomial: &Monomial) -> bool {
    monomial
        .as_atom()
        .is_some_and(|atom| !atom.attributes().has_interval && matches!(atom.kind(), AtomKind::Extremum(..) | AtomKind::Rounded(..)))
}

pub(crate) fn atom_is_nonnegative(kind: &AtomKind) -> bool {
    match kind {
        AtomKind::Symbol(_) | AtomKind::Ln2 | AtomKind::Exp2(_) => true,
        AtomKind::TooDeep => false,
        AtomKind::Group(inner) | AtomKind::Rounded(_, inner) => is_nonnegative(inner),
        AtomKind::Log2(inner) => is_at_least(inner, &Formula::one()),
        AtomKind::Extremum(Extremum::Max, entries) => entries.iter().any(is_nonnegative),
        AtomKind::Extremum(Extremum::Min, entries) => entries.iter().all(is_nonnegative),
        AtomKind::Fold(fold) => is_nonnegative(&fold.body),
        AtomKind::Piecewise(_, pieces) => pieces.iter().all(|piece| is_nonnegative(&piece.formula)),
    }
}
