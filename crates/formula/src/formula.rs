//! The formula: a sum of products in canonical form.
//!
//! A formula is a sum of terms; a term is a coefficient times powers of atoms. Terms with the same powers are merged, powers of the same
//! atom are merged, and products of sums are expanded while they stay small. So formulas built from symbols and numbers with `+`, `-`, `*`
//! and integer powers are equal exactly if they are the same polynomial. Formulas are shared, not copied.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock};

use crate::atom::{Atom, AtomKind, CachedAttributes, SymbolId};
use crate::coefficient::Coefficient;
use crate::monomial::Monomial;
use crate::rational::Rational;
use crate::sign;
use crate::stable_hash::{mix_bits, stable_hash};

/// Larger atoms are searched only once, since they may be shared.
const MIN_CACHED_SIZE: u64 = 32;

/// Larger formulas are not printed in debug output.
pub(crate) const MAX_PRINTED_SIZE: u64 = 100_000;

/// An expression over parameters, in canonical form. Cloning is cheap.
///
/// `Ord` is total but arbitrary; [`Formula::compare`] compares values.
#[derive(Clone)]
pub struct Formula(Arc<TermMap>);

/// The monomials of a sum with their nonzero coefficients.
#[derive(Clone, Default)]
pub(crate) struct TermMap {
    map: BTreeMap<TermKey, Coefficient>,
    /// The sum of the hashes of the terms, so that it can be updated with every change.
    hash: u64,
}

/// A monomial; with the sign of its coefficient if the monomial contains an interval coefficient. Such monomials do not cancel: they may be
/// different numbers.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct TermKey(Monomial, CoefficientSign);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CoefficientSign {
    Any,
    Positive,
    Negative,
    Mixed,
}

fn coefficient_sign(monomial: &Monomial, coefficient: &Coefficient) -> CoefficientSign {
    if !monomial.attributes().has_interval {
        CoefficientSign::Any
    } else if coefficient.is_nonnegative() {
        CoefficientSign::Positive
    } else if coefficient.negated().is_nonnegative() {
        CoefficientSign::Negative
    } else {
        CoefficientSign::Mixed
    }
}

impl TermMap {
    pub(crate) fn add(&mut self, monomial: &Monomial, coefficient: &Coefficient) {
        if coefficient.is_zero() {
            return;
        }
        let key = TermKey(monomial.clone(), coefficient_sign(monomial, coefficient));
        let added = match self.map.get(&key) {
            None => coefficient.clone(),
            Some(present) => {
                self.hash = self.hash.wrapping_sub(term_hash(monomial, present));
                if key.1 == CoefficientSign::Mixed && !monomial.is_nonnegative() {
                    symmetric_hull(present, coefficient)
                } else {
                    present.plus(coefficient)
                }
            }
        };
        if added.is_zero() {
            self.map.remove(&key);
        } else {
            self.hash = self.hash.wrapping_add(term_hash(monomial, &added));
            self.map.insert(key, added);
        }
    }

    pub(crate) fn add_all(&mut self, other: &TermMap) {
        for (key, coefficient) in &other.map {
            self.add(&key.0, coefficient);
        }
    }
}

/// The coefficient for the sum of two interval monomials of any sign, each times its own coefficient of any sign.
fn symmetric_hull(a: &Coefficient, b: &Coefficient) -> Coefficient {
    let reach = |number: &Coefficient| number.low().abs().max(number.high().abs());
    let reach = reach(a) + reach(b);
    Coefficient::interval(-&reach, reach)
}

fn term_hash(monomial: &Monomial, coefficient: &Coefficient) -> u64 {
    mix_bits(monomial.hash_code() ^ stable_hash(coefficient))
}

impl From<TermMap> for Formula {
    fn from(terms: TermMap) -> Formula {
        Formula(Arc::new(terms))
    }
}

impl Formula {
    /// Zero.
    pub fn zero() -> Formula {
        static ZERO: LazyLock<Formula> = LazyLock::new(|| TermMap::default().into());
        ZERO.clone()
    }

    /// One.
    pub fn one() -> Formula {
        static ONE: LazyLock<Formula> = LazyLock::new(|| Formula::integer(1));
        ONE.clone()
    }

    /// An integer.
    pub fn integer(value: i64) -> Formula {
        Formula::from_rational(Rational::from(value))
    }

