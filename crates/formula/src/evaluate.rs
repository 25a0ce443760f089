//! Evaluation: an interval that encloses the value, however wide the intervals of the symbols are.
//!
//! `enclose` holds for all values of the symbols in their intervals. `evaluate` is the midpoint of the same computation with every symbol
//! and every interval coefficient at one point, so it always lies in the enclosure. Exact results stay exact: numerator and denominator of
//! a term are multiplied up separately and divided once.

mod exact;
mod extremum_search;
mod geometric;
mod jet;
mod series;
mod slope;
mod specialize;
mod steps;

use std::collections::HashMap;

pub(crate) use slope::enclose_without_subdivision;
use thiserror::Error;

use crate::atom::{Atom, AtomKind, Extremum, FoldOp, IndexedFold, MAX_DEPTH, PiecewiseCase, RoundingMode, SymbolId};
use crate::coefficient::Coefficient;
use crate::display::base_and_exponent;
use crate::formula::Formula;
use crate::interval::Interval;
use crate::monomial::{Monomial, PowerFactor};
use crate::rational::Rational;
use crate::values::SymbolValues;

/// The values of atoms of at least this size are cached during an evaluation, since they may be shared.
const MIN_CACHED_SIZE: u64 = 8;

/// Why a formula has no value.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EvaluationError {
    /// A symbol has no value.
    #[error("`{0}` has no value")]
    Symbol(String),
    /// A divisor is zero.
    #[error("division by zero")]
    Division,
    /// The radicand is negative.
    #[error("a root of a negative number")]
    Root,
    /// The argument is not positive.
    #[error("a logarithm of a number that is not positive")]
    Logarithm,
    /// The variable is beyond the last case of a piecewise formula.
    #[error("beyond the last piece")]
    BeyondLastPiece,
    /// The maximum or minimum over an empty range.
    #[error("a maximum or minimum over an empty range")]
    EmptyRange,
    /// A given value is not a finite number.
    #[error("`{0}` is not a number")]
    NotANumber(String),
    /// The formula was nested deeper than a formula can be.
    #[error("operations are nested more than {MAX_DEPTH} deep")]
    TooDeep,
    /// The result overflows a float.
    #[error("the result is too large for a floating-point number")]
    TooLarge,
}

impl Formula {
    /// The value at one point, as precise as floats allow. Interval coefficients are taken at their midpoints.
    pub fn evaluate(&self, values: &SymbolValues<f64>) -> Result<f64, EvaluationError> {
        if let Some((symbol, _)) = values.iter().find(|(_, value)| !value.is_finite()) {
            return Err(EvaluationError::NotANumber(symbol.to_owned()));
        }
        if let Some(number) = self.as_coefficient() {
            return Some(number.midpoint().to_f64()).filter(|value| value.is_finite()).ok_or(EvaluationError::TooLarge);
        }
        let lookup = |symbol: &str| values.get(symbol).map(|value| Interval::point(*value));
        let value = Evaluator::new(&lookup, true).formula(self)?;
        if value.low().is_infinite() || value.high().is_infinite() { Err(EvaluationError::TooLarge) } else { Ok(value.midpoint()) }
    }

    /// An interval that contains the value for all symbols and interval coefficients in their intervals.
    ///
    /// Points at which the formula is undefined are ignored, unless it is undefined everywhere.
    pub fn enclose(&self, values: &SymbolValues<Interval>) -> Result<Interval, EvaluationError> {
        slope::enclose(self, values)
    }
}

/// One evaluation: the values of the symbols and of the indexes of the current folds.
pub(crate) struct Evaluator<'a> {
    lookup: &'a dyn Fn(&str) -> Option<Interval>,
    /// Temporary values, the innermost last.
    bound_symbols: Vec<(SymbolId, Interval)>,
    /// Whether interval coefficients are taken at their midpoints.
    at_midpoints: bool,
    /// Whether everything is at one point, so that a decision that only rounding makes uncertain may be taken either way.
    breaks_ties: bool,
    /// Values of atoms by address; the atoms are kept alive so that no address is reused.
    cache: HashMap<usize, (Atom, Interval)>,
    /// The same for duals with respect to one symbol.
    dual_cache: HashMap<usize, (Atom, Option<slope::DualInterval>)>,
}

