//! Sums over ranges, without looping.
//!
//! A sum is taken term by term. Powers of the index have Faulhaber's closed form, powers times `r^i` the one of geometric sums, roundings of
//! `i/d` are counted block by block; maxima and pieces split the range where they change. All of that also works for bounds that are
//! formulas, so sums within sums come out closed as well. What has no closed form stays a sum, to be enclosed when it is evaluated.

mod blocks;
mod closed;
mod exchange;
mod split;

pub(crate) use closed::{Shape, binomial, half_bernoulli};

use crate::atom::How;
use crate::build::{Range, finished, product};
use crate::formula::Formula;
use crate::monomial::{Factor, Monomial};
use crate::number::Number;
use crate::rational::Rational;
use crate::sign;
use crate::substitute::separated;

/// How often in a row a range is split.
const MOST_SPLITS: u32 = 6;

/// The sum of a body over a range.
pub(crate) fn sum(range: &Range, body: &Formula) -> Formula {
    sum_split(range, body, MOST_SPLITS)
}

fn sum_split(range: &Range, body: &Formula, splits: u32) -> Formula {
    let range = &range.whole();
    match range.steps() {
        Some(steps) if steps.is_negative() => return Formula::zero(),
        Some(steps) if steps.is_zero() => return body.replaced(&range.index, &range.from),
        _ => {}
    }
    body.terms().map(|(monomial, coefficient)| of_term(range, monomial, coefficient, splits)).sum()
}

/// The last index, or the one before the first if there is none: closed forms are zero there.
fn last(range: &Range) -> Formula {
    let before = &range.from - Formula::one();
    if sign::is_at_least(&range.to, &before) { range.to.clone() } else { Formula::max_of([range.to.clone(), before]) }
}

fn of_term(range: &Range, monomial: &Monomial, coefficient: &Number, splits: u32) -> Formula {
    let (apart, inside) = separated(monomial, &range.index);
    // An unknown number is another one at every step, so it belongs to the steps even where it does not depend on the index.
    let is_unknown = |factor: &Factor| factor.atom.facts().loose;
    let (unknown, outside) = (apart.filtered(is_unknown), apart.filtered(|factor| !is_unknown(factor)));
    let body = Formula::term(coefficient.clone(), &unknown.times(&inside).0);
    if let Some(sum) = split::split(range, &body, splits) {
        return product(&Formula::from(outside), &sum);
    }
    // One for all is the same only if no step has another sign.
    let factor = Formula::term(coefficient.clone(), &apart);
    if (!coefficient.is_exact() || !unknown.is_one()) && !inside.is_nonnegative() {
        let steps = finished(Number::Exact(Rational::ONE), &inside);
        if range.keeps_one_sign(&steps) {
            return product(&factor, &sum_split(range, &steps, splits));
        }
        return product(&Formula::from(outside), &range.kept(How::Sum, &body));
    }
    let sum = closed::of(range, &inside)
        .or_else(|| blocks::of(range, &inside))
        .or_else(|| exchange::of(range, &inside))
        .unwrap_or_else(|| range.kept(How::Sum, &Formula::from(inside.clone())));
    product(&factor, &sum)
}
