//! Sums within sums, summed the other way round.
//!
//! `sum(i=1..n, sum(j=1..i, g(j)))` has no closed form when `g` has none, and its inner sum changes with every `i`. Counting how often each
//! `j` occurs leaves one sum over `j`.

use super::closed::Shape;
use crate::atom::{Fold, How, Kind, Symbol};
use crate::build::{Range, opened, product};
use crate::formula::Formula;
use crate::monomial::Monomial;
use crate::{rational::Rational, sum};

/// The sum of a power of the index times an inner sum, one of whose bounds is the index plus a constant.
pub(crate) fn of(range: &Range, inside: &Monomial) -> Option<Formula> {
    let factor = inside.factors().iter().find(|factor| matches!(factor.atom.kind(), Kind::Fold(_)) && factor.exponent.is_one())?;
    let Kind::Fold(fold) = factor.atom.kind() else { return None };
    let weight = inside.filtered(|other| other != factor);
    Shape::of(&weight, &range.index).filter(|shape| shape.rate.is_zero())?;
    if fold.how != How::Sum || fold.body.contains(&range.index) {
        return None;
    }
    let (inner, body) = opened(fold);
    let (outer, place) = outer_and_inner(range, fold, &inner)?;
    let weights = sum::sum(&outer, &Formula::from(weight));
    Some(sum::sum(&place, &product(&body, &weights)))
}

/// The ranges in the other order: that of the outer index for a given inner one, and that of the inner one.
fn outer_and_inner(range: &Range, fold: &Fold, inner: &Symbol) -> Option<(Range, Range)> {
    let offset = |bound: &Formula| {
        let offset = bound - Formula::from(range.index.clone());
        offset.as_exact().is_some_and(Rational::is_whole).then_some(offset)
    };
    let index = Formula::from(inner.clone());
    let place = |from: Formula, to: Formula| Range { index: inner.clone(), hint: fold.hint.0.clone(), from, to };
    if let Some(offset) = offset(&fold.to).filter(|_| !fold.from.contains(&range.index)) {
        let first = Formula::max_of([range.from.clone(), index - &offset]);
        return Some((range.part(first, range.to.clone()), place(fold.from.clone(), &range.to + offset)));
    }
    let offset = offset(&fold.from).filter(|_| !fold.to.contains(&range.index))?;
    let last = Formula::min_of([range.to.clone(), index - &offset]);
    Some((range.part(range.from.clone(), last), place(&range.from + offset, fold.to.clone())))
}