    /// The shortest decimal that parses as this float, exactly; undefined if the float is not finite.
    pub fn decimal(value: f64) -> Formula {
        Rational::from_f64_shortest(value).map_or_else(Formula::undefined, Formula::from_rational)
    }

    /// A fraction; undefined if the denominator is zero.
    pub fn ratio(numerator: i64, denominator: i64) -> Formula {
        Rational::new(numerator, denominator).map_or_else(Formula::undefined, Formula::from_rational)
    }

    /// An exact number.
    pub fn from_rational(value: Rational) -> Formula {
        Formula::from_coefficient(Coefficient::Exact(value))
    }

    /// An unknown number between two floats, taken as their shortest decimals; undefined if one is not finite.
    pub fn interval(low: f64, high: f64) -> Formula {
        match (Rational::from_f64_shortest(low), Rational::from_f64_shortest(high)) {
            (Some(low), Some(high)) => Formula::from_coefficient(Coefficient::interval(low, high)),
            _ => Formula::undefined(),
        }
    }

    /// A parameter; its value is nonnegative.
    pub fn symbol(name: &str) -> Formula {
        Formula::from(SymbolId::named(name))
    }

    /// One over zero, which has no value.
    pub(crate) fn undefined() -> Formula {
        Formula::from(Monomial::power(Atom::new(AtomKind::Group(Formula::zero())), Rational::from(-1)))
    }

    pub(crate) fn from_coefficient(value: Coefficient) -> Formula {
        Formula::term(value, &Monomial::one())
    }

    pub(crate) fn term(coefficient: Coefficient, monomial: &Monomial) -> Formula {
        let mut terms = TermMap::default();
        terms.add(monomial, &coefficient);
        terms.into()
    }

    /// The free symbols, in order.
    pub fn symbols(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        self.visit_atoms(&mut HashSet::new(), &mut |atom| {
            if let AtomKind::Symbol(SymbolId::Named(name)) = atom.kind() {
                names.insert(name.to_string());
            }
        });
        names
    }

    /// Calls `see` once for every atom inside.
    pub(crate) fn visit_atoms(&self, seen: &mut HashSet<usize>, see: &mut impl FnMut(&Atom)) {
        for factor in self.terms().flat_map(|(monomial, _)| monomial.factors()) {
            if seen.insert(factor.atom.address()) {
                see(&factor.atom);
                for part in factor.atom.kind().operands() {
                    part.visit_atoms(seen, see);
                }
            }
        }
    }

    /// Whether the symbol occurs free.
    pub(crate) fn contains(&self, symbol: &SymbolId) -> bool {
        self.terms().any(|(monomial, _)| monomial_contains(monomial, symbol))
    }

    /// The attributes, merged from those of the monomials.
    pub(crate) fn attributes(&self) -> CachedAttributes {
        self.terms().fold(CachedAttributes::default(), |attributes, (monomial, coefficient)| {
            let attributes = attributes.merge(monomial.attributes());
            CachedAttributes {
                has_interval: attributes.has_interval || !coefficient.is_exact(),
                size: attributes.size.saturating_add(1),
                ..attributes
            }
        })
    }

    /// Whether it contains an interval coefficient.
    pub(crate) fn has_interval(&self) -> bool {
        self.terms().any(|(monomial, coefficient)| monomial.attributes().has_interval || !coefficient.is_exact())
    }

    /// Whether its monomials can be compared directly: none contains an interval coefficient, or an extremum or rounding that has a simpler
    /// bound.
    pub(crate) fn is_directly_comparable(&self) -> bool {
        self.terms().all(|(monomial, _)| !monomial.attributes().has_interval && !sign::has_simple_bound(monomial))
    }

    pub(crate) fn has_term(&self, monomial: &Monomial, coefficient: &Coefficient) -> bool {
        self.0.map.get(&TermKey(monomial.clone(), coefficient_sign(monomial, coefficient))) == Some(coefficient)
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.0.map.is_empty()
    }

    /// Whether it is one.
    pub fn is_one(&self) -> bool {
        self.as_exact().is_some_and(Rational::is_one)
    }

    /// The number of operations when printed. Shared subformulas are stored once but printed every time, so this can be far larger than the
    /// memory that the formula takes: check it before printing.
    pub fn size(&self) -> u64 {
        self.attributes().size
    }

    /// The number of terms of the sum.
    pub fn len(&self) -> usize {
        self.0.map.len()
    }

    /// Whether the sum has no terms, so that it is zero.
    pub fn is_empty(&self) -> bool {
        self.is_zero()
    }

