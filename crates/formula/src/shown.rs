//! Formulas as people write them.
//!
//! The canonical form is made for computing. Before it is written as text, LaTeX or JSON it is turned, once for all three, into what a person
//! would write: high powers first, quotients instead of negative powers, `ln` and `r^i` where the formula means them, indexes with names.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use crate::atom::{Atom, Extreme, Fold, How, Kind, Piece, Rounding, Symbol};
use crate::formula::Formula;
use crate::monomial::{Factor, Monomial};
use crate::number::Number;
use crate::rational::Rational;

/// Exponents with larger denominators are written as decimals.
const MOST_DENOMINATOR: i64 = 64;

/// A formula as it is written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Shown {
    /// Not negative.
    Number(Rational),
    Between(Rational, Rational),
    Symbol(String),
    Power(Box<Shown>, Box<Shown>),
    Call(Call, Vec<Shown>),
    Product {
        over: Vec<Shown>,
        under: Vec<Shown>,
    },
    Sum(Vec<Signed>),
    Range(Box<ShownRange>),
    Pieces(Box<Shown>, Vec<(Option<Shown>, Shown)>),
}

/// Something added or subtracted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Signed {
    pub(crate) negative: bool,
    pub(crate) shown: Shown,
}

/// A function of one or more formulas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Call {
    Log2,
    Ln,
    Ceil,
    Floor,
    Max,
    Min,
}

/// Something done over a range.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ShownRange {
    pub(crate) how: How,
    pub(crate) index: String,
    pub(crate) from: Shown,
    pub(crate) to: Shown,
    pub(crate) body: Shown,
}

/// A formula as it is written.
pub(crate) fn shown(formula: &Formula) -> Shown {
    Names { taken: formula.symbols(), bound: Vec::new() }.formula(formula)
}

/// Which names are in use.
struct Names {
    taken: BTreeSet<String>,
    /// The indexes of the ranges around, the innermost last.
    bound: Vec<(Symbol, String)>,
}

impl Names {
    fn formula(&mut self, formula: &Formula) -> Shown {
        let mut terms: Vec<_> = formula.terms().map(|(monomial, number)| (monomial.degree(), self.factors(monomial), number)).collect();
        terms.sort_by(|(a, x, m), (b, y, n)| b.total_cmp(a).then_with(|| x.cmp(y)).then_with(|| m.cmp(n)));
        let mut terms: Vec<Signed> = terms.into_iter().map(|(_, (over, under), number)| term(over, under, number)).collect();
        match terms.len() {
            0 => Shown::Number(Rational::ZERO),
            1 if !terms[0].negative => terms.remove(0).shown,
            _ => Shown::Sum(terms),
        }
    }

    /// What is multiplied and what is divided by.
    fn factors(&mut self, monomial: &Monomial) -> (Vec<Shown>, Vec<Shown>) {
        let natural = natural_logarithm(monomial);
        let (mut over, mut under) = (Vec::new(), Vec::new());
        for factor in monomial.factors() {
            let side = if factor.exponent.is_negative() { &mut under } else { &mut over };
            match (factor.atom.kind(), &natural) {
                (Kind::Ln2, Some(_)) => {}
                (Kind::Log(inner), Some(atom)) if *atom == factor.atom => side.push(Shown::Call(Call::Ln, vec![self.formula(inner)])),
                _ => side.push(self.power(factor)),
            }
        }
        over.sort_by(by_place);
        under.sort_by(by_place);
        (over, under)
    }

    /// A power without the sign of its exponent.
    fn power(&mut self, factor: &Factor) -> Shown {
        let exponent = factor.exponent.abs();
        if let Kind::Exp(inner) = factor.atom.kind() {
            let (base, exponent) = base_and_exponent(inner, &exponent);
            return Shown::Power(Box::new(self.formula(&base)), Box::new(self.formula(&exponent)));
        }
        let base = self.atom(&factor.atom);
        if exponent.is_one() { base } else { Shown::Power(Box::new(base), Box::new(shown_exponent(&exponent))) }
    }

    fn atom(&mut self, atom: &Atom) -> Shown {
        let mut call = |name: Call, entries: &[Formula]| {
            let mut shown: Vec<Shown> = entries.iter().map(|entry| self.formula(entry)).collect();
            shown.sort();
            Shown::Call(name, shown)
        };
        match atom.kind() {
            Kind::Symbol(symbol) => Shown::Symbol(self.name(symbol)),
            // It has no value, and what is written must not get one.
            Kind::TooDeep => Shown::Product { over: vec![Shown::Number(Rational::ONE)], under: vec![Shown::Number(Rational::ZERO)] },
            Kind::Ln2 => Shown::Call(Call::Ln, vec![Shown::Number(Rational::from(2))]),
            Kind::Group(inner) | Kind::Exp(inner) => self.formula(inner),
            Kind::Log(inner) => call(Call::Log2, std::slice::from_ref(inner)),
            Kind::Extreme(Extreme::Max, entries) => call(Call::Max, entries),
            Kind::Extreme(Extreme::Min, entries) => call(Call::Min, entries),
            Kind::Rounded(Rounding::Up, inner) => call(Call::Ceil, std::slice::from_ref(inner)),
            Kind::Rounded(Rounding::Down, inner) => call(Call::Floor, std::slice::from_ref(inner)),
            Kind::Fold(fold) => self.range(fold),
            Kind::Pieces(variable, pieces) => self.pieces(variable, pieces),
        }
    }

