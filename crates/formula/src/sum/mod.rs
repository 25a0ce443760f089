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
use crate::build::{Range, product};
use crate::formula::Formula;
use crate::monomial::Monomial;
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
    match steps(range) {
        Steps::None => return Formula::zero(),
        Steps::One => return body.replaced(&range.index, &range.from),
        Steps::Known(to) => {
            if to != range.to {
                return sum_split(&range.part(range.from.clone(), to), body, splits);
            }
        }
        Steps::Unknown => {}
    }
    body.terms().map(|(monomial, coefficient)| of_term(range, monomial, coefficient, splits)).sum()
}

/// What is known of the number of steps.
enum Steps {
    None,
    One,
    /// Two or more, and the last index.
    Known(Formula),
    Unknown,
}

fn steps(range: &Range) -> Steps {
    let Some(span) = (&range.to - &range.from).as_exact().map(Rational::floor) else { return Steps::Unknown };
    match span.sign() {
        std::cmp::Ordering::Less => Steps::None,
        std::cmp::Ordering::Equal => Steps::One,
        std::cmp::Ordering::Greater => Steps::Known(&range.from + Formula::exact(span)),
    }
}

/// The last index, or the one before the first if there is none: closed forms are zero there.
fn last(range: &Range) -> Formula {
    let before = &range.from - Formula::one();
    if sign::is_at_least(&range.to, &before) { range.to.clone() } else { Formula::max_of([range.to.clone(), before]) }
}

fn of_term(range: &Range, monomial: &Monomial, coefficient: &Number, splits: u32) -> Formula {
    let (outside, inside) = separated(monomial, &range.index);
    if let Some(sum) = split::split(range, &Formula::term(coefficient.clone(), &inside), splits) {
        return product(&Formula::from(outside), &sum);
    }
    // An unknown number is another one at every step; that is the same as one for all only if no step has another sign.
    if !coefficient.is_exact() && !inside.is_nonnegative() {
        let body = Formula::term(coefficient.clone(), &inside);
        return product(&Formula::from(outside), &range.kept(How::Sum, &body));
    }
    let factor = Formula::term(coefficient.clone(), &outside);
    let sum = closed::of(range, &inside)
        .or_else(|| blocks::of(range, &inside))
        .or_else(|| exchange::of(range, &inside))
        .unwrap_or_else(|| range.kept(How::Sum, &Formula::from(inside.clone())));
    product(&factor, &sum)
}
