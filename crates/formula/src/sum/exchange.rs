//! Exchange of the order of nested sums.
//!
//! `sum(i=1..n, sum(j=1..i, g(j)))` has no closed form if `g` has none. Counting how often each `j` occurs leaves one sum over `j`.

use super::closed::PolyExponential;
use crate::atom::{AtomKind, FoldOp, IndexedFold, SymbolId};
use crate::build::{IndexRange, instantiate_body, product};
use crate::formula::Formula;
use crate::monomial::Monomial;
use crate::{rational::Rational, sum};

/// The sum of a power of the index times an inner sum, one of whose bounds is the index plus a constant.
pub(crate) fn exchange_order(range: &IndexRange, inside: &Monomial) -> Option<Formula> {
    let factor = inside.factors().iter().find(|factor| matches!(factor.atom.kind(), AtomKind::Fold(_)) && factor.exponent.is_one())?;
    let AtomKind::Fold(fold) = factor.atom.kind() else { return None };
    let weight = inside.filter(|other| other != factor);
    PolyExponential::from_monomial(&weight, &range.index).filter(|shape| shape.rate.is_zero())?;
    if fold.op != FoldOp::Sum || fold.body.contains(&range.index) {
        return None;
    }
    let (inner, body) = instantiate_body(fold);
    let (outer, place) = outer_and_inner(range, fold, &inner)?;
    let weights = sum::sum(&outer, &Formula::from(weight));
    Some(sum::sum(&place, &product(&body, &weights)))
}

/// The ranges in exchanged order: that of the outer index for a given inner one, and that of the inner one.
fn outer_and_inner(range: &IndexRange, fold: &IndexedFold, inner: &SymbolId) -> Option<(IndexRange, IndexRange)> {
    let offset = |bound: &Formula| {
        let offset = bound - Formula::from(range.index.clone());
        offset.as_exact().is_some_and(Rational::is_integer).then_some(offset)
    };
    let index = Formula::from(inner.clone());
    let place = |from: Formula, to: Formula| IndexRange { index: inner.clone(), index_name: fold.index_name.0.clone(), from, to };
    if let Some(offset) = offset(&fold.to).filter(|_| !fold.from.contains(&range.index)) {
        let first = Formula::max_of([range.from.clone(), index - &offset]);
        return Some((range.subrange(first, range.to.clone()), place(fold.from.clone(), &range.to + offset)));
    }
    let offset = offset(&fold.from).filter(|_| !fold.to.contains(&range.index))?;
    let last = Formula::min_of([range.to.clone(), index - &offset]);
    Some((range.subrange(range.from.clone(), last), place(&range.from + offset, fold.to.clone())))
}
