//! What products are made of: symbols, and operations that do not dissolve into sums and products.
//!
//! Everything in a formula is a sum of products of powers of atoms. An atom knows beforehand what is asked of it all the time (its hash,
//! whether it can be negative, whether it holds an unknown number), so that building a formula does not walk through it again and again.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as Memory};

use crate::fingerprint::fingerprint;
use crate::formula::Formula;
use crate::sign;

/// How many operations may stand inside each other. Formulas are walked through recursively, on stacks of a size that is not theirs to choose.
pub(crate) const MOST_DEPTH: u32 = 256;

/// A name that stands for a number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Symbol {
    /// A parameter, or an index before its range is known.
    Named(Arc<str>),
    /// The index of the enclosing range at this height above the innermost one: equal ranges are equal whatever their index was called.
    Index(u32),
    /// An index while its range is being taken apart.
    Fresh(u64),
}

impl Symbol {
    pub(crate) fn named(name: &str) -> Symbol {
        Symbol::Named(name.into())
    }

    /// A symbol that is nowhere else.
    pub(crate) fn fresh() -> Symbol {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Symbol::Fresh(NEXT.fetch_add(1, Memory::Relaxed))
    }

    /// One bit of 64 for this symbol: who does not have it does not contain the symbol.
    pub(crate) fn mark(&self) -> u64 {
        1 << (fingerprint(self) % 64)
    }
}

/// Whether the largest or the smallest is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Extreme {
    Max,
    Min,
}

/// Whether a number is rounded to the whole number above or below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Rounding {
    Up,
    Down,
}

/// What is done with the values of a body over a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum How {
    Sum,
    Extreme(Extreme),
}

/// What an index was called: for people only, so all are equal.
#[derive(Clone, Debug)]
pub(crate) struct Hint(pub(crate) Arc<str>);

impl PartialEq for Hint {
    fn eq(&self, _: &Hint) -> bool {
        true
    }
}
impl Eq for Hint {}
impl PartialOrd for Hint {
    fn partial_cmp(&self, other: &Hint) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Hint {
    fn cmp(&self, _: &Hint) -> Ordering {
        Ordering::Equal
    }
}
impl Hash for Hint {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// A body for every index from `from` to `to`; in the body the index is `Symbol::Index(level)`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Fold {
    pub(crate) how: How,
    pub(crate) hint: Hint,
    pub(crate) level: u32,
    pub(crate) from: Formula,
    pub(crate) to: Formula,
    pub(crate) body: Formula,
}

impl Fold {
    pub(crate) fn index(&self) -> Symbol {
        Symbol::Index(self.level)
    }
}

/// A formula that holds up to and including a bound, or beyond all bounds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Piece {
    /// The last value of the variable for which this piece holds; without one it holds for all that the pieces before leave.
    pub up_to: Option<Formula>,
    /// What holds there.
    pub formula: Formula,
}

impl Piece {
    /// A piece that holds up to and including the bound.
    pub fn up_to(bound: Formula, formula: Formula) -> Piece {
        Piece { up_to: Some(bound), formula }
    }

    /// A piece that holds wherever those before it do not.
    pub fn beyond(formula: Formula) -> Piece {
        Piece { up_to: None, formula }
    }
}

/// The kinds of atoms.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    Symbol(Symbol),
    /// The natural logarithm of two, so that `ln(x)` is `ln(2)*log2(x)` and both logarithms simplify together.
    Ln2,
    /// The base of a power that is not multiplied out: a number, or a sum without a common factor.
    Group(Formula),
    /// The logarithm to base two.
    Log(Formula),
    /// Two to the power of a formula; `r^i` is `2^(i*log2(r))`.
    Exp(Formula),
    Extreme(Extreme, Vec<Formula>),
    Rounded(Rounding, Formula),
    Fold(Fold),
    /// The piece for the value of a formula.
    Pieces(Formula, Vec<Piece>),
    /// What would stand deeper than [`MOST_DEPTH`]; it has no value.
    TooDeep,
}

impl Kind {
    /// The formulas right inside.
    pub(crate) fn parts(&self) -> Vec<&Formula> {
        match self {
            Kind::Symbol(_) | Kind::Ln2 | Kind::TooDeep => Vec::new(),
            Kind::Group(inner) | Kind::Log(inner) | Kind::Exp(inner) | Kind::Rounded(_, inner) => vec![inner],
            Kind::Extreme(_, entries) => entries.iter().collect(),
            Kind::Fold(fold) => vec![&fold.from, &fold.to, &fold.body],
            Kind::Pieces(variable, pieces) => {
                std::iter::once(variable).chain(pieces.iter().flat_map(|piece| piece.up_to.iter().chain([&piece.formula]))).collect()
            }
        }
    }
}

