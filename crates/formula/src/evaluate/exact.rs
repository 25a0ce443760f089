//! Exact evaluation in rational arithmetic.

use std::collections::HashMap;

use super::Evaluator;
use crate::atom::{Atom, AtomKind, Extremum, FoldOp, IndexedFold, PiecewiseCase, RoundingMode, SymbolId};
use crate::formula::Formula;
use crate::rational::Rational;
use crate::values::SymbolValues;

/// Sums with more terms have no exact value here, since they would be evaluated term by term.
const MAX_STEPS: i64 = 64;

impl Formula {
    /// The exact value. `None` if a symbol has no value, if there is a root, a logarithm or a division by zero, or if a sum is too long.
    /// Interval coefficients are taken at their midpoints.
    pub fn evaluate_exact(&self, values: &SymbolValues<Rational>) -> Option<Rational> {
        let lookup = |symbol: &SymbolId| match symbol {
            SymbolId::Named(name) => values.get(name).cloned(),
            _ => None,
        };
        ExactEvaluator { lookup: &lookup, bound_symbols: Vec::new(), cache: HashMap::new() }.formula(self)
    }
}

impl Evaluator<'_> {
    /// The exact value at the current point, if it is a point.
    pub(super) fn exact(&self, formula: &Formula) -> Option<Rational> {
        if !self.at_midpoints && formula.has_interval() {
            return None;
        }
        let lookup = |symbol: &SymbolId| {
            self.symbol(symbol).ok().filter(|value| value.is_point()).and_then(|value| Rational::from_f64_exact(value.low()))
        };
        ExactEvaluator { lookup: &lookup, bound_symbols: Vec::new(), cache: HashMap::new() }.formula(formula)
    }
}

struct ExactEvaluator<'a> {
    lookup: &'a dyn Fn(&SymbolId) -> Option<Rational>,
    bound_symbols: Vec<(SymbolId, Rational)>,
    /// Values of atoms outside folds, by address; the formula keeps the atoms alive.
    cache: HashMap<usize, Option<Rational>>,
}

impl ExactEvaluator<'_> {
    fn formula(&mut self, formula: &Formula) -> Option<Rational> {
        let mut sum = Rational::ZERO;
        for (monomial, coefficient) in formula.terms() {
            let mut term = coefficient.midpoint();
            for factor in monomial.factors() {
                let base = self.atom(&factor.atom)?;
                let power = match (factor.exponent.to_i64(), base.is_one()) {
                    (_, true) => Rational::ONE,
                    (Some(exponent), _) => base.power(exponent)?,
                    (None, _) => return None,
                };
                if term.bits() + power.bits() > crate::rational::MAX_BITS {
                    return None;
                }
                term = &term * &power;
            }
            sum = sum + term;
        }
        Some(sum)
    }

    fn atom(&mut self, atom: &Atom) -> Option<Rational> {
        if !self.bound_symbols.is_empty() {
            return self.eval_atom(atom);
        }
        if let Some(known) = self.cache.get(&atom.address()) {
            return known.clone();
        }
        let value = self.eval_atom(atom);
        self.cache.insert(atom.address(), value.clone());
        value
    }

    fn eval_atom(&mut self, atom: &Atom) -> Option<Rational> {
        match atom.kind() {
            AtomKind::Symbol(symbol) => match self.bound_symbols.iter().rev().find(|(bound, _)| bound == symbol) {
                Some((_, value)) => Some(value.clone()),
                None => (self.lookup)(symbol),
            },
            AtomKind::Group(inner) => self.formula(inner),
            AtomKind::Extremum(side, entries) => {
                let values = entries.iter().map(|entry| self.formula(entry)).collect::<Option<Vec<_>>>()?;
                match side {
                    Extremum::Max => values.into_iter().max(),
                    Extremum::Min => values.into_iter().min(),
                }
            }
            AtomKind::Rounded(RoundingMode::Up, inner) => Some(self.formula(inner)?.ceil()),
            AtomKind::Rounded(RoundingMode::Down, inner) => Some(self.formula(inner)?.floor()),
            AtomKind::Piecewise(variable, pieces) => self.piecewise(variable, pieces),
            AtomKind::Fold(fold) => self.fold(fold),
            AtomKind::Exp2(inner) => Rational::from(2).power(self.formula(inner)?.to_i64()?),
            AtomKind::Log2(inner) => {
                let (times, rest) = self.formula(inner)?.remove_factor(2);
                rest.is_one().then(|| Rational::from(times))
            }
            AtomKind::Ln2 | AtomKind::TooDeep => None,
        }
    }

    fn piecewise(&mut self, variable: &Formula, pieces: &[PiecewiseCase]) -> Option<Rational> {
        let value = self.formula(variable)?;
        for piece in pieces {
            let holds = match &piece.up_to {
                Some(bound) => value <= self.formula(bound)?,
                None => true,
            };
            if holds {
                return self.formula(&piece.formula);
            }
        }
        None
    }

    fn fold(&mut self, fold: &IndexedFold) -> Option<Rational> {
        let (from, to) = (self.formula(&fold.from)?, self.formula(&fold.to)?);
        let steps = (&to - &from).floor().to_i64().filter(|steps| *steps < MAX_STEPS)?;
        let mut result: Option<Rational> = if fold.op == FoldOp::Sum { Some(Rational::ZERO) } else { None };
        for step in 0..=steps {
            self.bound_symbols.push((fold.index(), &from + &Rational::from(step)));
            let value = self.formula(&fold.body);
            self.bound_symbols.pop();
            let value = value?;
            result = Some(match (result, fold.op) {
                (None, _) => value,
                (Some(known), FoldOp::Sum) => known + value,
                (Some(known), FoldOp::Extremum(Extremum::Max)) => known.max(value),
                (Some(known), FoldOp::Extremum(Extremum::Min)) => known.min(value),
            });
        }
        result
    }
}
