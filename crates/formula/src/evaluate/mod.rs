//! The value of a formula: an interval that holds it, however wide or narrow its symbols are.
//!
//! `enclose` holds the value of the formula for all values of the symbols in their intervals. `evaluate` is the middle of the same computation
//! with every symbol and every unknown number at one point, so it always lies in what `enclose` gives. Exact results come out exact: the
//! numerator and the denominator of a term are multiplied up separately and divided once.

mod exact;
mod geometric;
mod jet;
mod search;
mod series;
mod slope;
mod special;

use std::collections::HashMap;

pub(crate) use slope::enclosed_at_once;
use thiserror::Error;

use crate::atom::{Atom, Extreme, Fold, How, Kind, MOST_DEPTH, Piece, Rounding, Symbol};
use crate::formula::Formula;
use crate::interval::Interval;
use crate::monomial::{Factor, Monomial};
use crate::number::Number;
use crate::rational::Rational;
use crate::shown::base_and_exponent;
use crate::values::Values;

/// The values of atoms of at least so many operations are remembered while a formula is evaluated: many may share them.
const WORTH_REMEMBERING: u64 = 8;

/// A formula has no value.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Undefined {
    /// A symbol has no value.
    #[error("`{0}` has no value")]
    Symbol(String),
    /// Something is divided by zero.
    #[error("division by zero")]
    Division,
    /// A root of a negative number.
    #[error("a root of a negative number")]
    Root,
    /// A logarithm of a number that is not positive.
    #[error("a logarithm of a number that is not positive")]
    Logarithm,
    /// The variable is beyond the last piece.
    #[error("beyond the last piece")]
    BeyondPieces,
    /// The largest or smallest value over a range in which there is none.
    #[error("a maximum or minimum over an empty range")]
    EmptyRange,
    /// A value is no number.
    #[error("`{0}` is not a number")]
    NotANumber(String),
    /// More operations stood inside each other than a formula can hold.
    #[error("more than {MOST_DEPTH} operations stand inside each other")]
    TooDeep,
    /// The result is too large for a float.
    #[error("the result is too large for a floating-point number")]
    TooLarge,
}

impl Formula {
    /// The value at one point, as near as floats allow; unknown numbers stand at their middles.
    pub fn evaluate(&self, values: &Values<f64>) -> Result<f64, Undefined> {
        if let Some((symbol, _)) = values.iter().find(|(_, value)| !value.is_finite()) {
            return Err(Undefined::NotANumber(symbol.to_owned()));
        }
        if let Some(number) = self.as_number() {
            return Some(number.middle().nearest()).filter(|value| value.is_finite()).ok_or(Undefined::TooLarge);
        }
        let lookup = |symbol: &str| values.get(symbol).map(|value| Interval::point(*value));
        let value = Evaluation::new(&lookup, true).formula(self)?;
        if value.low().is_infinite() || value.high().is_infinite() { Err(Undefined::TooLarge) } else { Ok(value.middle()) }
    }

    /// An interval that holds the value wherever the symbols and the unknown numbers lie in theirs.
    ///
    /// Points at which the formula is undefined do not count, unless there are no others.
    pub fn enclose(&self, values: &Values<Interval>) -> Result<Interval, Undefined> {
        slope::enclosed(self, values)
    }
}

/// One evaluation: the values of symbols and of the indexes of the ranges that are being gone through.
pub(crate) struct Evaluation<'a> {
    lookup: &'a dyn Fn(&str) -> Option<Interval>,
    /// Values that hold for a while, the latest last.
    bound: Vec<(Symbol, Interval)>,
    /// Whether unknown numbers stand at their middles.
    middles: bool,
    /// Whether everything stands at one point, so that a decision that only rounding makes unsure can be taken either way.
    decides: bool,
    /// Values of atoms by where they lie; the atoms are kept so that no other can come to lie there.
    known: HashMap<usize, (Atom, Interval)>,
    /// The same for values together with slopes by one symbol.
    slopes: HashMap<usize, (Atom, Option<slope::Dual>)>,
}

