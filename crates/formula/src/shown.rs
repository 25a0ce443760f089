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
use crate::scale;

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
    Sqrt,
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

/// A formula as it is written, with all digits of its numbers or with some.
pub(crate) fn shown(formula: &Formula, digits: Option<usize>) -> Shown {
    Writer { taken: formula.symbols(), bound: Vec::new(), digits }.formula(formula)
}

/// What must be known to write a part of a formula.
struct Writer {
    /// Which names are in use.
    taken: BTreeSet<String>,
    /// The indexes of the ranges around, the innermost last.
    bound: Vec<(Symbol, String)>,
    /// How many significant digits numbers get; all without.
    digits: Option<usize>,
}

/// A number, what it multiplies and what divides it.
struct Term {
    degree: f64,
    number: Number,
    over: Vec<Shown>,
    under: Vec<Shown>,
}

impl Writer {
    fn formula(&mut self, formula: &Formula) -> Shown {
        let terms = self.terms(formula);
        self.sum(terms)
    }

    /// The terms of a sum, those that grow fastest first.
    fn terms(&mut self, formula: &Formula) -> Vec<Term> {
        let mut terms: Vec<Term> = formula.terms().map(|(monomial, number)| self.term(monomial, number)).collect();
        terms.sort_by(by_growth);
        terms
    }

    fn sum(&self, mut terms: Vec<Term>) -> Shown {
        // `1 - f` begins with what is positive; three terms and more stay in their order.
        if matches!(terms.as_slice(), [first, last] if is_negative(&first.number) && !is_negative(&last.number)) {
            terms.reverse();
        }
        let mut signed: Vec<Signed> = terms.into_iter().enumerate().map(|(place, term)| self.signed(term, place == 0)).collect();
        match signed.len() {
            0 => Shown::Number(Rational::ZERO),
            1 if !signed[0].negative => signed.remove(0).shown,
            _ => Shown::Sum(signed),
        }
    }

    fn term(&mut self, monomial: &Monomial, number: &Number) -> Term {
        let natural = natural_logarithm(monomial);
        let mut term = Term { degree: monomial.degree(), number: number.clone(), over: Vec::new(), under: Vec::new() };
        let root = scale::of_root(number, monomial);
        if let Some((_, scale)) = &root {
            term.number = scale.before.clone();
        }
        for factor in monomial.factors() {
            let shown = match (factor.atom.kind(), &natural) {
                (Kind::Ln2, Some(_)) => continue,
                (Kind::Group(inner), _) if root.is_some() && inner.as_exact().is_some() => continue,
                (Kind::Group(inner), _) if root.as_ref().is_some_and(|(sum, _)| sum == factor) => {
                    let scale = root.as_ref().map_or(Rational::ONE, |(_, scale)| scale.inside.clone());
                    let base = self.formula(&(Formula::exact(scale) * inner));
                    self.raised(base, &factor.exponent.abs())
                }
                (Kind::Log(inner), Some(atom)) if *atom == factor.atom => Shown::Call(Call::Ln, vec![self.formula(inner)]),
                (Kind::Group(inner), _) => self.group(inner, &factor.exponent, &mut term.number),
                _ => self.power(factor),
            };
            if factor.exponent.is_negative() { term.under.push(shown) } else { term.over.push(shown) }
        }
        term.over.sort_by(by_place);
        term.under.sort_by(by_place);
        term
    }

    /// A power of a sum that begins with what is positive. A negative number before it turns `p - 1` into `1 - p`.
    fn group(&mut self, inner: &Formula, exponent: &Rational, number: &mut Number) -> Shown {
        let mut terms = self.terms(inner);
        let odd = exponent.is_whole() && !exponent.is_even();
        let falls = terms.len() > 1 && is_negative(&terms[0].number);
        let negative = is_negative(number) != (falls && odd);
        let reversible = odd && negative && matches!(terms.as_slice(), [a, b] if is_negative(&a.number) != is_negative(&b.number));
        if exponent.is_whole() && falls != reversible {
            terms.iter_mut().for_each(|term| term.number = term.number.negated());
            if odd {
                *number = number.negated();
            }
        }
        let numbers: Vec<&Number> = terms.iter().map(|term| &term.number).collect();
        if let Some(scale) = scale::of_power(number, exponent, &numbers) {
            *number = scale.before;
            terms.iter_mut().for_each(|term| {
                term.number = term.number.times(&Number::Exact(scale.inside.clone())).unwrap_or_else(|| term.number.clone())
            });
        }
        let base = self.sum(terms);
        self.raised(base, &exponent.abs())
    }

