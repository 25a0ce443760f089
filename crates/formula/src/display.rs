//! Formulas in the form in which they are printed.
//!
//! The canonical form is made for computing. Text, LaTeX and JSON output share this conversion to conventional notation: high powers first,
//! quotients instead of negative powers, `ln` and `r^i` where the formula means them, named indexes.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use crate::atom::{Atom, AtomKind, Extremum, FoldOp, IndexedFold, PiecewiseCase, RoundingMode, SymbolId};
use crate::coefficient::Coefficient;
use crate::display_scale;
use crate::formula::Formula;
use crate::monomial::{Monomial, PowerFactor};
use crate::rational::Rational;

/// Exponents with larger denominators are printed as decimals.
const MAX_DENOMINATOR: i64 = 64;

/// An expression as printed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DisplayExpr {
    /// Nonnegative.
    Number(Rational),
    Interval(Rational, Rational),
    Symbol(String),
    Power(Box<DisplayExpr>, Box<DisplayExpr>),
    Function(MathFunction, Vec<DisplayExpr>),
    Product {
        numerator: Vec<DisplayExpr>,
        denominator: Vec<DisplayExpr>,
    },
    Sum(Vec<SignedTerm>),
    Fold(Box<DisplayFold>),
    Piecewise(Box<DisplayExpr>, Vec<(Option<DisplayExpr>, DisplayExpr)>),
}

/// A summand with its sign.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SignedTerm {
    pub(crate) negative: bool,
    pub(crate) expr: DisplayExpr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MathFunction {
    Sqrt,
    Log2,
    Ln,
    Ceil,
    Floor,
    Max,
    Min,
}

/// A printed fold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DisplayFold {
    pub(crate) op: FoldOp,
    pub(crate) index: String,
    pub(crate) from: DisplayExpr,
    pub(crate) to: DisplayExpr,
    pub(crate) body: DisplayExpr,
}

/// The formula as printed, optionally with a limited number of significant digits.
pub(crate) fn to_display(formula: &Formula, digits: Option<usize>) -> DisplayExpr {
    DisplayBuilder { used_names: formula.symbols(), bound_indexes: Vec::new(), digits }.formula(formula)
}

/// Context of the conversion.
struct DisplayBuilder {
    /// The names in use.
    used_names: BTreeSet<String>,
    /// The indexes of the enclosing folds, the innermost last.
    bound_indexes: Vec<(SymbolId, String)>,
    /// The number of significant digits; all if `None`.
    digits: Option<usize>,
}

/// A coefficient with its numerator and denominator factors.
struct DisplayTerm {
    degree: f64,
    coefficient: Coefficient,
    numerator: Vec<DisplayExpr>,
    denominator: Vec<DisplayExpr>,
}

impl DisplayBuilder {
    fn formula(&mut self, formula: &Formula) -> DisplayExpr {
        let terms = self.terms(formula);
        self.sum(terms)
    }

    /// The terms of a sum, the fastest-growing first.
    fn terms(&mut self, formula: &Formula) -> Vec<DisplayTerm> {
        let mut terms: Vec<DisplayTerm> = formula.terms().map(|(monomial, number)| self.term(monomial, number)).collect();
        terms.sort_by(compare_growth);
        terms
    }

    fn sum(&self, mut terms: Vec<DisplayTerm>) -> DisplayExpr {
        // `1 - f` starts with the positive term; longer sums keep their order.
        if matches!(terms.as_slice(), [first, last] if is_negative(&first.coefficient) && !is_negative(&last.coefficient)) {
            terms.reverse();
        }
        let mut signed: Vec<SignedTerm> = terms.into_iter().enumerate().map(|(place, term)| self.signed(term, place == 0)).collect();
        match signed.len() {
            0 => DisplayExpr::Number(Rational::ZERO),
            1 if !signed[0].negative => signed.remove(0).expr,
            _ => DisplayExpr::Sum(signed),
        }
    }

