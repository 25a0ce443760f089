//! The formula: a sum of products, in the one form that equal sums have.
//!
//! A formula is a sum of terms; a term is a number times powers of atoms. Terms with the same powers are one term, powers of the same atom
//! are one power, and products of sums are multiplied out while they stay small. So whatever is built from symbols and numbers with `+`,
//! `-`, `*` and whole powers is equal exactly when it is the same polynomial. Formulas are shared, not copied.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock};

use crate::atom::{Atom, Facts, Kind, Symbol};
use crate::fingerprint::{fingerprint, mixed};
use crate::monomial::Monomial;
use crate::number::Number;
use crate::rational::Rational;
use crate::sign;

/// Atoms with more operations are searched only once, since many may share them.
const WORTH_REMEMBERING: u64 = 32;

/// Formulas that take more operations to write down are not written into error messages.
pub(crate) const READABLE: u64 = 100_000;

/// An expression over parameters, in canonical form; cloning it costs nothing.
///
/// The order of formulas is total but means nothing; [`Formula::compare`] compares what they stand for.
#[derive(Clone)]
pub struct Formula(Arc<Terms>);

/// The products of a sum and their coefficients, none of which is zero.
#[derive(Clone, Default)]
pub(crate) struct Terms {
    map: BTreeMap<Key, Number>,
    /// The sum of the hashes of the terms, so that it follows every change.
    hash: u64,
}

/// A product; with the side of zero of its coefficient if the product holds an unknown number. Such products do not cancel: they may be
/// different numbers.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key(Monomial, Side);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Any,
    Positive,
    Negative,
    Both,
}

fn side(monomial: &Monomial, coefficient: &Number) -> Side {
    if !monomial.facts().loose {
        Side::Any
    } else if coefficient.is_nonnegative() {
        Side::Positive
    } else if coefficient.negated().is_nonnegative() {
        Side::Negative
    } else {
        Side::Both
    }
}

impl Terms {
    /// Adds a term.
    pub(crate) fn add(&mut self, monomial: &Monomial, coefficient: &Number) {
        if coefficient.is_zero() {
            return;
        }
        let key = Key(monomial.clone(), side(monomial, coefficient));
        let added = match self.map.get(&key) {
            None => coefficient.clone(),
            Some(present) => {
                self.hash = self.hash.wrapping_sub(term_hash(monomial, present));
                if key.1 == Side::Both && !monomial.is_nonnegative() { widest(present, coefficient) } else { present.plus(coefficient) }
            }
        };
        if added.is_zero() {
            self.map.remove(&key);
        } else {
            self.hash = self.hash.wrapping_add(term_hash(monomial, &added));
            self.map.insert(key, added);
        }
    }

    pub(crate) fn add_all(&mut self, other: &Terms) {
        for (key, coefficient) in &other.map {
            self.add(&key.0, coefficient);
        }
    }
}

/// The coefficient for the sum of two unknown numbers of any sign, each times its own coefficient of any sign.
fn widest(a: &Number, b: &Number) -> Number {
    let reach = |number: &Number| number.low().abs().max(number.high().abs());
    let reach = reach(a) + reach(b);
    Number::between(-&reach, reach)
}

fn term_hash(monomial: &Monomial, coefficient: &Number) -> u64 {
    mixed(monomial.hash_code() ^ fingerprint(coefficient))
}

impl From<Terms> for Formula {
    fn from(terms: Terms) -> Formula {
        Formula(Arc::new(terms))
    }
}

impl Formula {
    /// Zero.
    pub fn zero() -> Formula {
        static ZERO: LazyLock<Formula> = LazyLock::new(|| Terms::default().into());
        ZERO.clone()
    }

    /// One.
    pub fn one() -> Formula {
        static ONE: LazyLock<Formula> = LazyLock::new(|| Formula::integer(1));
        ONE.clone()
    }

    /// A whole number.
    pub fn integer(value: i64) -> Formula {
        Formula::exact(Rational::from(value))
    }

    /// The shortest decimal that reads as this float, exactly; undefined when the float is not finite.
    pub fn decimal(value: f64) -> Formula {
        Rational::decimal(value).map_or_else(Formula::undefined, Formula::exact)
    }

    /// A fraction; undefined when its denominator is zero.
    pub fn ratio(over: i64, under: i64) -> Formula {
        Rational::new(over, under).map_or_else(Formula::undefined, Formula::exact)
    }

    /// An exact number.
    pub fn exact(value: Rational) -> Formula {
        Formula::number(Number::Exact(value))
    }

    /// An unknown number between two floats, taken as their shortest decimals; undefined when one is not finite.
    pub fn between(low: f64, high: f64) -> Formula {
        match (Rational::decimal(low), Rational::decimal(high)) {
            (Some(low), Some(high)) => Formula::number(Number::between(low, high)),
            _ => Formula::undefined(),
        }
    }

    /// A parameter, which stands for a number that is not negative.
    pub fn symbol(name: &str) -> Formula {
        Formula::from(Symbol::named(name))
    }

    /// One over zero: what has no value anywhere.
    pub(crate) fn undefined() -> Formula {
        Formula::from(Monomial::power(Atom::new(Kind::Group(Formula::zero())), Rational::from(-1)))
    }

    pub(crate) fn number(value: Number) -> Formula {
        Formula::term(value, &Monomial::one())
    }

    pub(crate) fn term(coefficient: Number, monomial: &Monomial) -> Formula {
        let mut terms = Terms::default();
        terms.add(monomial, &coefficient);
        terms.into()
    }

    /// The symbols it depends on, in order.
    pub fn symbols(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        self.visit(&mut HashSet::new(), &mut |atom| {
            if let Kind::Symbol(Symbol::Named(name)) = atom.kind() {
                names.insert(name.to_string());
            }
        });
        names
    }