    pub(crate) fn terms(&self) -> impl Iterator<Item = (&Monomial, &Coefficient)> {
        self.0.map.iter().map(|(key, coefficient)| (&key.0, coefficient))
    }

    pub(crate) fn term_map(&self) -> &TermMap {
        &self.0
    }

    /// Its terms for modification; copied only if shared.
    pub(crate) fn into_term_map(self) -> TermMap {
        Arc::unwrap_or_clone(self.0)
    }

    /// Its only term, if it has one term.
    pub(crate) fn as_term(&self) -> Option<(&Monomial, &Coefficient)> {
        let mut terms = self.terms();
        terms.next().filter(|_| self.len() == 1)
    }

    /// Its coefficient, if it is a constant.
    pub(crate) fn as_coefficient(&self) -> Option<&Coefficient> {
        static ZERO: Coefficient = Coefficient::Exact(Rational::ZERO);
        if self.is_zero() {
            return Some(&ZERO);
        }
        self.as_term().filter(|(monomial, _)| monomial.is_one()).map(|(_, number)| number)
    }

    /// Its value, if it is an exact constant.
    pub fn as_exact(&self) -> Option<&Rational> {
        self.as_coefficient().and_then(Coefficient::as_exact)
    }

    /// Its atom, if it is a single atom.
    pub(crate) fn as_atom(&self) -> Option<&Atom> {
        let (monomial, coefficient) = self.as_term()?;
        monomial.as_atom().filter(|_| coefficient.is_one())
    }

    /// The constant term.
    pub(crate) fn constant(&self) -> Coefficient {
        let constant = self.terms().find(|(monomial, _)| monomial.is_one());
        constant.map_or(Coefficient::Exact(Rational::ZERO), |(_, number)| number.clone())
    }
}

/// Whether the symbol occurs free in a monomial.
pub(crate) fn monomial_contains(monomial: &Monomial, symbol: &SymbolId) -> bool {
    monomial.attributes().symbol_bloom & symbol.bloom_bit() != 0
        && monomial.factors().iter().any(|factor| atom_contains(&factor.atom, symbol))
}

pub(crate) fn atom_contains(atom: &Atom, symbol: &SymbolId) -> bool {
    contains_symbol(atom, symbol, symbol.bloom_bit(), &mut HashSet::new())
}

/// Searches an atom for a symbol; large shared atoms are searched once.
fn contains_symbol(atom: &Atom, symbol: &SymbolId, mark: u64, seen: &mut HashSet<usize>) -> bool {
    if atom.attributes().symbol_bloom & mark == 0 {
        return false;
    }
    let parts = match atom.kind() {
        AtomKind::Symbol(own) => return own == symbol,
        AtomKind::Fold(fold) if fold.index() == *symbol => vec![&fold.from, &fold.to],
        kind => kind.operands(),
    };
    if atom.attributes().size > MIN_CACHED_SIZE && !seen.insert(atom.address()) {
        return false;
    }
    let mut factors = parts.into_iter().flat_map(Formula::terms).flat_map(|(monomial, _)| monomial.factors());
    factors.any(|factor| contains_symbol(&factor.atom, symbol, mark, seen))
}

impl From<SymbolId> for Formula {
    fn from(symbol: SymbolId) -> Formula {
        Formula::from(Atom::symbol(symbol))
    }
}

impl From<Atom> for Formula {
    fn from(atom: Atom) -> Formula {
        Formula::from(Monomial::power(atom, Rational::ONE))
    }
}

impl From<Monomial> for Formula {
    fn from(monomial: Monomial) -> Formula {
        Formula::term(Coefficient::Exact(Rational::ONE), &monomial)
    }
}

impl From<i64> for Formula {
    fn from(value: i64) -> Formula {
        Formula::integer(value)
    }
}

impl PartialEq for Formula {
    fn eq(&self, other: &Formula) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || (self.0.hash == other.0.hash && self.0.map == other.0.map)
    }
}
impl Eq for Formula {}

impl PartialOrd for Formula {
    fn partial_cmp(&self, other: &Formula) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Formula {
    fn cmp(&self, other: &Formula) -> Ordering {
        if Arc::ptr_eq(&self.0, &other.0) {
            return Ordering::Equal;
        }
        self.0.hash.cmp(&other.0.hash).then_with(|| self.0.map.cmp(&other.0.map))
    }
}

impl Hash for Formula {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash.hash(state);
    }
}