    fn term(&mut self, monomial: &Monomial, number: &Coefficient) -> DisplayTerm {
        let natural = find_natural_log(monomial);
        let mut term =
            DisplayTerm { degree: monomial.degree(), coefficient: number.clone(), numerator: Vec::new(), denominator: Vec::new() };
        let root = display_scale::scale_of_root(number, monomial);
        if let Some((_, scale)) = &root {
            term.coefficient = scale.outer_coefficient.clone();
        }
        for factor in monomial.factors() {
            let expr = match (factor.atom.kind(), &natural) {
                (AtomKind::Ln2, Some(_)) => continue,
                (AtomKind::Group(inner), _) if root.is_some() && inner.as_exact().is_some() => continue,
                (AtomKind::Group(inner), _) if root.as_ref().is_some_and(|(sum, _)| sum == factor) => {
                    let scale = root.as_ref().map_or(Rational::ONE, |(_, scale)| scale.inner_factor.clone());
                    let base = self.formula(&(Formula::from_rational(scale) * inner));
                    self.raise(base, &factor.exponent.abs())
                }
                (AtomKind::Log2(inner), Some(atom)) if *atom == factor.atom => {
                    DisplayExpr::Function(MathFunction::Ln, vec![self.formula(inner)])
                }
                (AtomKind::Group(inner), _) => self.group(inner, &factor.exponent, &mut term.coefficient),
                _ => self.power(factor),
            };
            if factor.exponent.is_negative() { term.denominator.push(expr) } else { term.numerator.push(expr) }
        }
        term.numerator.sort_by(compare_factors);
        term.denominator.sort_by(compare_factors);
        term
    }

    /// A power of a sum, starting with a positive term. A negative coefficient turns `p - 1` into `1 - p`.
    fn group(&mut self, inner: &Formula, exponent: &Rational, number: &mut Coefficient) -> DisplayExpr {
        let mut terms = self.terms(inner);
        let odd = exponent.is_integer() && !exponent.is_even();
        let falls = terms.len() > 1 && is_negative(&terms[0].coefficient);
        let negative = is_negative(number) != (falls && odd);
        let reversible =
            odd && negative && matches!(terms.as_slice(), [a, b] if is_negative(&a.coefficient) != is_negative(&b.coefficient));
        if exponent.is_integer() && falls != reversible {
            terms.iter_mut().for_each(|term| term.coefficient = term.coefficient.negated());
            if odd {
                *number = number.negated();
            }
        }
        let numbers: Vec<&Coefficient> = terms.iter().map(|term| &term.coefficient).collect();
        if let Some(scale) = display_scale::scale_of_power(number, exponent, &numbers) {
            *number = scale.outer_coefficient;
            terms.iter_mut().for_each(|term| {
                term.coefficient =
                    term.coefficient.times(&Coefficient::Exact(scale.inner_factor.clone())).unwrap_or_else(|| term.coefficient.clone())
            });
        }
        let base = self.sum(terms);
        self.raise(base, &exponent.abs())
    }

    /// A power with the absolute value of its exponent.
    fn power(&mut self, factor: &PowerFactor) -> DisplayExpr {
        let exponent = factor.exponent.abs();
        if let AtomKind::Exp2(inner) = factor.atom.kind() {
            let (base, exponent) = base_and_exponent(inner, &exponent);
            return DisplayExpr::Power(Box::new(self.formula(&base)), Box::new(self.formula(&exponent)));
        }
        let base = self.atom(&factor.atom);
        self.raise(base, &exponent)
    }

    /// Roots of symbols are printed as powers, longer ones as roots.
    fn raise(&self, base: DisplayExpr, exponent: &Rational) -> DisplayExpr {
        if exponent.is_one() {
            return base;
        }
        if *exponent == Rational::HALF
            && matches!(base, DisplayExpr::Sum(_) | DisplayExpr::Function(..) | DisplayExpr::Fold(_) | DisplayExpr::Piecewise(..))
        {
            return DisplayExpr::Function(MathFunction::Sqrt, vec![base]);
        }
        DisplayExpr::Power(Box::new(base), Box::new(self.exponent(exponent)))
    }

