//! Taylor coefficients with intervals: how a body behaves around an index.
//!
//! Over a block of indexes around a centre `c`, reaching `h` to each side, the body is `a0 + a1*u + a2*u^2 + ...` with `u` between -1 and 1.
//! The coefficients below [`ORDER`] are taken at the centre; the one of [`ORDER`] is taken over the whole block, which makes it hold for the
//! remainder. Where the body has a jump or a kink inside the block there are none, and the block must be divided.

use super::{Evaluation, power};
use crate::atom::{Atom, Extreme, Kind, Piece, Rounding, Symbol};
use crate::formula::{Formula, atom_contains};
use crate::interval::Interval;
use crate::monomial::Factor;
use crate::rational::Rational;
use crate::shown::base_and_exponent;

/// The power of the remainder; even.
pub(super) const ORDER: usize = 12;

/// Bodies of more operations are not developed: coefficients are not remembered, and what is shared would be developed each time.
const MOST_SIZE: u64 = 10_000;

/// A block of indexes.
pub(super) struct Block<'a> {
    pub(super) index: &'a Symbol,
    pub(super) centre: Interval,
    pub(super) reach: Interval,
    pub(super) all: Interval,
}

/// The coefficients at the centre and those over the block, up to [`ORDER`]; those left out are zero.
#[derive(Clone)]
pub(super) struct Jet {
    pub(super) centre: Vec<Interval>,
    pub(super) block: Vec<Interval>,
}

impl Jet {
    fn constant(value: Interval) -> Jet {
        Jet { centre: vec![value], block: vec![value] }
    }

    fn map(&self, function: impl Fn(&[Interval]) -> Option<Vec<Interval>>) -> Option<Jet> {
        Some(Jet { centre: function(&self.centre)?, block: function(&self.block)? })
    }

    fn join(&self, other: &Jet, function: impl Fn(&[Interval], &[Interval]) -> Vec<Interval>) -> Jet {
        Jet { centre: function(&self.centre, &other.centre), block: function(&self.block, &other.block) }
    }

    /// All values over the block.
    fn range(&self) -> Interval {
        self.block[0]
    }

    fn is_constant(&self) -> bool {
        self.block.len() == 1
    }
}

impl Evaluation<'_> {
    /// The coefficients of a formula over a block, or nothing where it is not smooth.
    pub(super) fn jet(&mut self, formula: &Formula, block: &Block) -> Option<Jet> {
        if formula.size() > MOST_SIZE {
            return None;
        }
        let mut sum = Jet::constant(Interval::ZERO);
        for (monomial, coefficient) in formula.terms() {
            let mut term = Jet::constant(self.number(coefficient));
            for factor in monomial.factors() {
                term = term.join(&self.jet_of_power(factor, block)?, times);
            }
            sum = sum.join(&term, plus);
        }
        Some(sum)
    }

    fn jet_of_power(&mut self, factor: &Factor, block: &Block) -> Option<Jet> {
        if !atom_contains(&factor.atom, block.index) {
            let value = self.power(factor).ok()?;
            let value = if factor.exponent.is_negative() { Interval::ONE / value } else { value };
            return Some(Jet::constant(value));
        }
        let base = self.jet_of_atom(&factor.atom, block)?;
        base.map(|coefficients| raised(coefficients, &factor.exponent))
    }

    fn jet_of_atom(&mut self, atom: &Atom, block: &Block) -> Option<Jet> {
        match atom.kind() {
            Kind::Symbol(symbol) if symbol == block.index => {
                Some(Jet { centre: vec![block.centre, block.reach], block: vec![block.all, block.reach] })
            }
            Kind::Symbol(_) | Kind::Ln2 | Kind::TooDeep => Some(Jet::constant(self.atom(atom).ok()?)),
            Kind::Group(inner) => self.jet(inner, block),
            Kind::Log(inner) => self.jet(inner, block)?.map(logarithm),
            Kind::Exp(inner) => self.jet_of_exponential(inner, block),
            Kind::Extreme(side, entries) => self.jet_of_extreme(*side, entries, block),
            Kind::Rounded(rounding, inner) => {
                let range = self.jet(inner, block)?.range();
                let whole = match rounding {
                    Rounding::Up => range.ceil(),
                    Rounding::Down => range.floor(),
                };
                whole.is_point().then(|| Jet::constant(whole))
            }
            Kind::Pieces(variable, pieces) => self.jet_of_pieces(variable, pieces, block),
            Kind::Fold(_) => None,
        }
    }

    fn jet_of_exponential(&mut self, inner: &Formula, block: &Block) -> Option<Jet> {
        let (base, exponent) = base_and_exponent(inner, &Rational::ONE);
        let (base, exponent) = (self.jet(&base, block)?, self.jet(&exponent, block)?);
        if base.is_constant() {
            let centre = exponential(base.centre[0], &exponent.centre)?;
            return Some(Jet { centre, block: exponential(base.block[0], &exponent.block)? });
        }
        let whole = self.jet(inner, block)?;
        whole.map(|whole| exponential(Interval::point(2.0), whole))
    }

    /// The entry that is the extreme one over the whole block.
    fn jet_of_extreme(&mut self, side: Extreme, entries: &[Formula], block: &Block) -> Option<Jet> {
        let jets = entries.iter().map(|entry| self.jet(entry, block)).collect::<Option<Vec<_>>>()?;
        let beats = |a: &Jet, b: &Jet| match side {
            Extreme::Max => a.range().low() >= b.range().high(),
            Extreme::Min => a.range().high() <= b.range().low(),
        };
        let ahead = (0..jets.len()).find(|&one| (0..jets.len()).all(|other| one == other || beats(&jets[one], &jets[other])))?;
        Some(jets[ahead].clone())
    }

    fn jet_of_pieces(&mut self, variable: &Formula, pieces: &[Piece], block: &Block) -> Option<Jet> {
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

fn plus(a: &[Interval], b: &[Interval]) -> Vec<Interval> {
    let at = |list: &[Interval], place: usize| list.get(place).copied().unwrap_or(Interval::ZERO);
    (0..a.len().max(b.len())).map(|place| at(a, place) + at(b, place)).collect()
}

fn times(a: &[Interval], b: &[Interval]) -> Vec<Interval> {
    let mut product = vec![Interval::ZERO; (a.len() + b.len() - 1).min(ORDER + 1)];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate().take_while(|(j, _)| i + j <= ORDER) {
            product[i + j] = product[i + j] + *x * *y;
        }
    }
    product
}

