//! Products of powers of atoms.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock};

use crate::atom::{Atom, AtomKind, CachedAttributes};
use crate::rational::Rational;
use crate::stable_hash::stable_hash;

/// An atom to a nonzero power.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PowerFactor {
    pub(crate) atom: Atom,
    pub(crate) exponent: Rational,
}

impl PowerFactor {
    /// Whether the power cannot be negative. A root is never negative, whatever its base.
    pub(crate) fn is_nonnegative(&self) -> bool {
        self.atom.is_nonnegative() || self.exponent.is_even() || !self.exponent.is_integer()
    }

    /// Factors that compare equal are merged. An atom with an interval coefficient does not cancel: each occurrence may be a different
    /// number.
    fn merge_order(&self, other: &PowerFactor) -> Ordering {
        let side = |factor: &PowerFactor| factor.atom.attributes().has_interval && factor.exponent.is_negative();
        self.atom.cmp(&other.atom).then_with(|| side(self).cmp(&side(other)))
    }
}

/// A product of powers of different atoms, in order; the empty product is one.
#[derive(Clone, Debug)]
pub(crate) struct Monomial(Arc<MonomialNode>);

#[derive(Debug)]
struct MonomialNode {
    factors: Vec<PowerFactor>,
    hash: u64,
    attributes: CachedAttributes,
    nonnegative: bool,
}

impl Monomial {
    pub(crate) fn one() -> Monomial {
        static ONE: LazyLock<Monomial> = LazyLock::new(|| Monomial::from_sorted(Vec::new()));
        ONE.clone()
    }

    pub(crate) fn power(atom: Atom, exponent: Rational) -> Monomial {
        if exponent.is_zero() { Monomial::one() } else { Monomial::from_sorted(vec![PowerFactor { atom, exponent }]) }
    }

    /// The product of factors that are sorted and distinct.
    fn from_sorted(factors: Vec<PowerFactor>) -> Monomial {
        let hash = if factors.is_empty() { 0 } else { stable_hash(&factors) };
        let attributes = factors.iter().fold(CachedAttributes::default(), |attributes, factor| attributes.merge(factor.atom.attributes()));
        let nonnegative = factors.iter().all(PowerFactor::is_nonnegative);
        Monomial(Arc::new(MonomialNode { factors, hash, attributes, nonnegative }))
    }

    /// The product of any factors; groups in it may still need to be expanded.
    pub(crate) fn from_factors(factors: impl IntoIterator<Item = PowerFactor>) -> Monomial {
        let mut factors: Vec<PowerFactor> = factors.into_iter().collect();
        factors.sort_by(PowerFactor::merge_order);
        factors.dedup_by(|next, kept| {
            let meets = kept.merge_order(next).is_eq();
            if meets {
                kept.exponent = &kept.exponent + &next.exponent;
            }
            meets
        });
        factors.retain(|factor| !factor.exponent.is_zero());
        Monomial::from_sorted(factors)
    }

    pub(crate) fn filter(&self, mut keep: impl FnMut(&PowerFactor) -> bool) -> Monomial {
        Monomial::from_sorted(self.factors().iter().filter(|factor| keep(factor)).cloned().collect())
    }

    pub(crate) fn factors(&self) -> &[PowerFactor] {
        &self.0.factors
    }

    pub(crate) fn is_one(&self) -> bool {
        self.0.factors.is_empty()
    }

    pub(crate) fn attributes(&self) -> CachedAttributes {
        self.0.attributes
    }

    pub(crate) fn hash_code(&self) -> u64 {
        self.0.hash
    }

    pub(crate) fn is_nonnegative(&self) -> bool {
        self.0.nonnegative
    }

    /// Approximate growth rate.
    pub(crate) fn degree(&self) -> f64 {
        self.factors().iter().map(|factor| factor.exponent.to_f64() * factor.atom.degree()).sum()
    }

    /// The exponent of an atom; zero if it is absent.
    pub(crate) fn exponent_of(&self, atom: &Atom) -> Rational {
        self.factors().iter().find(|factor| factor.atom == *atom).map_or(Rational::ZERO, |factor| factor.exponent.clone())
    }

    /// The only atom, if its exponent is one.
    pub(crate) fn as_atom(&self) -> Option<&Atom> {
        match self.factors() {
            [factor] if factor.exponent.is_one() => Some(&factor.atom),
            _ => None,
        }
    }

    /// Whether it contains the base of an unexpanded power.
    pub(crate) fn has_group(&self) -> bool {
        self.factors().iter().any(|factor| matches!(factor.atom.kind(), AtomKind::Group(_)))
    }

    /// The product, and whether powers of the same group were merged, which may then be expanded.
    pub(crate) fn multiply(&self, other: &Monomial) -> (Monomial, bool) {
        if self.is_one() {
            return (other.clone(), false);
        }
        if other.is_one() {
            return (self.clone(), false);
        }
        let mut merged = Vec::with_capacity(self.factors().len() + other.factors().len());
        let (mut left, mut right, mut met) = (self.factors().iter().peekable(), other.factors().iter().peekable(), false);
        loop {
            match (left.peek(), right.peek()) {
                (Some(a), Some(b)) => match a.merge_order(b) {
                    Ordering::Less => merged.extend(left.next().cloned()),
                    Ordering::Greater => merged.extend(right.next().cloned()),
                    Ordering::Equal => {
                        met |= matches!(a.atom.kind(), AtomKind::Group(_));
                        let exponent = &a.exponent + &b.exponent;
                        if !exponent.is_zero() {
                            merged.push(PowerFactor { atom: a.atom.clone(), exponent });
                        }
                        left.next();
                        right.next();
                    }
                },
                (Some(_), None) => merged.extend(left.next().cloned()),
                (None, Some(_)) => merged.extend(right.next().cloned()),
                (None, None) => break,
            }
        }
        (Monomial::from_sorted(merged), met)
    }

    /// Every exponent multiplied by a nonzero number.
    pub(crate) fn pow(&self, exponent: &Rational) -> Monomial {
        let raise = |factor: &PowerFactor| PowerFactor { atom: factor.atom.clone(), exponent: &factor.exponent * exponent };
        let mut factors: Vec<PowerFactor> = self.factors().iter().map(raise).collect();
        if exponent.is_negative() && self.attributes().has_interval {
            factors.sort_by(PowerFactor::merge_order);
        }
        Monomial::from_sorted(factors)
    }
}

impl PartialEq for Monomial {
    fn eq(&self, other: &Monomial) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || (self.0.hash == other.0.hash && self.0.factors == other.0.factors)
    }
}
impl Eq for Monomial {}

impl PartialOrd for Monomial {
    fn partial_cmp(&self, other: &Monomial) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Monomial {
    fn cmp(&self, other: &Monomial) -> Ordering {
        if Arc::ptr_eq(&self.0, &other.0) {
            return Ordering::Equal;
        }
        let parts = |monomial: &Monomial| monomial.0.factors.iter().map(|f| (f.atom.clone(), f.exponent.clone())).collect::<Vec<_>>();
        self.0.hash.cmp(&other.0.hash).then_with(|| if self == other { Ordering::Equal } else { parts(self).cmp(&parts(other)) })
    }
}

impl Hash for Monomial {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash.hash(state);
    }
}
