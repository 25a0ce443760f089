//! Sums over ranges in closed form.
//!
//! A sum is taken term by term. Powers of the index use Faulhaber's formula, powers times `r^i` the geometric one, roundings of `i/d` are
//! summed block by block; extrema and piecewise formulas split the range where they change. All of this also works for symbolic bounds, so
//! nested sums are closed as well. What has no closed form stays an unevaluated sum, to be enclosed on evaluation.

mod blocks;
mod closed;
mod exchange;
mod split;

pub(crate) use closed::{PolyExponential, binomial, half_bernoulli};

use crate::atom::FoldOp;
use crate::build::{IndexRange, normalize_groups, product};
use crate::coefficient::Coefficient;
use crate::formula::Formula;
use crate::monomial::{Monomial, PowerFactor};
use crate::rational::Rational;
use crate::sign;
use crate::substitute::split_by_dependence;

/// The maximum number of nested splits of a range.
const MAX_SPLITS: u32 = 6;

pub(crate) fn sum(range: &IndexRange, body: &Formula) -> Formula {
    sum_with_splits(range, body, MAX_SPLITS)
}

fn sum_with_splits(range: &IndexRange, body: &Formula, splits: u32) -> Formula {
    let range = &range.up_to_last_index();
    match range.step_count() {
        Some(steps) if steps.is_negative() => return Formula::zero(),
        Some(steps) if steps.is_zero() => return body.substitute_symbol(&range.index, &range.from),
        _ => {}
    }
    body.terms().map(|(monomial, coefficient)| sum_term(range, monomial, coefficient, splits)).sum()
}

/// The last index; for an empty range the one before the first, where closed forms are zero.
fn last_index(range: &IndexRange) -> Formula {
    let before = &range.from - Formula::one();
    if sign::is_at_least(&range.to, &before) { range.to.clone() } else { Formula::max_of([range.to.clone(), before]) }
}

fn sum_term(range: &IndexRange, monomial: &Monomial, coefficient: &Coefficient, splits: u32) -> Formula {
    let (apart, inside) = split_by_dependence(monomial, &range.index);
    // An interval coefficient is independent at every step, so it belongs into the body even if it does not depend on the index.
    let is_unknown = |factor: &PowerFactor| factor.atom.attributes().has_interval;
    let (unknown, outside) = (apart.filter(is_unknown), apart.filter(|factor| !is_unknown(factor)));
    let body = Formula::term(coefficient.clone(), &unknown.multiply(&inside).0);
    if let Some(sum) = split::split(range, &body, splits) {
        return product(&Formula::from(outside), &sum);
    }
    // A single coefficient for all steps is equivalent only if all steps have the same sign.
    let factor = Formula::term(coefficient.clone(), &apart);
    if (!coefficient.is_exact() || !unknown.is_one()) && !inside.is_nonnegative() {
        let steps = normalize_groups(Coefficient::Exact(Rational::ONE), &inside);
        if range.has_constant_sign_on(&steps) {
            return product(&factor, &sum_with_splits(range, &steps, splits));
        }
        return product(&Formula::from(outside), &range.unevaluated(FoldOp::Sum, &body));
    }
    let sum = closed::closed_form(range, &inside)
        .or_else(|| blocks::sum_of_roundings(range, &inside))
        .or_else(|| exchange::exchange_order(range, &inside))
        .unwrap_or_else(|| range.unevaluated(FoldOp::Sum, &Formula::from(inside.clone())));
    product(&factor, &sum)
}