fn whole(value: usize) -> Interval {
    Interval::point(value as f64)
}

/// The coefficients of a power, or nothing where the base reaches a place at which it is not smooth.
fn raised(base: &[Interval], exponent: &Rational) -> Option<Vec<Interval>> {
    if let Some(times_over) = exponent.to_i64().filter(|exponent| (1..=8).contains(exponent)) {
        return Some((1..times_over).fold(base.to_vec(), |product, _| times(&product, base)));
    }
    let first = base[0];
    if base.len() == 1 {
        let value = first.powr(&exponent.abs())?;
        return Some(vec![if exponent.is_negative() { Interval::ONE / value } else { value }]);
    }
    if first.contains(0.0) || (first.high() < 0.0 && !exponent.is_whole()) {
        return None;
    }
    let rate = exponent.enclosing();
    let mut result = vec![first.powr(exponent)?];
    for k in 1..=ORDER {
        let mut sum = Interval::ZERO;
        for j in 1..=k.min(base.len() - 1) {
            sum = sum + (rate * whole(j) - whole(k - j)) * base[j] * result[k - j];
        }
        result.push(sum / (whole(k) * first));
    }
    Some(result)
}

/// The coefficients of the logarithm to base two.
fn logarithm(inner: &[Interval]) -> Option<Vec<Interval>> {
    let first = inner[0];
    if inner.len() == 1 {
        return Some(vec![first.log2()?]);
    }
    if first.low() <= 0.0 {
        return None;
    }
    let mut natural = vec![Interval::ZERO];
    for k in 1..=ORDER {
        let mut sum = inner.get(k).copied().unwrap_or(Interval::ZERO) * whole(k);
        for (j, known) in natural.iter().enumerate().skip(1) {
            if let Some(coefficient) = inner.get(k - j) {
                sum = sum - whole(j) * *known * *coefficient;
            }
        }
        natural.push(sum / (whole(k) * first));
    }
    let ln2 = Interval::point(2.0).ln()?;
    let mut result: Vec<Interval> = natural.into_iter().map(|coefficient| coefficient / ln2).collect();
    result[0] = first.log2()?;
    Some(result)
}

/// The coefficients of a positive number to the power of a formula.
fn exponential(base: Interval, exponent: &[Interval]) -> Option<Vec<Interval>> {
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
            sum = sum + whole(j) * rate * exponent[j] * result[k - j];
        }
        result.push(sum / whole(k));
    }
    Some(result)
}
