//! Extremes over ranges: at an end where the body rises, falls or bends towards the extreme; otherwise kept.

use std::cmp::Ordering;

use crate::atom::{Atom, Extreme, How, Kind, Symbol};
use crate::build::{self, Range, product};
use crate::derivative::derived;
use crate::formula::{Formula, Terms, atom_contains, monomial_contains};
use crate::monomial::Factor;

/// Larger bodies are kept as they are: to look for their direction would take too long.
const MOST_SIZE: u64 = 10_000;

/// The extreme of a body over a range, which is not empty.
pub(crate) fn extreme_over(side: Extreme, range: &Range, body: &Formula) -> Formula {
    let range = &range.whole();
    let at = |index: &Formula| body.replaced(&range.index, index);
    if !body.contains(&range.index) || range.from == range.to {
        return at(&range.from);
    }
    if let Some(Kind::Extreme(inner, entries)) = body.as_atom().map(Atom::kind)
        && *inner == side
    {
        return build::extreme(side, entries.iter().map(|entry| extreme_over(side, range, entry)).collect());
    }
    let (mut apart, mut inside) = (Terms::default(), Terms::default());
    for (monomial, coefficient) in body.terms() {
        let terms = if monomial_contains(monomial, &range.index) { &mut inside } else { &mut apart };
        terms.add(monomial, coefficient);
    }
    Formula::from(apart) + of_rest(side, range, &Formula::from(inside))
}

/// The extreme of a sum all of whose terms depend on the index.
fn of_rest(side: Extreme, range: &Range, body: &Formula) -> Formula {
    let free = |factor: &Factor| factor.atom.is_nonnegative() && !atom_contains(&factor.atom, &range.index);
    let common = build::common_product(body, free);
    if !common.is_one() {
        let rest = build::without(body, &common);
        return product(&Formula::from(common), &of_rest(side, range, &rest));
    }
    let at = |index: &Formula| body.replaced(&range.index, index);
    if body.size() > MOST_SIZE {
        return range.kept(How::Extreme(side), body);
    }
    let rising = trend(body, &range.index).or_else(|| slope_sign(body, range));
    match rising {
        Some(Ordering::Equal) => at(&range.from),
        Some(direction) => at(if (direction == Ordering::Greater) == (side == Extreme::Max) { &range.to } else { &range.from }),
        None if bends_outward(side, body, range) => build::extreme(side, vec![at(&range.from), at(&range.to)]),
        None => range.kept(How::Extreme(side), body),
    }
}

/// Whether a formula rises (`Greater`) or falls (`Less`) with a symbol as its form shows.
pub(crate) fn trend(formula: &Formula, symbol: &Symbol) -> Option<Ordering> {
    let mut whole = Ordering::Equal;
    for (monomial, coefficient) in formula.terms() {
        let mut term = Ordering::Equal;
        for factor in monomial.factors() {
            let own = factor_trend(factor, symbol)?;
            // A product of things that rise rises only if none of them is negative.
            if !factor.is_nonnegative() && monomial.factors().len() > 1 {
                if monomial_contains(monomial, symbol) {
                    return None;
                }
                continue;
            }
            term = together(term, own)?;
        }
        let term = match term {
            Ordering::Equal => Ordering::Equal,
            rising if coefficient.is_nonnegative() => rising,
            rising if coefficient.negated().is_nonnegative() => rising.reverse(),
            _ => return None,
        };
        whole = together(whole, term)?;
    }
    Some(whole)
}

/// Both directions at once, unless they are opposite.
fn together(a: Ordering, b: Ordering) -> Option<Ordering> {
    match (a, b) {
        (Ordering::Equal, other) | (other, Ordering::Equal) => Some(other),
        (a, b) => (a == b).then_some(a),
    }
}

fn factor_trend(factor: &Factor, symbol: &Symbol) -> Option<Ordering> {
    if !atom_contains(&factor.atom, symbol) {
        return Some(Ordering::Equal);
    }
    let rising = match factor.atom.kind() {
        Kind::Symbol(_) => Ordering::Greater,
        Kind::Group(inner) | Kind::Log(inner) | Kind::Exp(inner) | Kind::Rounded(_, inner) => trend(inner, symbol)?,
        Kind::Extreme(_, entries) => entries.iter().try_fold(Ordering::Equal, |whole, entry| together(whole, trend(entry, symbol)?))?,
        Kind::Ln2 | Kind::TooDeep | Kind::Fold(_) | Kind::Pieces(..) => return None,
    };
    // Odd powers of what may be negative still rise; even and negative ones only on one side of zero.
    let odd = factor.exponent.is_whole() && !factor.exponent.is_even() && !factor.exponent.is_negative();
    let sure = factor.atom.is_nonnegative() || !factor.exponent.is_whole() || odd;
    sure.then(|| if factor.exponent.is_negative() { rising.reverse() } else { rising })
}

/// The sign of the derivative on the range, where it is smooth and one sign can be shown.
fn slope_sign(body: &Formula, range: &Range) -> Option<Ordering> {
    let slope = smooth_derivative(body, range)?;
    if range.keeps_nonnegative(&slope) {
        return Some(Ordering::Greater);
    }
    range.keeps_nonnegative(&-slope).then_some(Ordering::Less)
}

/// Whether the extreme is at one of the ends because the body bends towards it in between.
fn bends_outward(side: Extreme, body: &Formula, range: &Range) -> bool {
    let bend = smooth_derivative(body, range).and_then(|slope| derived(&slope, &range.index));
    bend.is_some_and(|bend| range.keeps_nonnegative(&if side == Extreme::Max { bend } else { -bend }))
}

/// The derivative of a formula without jumps, kinks and poles in the range.
fn smooth_derivative(body: &Formula, range: &Range) -> Option<Formula> {
    if is_smooth(body, range) { derived(body, &range.index) } else { None }
}

fn is_smooth(formula: &Formula, range: &Range) -> bool {
    let factors = formula.terms().flat_map(|(monomial, _)| monomial.factors());
    factors.filter(|factor| atom_contains(&factor.atom, &range.index)).all(|factor| match factor.atom.kind() {
        Kind::Extreme(..) | Kind::Rounded(..) | Kind::Fold(_) | Kind::Pieces(..) => false,
        Kind::Group(inner) if factor.exponent.is_negative() => range.keeps_one_sign(inner) && is_smooth(inner, range),
        Kind::Log(inner) if factor.exponent.is_negative() => {
            range.keeps_one_sign(&Formula::from(factor.atom.clone())) && is_smooth(inner, range)
        }
        kind => kind.parts().into_iter().all(|part| is_smooth(part, range)),
    })
}
