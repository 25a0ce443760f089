//! Substitution of formulas for symbols.

use std::collections::HashMap;

use crate::atom::{Atom, AtomKind, IndexedFold, PiecewiseCase, SymbolId};
use crate::build;
use crate::formula::{Formula, TermMap, atom_contains, monomial_contains};
use crate::monomial::Monomial;

impl Formula {
    /// The formula with another one substituted for a free symbol.
    pub fn substitute(&self, symbol: &str, by: &Formula) -> Formula {
        self.substitute_symbol(&SymbolId::named(symbol), by)
    }

    pub(crate) fn substitute_symbol(&self, symbol: &SymbolId, by: &Formula) -> Formula {
        let plain = matches!(by.as_atom().map(Atom::kind), Some(AtomKind::Symbol(_)));
        rewrite(self, &mut SymbolSubstitution { symbol, by, is_renaming: plain, cache: HashMap::new() })
    }
}

/// A rewriting of some atoms of a formula.
pub(crate) trait AtomRewriter {
    /// Whether an atom may be rewritten.
    fn may_rewrite(&self, atom: &Atom) -> bool;
    /// What the atom is rewritten to; only called for atoms that may be rewritten.
    fn rewrite_atom(&mut self, atom: &Atom) -> Formula;
}

/// Applies a rewriter to all atoms of a formula.
pub(crate) fn rewrite(formula: &Formula, change: &mut impl AtomRewriter) -> Formula {
    let mut terms = TermMap::default();
    for (monomial, coefficient) in formula.terms() {
        if monomial.factors().iter().any(|factor| change.may_rewrite(&factor.atom)) {
            let kept = monomial.filter(|factor| !change.may_rewrite(&factor.atom));
            let mut factors = vec![Formula::term(coefficient.clone(), &kept)];
            for factor in monomial.factors() {
                if change.may_rewrite(&factor.atom) {
                    factors.push(build::power(&change.rewrite_atom(&factor.atom), &factor.exponent));
                }
            }
            terms.add_all(build::product_of(factors).term_map());
        } else {
            terms.add(monomial, coefficient);
        }
    }
    terms.into()
}

/// An atom with its operands mapped, rebuilt in canonical form.
pub(crate) fn map_operands(kind: &AtomKind, mut part: impl FnMut(&Formula) -> Formula) -> Formula {
    match kind {
        AtomKind::Symbol(symbol) => Formula::from(symbol.clone()),
        AtomKind::Ln2 | AtomKind::TooDeep => Formula::from(Atom::new(kind.clone())),
        AtomKind::Group(inner) => part(inner),
        AtomKind::Log2(inner) => build::log2(&part(inner)),
        AtomKind::Exp2(inner) => build::exp2(&part(inner)),
        AtomKind::Extremum(side, entries) => build::extremum(*side, entries.iter().map(part).collect()),
        AtomKind::Rounded(rounding, inner) => build::round(*rounding, &part(inner)),
        AtomKind::Piecewise(variable, list) => {
            let variable = part(variable);
            let changed =
                list.iter().map(|piece| PiecewiseCase { up_to: piece.up_to.as_ref().map(&mut part), formula: part(&piece.formula) });
            build::piecewise(&variable, changed.collect())
        }
        AtomKind::Fold(fold) => {
            let (index, body) = build::instantiate_body(fold);
            build::fold(fold.op, &index, &fold.index_name.0, &part(&fold.from), &part(&fold.to), &part(&body))
        }
    }
}

struct SymbolSubstitution<'a> {
    symbol: &'a SymbolId,
    by: &'a Formula,
    /// Whether a symbol replaces a symbol, which cannot simplify anything.
    is_renaming: bool,
    /// The results for atoms by address; the atoms are kept alive so that no address is reused.
    cache: HashMap<usize, (Atom, Formula)>,
}

impl AtomRewriter for SymbolSubstitution<'_> {
    fn may_rewrite(&self, atom: &Atom) -> bool {
        atom_contains(atom, self.symbol)
    }

    fn rewrite_atom(&mut self, atom: &Atom) -> Formula {
        if let Some((_, done)) = self.cache.get(&atom.address()) {
            return done.clone();
        }
        let changed = match atom.kind() {
            AtomKind::Symbol(_) => self.by.clone(),
            AtomKind::Fold(fold) if fold.index() == *self.symbol => {
                let (from, to) = (rewrite(&fold.from, self), rewrite(&fold.to, self));
                Formula::from(Atom::new(AtomKind::Fold(IndexedFold { from, to, ..fold.clone() })))
            }
            AtomKind::Fold(fold) if self.is_renaming => {
                let (from, to, body) = (rewrite(&fold.from, self), rewrite(&fold.to, self), rewrite(&fold.body, self));
                Formula::from(Atom::new(AtomKind::Fold(IndexedFold { from, to, body, ..fold.clone() })))
            }
            kind => map_operands(kind, |part| rewrite(part, self)),
        };
        self.cache.insert(atom.address(), (atom.clone(), changed.clone()));
        changed
    }
}

/// The factors that do not depend on a symbol, and those that do.
pub(crate) fn split_by_dependence(monomial: &Monomial, symbol: &SymbolId) -> (Monomial, Monomial) {
    if !monomial_contains(monomial, symbol) {
        return (monomial.clone(), Monomial::one());
    }
    (monomial.filter(|factor| !atom_contains(&factor.atom, symbol)), monomial.filter(|factor| atom_contains(&factor.atom, symbol)))
}
