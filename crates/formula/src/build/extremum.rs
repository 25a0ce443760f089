//! The maximum and minimum of several formulas.

use std::collections::{BTreeSet, HashMap};

use super::product;
use crate::atom::{Atom, AtomKind, Extremum};
use crate::coefficient::Coefficient;
use crate::formula::{Formula, TermMap};
use crate::monomial::{Monomial, PowerFactor};
use crate::rational::Rational;
use crate::sign;

/// Up to this many entries, all pairs are compared.
const MAX_ALL_PAIRS: usize = 8;

/// Up to this many, entries whose dominance only a bound can show are compared with all others.
const MAX_COMPARED: usize = 256;

/// The extremum of several formulas: flattened, without dominated entries, and with common terms and factors taken out.
pub(crate) fn extremum(side: Extremum, entries: Vec<Formula>) -> Formula {
    let mut flat = BTreeSet::new();
    let mut number: Option<Coefficient> = None;
    for entry in entries.into_iter().flat_map(|entry| flatten(side, entry)) {
        match entry.as_coefficient() {
            Some(value) => number = Some(number.map_or_else(|| value.clone(), |known| coefficient_extremum(side, &known, value))),
            None => {
                flat.insert(entry);
            }
        }
    }
    flat.extend(number.map(Formula::from_coefficient));
    let entries: Vec<Formula> = flat.into_iter().collect();
    let kept = undominated(side, &entries);
    let kept: Vec<Formula> = entries.into_iter().zip(kept).filter_map(|(entry, kept)| kept.then_some(entry)).collect();
    match kept.as_slice() {
        [] => Formula::undefined(),
        [only] => only.clone(),
        _ => factor_out_common(side, kept),
    }
}

/// The entries of a nested extremum of the same kind, or the formula itself.
fn flatten(side: Extremum, formula: Formula) -> Vec<Formula> {
    match formula.as_atom().map(Atom::kind) {
        Some(AtomKind::Extremum(inner, entries)) if *inner == side => entries.clone(),
        _ => vec![formula],
    }
}

fn coefficient_extremum(side: Extremum, a: &Coefficient, b: &Coefficient) -> Coefficient {
    let pick = |x: &Rational, y: &Rational| match side {
        Extremum::Max => x.max(y).clone(),
        Extremum::Min => x.min(y).clone(),
    };
    Coefficient::interval(pick(a.low(), b.low()), pick(a.high(), b.high()))
}

/// Marks the entries that no other entry dominates for all values of the symbols.
pub(crate) fn undominated(side: Extremum, entries: &[Formula]) -> Vec<bool> {
    let uppers = DominanceIndex::new(entries);
    let mut kept = vec![true; entries.len()];
    for lower in 0..entries.len() {
        for &upper in uppers.candidates(&entries[lower]) {
            if !kept[lower] {
                break;
            }
            if upper != lower && kept[upper] && sign::is_at_least(&entries[upper], &entries[lower]) {
                kept[if side == Extremum::Max { lower } else { upper }] = false;
            }
        }
    }
    kept
}

/// Finds the entries that may dominate another one. A product that can be positive must be in both, so most pairs need not be compared.
struct DominanceIndex<'a> {
    all: Vec<usize>,
    /// Only for many entries: the entries that contain a monomial, and those that may exceed a monomial without containing it.
    by_monomial: HashMap<&'a Monomial, Vec<usize>>,
}

impl<'a> DominanceIndex<'a> {
    fn new(entries: &'a [Formula]) -> DominanceIndex<'a> {
        let all: Vec<usize> = (0..entries.len()).collect();
        let mut by_monomial: HashMap<&Monomial, Vec<usize>> = HashMap::new();
        if entries.len() > MAX_ALL_PAIRS {
            for (index, (monomial, _)) in entries.iter().enumerate().flat_map(|(index, entry)| entry.terms().map(move |term| (index, term)))
            {
                by_monomial.entry(monomial).or_default().push(index);
            }
            if entries.len() <= MAX_COMPARED {
                let others: Vec<usize> = all.iter().copied().filter(|index| !entries[*index].is_directly_comparable()).collect();
                by_monomial.values_mut().for_each(|indices| indices.extend(&others));
            }
        }
        DominanceIndex { all, by_monomial }
    }

    fn candidates(&self, lower: &Formula) -> &[usize] {
        let needed = lower.terms().filter(|(monomial, number)| !number.negated().is_nonnegative() || !monomial.is_nonnegative());
        let rarest = needed.filter_map(|(monomial, _)| self.by_monomial.get(monomial)).min_by_key(|indices| indices.len());
        match rarest {
            Some(indices) if lower.is_directly_comparable() || self.all.len() > MAX_COMPARED => indices,
            _ => &self.all,
        }
    }
}

/// Takes out the terms that all entries share, then the nonnegative product that everything left has in common.
fn factor_out_common(side: Extremum, mut entries: Vec<Formula>) -> Formula {
    let shared = shared_terms(&entries);
    let common = if shared.is_zero() { shared_product(&entries) } else { Monomial::one() };
    if shared.is_zero() && common.is_one() {
        entries.sort_unstable();
        return Formula::from(Atom::new(AtomKind::Extremum(side, entries)));
    }
    let rest = entries.iter().map(|entry| super::divide_by_monomial(&without_shared_terms(entry, &shared), &common)).collect();
    shared + product(&Formula::from(common), &extremum(side, rest))
}

fn shared_terms(entries: &[Formula]) -> Formula {
    let mut shared = TermMap::default();
    for (monomial, coefficient) in entries[0].terms() {
        if entries[1..].iter().all(|entry| entry.has_term(monomial, coefficient)) {
            shared.add(monomial, coefficient);
        }
    }
    shared.into()
}

/// A formula without the shared terms. Subtraction would not do: a term with an interval coefficient does not cancel.
fn without_shared_terms(entry: &Formula, shared: &Formula) -> Formula {
    let mut rest = TermMap::default();
    for (monomial, coefficient) in entry.terms().filter(|(monomial, coefficient)| !shared.has_term(monomial, coefficient)) {
        rest.add(monomial, coefficient);
    }
    rest.into()
}

/// The powers of nonnegative atoms that every term of every entry contains; zero contains everything.
fn shared_product(entries: &[Formula]) -> Monomial {
    let all = || entries.iter().flat_map(Formula::terms).map(|(monomial, _)| monomial);
    let Some(first) = all().next() else { return Monomial::one() };
    let shared = |factor: &PowerFactor| {
        let exponents = || all().map(|monomial| monomial.exponent_of(&factor.atom));
        let (least, greatest) = (exponents().min()?, exponents().max()?);
        let exponent = if greatest.is_negative() { greatest } else { Some(least).filter(|least| least.sign().is_gt())? };
        (factor.atom.is_nonnegative() && !factor.atom.attributes().has_interval)
            .then(|| PowerFactor { atom: factor.atom.clone(), exponent })
    };
    Monomial::from_factors(first.factors().iter().filter_map(shared))
}