    fn range(&mut self, fold: &Fold) -> Shown {
        let (from, to) = (self.formula(&fold.from), self.formula(&fold.to));
        let mut index = fold.hint.0.to_string();
        while self.taken.contains(&index) {
            index.push('_');
        }
        self.taken.insert(index.clone());
        self.bound.push((fold.index(), index.clone()));
        let body = self.formula(&fold.body);
        self.bound.pop();
        self.taken.remove(&index);
        Shown::Range(Box::new(ShownRange { how: fold.how, index, from, to, body }))
    }

    fn pieces(&mut self, variable: &Formula, pieces: &[Piece]) -> Shown {
        let list = pieces.iter().map(|piece| (piece.up_to.as_ref().map(|bound| self.formula(bound)), self.formula(&piece.formula)));
        let list = list.collect();
        Shown::Pieces(Box::new(self.formula(variable)), list)
    }

    fn name(&self, symbol: &Symbol) -> String {
        match symbol {
            Symbol::Named(name) => name.to_string(),
            _ => match self.bound.iter().rev().find(|(bound, _)| bound == symbol) {
                Some((_, name)) => name.clone(),
                None => format!("{symbol:?}"),
            },
        }
    }
}

/// A coefficient together with what it multiplies and what divides it.
fn term(mut over: Vec<Shown>, mut under: Vec<Shown>, coefficient: &Number) -> Signed {
    let mut negative = false;
    match coefficient {
        Number::Between(low, high) => over.insert(0, Shown::Between(low.clone(), high.clone())),
        Number::Exact(value) => {
            negative = value.is_negative();
            let (numerator, denominator) = value.abs().as_written();
            if !numerator.is_one() || over.is_empty() {
                over.insert(0, Shown::Number(numerator));
            }
            if !denominator.is_one() {
                under.insert(0, Shown::Number(denominator));
            }
        }
    }
    let shown = if over.len() == 1 && under.is_empty() { over.remove(0) } else { Shown::Product { over, under } };
    Signed { negative, shown }
}

/// The logarithm that stands beside one `ln(2)`, with which it is a natural logarithm.
fn natural_logarithm(monomial: &Monomial) -> Option<Atom> {
    monomial.factors().iter().find(|factor| *factor.atom.kind() == Kind::Ln2 && factor.exponent.is_one())?;
    let logarithm = |factor: &&Factor| matches!(factor.atom.kind(), Kind::Log(_)) && factor.exponent.is_one();
    monomial.factors().iter().find(logarithm).map(|factor| factor.atom.clone())
}

/// What `2^(inner*exponent)` is a power of: of `x` if there is a `log2(x)` in the exponent, of two otherwise.
pub(crate) fn base_and_exponent(inner: &Formula, exponent: &Rational) -> (Formula, Formula) {
    let scale = Formula::exact(exponent.clone());
    let logarithm = inner.as_term().and_then(|(monomial, coefficient)| {
        let factor = monomial.factors().iter().find(|factor| matches!(factor.atom.kind(), Kind::Log(_)) && factor.exponent.is_one())?;
        let Kind::Log(base) = factor.atom.kind() else { return None };
        Some((base.clone(), Formula::term(coefficient.clone(), &monomial.filtered(|other| other != factor))))
    });
    match logarithm {
        Some((base, rest)) => (base, scale * rest),
        None => (Formula::integer(2), scale * inner),
    }
}

fn shown_exponent(exponent: &Rational) -> Shown {
    let denominator = exponent.denominator();
    let (over, under) =
        if denominator <= Rational::from(MOST_DENOMINATOR) { (exponent.numerator(), denominator) } else { exponent.as_written() };
    if under.is_one() { Shown::Number(over) } else { Shown::Product { over: vec![Shown::Number(over)], under: vec![Shown::Number(under)] } }
}

/// Numbers first, then symbols and their powers, then the rest.
fn by_place(a: &Shown, b: &Shown) -> Ordering {
    fn base(shown: &Shown) -> &Shown {
        match shown {
            Shown::Power(base, _) => base,
            other => other,
        }
    }
    base(a).cmp(base(b)).then_with(|| a.cmp(b))
}