    /// Calls for every atom inside, once.
    pub(crate) fn visit(&self, seen: &mut HashSet<usize>, see: &mut impl FnMut(&Atom)) {
        for factor in self.terms().flat_map(|(monomial, _)| monomial.factors()) {
            if seen.insert(factor.atom.address()) {
                see(&factor.atom);
                for part in factor.atom.kind().parts() {
                    part.visit(seen, see);
                }
            }
        }
    }

    /// Whether a symbol is in it, outside ranges that use the same name for their index.
    pub(crate) fn contains(&self, symbol: &Symbol) -> bool {
        self.terms().any(|(monomial, _)| monomial_contains(monomial, symbol))
    }

    /// What is known of everything inside, from what each product knows of itself.
    pub(crate) fn facts(&self) -> Facts {
        self.terms().fold(Facts::default(), |facts, (monomial, coefficient)| {
            let facts = facts.with(monomial.facts());
            Facts { loose: facts.loose || !coefficient.is_exact(), size: facts.size.saturating_add(1), ..facts }
        })
    }

    /// Whether it holds an unknown number.
    pub(crate) fn is_loose(&self) -> bool {
        self.terms().any(|(monomial, coefficient)| monomial.facts().loose || !coefficient.is_exact())
    }

    /// Whether its products say all about their size: none holds an unknown number, a maximum or a rounding that something else bounds.
    pub(crate) fn is_plain(&self) -> bool {
        self.terms().all(|(monomial, _)| !monomial.facts().loose && !sign::is_bounded(monomial))
    }

    /// Whether a term is one of its terms.
    pub(crate) fn has_term(&self, monomial: &Monomial, coefficient: &Number) -> bool {
        self.0.map.get(&Key(monomial.clone(), side(monomial, coefficient))) == Some(coefficient)
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.0.map.is_empty()
    }

    /// Whether it is one.
    pub fn is_one(&self) -> bool {
        self.as_exact().is_some_and(Rational::is_one)
    }

    /// How many operations it takes to write it down. What is shared inside a formula is held once but written each time, so this can be
    /// far larger than the memory that the formula takes: ask before printing what a program has built.
    pub fn size(&self) -> u64 {
        self.facts().size
    }

    /// How many terms its sum has.
    pub fn len(&self) -> usize {
        self.0.map.len()
    }

    /// Whether its sum has no terms, which makes it zero.
    pub fn is_empty(&self) -> bool {
        self.is_zero()
    }

    pub(crate) fn terms(&self) -> impl Iterator<Item = (&Monomial, &Number)> {
        self.0.map.iter().map(|(key, coefficient)| (&key.0, coefficient))
    }

    pub(crate) fn inner(&self) -> &Terms {
        &self.0
    }

    /// Its terms, to be changed; copied only when others share them.
    pub(crate) fn into_terms(self) -> Terms {
        Arc::unwrap_or_clone(self.0)
    }

    /// Its only term, when it has one.
    pub(crate) fn as_term(&self) -> Option<(&Monomial, &Number)> {
        let mut terms = self.terms();
        terms.next().filter(|_| self.len() == 1)
    }

    /// Its value, when it is a number.
    pub(crate) fn as_number(&self) -> Option<&Number> {
        static ZERO: Number = Number::Exact(Rational::ZERO);
        if self.is_zero() {
            return Some(&ZERO);
        }
        self.as_term().filter(|(monomial, _)| monomial.is_one()).map(|(_, number)| number)
    }

    /// Its value, when it is an exact number.
    pub fn as_exact(&self) -> Option<&Rational> {
        self.as_number().and_then(Number::exact)
    }

    /// Its atom, when it is one and nothing else.
    pub(crate) fn as_atom(&self) -> Option<&Atom> {
        let (monomial, coefficient) = self.as_term()?;
        monomial.as_atom().filter(|_| coefficient.is_one())
    }

    /// The coefficient of the term without atoms.
    pub(crate) fn constant(&self) -> Number {
        let constant = self.terms().find(|(monomial, _)| monomial.is_one());
        constant.map_or(Number::Exact(Rational::ZERO), |(_, number)| number.clone())
    }
}

/// Whether a symbol is in a product, outside ranges that use the same index.
pub(crate) fn monomial_contains(monomial: &Monomial, symbol: &Symbol) -> bool {
    monomial.facts().marks & symbol.mark() != 0 && monomial.factors().iter().any(|factor| atom_contains(&factor.atom, symbol))
}

pub(crate) fn atom_contains(atom: &Atom, symbol: &Symbol) -> bool {
    searched(atom, symbol, symbol.mark(), &mut HashSet::new())
}

/// Searches an atom for a symbol; what is shared and large is searched once.
fn searched(atom: &Atom, symbol: &Symbol, mark: u64, seen: &mut HashSet<usize>) -> bool {
    if atom.facts().marks & mark == 0 {
        return false;
    }
    let parts = match atom.kind() {
        Kind::Symbol(own) => return own == symbol,
        Kind::Fold(fold) if fold.index() == *symbol => vec![&fold.from, &fold.to],
        kind => kind.parts(),
    };
    if atom.facts().size > WORTH_REMEMBERING && !seen.insert(atom.address()) {
        return false;
    }
    let mut factors = parts.into_iter().flat_map(Formula::terms).flat_map(|(monomial, _)| monomial.factors());
    factors.any(|factor| searched(&factor.atom, symbol, mark, seen))
}

impl From<Symbol> for Formula {
    fn from(symbol: Symbol) -> Formula {
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
        Formula::term(Number::Exact(Rational::ONE), &monomial)
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