impl<'a> Evaluator<'a> {
    pub(crate) fn new(lookup: &'a dyn Fn(&str) -> Option<Interval>, point: bool) -> Evaluator<'a> {
        Evaluator {
            lookup,
            bound_symbols: Vec::new(),
            at_midpoints: point,
            breaks_ties: point,
            cache: HashMap::new(),
            dual_cache: HashMap::new(),
        }
    }

    pub(crate) fn formula(&mut self, formula: &Formula) -> Result<Interval, EvaluationError> {
        let mut terms = formula.terms();
        let Some((monomial, coefficient)) = terms.next() else { return Ok(Interval::ZERO) };
        let mut sum = self.term(monomial, coefficient)?;
        for (monomial, coefficient) in terms {
            sum = sum + self.term(monomial, coefficient)?;
        }
        Ok(sum)
    }

    /// The value of a formula with a symbol bound to a value.
    fn eval_with(&mut self, symbol: &SymbolId, value: Interval, formula: &Formula) -> Result<Interval, EvaluationError> {
        self.bound_symbols.push((symbol.clone(), value));
        let outside = std::mem::take(&mut self.cache);
        let result = self.formula(formula);
        self.cache = outside;
        self.bound_symbols.pop();
        result
    }

    /// The enclosure of a formula while a symbol ranges over an interval.
    fn eval_over(&mut self, symbol: &SymbolId, values: Interval, formula: &Formula) -> Result<Interval, EvaluationError> {
        let decides = std::mem::replace(&mut self.breaks_ties, false);
        let result = self.eval_with(symbol, values, formula);
        self.breaks_ties = decides;
        result
    }

    fn term(&mut self, monomial: &Monomial, coefficient: &Coefficient) -> Result<Interval, EvaluationError> {
        if monomial.is_one() {
            return Ok(self.number(coefficient));
        }
        let (mut numerator, mut denominator) = (Interval::ONE, Interval::ONE);
        for factor in monomial.factors() {
            let value = self.power(factor)?;
            if factor.exponent.is_negative() {
                denominator = denominator * value;
            } else {
                numerator = numerator * value;
            }
        }
        if !coefficient.is_one() {
            match coefficient.as_exact().map(|value| (value.numerator().to_interval(), value.denominator().to_interval())) {
                Some((over, under)) if over.is_point() && under.is_point() => {
                    numerator = numerator * over;
                    denominator = denominator * under;
                }
                _ => numerator = numerator * self.number(coefficient),
            }
        }
        if denominator == Interval::ONE {
            return Ok(numerator);
        }
        if denominator == Interval::ZERO { Err(EvaluationError::Division) } else { Ok(numerator / denominator) }
    }

    fn number(&self, number: &Coefficient) -> Interval {
        if self.at_midpoints && !number.is_exact() { number.midpoint().to_interval() } else { number.to_interval() }
    }

    /// A power with the absolute value of its exponent.
    fn power(&mut self, factor: &PowerFactor) -> Result<Interval, EvaluationError> {
        let exponent = factor.exponent.abs();
        let base = self.atom(&factor.atom)?;
        if exponent.is_one() {
            return Ok(base);
        }
        raise(base, &exponent, factor.atom.attributes().has_interval).ok_or(EvaluationError::Root)
    }

    fn atom(&mut self, atom: &Atom) -> Result<Interval, EvaluationError> {
        let remember = atom.attributes().size >= MIN_CACHED_SIZE;
        if let Some((_, value)) = self.cache.get(&atom.address()).filter(|_| remember) {
            return Ok(*value);
        }
        let value = match atom.kind() {
            AtomKind::Symbol(symbol) => self.symbol(symbol)?,
            AtomKind::Ln2 => Interval::point(2.0).ln().ok_or(EvaluationError::Logarithm)?,
            AtomKind::TooDeep => return Err(EvaluationError::TooDeep),
            AtomKind::Group(inner) => self.formula(inner)?,
            AtomKind::Log2(inner) => self.formula(inner)?.log2().ok_or(EvaluationError::Logarithm)?,
            AtomKind::Exp2(inner) => self.exponential(inner)?,
            AtomKind::Extremum(side, entries) => self.extremum(*side, entries)?,
            AtomKind::Rounded(rounding, inner) => self.round(*rounding, inner)?,
            AtomKind::Fold(fold) => self.fold(fold)?,
            AtomKind::Piecewise(variable, pieces) => self.piecewise(variable, pieces)?,
        };
        if remember {
            self.cache.insert(atom.address(), (atom.clone(), value));
        }
        Ok(value)
    }

    fn symbol(&self, symbol: &SymbolId) -> Result<Interval, EvaluationError> {
        if let Some((_, value)) = self.bound_symbols.iter().rev().find(|(bound, _)| bound == symbol) {
            return Ok(*value);
        }
        match symbol {
            SymbolId::Named(name) => (self.lookup)(name).ok_or_else(|| EvaluationError::Symbol(name.to_string())),
            other => Err(EvaluationError::Symbol(format!("{other:?}"))),
        }
    }

    /// Two to the power of a formula, computed as the power it was written as.
    fn exponential(&mut self, inner: &Formula) -> Result<Interval, EvaluationError> {
        let (base, exponent) = base_and_exponent(inner, &Rational::ONE);
        let exponent = self.formula(&exponent)?;
        if base.as_exact().is_some_and(|base| *base == Rational::from(2)) {
            return Ok(exponent.exp2());
        }
        let base = self.formula(&base)?;
        if base.high() <= 0.0 && !(base == Interval::ZERO && exponent.low() > 0.0) {
            return Err(EvaluationError::Logarithm);
        }
        Ok(power(base, exponent))
    }

    fn extremum(&mut self, side: Extremum, entries: &[Formula]) -> Result<Interval, EvaluationError> {
        let mut result: Option<Interval> = None;
        for entry in entries {
            let value = self.formula(entry)?;
            result = Some(match (result, side) {
                (None, _) => value,
                (Some(known), Extremum::Max) => known.max(value),
                (Some(known), Extremum::Min) => known.min(value),
            });
        }
        result.ok_or(EvaluationError::EmptyRange)
    }

    fn round(&mut self, rounding: RoundingMode, inner: &Formula) -> Result<Interval, EvaluationError> {
        let value = self.formula(inner)?;
        let whole = match rounding {
            RoundingMode::Up => value.ceil(),
            RoundingMode::Down => value.floor(),
        };
        if whole.is_point() {
            return Ok(whole);
        }
        if let Some(exact) = self.exact(inner) {
            return Ok(match rounding {
                RoundingMode::Up => exact.ceil().to_interval(),
                RoundingMode::Down => exact.floor().to_interval(),
            });
        }
        if !self.breaks_ties {
            return Ok(whole);
        }
        // Only rounding errors keep it from being the integer inside.
        let near = value.midpoint().round();
        Ok(if value.contains(near) { Interval::point(near) } else { whole })
    }

    fn fold(&mut self, fold: &IndexedFold) -> Result<Interval, EvaluationError> {
        let (from, to) = (self.formula(&fold.from)?, self.formula(&fold.to)?);
        // The number of steps is a tie to break like rounding; the difference of the bounds decides best.
        let span = to - from;
        let span = if span.is_point() { span } else { self.round(RoundingMode::Down, &(&fold.to - &fold.from))? };
        match fold.op {
            FoldOp::Sum => self.sum(fold, from, to, span),
            FoldOp::Extremum(side) => self.extremum_over(side, fold, from, to, span),
        }
    }

    fn piecewise(&mut self, variable: &Formula, pieces: &[PiecewiseCase]) -> Result<Interval, EvaluationError> {
        let value = self.formula(variable)?;
        let symbol = match variable.as_atom().map(Atom::kind) {
            Some(AtomKind::Symbol(symbol)) => Some(symbol.clone()),
            _ => None,
        };
        let mut rest = value;
        let mut result: Option<Interval> = None;
        let mut problem = EvaluationError::BeyondLastPiece;
        for piece in pieces {
            let bound = match &piece.up_to {
                Some(bound) => self.formula(bound)?,
                None => Interval::point(f64::INFINITY),
            };
            let (holds, ends) = self.case_applies(rest, bound, variable, piece);
            if !holds {
                continue;
            }
            let here = Interval::from_bounds(rest.low(), rest.high().min(bound.high()));
            let found = match &symbol {
                Some(symbol) if !self.breaks_ties => self.eval_over(symbol, here, &piece.formula),
                _ => self.formula(&piece.formula),
            };
            match found {
                Ok(found) => result = Some(result.map_or(found, |known| known.hull(found))),
                Err(undefined) => problem = undefined,
            }
            if ends {
                return result.ok_or(problem);
            }
            rest = Interval::from_bounds(rest.low().max(bound.low()), rest.high());
        }
        // Some values may lie beyond the last case; they are ignored unless there are no others.
        result.ok_or(problem)
    }

    /// Whether a case can apply, and whether no later one can.
    fn case_applies(&mut self, value: Interval, bound: Interval, variable: &Formula, piece: &PiecewiseCase) -> (bool, bool) {
        let (holds, ends) = (value.low() <= bound.high(), value.high() <= bound.low());
        if !holds || ends {
            return (holds, ends);
        }
        match piece.up_to.as_ref().and_then(|bound| self.exact(&(variable - bound))) {
            Some(beyond) => (!beyond.sign().is_gt(), !beyond.sign().is_gt()),
            None if self.breaks_ties => (value.midpoint() <= bound.midpoint(), value.midpoint() <= bound.midpoint()),
            None => (holds, ends),
        }
    }
}

/// A power with a rational exponent. If the base contains interval coefficients, each of its factors may take another value.
fn raise(base: Interval, exponent: &Rational, has_interval: bool) -> Option<Interval> {
    if !has_interval || !exponent.is_integer() || exponent.sign().is_le() || base.low() >= 0.0 || base.high() <= 0.0 {
        return base.powr(exponent);
    }
    let reach = Interval::point(base.magnitude()).powr(exponent)?.high();
    Some(Interval::from_bounds(-reach, reach))
}

/// A power of positive numbers with any exponent.
pub(crate) fn power(base: Interval, exponent: Interval) -> Interval {
    if exponent.is_point() && exponent.low().fract() == 0.0 && exponent.low().abs() < 9e15 {
        return base.powi(exponent.low() as i64);
    }
    match base.log2() {
        Some(logarithm) => (exponent * logarithm).exp2(),
        None => Interval::ZERO,
    }
}
