//! Symbolic differentiation.

use std::collections::HashMap;

use thiserror::Error;

use crate::atom::{Atom, AtomKind, Extremum, FoldOp, IndexedFold, PiecewiseCase, SymbolId};
use crate::build::{self, product};
use crate::formula::{Formula, atom_contains};
use crate::monomial::{Monomial, PowerFactor};
use crate::rational::Rational;

/// There is no derivative: the symbol determines the number of terms of a fold.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("no derivative with respect to {symbol}: it is in the bounds of a sum without a closed form, or inside a maximum over a range")]
pub struct NoDerivative {
    /// The symbol.
    pub symbol: String,
}

impl Formula {
    /// The derivative with respect to a symbol. Jumps and kinks are ignored: it is correct wherever the derivative exists.
    pub fn derivative(&self, symbol: &str) -> Result<Formula, NoDerivative> {
        derivative_of(self, &SymbolId::named(symbol)).ok_or_else(|| NoDerivative { symbol: symbol.to_owned() })
    }
}

pub(crate) fn derivative_of(formula: &Formula, symbol: &SymbolId) -> Option<Formula> {
    Differentiator { symbol, cache: HashMap::new() }.formula_derivative(formula)
}

struct Differentiator<'a> {
    symbol: &'a SymbolId,
    /// Derivatives of atoms by address; the atoms are kept alive so that no address is reused.
    cache: HashMap<usize, (Atom, Option<Formula>)>,
}

impl Differentiator<'_> {
    fn formula_derivative(&mut self, formula: &Formula) -> Option<Formula> {
        let mut sum = Formula::zero();
        for (monomial, coefficient) in formula.terms() {
            for factor in monomial.factors().iter().filter(|factor| atom_contains(&factor.atom, self.symbol)) {
                let others = monomial.filter(|other| other != factor);
                let outer = Formula::term(coefficient.clone(), &others);
                sum += product(&outer, &self.factor_derivative(factor)?);
            }
        }
        Some(sum)
    }

    fn factor_derivative(&mut self, factor: &PowerFactor) -> Option<Formula> {
        let lower = &factor.exponent - &Rational::ONE;
        let base = match factor.atom.kind() {
            AtomKind::Group(inner) => inner.clone(),
            _ => Formula::from(factor.atom.clone()),
        };
        let outer = product(&Formula::from_rational(factor.exponent.clone()), &build::power(&base, &lower));
        Some(product(&outer, &self.atom_derivative(&factor.atom)?))
    }

    fn atom_derivative(&mut self, atom: &Atom) -> Option<Formula> {
        if let Some((_, done)) = self.cache.get(&atom.address()) {
            return done.clone();
        }
        let slope = self.differentiate_atom(atom);
        self.cache.insert(atom.address(), (atom.clone(), slope.clone()));
        slope
    }

    fn differentiate_atom(&mut self, atom: &Atom) -> Option<Formula> {
        let ln2 = |exponent: i64| Formula::from(Monomial::power(Atom::new(AtomKind::Ln2), Rational::from(exponent)));
        Some(match atom.kind() {
            AtomKind::Symbol(_) => Formula::one(),
            AtomKind::Ln2 | AtomKind::Rounded(..) => Formula::zero(),
            AtomKind::TooDeep => return None,
            AtomKind::Group(inner) => self.formula_derivative(inner)?,
            AtomKind::Log2(inner) => product(&product(&self.formula_derivative(inner)?, &inner.power(-1)), &ln2(-1)),
            AtomKind::Exp2(inner) => product(&product(&self.formula_derivative(inner)?, &Formula::from(atom.clone())), &ln2(1)),
            AtomKind::Extremum(side, entries) => self.extremum_derivative(*side, entries)?,
            AtomKind::Piecewise(variable, pieces) => {
                let slopes = pieces
                    .iter()
                    .map(|piece| Some(PiecewiseCase { up_to: piece.up_to.clone(), formula: self.formula_derivative(&piece.formula)? }));
                build::piecewise(variable, slopes.collect::<Option<Vec<_>>>()?)
            }
            AtomKind::Fold(fold) => self.fold_derivative(fold)?,
        })
    }

    /// The derivative of the entry that is the extremum.
    fn extremum_derivative(&mut self, side: Extremum, entries: &[Formula]) -> Option<Formula> {
        if let [only] = entries {
            return self.formula_derivative(only);
        }
        // Divide and conquer, so that the nesting depth grows with the logarithm of the number of entries.
        let (first, last) = entries.split_at(entries.len() / 2);
        let of = |half: &[Formula]| build::extremum(side, half.to_vec());
        let ahead = match side {
            Extremum::Max => of(last) - of(first),
            Extremum::Min => of(first) - of(last),
        };
        let slopes = [
            PiecewiseCase::up_to(Formula::zero(), self.extremum_derivative(side, first)?),
            PiecewiseCase::beyond(self.extremum_derivative(side, last)?),
        ];
        Some(build::piecewise(&ahead, slopes.into()))
    }

    fn fold_derivative(&mut self, fold: &IndexedFold) -> Option<Formula> {
        if fold.op != FoldOp::Sum || fold.from.contains(self.symbol) || fold.to.contains(self.symbol) {
            return None;
        }
        let (index, body) = build::instantiate_body(fold);
        Some(build::fold(FoldOp::Sum, &index, &fold.index_name.0, &fold.from, &fold.to, &self.formula_derivative(&body)?))
    }
}