    fn exponent(&self, exponent: &Rational) -> DisplayExpr {
        let denominator = exponent.denominator();
        let (numerator, denominator) = if denominator <= Rational::from(MAX_DENOMINATOR) {
            (exponent.numerator(), denominator)
        } else {
            self.digits.map_or_else(|| exponent.clone(), |digits| exponent.round_significant(digits)).printed_fraction()
        };
        if denominator.is_one() {
            DisplayExpr::Number(numerator)
        } else {
            DisplayExpr::Product { numerator: vec![DisplayExpr::Number(numerator)], denominator: vec![DisplayExpr::Number(denominator)] }
        }
    }

    /// A term with its sign. A negative interval coefficient is subtracted, unless it comes first.
    fn signed(&self, term: DisplayTerm, first: bool) -> SignedTerm {
        let DisplayTerm { coefficient: number, mut numerator, mut denominator, .. } = term;
        let number = self.digits.map_or(number.clone(), |digits| number.round_significant(digits));
        let negative = is_negative(&number) && (number.is_exact() || !first);
        match if negative { number.negated() } else { number } {
            Coefficient::Bounded(low, high) => numerator.insert(0, DisplayExpr::Interval(low, high)),
            Coefficient::Exact(value) => {
                let (over, under) = value.printed_fraction();
                if !over.is_one() || numerator.is_empty() {
                    numerator.insert(0, DisplayExpr::Number(over));
                }
                if !under.is_one() {
                    denominator.insert(0, DisplayExpr::Number(under));
                }
            }
        }
        let expr = if numerator.len() == 1 && denominator.is_empty() {
            numerator.remove(0)
        } else {
            DisplayExpr::Product { numerator, denominator }
        };
        SignedTerm { negative, expr }
    }

    fn atom(&mut self, atom: &Atom) -> DisplayExpr {
        let mut call = |name: MathFunction, entries: &[Formula]| {
            let mut expr: Vec<DisplayExpr> = entries.iter().map(|entry| self.formula(entry)).collect();
            expr.sort();
            DisplayExpr::Function(name, expr)
        };
        match atom.kind() {
            AtomKind::Symbol(symbol) => DisplayExpr::Symbol(self.name(symbol)),
            // It has no value, so what is printed must not have one.
            AtomKind::TooDeep => DisplayExpr::Product {
                numerator: vec![DisplayExpr::Number(Rational::ONE)],
                denominator: vec![DisplayExpr::Number(Rational::ZERO)],
            },
            AtomKind::Ln2 => DisplayExpr::Function(MathFunction::Ln, vec![DisplayExpr::Number(Rational::from(2))]),
            AtomKind::Group(inner) | AtomKind::Exp2(inner) => self.formula(inner),
            AtomKind::Log2(inner) => call(MathFunction::Log2, std::slice::from_ref(inner)),
            AtomKind::Extremum(Extremum::Max, entries) => call(MathFunction::Max, entries),
            AtomKind::Extremum(Extremum::Min, entries) => call(MathFunction::Min, entries),
            AtomKind::Rounded(RoundingMode::Up, inner) => call(MathFunction::Ceil, std::slice::from_ref(inner)),
            AtomKind::Rounded(RoundingMode::Down, inner) => call(MathFunction::Floor, std::slice::from_ref(inner)),
            AtomKind::Fold(fold) => self.fold(fold),
            AtomKind::Piecewise(variable, pieces) => self.piecewise(variable, pieces),
        }
    }

    fn fold(&mut self, fold: &IndexedFold) -> DisplayExpr {
        let (from, to) = (self.formula(&fold.from), self.formula(&fold.to));
        let mut index = fold.index_name.0.to_string();
        while self.used_names.contains(&index) {
            index.push('_');
        }
        self.used_names.insert(index.clone());
        self.bound_indexes.push((fold.index(), index.clone()));
        let body = self.formula(&fold.body);
        self.bound_indexes.pop();
        self.used_names.remove(&index);
        DisplayExpr::Fold(Box::new(DisplayFold { op: fold.op, index, from, to, body }))
    }