    /// A power without the sign of its exponent.
    fn power(&mut self, factor: &Factor) -> Shown {
        let exponent = factor.exponent.abs();
        if let Kind::Exp(inner) = factor.atom.kind() {
            let (base, exponent) = base_and_exponent(inner, &exponent);
            return Shown::Power(Box::new(self.formula(&base)), Box::new(self.formula(&exponent)));
        }
        let base = self.atom(&factor.atom);
        self.raised(base, &exponent)
    }

    /// Roots of symbols are written as their other powers are, roots of anything longer as roots.
    fn raised(&self, base: Shown, exponent: &Rational) -> Shown {
        if exponent.is_one() {
            return base;
        }
        if *exponent == Rational::HALF && matches!(base, Shown::Sum(_) | Shown::Call(..) | Shown::Range(_) | Shown::Pieces(..)) {
            return Shown::Call(Call::Sqrt, vec![base]);
        }
        Shown::Power(Box::new(base), Box::new(self.exponent(exponent)))
    }

    fn exponent(&self, exponent: &Rational) -> Shown {
        let denominator = exponent.denominator();
        let (over, under) = if denominator <= Rational::from(MOST_DENOMINATOR) {
            (exponent.numerator(), denominator)
        } else {
            self.digits.map_or_else(|| exponent.clone(), |digits| exponent.shortened(digits)).as_written()
        };
        if under.is_one() {
            Shown::Number(over)
        } else {
            Shown::Product { over: vec![Shown::Number(over)], under: vec![Shown::Number(under)] }
        }
    }

    /// A term with its sign. An unknown number that is negative is subtracted, unless it comes first.
    fn signed(&self, term: Term, first: bool) -> Signed {
        let Term { number, mut over, mut under, .. } = term;
        let number = self.digits.map_or(number.clone(), |digits| number.shortened(digits));
        let negative = is_negative(&number) && (number.is_exact() || !first);
        match if negative { number.negated() } else { number } {
            Number::Between(low, high) => over.insert(0, Shown::Between(low, high)),
            Number::Exact(value) => {
                let (numerator, denominator) = value.as_written();
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

/// Whether a number can only be below zero.
fn is_negative(number: &Number) -> bool {
    number.negated().is_nonnegative() && !number.is_zero()
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

/// What grows faster comes first; of the same growth, higher powers of the first symbols do.
fn by_growth(a: &Term, b: &Term) -> Ordering {
    let sides = || [(&a.over, &b.over), (&a.under, &b.under)].into_iter().map(|(a, b)| by_powers(a, b));
    b.degree.total_cmp(&a.degree).then_with(|| sides().fold(Ordering::Equal, Ordering::then)).then_with(|| a.number.cmp(&b.number))
}

fn by_powers(a: &[Shown], b: &[Shown]) -> Ordering {
    let each = a.iter().zip(b).map(|(a, b)| {
        let exponents = match (a, b) {
            (Shown::Power(_, x), Shown::Power(_, y)) => y.cmp(x),
            _ => b.cmp(a),
        };
        base(a).cmp(base(b)).then(exponents)
    });
    each.fold(Ordering::Equal, Ordering::then).then_with(|| a.len().cmp(&b.len()))
}

/// Numbers first, then symbols and their powers, then the rest.
fn by_place(a: &Shown, b: &Shown) -> Ordering {
    base(a).cmp(base(b)).then_with(|| a.cmp(b))
}

fn base(shown: &Shown) -> &Shown {
    match shown {
        Shown::Power(base, _) => base,
        other => other,
    }
}
