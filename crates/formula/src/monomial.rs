//! Products of powers of atoms.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock};

use crate::atom::{Atom, Facts, Kind};
use crate::fingerprint::fingerprint;
use crate::rational::Rational;

/// An atom to a power that is not zero.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Factor {
    pub(crate) atom: Atom,
    pub(crate) exponent: Rational,
}

impl Factor {
    /// Whether the power cannot be below zero. A root has no negative value, whatever its base.
    pub(crate) fn is_nonnegative(&self) -> bool {
        self.atom.is_nonnegative() || self.exponent.is_even() || !self.exponent.is_whole()
    }

    /// Factors in this order are merged when equal. What holds an unknown number does not cancel: it may be another number each time.
    fn place(&self, other: &Factor) -> Ordering {
        let side = |factor: &Factor| factor.atom.facts().loose && factor.exponent.is_negative();
        self.atom.cmp(&other.atom).then_with(|| side(self).cmp(&side(other)))
    }
}

/// A product of powers of different atoms, in order; the empty product is one.
#[derive(Clone, Debug)]
pub(crate) struct Monomial(Arc<Known>);

#[derive(Debug)]
struct Known {
    factors: Vec<Factor>,
    hash: u64,
    facts: Facts,
    nonnegative: bool,
}

impl Monomial {
    /// The empty product.
    pub(crate) fn one() -> Monomial {
        static ONE: LazyLock<Monomial> = LazyLock::new(|| Monomial::sorted(Vec::new()));
        ONE.clone()
    }

    pub(crate) fn power(atom: Atom, exponent: Rational) -> Monomial {
        if exponent.is_zero() { Monomial::one() } else { Monomial::sorted(vec![Factor { atom, exponent }]) }
    }

    /// The product of factors that are in order and different.
    fn sorted(factors: Vec<Factor>) -> Monomial {
        let hash = if factors.is_empty() { 0 } else { fingerprint(&factors) };
        let facts = factors.iter().fold(Facts::default(), |facts, factor| facts.with(factor.atom.facts()));
        let nonnegative = factors.iter().all(Factor::is_nonnegative);
        Monomial(Arc::new(Known { factors, hash, facts, nonnegative }))
    }

    /// The product of any factors, which may need to be multiplied out further.
    pub(crate) fn of(factors: impl IntoIterator<Item = Factor>) -> Monomial {
        let mut factors: Vec<Factor> = factors.into_iter().collect();
        factors.sort_by(Factor::place);
        factors.dedup_by(|next, kept| {
            let meets = kept.place(next).is_eq();
            if meets {
                kept.exponent = &kept.exponent + &next.exponent;
            }
            meets
        });
        factors.retain(|factor| !factor.exponent.is_zero());
        Monomial::sorted(factors)
    }

    /// The factors that pass a test.
    pub(crate) fn filtered(&self, mut keep: impl FnMut(&Factor) -> bool) -> Monomial {
        Monomial::sorted(self.factors().iter().filter(|factor| keep(factor)).cloned().collect())
    }

    pub(crate) fn factors(&self) -> &[Factor] {
        &self.0.factors
    }

    pub(crate) fn is_one(&self) -> bool {
        self.0.factors.is_empty()
    }

    pub(crate) fn facts(&self) -> Facts {
        self.0.facts
    }

    pub(crate) fn hash_code(&self) -> u64 {
        self.0.hash
    }

    pub(crate) fn is_nonnegative(&self) -> bool {
        self.0.nonnegative
    }

    /// How fast it grows, roughly.
    pub(crate) fn degree(&self) -> f64 {
        self.factors().iter().map(|factor| factor.exponent.nearest() * factor.atom.degree()).sum()
    }

    /// The exponent of an atom, zero when it is not there.
    pub(crate) fn exponent_of(&self, atom: &Atom) -> Rational {
        self.factors().iter().find(|factor| factor.atom == *atom).map_or(Rational::ZERO, |factor| factor.exponent.clone())
    }

    /// The only atom, when it stands to the first power.
    pub(crate) fn as_atom(&self) -> Option<&Atom> {
        match self.factors() {
            [factor] if factor.exponent.is_one() => Some(&factor.atom),
            _ => None,
        }
    }

    /// Whether there is a base of a power that is not multiplied out.
    pub(crate) fn has_group(&self) -> bool {
        self.factors().iter().any(|factor| matches!(factor.atom.kind(), Kind::Group(_)))
    }

    /// The product, and whether powers of the same group met in it, which may then be multiplied out.
    pub(crate) fn times(&self, other: &Monomial) -> (Monomial, bool) {
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
                (Some(a), Some(b)) => match a.place(b) {
                    Ordering::Less => merged.extend(left.next().cloned()),
                    Ordering::Greater => merged.extend(right.next().cloned()),
                    Ordering::Equal => {
                        met |= matches!(a.atom.kind(), Kind::Group(_));
                        let exponent = &a.exponent + &b.exponent;
                        if !exponent.is_zero() {
                            merged.push(Factor { atom: a.atom.clone(), exponent });
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
        (Monomial::sorted(merged), met)
    }

    /// Every exponent multiplied by a number that is not zero.
    pub(crate) fn raised(&self, exponent: &Rational) -> Monomial {
        let raise = |factor: &Factor| Factor { atom: factor.atom.clone(), exponent: &factor.exponent * exponent };
        let mut factors: Vec<Factor> = self.factors().iter().map(raise).collect();
        if exponent.is_negative() && self.facts().loose {
            factors.sort_by(Factor::place);
        }
        Monomial::sorted(factors)
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
