//! Derivatives.

use std::collections::HashMap;

use thiserror::Error;

use crate::atom::{Atom, Extreme, Fold, How, Kind, Piece, Symbol};
use crate::build::{self, product};
use crate::formula::{Formula, atom_contains};
use crate::monomial::{Factor, Monomial};
use crate::rational::Rational;

/// There is no derivative: the symbol says how many values are added or compared.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("no derivative by {symbol}: it is in the bounds of a range that has no closed form, or under a maximum over a range")]
pub struct NoDerivative {
    /// The symbol.
    pub symbol: String,
}

impl Formula {
    /// The derivative by a symbol. Jumps and kinks are passed over: it is right wherever there is one.
    pub fn derivative(&self, symbol: &str) -> Result<Formula, NoDerivative> {
        derived(self, &Symbol::named(symbol)).ok_or_else(|| NoDerivative { symbol: symbol.to_owned() })
    }
}

/// The derivative, or nothing where there is none.
pub(crate) fn derived(formula: &Formula, symbol: &Symbol) -> Option<Formula> {
    Derivation { symbol, done: HashMap::new() }.formula(formula)
}

struct Derivation<'a> {
    symbol: &'a Symbol,
    /// Derivatives of atoms by where they lie; the atoms are kept so that no other can come to lie there.
    done: HashMap<usize, (Atom, Option<Formula>)>,
}

impl Derivation<'_> {
    fn formula(&mut self, formula: &Formula) -> Option<Formula> {
        let mut sum = Formula::zero();
        for (monomial, coefficient) in formula.terms() {
            for factor in monomial.factors().iter().filter(|factor| atom_contains(&factor.atom, self.symbol)) {
                let others = monomial.filtered(|other| other != factor);
                let outer = Formula::term(coefficient.clone(), &others);
                sum += product(&outer, &self.factor(factor)?);
            }
        }
        Some(sum)
    }

    fn factor(&mut self, factor: &Factor) -> Option<Formula> {
        let lower = &factor.exponent - &Rational::ONE;
        let base = match factor.atom.kind() {
            Kind::Group(inner) => inner.clone(),
            _ => Formula::from(factor.atom.clone()),
        };
        let outer = product(&Formula::exact(factor.exponent.clone()), &build::power(&base, &lower));
        Some(product(&outer, &self.atom(&factor.atom)?))
    }

    fn atom(&mut self, atom: &Atom) -> Option<Formula> {
        if let Some((_, done)) = self.done.get(&atom.address()) {
            return done.clone();
        }
        let slope = self.new_atom(atom);
        self.done.insert(atom.address(), (atom.clone(), slope.clone()));
        slope
    }

    fn new_atom(&mut self, atom: &Atom) -> Option<Formula> {
        let ln2 = |exponent: i64| Formula::from(Monomial::power(Atom::new(Kind::Ln2), Rational::from(exponent)));
        Some(match atom.kind() {
            Kind::Symbol(_) => Formula::one(),
            Kind::Ln2 | Kind::Rounded(..) => Formula::zero(),
            Kind::TooDeep => return None,
            Kind::Group(inner) => self.formula(inner)?,
            Kind::Log(inner) => product(&product(&self.formula(inner)?, &inner.power(-1)), &ln2(-1)),
            Kind::Exp(inner) => product(&product(&self.formula(inner)?, &Formula::from(atom.clone())), &ln2(1)),
            Kind::Extreme(side, entries) => self.extreme(*side, entries)?,
            Kind::Pieces(variable, pieces) => {
                let slopes = pieces.iter().map(|piece| Some(Piece { up_to: piece.up_to.clone(), formula: self.formula(&piece.formula)? }));
                build::pieces(variable, slopes.collect::<Option<Vec<_>>>()?)
            }
            Kind::Fold(fold) => self.fold(fold)?,
        })
    }

    /// The derivative of whichever entry is the extreme one.
    fn extreme(&mut self, side: Extreme, entries: &[Formula]) -> Option<Formula> {
        if let [only] = entries {
            return self.formula(only);
        }
        // Halves, so that the pieces do not stand as deep inside each other as there are entries.
        let (first, last) = entries.split_at(entries.len() / 2);
        let of = |half: &[Formula]| build::extreme(side, half.to_vec());
        let ahead = match side {
            Extreme::Max => of(last) - of(first),
            Extreme::Min => of(first) - of(last),
        };
        let slopes = [Piece::up_to(Formula::zero(), self.extreme(side, first)?), Piece::beyond(self.extreme(side, last)?)];
        Some(build::pieces(&ahead, slopes.into()))
    }

    fn fold(&mut self, fold: &Fold) -> Option<Formula> {
        if fold.how != How::Sum || fold.from.contains(self.symbol) || fold.to.contains(self.symbol) {
            return None;
        }
        let (index, body) = build::opened(fold);
        Some(build::fold(How::Sum, &index, &fold.hint.0, &fold.from, &fold.to, &self.formula(&body)?))
    }
}