/// An atom, shared.
#[derive(Clone, Debug)]
pub(crate) struct Atom(Arc<Known>);

#[derive(Debug)]
struct Known {
    kind: Kind,
    hash: u64,
    facts: Facts,
    nonnegative: bool,
    degree: f64,
}

/// What is known of everything in a formula without looking into it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Facts {
    /// Whether there is an unknown number inside, so that two of the same need not be equal.
    pub(crate) loose: bool,
    /// How many operations stand inside each other.
    pub(crate) depth: u32,
    /// The highest index inside.
    pub(crate) level: u32,
    /// The marks of the symbols inside.
    pub(crate) marks: u64,
    /// How many operations it takes to write it down, where what is shared is written each time.
    pub(crate) size: u64,
}

impl Facts {
    pub(crate) fn with(self, other: Facts) -> Facts {
        Facts {
            loose: self.loose || other.loose,
            depth: self.depth.max(other.depth),
            level: self.level.max(other.level),
            marks: self.marks | other.marks,
            size: self.size.saturating_add(other.size),
        }
    }
}

impl Atom {
    pub(crate) fn new(kind: Kind) -> Atom {
        let mut facts = kind.parts().into_iter().fold(Facts::default(), |facts, part| facts.with(part.facts()));
        facts.depth += 1;
        facts.size = facts.size.saturating_add(1);
        let kind = if facts.depth > MOST_DEPTH { Kind::TooDeep } else { kind };
        if kind == Kind::TooDeep {
            // Loose, so that two of them do not cancel: they may have been different.
            facts = Facts { loose: true, depth: 1, size: 1, ..Facts::default() };
        }
        match &kind {
            Kind::Symbol(symbol) => facts.marks = symbol.mark(),
            Kind::Fold(fold) => facts.level = facts.level.max(fold.level),
            _ => {}
        }
        let (hash, nonnegative, degree) = (fingerprint(&kind), sign::atom_is_nonnegative(&kind), degree(&kind));
        Atom(Arc::new(Known { kind, hash, facts, nonnegative, degree }))
    }

    pub(crate) fn symbol(symbol: Symbol) -> Atom {
        Atom::new(Kind::Symbol(symbol))
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.0.kind
    }

    pub(crate) fn facts(&self) -> Facts {
        self.0.facts
    }

    /// Whether it cannot be below zero while no symbol is.
    pub(crate) fn is_nonnegative(&self) -> bool {
        self.0.nonnegative
    }

    /// How fast it grows, roughly: what grows faster is written first.
    pub(crate) fn degree(&self) -> f64 {
        self.0.degree
    }

    /// Where it lies: the same for clones of one atom.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }
}

fn degree(kind: &Kind) -> f64 {
    let of = |formula: &Formula| formula.terms().map(|(monomial, _)| monomial.degree()).fold(0.0, f64::max);
    match kind {
        Kind::Symbol(_) => 1.0,
        Kind::Ln2 | Kind::TooDeep => 0.0,
        Kind::Log(inner) if inner.as_number().is_some() => 0.0,
        Kind::Log(_) => 1.0 / 64.0,
        Kind::Exp(_) => 64.0,
        Kind::Group(inner) | Kind::Rounded(_, inner) => of(inner),
        Kind::Extreme(_, entries) => entries.iter().map(of).fold(0.0, f64::max),
        Kind::Fold(fold) => of(&fold.body) + if fold.how == How::Sum { 1.0 } else { 0.0 },
        Kind::Pieces(_, pieces) => pieces.iter().map(|piece| of(&piece.formula)).fold(0.0, f64::max),
    }
}

impl PartialEq for Atom {
    fn eq(&self, other: &Atom) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || (self.0.hash == other.0.hash && self.0.kind == other.0.kind)
    }
}
impl Eq for Atom {}

impl PartialOrd for Atom {
    fn partial_cmp(&self, other: &Atom) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Atom {
    /// By hash, which is fast; the order that people see is made when a formula is shown.
    fn cmp(&self, other: &Atom) -> Ordering {
        if Arc::ptr_eq(&self.0, &other.0) {
            return Ordering::Equal;
        }
        self.0.hash.cmp(&other.0.hash).then_with(|| self.0.kind.cmp(&other.0.kind))
    }
}

impl Hash for Atom {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash.hash(state);
    }
}