    fn piecewise(&mut self, variable: &Formula, pieces: &[PiecewiseCase]) -> DisplayExpr {
        let list = pieces.iter().map(|piece| (piece.up_to.as_ref().map(|bound| self.formula(bound)), self.formula(&piece.formula)));
        let list = list.collect();
        DisplayExpr::Piecewise(Box::new(self.formula(variable)), list)
    }

    fn name(&self, symbol: &SymbolId) -> String {
        match symbol {
            SymbolId::Named(name) => name.to_string(),
            _ => match self.bound_indexes.iter().rev().find(|(bound, _)| bound == symbol) {
                Some((_, name)) => name.clone(),
                None => format!("{symbol:?}"),
            },
        }
    }
}

/// Whether a coefficient is certainly negative.
fn is_negative(number: &Coefficient) -> bool {
    number.negated().is_nonnegative() && !number.is_zero()
}

/// The logarithm next to an `ln(2)`, with which it forms a natural logarithm.
fn find_natural_log(monomial: &Monomial) -> Option<Atom> {
    monomial.factors().iter().find(|factor| *factor.atom.kind() == AtomKind::Ln2 && factor.exponent.is_one())?;
    let logarithm = |factor: &&PowerFactor| matches!(factor.atom.kind(), AtomKind::Log2(_)) && factor.exponent.is_one();
    monomial.factors().iter().find(logarithm).map(|factor| factor.atom.clone())
}

/// Base and exponent of `2^(inner*exponent)`: the base is `x` if there is a `log2(x)` in the exponent, two otherwise.
pub(crate) fn base_and_exponent(inner: &Formula, exponent: &Rational) -> (Formula, Formula) {
    let scale = Formula::from_rational(exponent.clone());
    let logarithm = inner.as_term().and_then(|(monomial, coefficient)| {
        let factor =
            monomial.factors().iter().find(|factor| matches!(factor.atom.kind(), AtomKind::Log2(_)) && factor.exponent.is_one())?;
        let AtomKind::Log2(base) = factor.atom.kind() else { return None };
        Some((base.clone(), Formula::term(coefficient.clone(), &monomial.filter(|other| other != factor))))
    });
    match logarithm {
        Some((base, rest)) => (base, scale * rest),
        None => (Formula::integer(2), scale * inner),
    }
}

/// Faster-growing terms come first; for equal growth, higher powers of the first symbols.
fn compare_growth(a: &DisplayTerm, b: &DisplayTerm) -> Ordering {
    let sides = || [(&a.numerator, &b.numerator), (&a.denominator, &b.denominator)].into_iter().map(|(a, b)| compare_powers(a, b));
    b.degree
        .total_cmp(&a.degree)
        .then_with(|| sides().fold(Ordering::Equal, Ordering::then))
        .then_with(|| a.coefficient.cmp(&b.coefficient))
}

fn compare_powers(a: &[DisplayExpr], b: &[DisplayExpr]) -> Ordering {
    let each = a.iter().zip(b).map(|(a, b)| {
        let exponents = match (a, b) {
            (DisplayExpr::Power(_, x), DisplayExpr::Power(_, y)) => y.cmp(x),
            _ => b.cmp(a),
        };
        power_base(a).cmp(power_base(b)).then(exponents)
    });
    each.fold(Ordering::Equal, Ordering::then).then_with(|| a.len().cmp(&b.len()))
}

/// Numbers first, then symbols and their powers, then the rest.
fn compare_factors(a: &DisplayExpr, b: &DisplayExpr) -> Ordering {
    power_base(a).cmp(power_base(b)).then_with(|| a.cmp(b))
}

fn power_base(expr: &DisplayExpr) -> &DisplayExpr {
    match expr {
        DisplayExpr::Power(base, _) => base,
        other => other,
    }
}