impl<'a> Evaluation<'a> {
    pub(crate) fn new(lookup: &'a dyn Fn(&str) -> Option<Interval>, point: bool) -> Evaluation<'a> {
        Evaluation { lookup, bound: Vec::new(), middles: point, decides: point, known: HashMap::new(), slopes: HashMap::new() }
    }

    pub(crate) fn formula(&mut self, formula: &Formula) -> Result<Interval, Undefined> {
        let mut terms = formula.terms();
        let Some((monomial, coefficient)) = terms.next() else { return Ok(Interval::ZERO) };
        let mut sum = self.term(monomial, coefficient)?;
        for (monomial, coefficient) in terms {
            sum = sum + self.term(monomial, coefficient)?;
        }
        Ok(sum)
    }

    /// The value of a formula while a symbol has a certain value.
    fn at(&mut self, symbol: &Symbol, value: Interval, formula: &Formula) -> Result<Interval, Undefined> {
        self.bound.push((symbol.clone(), value));
        let outside = std::mem::take(&mut self.known);
        let result = self.formula(formula);
        self.known = outside;
        self.bound.pop();
        result
    }

    /// The values of a formula while a symbol runs over an interval.
    fn over(&mut self, symbol: &Symbol, values: Interval, formula: &Formula) -> Result<Interval, Undefined> {
        let decides = std::mem::replace(&mut self.decides, false);
        let result = self.at(symbol, values, formula);
        self.decides = decides;
        result
    }

    fn term(&mut self, monomial: &Monomial, coefficient: &Number) -> Result<Interval, Undefined> {
        if monomial.is_one() {
            return Ok(self.number(coefficient));
        }
        let (mut over, mut under) = (Interval::ONE, Interval::ONE);
        for factor in monomial.factors() {
            let value = self.power(factor)?;
            if factor.exponent.is_negative() {
                under = under * value;
            } else {
                over = over * value;
            }
        }
        if !coefficient.is_one() {
            match coefficient.exact().map(|value| (value.numerator().enclosing(), value.denominator().enclosing())) {
                Some((numerator, denominator)) if numerator.is_point() && denominator.is_point() => {
                    over = over * numerator;
                    under = under * denominator;
                }
                _ => over = over * self.number(coefficient),
            }
        }
        if under == Interval::ONE {
            return Ok(over);
        }
        if under == Interval::ZERO { Err(Undefined::Division) } else { Ok(over / under) }
    }

    fn number(&self, number: &Number) -> Interval {
        if self.middles && !number.is_exact() { number.middle().enclosing() } else { number.enclosing() }
    }

    /// A power, its exponent taken without its sign.
    fn power(&mut self, factor: &Factor) -> Result<Interval, Undefined> {
        let exponent = factor.exponent.abs();
        let base = self.atom(&factor.atom)?;
        if exponent.is_one() {
            return Ok(base);
        }
        raised(base, &exponent, factor.atom.facts().loose).ok_or(Undefined::Root)
    }

    fn atom(&mut self, atom: &Atom) -> Result<Interval, Undefined> {
        let remember = atom.facts().size >= WORTH_REMEMBERING;
        if let Some((_, value)) = self.known.get(&atom.address()).filter(|_| remember) {
            return Ok(*value);
        }
        let value = match atom.kind() {
            Kind::Symbol(symbol) => self.symbol(symbol)?,
            Kind::Ln2 => Interval::point(2.0).ln().ok_or(Undefined::Logarithm)?,
            Kind::TooDeep => return Err(Undefined::TooDeep),
            Kind::Group(inner) => self.formula(inner)?,
            Kind::Log(inner) => self.formula(inner)?.log2().ok_or(Undefined::Logarithm)?,
            Kind::Exp(inner) => self.exponential(inner)?,
            Kind::Extreme(side, entries) => self.extreme(*side, entries)?,
            Kind::Rounded(rounding, inner) => self.rounded(*rounding, inner)?,
            Kind::Fold(fold) => self.fold(fold)?,
            Kind::Pieces(variable, pieces) => self.pieces(variable, pieces)?,
        };
        if remember {
            self.known.insert(atom.address(), (atom.clone(), value));
        }
        Ok(value)
    }

    fn symbol(&self, symbol: &Symbol) -> Result<Interval, Undefined> {
        if let Some((_, value)) = self.bound.iter().rev().find(|(bound, _)| bound == symbol) {
            return Ok(*value);
        }
        match symbol {
            Symbol::Named(name) => (self.lookup)(name).ok_or_else(|| Undefined::Symbol(name.to_string())),
            other => Err(Undefined::Symbol(format!("{other:?}"))),
        }
    }

    /// Two to the power of a formula, computed as the power that it was written as.
    fn exponential(&mut self, inner: &Formula) -> Result<Interval, Undefined> {
        let (base, exponent) = base_and_exponent(inner, &Rational::ONE);
        let exponent = self.formula(&exponent)?;
        if base.as_exact().is_some_and(|base| *base == Rational::from(2)) {
            return Ok(exponent.exp2());
        }
        let base = self.formula(&base)?;
        if base.high() <= 0.0 && !(base == Interval::ZERO && exponent.low() > 0.0) {
            return Err(Undefined::Logarithm);
        }
        Ok(power(base, exponent))
    }

    fn extreme(&mut self, side: Extreme, entries: &[Formula]) -> Result<Interval, Undefined> {
        let mut result: Option<Interval> = None;
        for entry in entries {
            let value = self.formula(entry)?;
            result = Some(match (result, side) {
                (None, _) => value,
                (Some(known), Extreme::Max) => known.max(value),
                (Some(known), Extreme::Min) => known.min(value),
            });
        }
        result.ok_or(Undefined::EmptyRange)
    }

    fn rounded(&mut self, rounding: Rounding, inner: &Formula) -> Result<Interval, Undefined> {
        let value = self.formula(inner)?;
        let whole = match rounding {
            Rounding::Up => value.ceil(),
            Rounding::Down => value.floor(),
        };
        if whole.is_point() {
            return Ok(whole);
        }
        if let Some(exact) = self.exact(inner) {
            return Ok(match rounding {
                Rounding::Up => exact.ceil().enclosing(),
                Rounding::Down => exact.floor().enclosing(),
            });
        }
        if !self.decides {
            return Ok(whole);
        }
        // Only rounding errors keep it from being the whole number that it is around.
        let near = value.middle().round();
        Ok(if value.contains(near) { Interval::point(near) } else { whole })
    }

    fn fold(&mut self, fold: &Fold) -> Result<Interval, Undefined> {
        let (from, to) = (self.formula(&fold.from)?, self.formula(&fold.to)?);
        // The number of steps is a decision like rounding, best taken on the difference of the bounds.
        let span = to - from;
        let span = if span.is_point() { span } else { self.rounded(Rounding::Down, &(&fold.to - &fold.from))? };
        match fold.how {
            How::Sum => self.sum(fold, from, to, span),
            How::Extreme(side) => self.extreme_over(side, fold, from, to, span),
        }
    }

    fn pieces(&mut self, variable: &Formula, pieces: &[Piece]) -> Result<Interval, Undefined> {
        let value = self.formula(variable)?;
        let symbol = match variable.as_atom().map(Atom::kind) {
            Some(Kind::Symbol(symbol)) => Some(symbol.clone()),
            _ => None,
        };
        let mut rest = value;
        let mut result: Option<Interval> = None;
        let mut problem = Undefined::BeyondPieces;
        for piece in pieces {
            let bound = match &piece.up_to {
                Some(bound) => self.formula(bound)?,
                None => Interval::point(f64::INFINITY),
            };
            let (holds, ends) = self.place(rest, bound, variable, piece);
            if !holds {
                continue;
            }
            let here = Interval::between(rest.low(), rest.high().min(bound.high()));
            let found = match &symbol {
                Some(symbol) if !self.decides => self.over(symbol, here, &piece.formula),
                _ => self.formula(&piece.formula),
            };
            match found {
                Ok(found) => result = Some(result.map_or(found, |known| known.hull(found))),
                Err(undefined) => problem = undefined,
            }
            if ends {
                return result.ok_or(problem);
            }
            rest = Interval::between(rest.low().max(bound.low()), rest.high());
        }
        // Some values may lie beyond the last piece; those do not count unless there are no others.
        result.ok_or(problem)
    }

    /// Whether a piece can hold, and whether no later one can.
    fn place(&mut self, value: Interval, bound: Interval, variable: &Formula, piece: &Piece) -> (bool, bool) {
        let (holds, ends) = (value.low() <= bound.high(), value.high() <= bound.low());
        if !holds || ends {
            return (holds, ends);
        }
        match piece.up_to.as_ref().and_then(|bound| self.exact(&(variable - bound))) {
            Some(beyond) => (!beyond.sign().is_gt(), !beyond.sign().is_gt()),
            None if self.decides => (value.middle() <= bound.middle(), value.middle() <= bound.middle()),
            None => (holds, ends),
        }
    }
}

/// A power with a fraction for an exponent. If the base holds unknown numbers, each of its factors may be another one of its interval.
fn raised(base: Interval, exponent: &Rational, loose: bool) -> Option<Interval> {
    if !loose || !exponent.is_whole() || exponent.sign().is_le() || base.low() >= 0.0 || base.high() <= 0.0 {
        return base.powr(exponent);
    }
    let reach = Interval::point(base.magnitude()).powr(exponent)?.high();
    Some(Interval::between(-reach, reach))
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
