//! Interval Taylor series: how a body behaves around an index.
//!
//! Over a block of indexes around a centre `c` with radius `h` the body is `a0 + a1*u + a2*u^2 + ...` with `u` between -1 and 1. The
//! coefficients below [`ORDER`] are taken at the centre; the one of [`ORDER`] is taken over the whole block, so that it bounds the
//! remainder. If the body has a jump or a kink inside the block there is no series, and the block must be split.

use super::{Evaluator, power};
use crate::atom::{Atom, AtomKind, Extremum, PiecewiseCase, RoundingMode, SymbolId};
use crate::display::base_and_exponent;
use crate::formula::{Formula, atom_contains};
use crate::interval::Interval;
use crate::monomial::PowerFactor;
use crate::rational::Rational;

/// The order of the remainder term; even.
pub(super) const ORDER: usize = 12;

/// Larger bodies are not expanded: series are not cached, so shared subformulas would be expanded every time.
const MAX_SIZE: u64 = 10_000;

pub(super) struct IndexBlock<'a> {
    pub(super) index: &'a SymbolId,
    pub(super) centre: Interval,
    pub(super) radius: Interval,
    pub(super) hull: Interval,
}

/// The coefficients at the centre and over the block, up to [`ORDER`]; missing ones are zero.
#[derive(Clone)]
pub(super) struct TaylorJet {
    pub(super) centre: Vec<Interval>,
    pub(super) block: Vec<Interval>,
}

impl TaylorJet {
    fn constant(value: Interval) -> TaylorJet {
        TaylorJet { centre: vec![value], block: vec![value] }
    }

    fn map(&self, function: impl Fn(&[Interval]) -> Option<Vec<Interval>>) -> Option<TaylorJet> {
        Some(TaylorJet { centre: function(&self.centre)?, block: function(&self.block)? })
    }

    fn combine(&self, other: &TaylorJet, function: impl Fn(&[Interval], &[Interval]) -> Vec<Interval>) -> TaylorJet {
        TaylorJet { centre: function(&self.centre, &other.centre), block: function(&self.block, &other.block) }
    }

    fn range(&self) -> Interval {
        self.block[0]
    }

    fn is_constant(&self) -> bool {
        self.block.len() == 1
    }
}

impl Evaluator<'_> {
    /// The series of a formula over a block; `None` where it is not smooth.
    pub(super) fn jet(&mut self, formula: &Formula, block: &IndexBlock) -> Option<TaylorJet> {
        if formula.size() > MAX_SIZE {
            return None;
        }
        let mut sum = TaylorJet::constant(Interval::ZERO);
        for (monomial, coefficient) in formula.terms() {
            let mut term = TaylorJet::constant(self.number(coefficient));
            for factor in monomial.factors() {
                term = term.combine(&self.jet_of_power(factor, block)?, multiply_series);
            }
            sum = sum.combine(&term, add_series);
        }
        Some(sum)
    }

    fn jet_of_power(&mut self, factor: &PowerFactor, block: &IndexBlock) -> Option<TaylorJet> {
        if !atom_contains(&factor.atom, block.index) {
            let value = self.power(factor).ok()?;
            let value = if factor.exponent.is_negative() { Interval::ONE / value } else { value };
            return Some(TaylorJet::constant(value));
        }
        let base = self.jet_of_atom(&factor.atom, block)?;
        base.map(|coefficients| power_series(coefficients, &factor.exponent))
    }

    fn jet_of_atom(&mut self, atom: &Atom, block: &IndexBlock) -> Option<TaylorJet> {
        match atom.kind() {
            AtomKind::Symbol(symbol) if symbol == block.index => {
                Some(TaylorJet { centre: vec![block.centre, block.radius], block: vec![block.hull, block.radius] })
            }
            AtomKind::Symbol(_) | AtomKind::Ln2 | AtomKind::TooDeep => Some(TaylorJet::constant(self.atom(atom).ok()?)),
            AtomKind::Group(inner) => self.jet(inner, block),
            AtomKind::Log2(inner) => self.jet(inner, block)?.map(log2_series),
            AtomKind::Exp2(inner) => self.jet_of_exponential(inner, block),
            AtomKind::Extremum(side, entries) => self.jet_of_extremum(*side, entries, block),
            AtomKind::Rounded(rounding, inner) => {
                let range = self.jet(inner, block)?.range();
                let whole = match rounding {
                    RoundingMode::Up => range.ceil(),
                    RoundingMode::Down => range.floor(),
                };
                whole.is_point().then(|| TaylorJet::constant(whole))
            }
            AtomKind::Piecewise(variable, pieces) => self.jet_of_piecewise(variable, pieces, block),
            AtomKind::Fold(_) => None,
        }
    }

    fn jet_of_exponential(&mut self, inner: &Formula, block: &IndexBlock) -> Option<TaylorJet> {
        let (base, exponent) = base_and_exponent(inner, &Rational::ONE);
        let (base, exponent) = (self.jet(&base, block)?, self.jet(&exponent, block)?);
        if base.is_constant() {
            let centre = exponential_series(base.centre[0], &exponent.centre)?;
            return Some(TaylorJet { centre, block: exponential_series(base.block[0], &exponent.block)? });
        }
        let whole = self.jet(inner, block)?;
        whole.map(|whole| exponential_series(Interval::point(2.0), whole))
    }

    /// The entry that is the extremum over the whole block.
    fn jet_of_extremum(&mut self, side: Extremum, entries: &[Formula], block: &IndexBlock) -> Option<TaylorJet> {
        let jets = entries.iter().map(|entry| self.jet(entry, block)).collect::<Option<Vec<_>>>()?;
        let beats = |a: &TaylorJet, b: &TaylorJet| match side {
            Extremum::Max => a.range().low() >= b.range().high(),
            Extremum::Min => a.range().high() <= b.range().low(),
        };
        let ahead = (0..jets.len()).find(|&one| (0..jets.len()).all(|other| one == other || beats(&jets[one], &jets[other])))?;
        Some(jets[ahead].clone())
    }

    fn jet_of_piecewise(&mut self, variable: &Formula, pieces: &[PiecewiseCase], block: &IndexBlock) -> Option<TaylorJet> {
        let value = self.jet(variable, block)?.range();
        for piece in pieces {
            let Some(bound) = &piece.up_to else { return self.jet(&piece.formula, block) };
            let bound = self.jet(bound, block)?.range();
            if value.high() <= bound.low() {
                return self.jet(&piece.formula, block);
            }
            if value.low() <= bound.high() {
                return None;
            }
        }
        None
    }
}

