//! Exact values, where a formula has one.

use std::collections::HashMap;

use super::Evaluation;
use crate::atom::{Atom, Extreme, Fold, How, Kind, Piece, Rounding, Symbol};
use crate::formula::Formula;
use crate::rational::Rational;
use crate::values::Values;

/// Sums with more terms than this have no exact value here: they would be looped over.
const MOST_STEPS: i64 = 64;

impl Formula {
    /// The exact value, or nothing when there is none: a symbol without value, a root, a logarithm, a division by zero, or a sum too long to
    /// add up. Unknown numbers stand at their middles.
    pub fn exact_value(&self, values: &Values<Rational>) -> Option<Rational> {
        let lookup = |symbol: &Symbol| match symbol {
            Symbol::Named(name) => values.get(name).cloned(),
            _ => None,
        };
        Exact { lookup: &lookup, bound: Vec::new(), known: HashMap::new() }.formula(self)
    }
}

impl Evaluation<'_> {
    /// The exact value at the present point, if it is one.
    pub(super) fn exact(&self, formula: &Formula) -> Option<Rational> {
        if !self.middles && formula.is_loose() {
            return None;
        }
        let lookup =
            |symbol: &Symbol| self.symbol(symbol).ok().filter(|value| value.is_point()).and_then(|value| Rational::exactly(value.low()));
        Exact { lookup: &lookup, bound: Vec::new(), known: HashMap::new() }.formula(formula)
    }
}

struct Exact<'a> {
    lookup: &'a dyn Fn(&Symbol) -> Option<Rational>,
    bound: Vec<(Symbol, Rational)>,
    /// Values of atoms outside ranges, by where they lie; the formula keeps them there.
    known: HashMap<usize, Option<Rational>>,
}

impl Exact<'_> {
    fn formula(&mut self, formula: &Formula) -> Option<Rational> {
        let mut sum = Rational::ZERO;
        for (monomial, coefficient) in formula.terms() {
            let mut term = coefficient.middle();
            for factor in monomial.factors() {
                let base = self.atom(&factor.atom)?;
                let power = match (factor.exponent.to_i64(), base.is_one()) {
                    (_, true) => Rational::ONE,
                    (Some(exponent), _) => base.power(exponent)?,
                    (None, _) => return None,
                };
                if term.bits() + power.bits() > crate::rational::MOST_BITS {
                    return None;
                }
                term = &term * &power;
            }
            sum = sum + term;
        }
        Some(sum)
    }

    fn atom(&mut self, atom: &Atom) -> Option<Rational> {
        if !self.bound.is_empty() {
            return self.new_atom(atom);
        }
        if let Some(known) = self.known.get(&atom.address()) {
            return known.clone();
        }
        let value = self.new_atom(atom);
        self.known.insert(atom.address(), value.clone());
        value
    }

    fn new_atom(&mut self, atom: &Atom) -> Option<Rational> {
        match atom.kind() {
            Kind::Symbol(symbol) => match self.bound.iter().rev().find(|(bound, _)| bound == symbol) {
                Some((_, value)) => Some(value.clone()),
                None => (self.lookup)(symbol),
            },
            Kind::Group(inner) => self.formula(inner),
            Kind::Extreme(side, entries) => {
                let values = entries.iter().map(|entry| self.formula(entry)).collect::<Option<Vec<_>>>()?;
                match side {
                    Extreme::Max => values.into_iter().max(),
                    Extreme::Min => values.into_iter().min(),
                }
            }
            Kind::Rounded(Rounding::Up, inner) => Some(self.formula(inner)?.ceil()),
            Kind::Rounded(Rounding::Down, inner) => Some(self.formula(inner)?.floor()),
            Kind::Pieces(variable, pieces) => self.pieces(variable, pieces),
            Kind::Fold(fold) => self.fold(fold),
            Kind::Exp(inner) => Rational::from(2).power(self.formula(inner)?.to_i64()?),
            Kind::Log(inner) => {
                let (times, rest) = self.formula(inner)?.divided_out(2);
                rest.is_one().then(|| Rational::from(times))
            }
            Kind::Ln2 | Kind::TooDeep => None,
        }
    }

    fn pieces(&mut self, variable: &Formula, pieces: &[Piece]) -> Option<Rational> {
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

    fn fold(&mut self, fold: &Fold) -> Option<Rational> {
        let (from, to) = (self.formula(&fold.from)?, self.formula(&fold.to)?);
        let steps = (&to - &from).floor().to_i64().filter(|steps| *steps < MOST_STEPS)?;
        let mut result: Option<Rational> = if fold.how == How::Sum { Some(Rational::ZERO) } else { None };
        for step in 0..=steps {
            self.bound.push((fold.index(), &from + &Rational::from(step)));
            let value = self.formula(&fold.body);
            self.bound.pop();
            let value = value?;
            result = Some(match (result, fold.how) {
                (None, _) => value,
                (Some(known), How::Sum) => known + value,
                (Some(known), How::Extreme(Extreme::Max)) => known.max(value),
                (Some(known), How::Extreme(Extreme::Min)) => known.min(value),
            });
        }
        result
    }
}
