//! Putting formulas in place of symbols.

use std::collections::HashMap;

use crate::atom::{Atom, Fold, Kind, Piece, Symbol};
use crate::build;
use crate::formula::{Formula, Terms, atom_contains, monomial_contains};
use crate::monomial::Monomial;

impl Formula {
    /// This formula with another in place of a symbol. Indexes of ranges are not symbols from outside, whatever their name.
    pub fn substitute(&self, symbol: &str, by: &Formula) -> Formula {
        self.replaced(&Symbol::named(symbol), by)
    }

    pub(crate) fn replaced(&self, symbol: &Symbol, by: &Formula) -> Formula {
        let plain = matches!(by.as_atom().map(Atom::kind), Some(Kind::Symbol(_)));
        rebuilt(self, &mut Replacement { symbol, by, plain, done: HashMap::new() })
    }
}

/// A walk that puts something else in place of some atoms.
pub(crate) trait Change {
    /// Whether an atom may change.
    fn concerns(&self, atom: &Atom) -> bool;
    /// What the atom becomes; asked for atoms that may change.
    fn atom(&mut self, atom: &Atom) -> Formula;
}

/// A formula with its atoms changed.
pub(crate) fn rebuilt(formula: &Formula, change: &mut impl Change) -> Formula {
    let mut terms = Terms::default();
    for (monomial, coefficient) in formula.terms() {
        if monomial.factors().iter().any(|factor| change.concerns(&factor.atom)) {
            let kept = monomial.filtered(|factor| !change.concerns(&factor.atom));
            let mut factors = vec![Formula::term(coefficient.clone(), &kept)];
            for factor in monomial.factors() {
                if change.concerns(&factor.atom) {
                    factors.push(build::power(&change.atom(&factor.atom), &factor.exponent));
                }
            }
            terms.add_all(build::product_of(factors).inner());
        } else {
            terms.add(monomial, coefficient);
        }
    }
    terms.into()
}

/// An atom other than a symbol or a range with its parts changed.
pub(crate) fn with_parts(kind: &Kind, mut part: impl FnMut(&Formula) -> Formula) -> Formula {
    match kind {
        Kind::Symbol(symbol) => Formula::from(symbol.clone()),
        Kind::Ln2 | Kind::TooDeep => Formula::from(Atom::new(kind.clone())),
        Kind::Group(inner) => part(inner),
        Kind::Log(inner) => build::log2(&part(inner)),
        Kind::Exp(inner) => build::two_to(&part(inner)),
        Kind::Extreme(side, entries) => build::extreme(*side, entries.iter().map(part).collect()),
        Kind::Rounded(rounding, inner) => build::rounded(*rounding, &part(inner)),
        Kind::Pieces(variable, list) => {
            let variable = part(variable);
            let changed = list.iter().map(|piece| Piece { up_to: piece.up_to.as_ref().map(&mut part), formula: part(&piece.formula) });
            build::pieces(&variable, changed.collect())
        }
        Kind::Fold(fold) => {
            let (index, body) = build::opened(fold);
            build::fold(fold.how, &index, &fold.hint.0, &part(&fold.from), &part(&fold.to), &part(&body))
        }
    }
}

struct Replacement<'a> {
    symbol: &'a Symbol,
    by: &'a Formula,
    /// Whether one symbol takes the place of another, which cannot make anything simpler.
    plain: bool,
    /// What atoms became, by where they lie; the atoms are kept so that no other can come to lie there.
    done: HashMap<usize, (Atom, Formula)>,
}

impl Change for Replacement<'_> {
    fn concerns(&self, atom: &Atom) -> bool {
        atom_contains(atom, self.symbol)
    }

    fn atom(&mut self, atom: &Atom) -> Formula {
        if let Some((_, done)) = self.done.get(&atom.address()) {
            return done.clone();
        }
        let changed = match atom.kind() {
            Kind::Symbol(_) => self.by.clone(),
            Kind::Fold(fold) if fold.index() == *self.symbol => {
                let (from, to) = (rebuilt(&fold.from, self), rebuilt(&fold.to, self));
                Formula::from(Atom::new(Kind::Fold(Fold { from, to, ..fold.clone() })))
            }
            Kind::Fold(fold) if self.plain => {
                let (from, to, body) = (rebuilt(&fold.from, self), rebuilt(&fold.to, self), rebuilt(&fold.body, self));
                Formula::from(Atom::new(Kind::Fold(Fold { from, to, body, ..fold.clone() })))
            }
            kind => with_parts(kind, |part| rebuilt(part, self)),
        };
        self.done.insert(atom.address(), (atom.clone(), changed.clone()));
        changed
    }
}

/// The factors that do not depend on a symbol, and those that do.
pub(crate) fn separated(monomial: &Monomial, symbol: &Symbol) -> (Monomial, Monomial) {
    if !monomial_contains(monomial, symbol) {
        return (monomial.clone(), Monomial::one());
    }
    (monomial.filtered(|factor| !atom_contains(&factor.atom, symbol)), monomial.filtered(|factor| atom_contains(&factor.atom, symbol)))
}