fn add_series(a: &[Interval], b: &[Interval]) -> Vec<Interval> {
    let at = |list: &[Interval], index: usize| list.get(index).copied().unwrap_or(Interval::ZERO);
    (0..a.len().max(b.len())).map(|index| at(a, index) + at(b, index)).collect()
}

fn multiply_series(a: &[Interval], b: &[Interval]) -> Vec<Interval> {
    let mut product = vec![Interval::ZERO; (a.len() + b.len() - 1).min(ORDER + 1)];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate().take_while(|(j, _)| i + j <= ORDER) {
            product[i + j] = product[i + j] + *x * *y;
        }
    }
    product
}

fn integer_interval(value: usize) -> Interval {
    Interval::point(value as f64)
}

/// The series of a power; `None` where the base reaches a point at which the power is not smooth.
fn power_series(base: &[Interval], exponent: &Rational) -> Option<Vec<Interval>> {
    if let Some(times_over) = exponent.to_i64().filter(|exponent| (1..=8).contains(exponent)) {
        return Some((1..times_over).fold(base.to_vec(), |product, _| multiply_series(&product, base)));
    }
    let first = base[0];
    if base.len() == 1 {
        let value = first.powr(&exponent.abs())?;
        return Some(vec![if exponent.is_negative() { Interval::ONE / value } else { value }]);
    }
    if first.contains(0.0) || (first.high() < 0.0 && !exponent.is_integer()) {
        return None;
    }
    let rate = exponent.to_interval();
    let mut result = vec![first.powr(exponent)?];
    for k in 1..=ORDER {
        let mut sum = Interval::ZERO;
        for j in 1..=k.min(base.len() - 1) {
            sum = sum + (rate * integer_interval(j) - integer_interval(k - j)) * base[j] * result[k - j];
        }
        result.push(sum / (integer_interval(k) * first));
    }
    Some(result)
}

fn log2_series(inner: &[Interval]) -> Option<Vec<Interval>> {
    let first = inner[0];
    if inner.len() == 1 {
        return Some(vec![first.log2()?]);
    }
    if first.low() <= 0.0 {
        return None;
    }
    let mut natural = vec![Interval::ZERO];
    for k in 1..=ORDER {
        let mut sum = inner.get(k).copied().unwrap_or(Interval::ZERO) * integer_interval(k);
        for (j, known) in natural.iter().enumerate().skip(1) {
            if let Some(coefficient) = inner.get(k - j) {
                sum = sum - integer_interval(j) * *known * *coefficient;
            }
        }
        natural.push(sum / (integer_interval(k) * first));
    }
    let ln2 = Interval::point(2.0).ln()?;
    let mut result: Vec<Interval> = natural.into_iter().map(|coefficient| coefficient / ln2).collect();
    result[0] = first.log2()?;
    Some(result)
}

/// The series of a positive number to the power of a formula.
fn exponential_series(base: Interval, exponent: &[Interval]) -> Option<Vec<Interval>> {
    if base.low() <= 0.0 {
        return None;
    }
    let rate = base.ln()?;
    let mut result = vec![power(base, exponent[0])];
    if exponent.len() == 1 {
        return Some(result);
    }
    for k in 1..=ORDER {
        let mut sum = Interval::ZERO;
        for j in 1..=k.min(exponent.len() - 1) {
            sum = sum + integer_interval(j) * rate * exponent[j] * result[k - j];
        }
        result.push(sum / integer_interval(k));
    }
    Some(result)
}
