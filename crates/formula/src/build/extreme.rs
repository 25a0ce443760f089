//! The largest and the smallest of several formulas.

use std::collections::{BTreeSet, HashMap};

use super::product;
use crate::atom::{Atom, Extreme, Kind};
use crate::formula::{Formula, Terms};
use crate::monomial::{Factor, Monomial};
use crate::number::Number;
use crate::rational::Rational;
use crate::sign;

/// So many entries are compared each with each other.
const FEW: usize = 8;

/// Entries that only bounds put in their place can show to be beaten are compared with all others up to this many.
const MOST_COMPARED: usize = 256;

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
    let entries: Vec<Formula> = flat.into_iter().collect();
    let kept = undominated(side, &entries);
    let kept: Vec<Formula> = entries.into_iter().zip(kept).filter_map(|(entry, kept)| kept.then_some(entry)).collect();
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

/// Which entries no other entry beats for all values of the symbols.
pub(crate) fn undominated(side: Extreme, entries: &[Formula]) -> Vec<bool> {
    let uppers = Uppers::of(entries);
    let mut kept = vec![true; entries.len()];
    for lower in 0..entries.len() {
        for &upper in uppers.of_lower(&entries[lower]) {
            if !kept[lower] {
                break;
            }
            if upper != lower && kept[upper] && sign::is_at_least(&entries[upper], &entries[lower]) {
                kept[if side == Extreme::Max { lower } else { upper }] = false;
            }
        }
    }
    kept
}

/// Which entries may be nowhere below another one. A product that can be positive must be in both, so most pairs need no look.
struct Uppers<'a> {
    all: Vec<usize>,
    /// Where there are many entries: which of them have a product, with those that may exceed a product without having it.
    having: HashMap<&'a Monomial, Vec<usize>>,
}

impl<'a> Uppers<'a> {
    fn of(entries: &'a [Formula]) -> Uppers<'a> {
        let all: Vec<usize> = (0..entries.len()).collect();
        let mut having: HashMap<&Monomial, Vec<usize>> = HashMap::new();
        if entries.len() > FEW {
            for (place, (monomial, _)) in entries.iter().enumerate().flat_map(|(place, entry)| entry.terms().map(move |term| (place, term)))
            {
                having.entry(monomial).or_default().push(place);
            }
            if entries.len() <= MOST_COMPARED {
                let others: Vec<usize> = all.iter().copied().filter(|place| !entries[*place].is_plain()).collect();
                having.values_mut().for_each(|places| places.extend(&others));
            }
        }
        Uppers { all, having }
    }

    fn of_lower(&self, lower: &Formula) -> &[usize] {
        let needed = lower.terms().filter(|(monomial, number)| !number.negated().is_nonnegative() || !monomial.is_nonnegative());
        let rarest = needed.filter_map(|(monomial, _)| self.having.get(monomial)).min_by_key(|places| places.len());
        match rarest {
            Some(places) if lower.is_plain() || self.all.len() > MOST_COMPARED => places,
            _ => &self.all,
        }
    }
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
        if entries[1..].iter().all(|entry| entry.has_term(monomial, coefficient)) {
            shared.add(monomial, coefficient);
        }
    }
    shared.into()
}

/// A formula without the terms that it shares. A term that holds an unknown number would not cancel if it were subtracted.
fn unshared(entry: &Formula, shared: &Formula) -> Formula {
    let mut rest = Terms::default();
    for (monomial, coefficient) in entry.terms().filter(|(monomial, coefficient)| !shared.has_term(monomial, coefficient)) {
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
