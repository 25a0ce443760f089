//! The largest and the smallest of several formulas.

use std::collections::BTreeSet;

use super::product;
use crate::atom::{Atom, Extreme, Kind};
use crate::formula::{Formula, Terms};
use crate::monomial::{Factor, Monomial};
use crate::number::Number;
use crate::rational::Rational;
use crate::sign;

/// The extreme of several formulas: flat, without what another entry beats everywhere, and with what all share taken out.
pub(crate) fn extreme(side: Extreme, entries: Vec<Formula>) -> Formula {
    let mut flat = BTreeSet::new();
    let mut number: Option<Number> = None;
    for entry in entries.into_iter().flat_map(|entry| flattened(side, entry)) {
        match entry.as_number() {
            Some(value) => number = Some(number.map_or_else(|| value.clone(), |known| of_numbers(side, &known, value))),
            None => {
                flat.insert(entry);
            }
        }
    }
    flat.extend(number.map(Formula::number));
    let kept = undominated(side, flat.into_iter().collect());
    match kept.as_slice() {
        [] => Formula::undefined(),
        [only] => only.clone(),
        _ => shared_out(side, kept),
    }
}

/// The entries of an extreme of the same side, or the formula itself.
fn flattened(side: Extreme, formula: Formula) -> Vec<Formula> {
    match formula.as_atom().map(Atom::kind) {
        Some(Kind::Extreme(inner, entries)) if *inner == side => entries.clone(),
        _ => vec![formula],
    }
}

fn of_numbers(side: Extreme, a: &Number, b: &Number) -> Number {
    let pick = |x: &Rational, y: &Rational| match side {
        Extreme::Max => x.max(y).clone(),
        Extreme::Min => x.min(y).clone(),
    };
    Number::between(pick(a.low(), b.low()), pick(a.high(), b.high()))
}

/// The entries that no other entry beats for all values of the symbols.
fn undominated(side: Extreme, entries: Vec<Formula>) -> Vec<Formula> {
    let mut kept: Vec<Formula> = Vec::with_capacity(entries.len());
    for entry in entries {
        let beats = |a: &Formula, b: &Formula| match side {
            Extreme::Max => sign::is_at_least(a, b),
            Extreme::Min => sign::is_at_least(b, a),
        };
        if !kept.iter().any(|other| beats(other, &entry)) {
            kept.retain(|other| !beats(&entry, other));
            kept.push(entry);
        }
    }
    kept
}

/// Takes out the terms that all entries have, then the product that all that is left has in common and that cannot be negative.
fn shared_out(side: Extreme, mut entries: Vec<Formula>) -> Formula {
    let shared = shared_terms(&entries);
    let common = if shared.is_zero() { shared_product(&entries) } else { Monomial::one() };
    if shared.is_zero() && common.is_one() {
        entries.sort_unstable();
        return Formula::from(Atom::new(Kind::Extreme(side, entries)));
    }
    let rest = entries.iter().map(|entry| super::without(&unshared(entry, &shared), &common)).collect();
    shared + product(&Formula::from(common), &extreme(side, rest))
}

fn shared_terms(entries: &[Formula]) -> Formula {
    let mut shared = Terms::default();
    for (monomial, coefficient) in entries[0].terms() {
        if entries[1..].iter().all(|entry| entry.terms().any(|term| term == (monomial, coefficient))) {
            shared.add(monomial, coefficient);
        }
    }
    shared.into()
}

/// A formula without the terms that it shares. A term that holds an unknown number would not cancel if it were subtracted.
fn unshared(entry: &Formula, shared: &Formula) -> Formula {
    let mut rest = Terms::default();
    for (monomial, coefficient) in entry.terms().filter(|term| !shared.terms().any(|common| common == *term)) {
        rest.add(monomial, coefficient);
    }
    rest.into()
}

/// The powers of atoms that cannot be negative and that every term of every entry has; zero has everything.
fn shared_product(entries: &[Formula]) -> Monomial {
    let all = || entries.iter().flat_map(Formula::terms).map(|(monomial, _)| monomial);
    let Some(first) = all().next() else { return Monomial::one() };
    let shared = |factor: &Factor| {
        let exponents = || all().map(|monomial| monomial.exponent_of(&factor.atom));
        let (least, greatest) = (exponents().min()?, exponents().max()?);
        let exponent = if greatest.is_negative() { greatest } else { Some(least).filter(|least| least.sign().is_gt())? };
        (factor.atom.is_nonnegative() && !factor.atom.facts().loose).then(|| Factor { atom: factor.atom.clone(), exponent })
    };
    Monomial::of(first.factors().iter().filter_map(shared))
}
