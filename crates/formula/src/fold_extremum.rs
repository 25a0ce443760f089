//! Extrema over ranges: at an end if the body is monotonic or convex towards the extremum; otherwise unevaluated.

use std::cmp::Ordering;

use crate::atom::{Atom, AtomKind, Extremum, FoldOp, SymbolId};
use crate::build::{self, IndexRange, product};
use crate::derivative::derivative_of;
use crate::formula::{Formula, TermMap, atom_contains, monomial_contains};
use crate::monomial::PowerFactor;

/// Larger bodies stay unevaluated: the analysis would take too long.
const MAX_SIZE: u64 = 10_000;

/// The extremum of a body over a nonempty range.
pub(crate) fn extremum_over(side: Extremum, range: &IndexRange, body: &Formula) -> Formula {
    let range = &range.up_to_last_index();
    let at = |index: &Formula| body.substitute_symbol(&range.index, index);
    if !body.contains(&range.index) || range.from == range.to {
        return at(&range.from);
    }
    if let Some(AtomKind::Extremum(inner, entries)) = body.as_atom().map(Atom::kind)
        && *inner == side
    {
        return build::extremum(side, entries.iter().map(|entry| extremum_over(side, range, entry)).collect());
    }
    let (mut apart, mut inside) = (TermMap::default(), TermMap::default());
    for (monomial, coefficient) in body.terms() {
        let terms = if monomial_contains(monomial, &range.index) { &mut inside } else { &mut apart };
        terms.add(monomial, coefficient);
    }
    Formula::from(apart) + dependent_extremum(side, range, &Formula::from(inside))
}

/// The extremum of a sum all of whose terms depend on the index.
fn dependent_extremum(side: Extremum, range: &IndexRange, body: &Formula) -> Formula {
    let free = |factor: &PowerFactor| factor.atom.is_nonnegative() && !atom_contains(&factor.atom, &range.index);
    let common = build::common_monomial(body, free);
    if !common.is_one() {
        let rest = build::divide_by_monomial(body, &common);
        return product(&Formula::from(common), &dependent_extremum(side, range, &rest));
    }
    let at = |index: &Formula| body.substitute_symbol(&range.index, index);
    if body.size() > MAX_SIZE {
        return range.unevaluated(FoldOp::Extremum(side), body);
    }
    let rising = monotonicity(body, &range.index).or_else(|| derivative_sign(body, range));
    match rising {
        Some(Ordering::Equal) => at(&range.from),
        Some(direction) => at(if (direction == Ordering::Greater) == (side == Extremum::Max) { &range.to } else { &range.from }),
        None if has_extremum_at_end(side, body, range) => build::extremum(side, vec![at(&range.from), at(&range.to)]),
        None => range.unevaluated(FoldOp::Extremum(side), body),
    }
}

/// Whether a formula provably increases (`Greater`) or decreases (`Less`) with a symbol.
pub(crate) fn monotonicity(formula: &Formula, symbol: &SymbolId) -> Option<Ordering> {
    let mut whole = Ordering::Equal;
    for (monomial, coefficient) in formula.terms() {
        let mut term = Ordering::Equal;
        for factor in monomial.factors() {
            let own = factor_monotonicity(factor, symbol)?;
            // A product of increasing factors increases only if none of them is negative.
            if !factor.is_nonnegative() && monomial.factors().len() > 1 {
                if monomial_contains(monomial, symbol) {
                    return None;
                }
                continue;
            }
            term = join_monotonicity(term, own)?;
        }
        let term = match term {
            Ordering::Equal => Ordering::Equal,
            rising if coefficient.is_nonnegative() => rising,
            rising if coefficient.negated().is_nonnegative() => rising.reverse(),
            _ => return None,
        };
        whole = join_monotonicity(whole, term)?;
    }
    Some(whole)
}

/// The common direction; `None` if they are opposite.
fn join_monotonicity(a: Ordering, b: Ordering) -> Option<Ordering> {
    match (a, b) {
        (Ordering::Equal, other) | (other, Ordering::Equal) => Some(other),
        (a, b) => (a == b).then_some(a),
    }
}

fn factor_monotonicity(factor: &PowerFactor, symbol: &SymbolId) -> Option<Ordering> {
    if !atom_contains(&factor.atom, symbol) {
        return Some(Ordering::Equal);
    }
    let rising = match factor.atom.kind() {
        AtomKind::Symbol(_) => Ordering::Greater,
        AtomKind::Group(inner) | AtomKind::Log2(inner) | AtomKind::Exp2(inner) | AtomKind::Rounded(_, inner) => {
            monotonicity(inner, symbol)?
        }
        AtomKind::Extremum(_, entries) => {
            entries.iter().try_fold(Ordering::Equal, |whole, entry| join_monotonicity(whole, monotonicity(entry, symbol)?))?
        }
        AtomKind::Ln2 | AtomKind::TooDeep | AtomKind::Fold(_) | AtomKind::Piecewise(..) => return None,
    };
    // Odd powers of a possibly negative base still increase; even and negative ones only on one side of zero.
    let odd = factor.exponent.is_integer() && !factor.exponent.is_even() && !factor.exponent.is_negative();
    let sure = factor.atom.is_nonnegative() || !factor.exponent.is_integer() || odd;
    sure.then(|| if factor.exponent.is_negative() { rising.reverse() } else { rising })
}

/// The sign of the derivative on the range, where the body is smooth and the sign is constant.
fn derivative_sign(body: &Formula, range: &IndexRange) -> Option<Ordering> {
    let slope = smooth_derivative(body, range)?;
    if range.is_nonnegative_on(&slope) {
        return Some(Ordering::Greater);
    }
    range.is_nonnegative_on(&-slope).then_some(Ordering::Less)
}

/// Whether the extremum is at one of the ends because the body is convex (or concave) towards it.
fn has_extremum_at_end(side: Extremum, body: &Formula, range: &IndexRange) -> bool {
    let bend = smooth_derivative(body, range).and_then(|slope| derivative_of(&slope, &range.index));
    bend.is_some_and(|bend| range.is_nonnegative_on(&if side == Extremum::Max { bend } else { -bend }))
}

/// The derivative of a formula without jumps, kinks and poles in the range.
fn smooth_derivative(body: &Formula, range: &IndexRange) -> Option<Formula> {
    if is_smooth(body, range) { derivative_of(body, &range.index) } else { None }
}

fn is_smooth(formula: &Formula, range: &IndexRange) -> bool {
    let factors = formula.terms().flat_map(|(monomial, _)| monomial.factors());
    factors.filter(|factor| atom_contains(&factor.atom, &range.index)).all(|factor| match factor.atom.kind() {
        AtomKind::Extremum(..) | AtomKind::Rounded(..) | AtomKind::Fold(_) | AtomKind::Piecewise(..) => false,
        AtomKind::Group(inner) if factor.exponent.is_negative() => range.has_constant_sign_on(inner) && is_smooth(inner, range),
        AtomKind::Log2(inner) if factor.exponent.is_negative() => {
            range.has_constant_sign_on(&Formula::from(factor.atom.clone())) && is_smooth(inner, range)
        }
        kind => kind.operands().into_iter().all(|part| is_smooth(part, range)),
    })
}
