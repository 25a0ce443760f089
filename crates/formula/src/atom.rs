//! Atoms: symbols, and operations that do not reduce to sums and products.
//!
//! A formula is a sum of products of powers of atoms. An atom caches its hash, whether it can be negative and whether it contains an
//! interval coefficient, so that building a formula does not traverse it again and again.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as Memory};

use crate::formula::Formula;
use crate::sign;
use crate::stable_hash::stable_hash;

/// Maximum nesting depth. Formulas are traversed recursively, on stacks whose size the caller chooses.
pub(crate) const MAX_DEPTH: u32 = 256;

/// The identity of a symbol.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum SymbolId {
    /// A parameter, or an index whose range is not known yet.
    Named(Arc<str>),
    /// A bound index, numbered by its level above the innermost fold (de Bruijn level), so that folds are equal whatever their index was
    /// called.
    BoundIndex(u32),
    /// A fresh symbol for an index whose fold is being taken apart.
    Fresh(u64),
}

impl SymbolId {
    pub(crate) fn named(name: &str) -> SymbolId {
        SymbolId::Named(name.into())
    }

    /// A symbol that occurs nowhere else.
    pub(crate) fn fresh() -> SymbolId {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        SymbolId::Fresh(NEXT.fetch_add(1, Memory::Relaxed))
    }

    /// One bit of a 64-bit Bloom filter: a set without this bit does not contain the symbol.
    pub(crate) fn bloom_bit(&self) -> u64 {
        1 << (stable_hash(self) % 64)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Extremum {
    Max,
    Min,
}

/// Rounds to the next integer up or down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum RoundingMode {
    Up,
    Down,
}

/// How the values of a body are combined over a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum FoldOp {
    Sum,
    Extremum(Extremum),
}

/// The name of an index. It is only for printing, so all names compare equal.
#[derive(Clone, Debug)]
pub(crate) struct IndexName(pub(crate) Arc<str>);

impl PartialEq for IndexName {
    fn eq(&self, _: &IndexName) -> bool {
        true
    }
}
impl Eq for IndexName {}
impl PartialOrd for IndexName {
    fn partial_cmp(&self, other: &IndexName) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for IndexName {
    fn cmp(&self, _: &IndexName) -> Ordering {
        Ordering::Equal
    }
}
impl Hash for IndexName {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// A body for every index from `from` to `to`; in the body the index is `SymbolId::BoundIndex(level)`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct IndexedFold {
    pub(crate) op: FoldOp,
    pub(crate) index_name: IndexName,
    pub(crate) level: u32,
    pub(crate) from: Formula,
    pub(crate) to: Formula,
    pub(crate) body: Formula,
}

impl IndexedFold {
    pub(crate) fn index(&self) -> SymbolId {
        SymbolId::BoundIndex(self.level)
    }
}

/// One case of a piecewise formula: a formula that applies up to and including a bound, or beyond all bounds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PiecewiseCase {
    /// The last value of the variable for which this case applies; `None` for everything the cases before it leave.
    pub up_to: Option<Formula>,
    /// The formula of this case.
    pub formula: Formula,
}

impl PiecewiseCase {
    /// A case that applies up to and including the bound.
    pub fn up_to(bound: Formula, formula: Formula) -> PiecewiseCase {
        PiecewiseCase { up_to: Some(bound), formula }
    }

    /// A case that applies wherever those before it do not.
    pub fn beyond(formula: Formula) -> PiecewiseCase {
        PiecewiseCase { up_to: None, formula }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum AtomKind {
    Symbol(SymbolId),
    /// The natural logarithm of two. `ln(x)` is kept as `ln(2)*log2(x)`, so that both logarithms simplify together.
    Ln2,
    /// The base of a power that is not expanded: a number, or a sum without a common factor.
    Group(Formula),
    Log2(Formula),
    /// Two to the power of a formula; `r^i` is kept as `2^(i*log2(r))`.
    Exp2(Formula),
    Extremum(Extremum, Vec<Formula>),
    Rounded(RoundingMode, Formula),
    Fold(IndexedFold),
    /// A piecewise formula over the value of the first formula.
    Piecewise(Formula, Vec<PiecewiseCase>),
    /// Replaces anything nested deeper than [`MAX_DEPTH`]; it has no value.
    TooDeep,
}

impl AtomKind {
    /// The direct operands.
    pub(crate) fn operands(&self) -> Vec<&Formula> {
        match self {
            AtomKind::Symbol(_) | AtomKind::Ln2 | AtomKind::TooDeep => Vec::new(),
            AtomKind::Group(inner) | AtomKind::Log2(inner) | AtomKind::Exp2(inner) | AtomKind::Rounded(_, inner) => vec![inner],
            AtomKind::Extremum(_, entries) => entries.iter().collect(),
            AtomKind::Fold(fold) => vec![&fold.from, &fold.to, &fold.body],
            AtomKind::Piecewise(variable, pieces) => {
                std::iter::once(variable).chain(pieces.iter().flat_map(|piece| piece.up_to.iter().chain([&piece.formula]))).collect()
            }
        }
    }
}

/// A shared atom.
#[derive(Clone, Debug)]
pub(crate) struct Atom(Arc<AtomNode>);

#[derive(Debug)]
struct AtomNode {
    kind: AtomKind,
    hash: u64,
    attributes: CachedAttributes,
    nonnegative: bool,
    degree: f64,
}

/// Attributes of a formula, cached bottom-up so that no traversal is needed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CachedAttributes {
    /// Whether an interval coefficient is inside, so that two equal occurrences need not have equal values.
    pub(crate) has_interval: bool,
    /// Nesting depth.
    pub(crate) depth: u32,
    /// The highest level of a bound index inside.
    pub(crate) level: u32,
    /// Bloom filter of the symbols inside.
    pub(crate) symbol_bloom: u64,
    /// The number of operations when printed; shared subformulas count every time.
    pub(crate) size: u64,
}

impl CachedAttributes {
    pub(crate) fn merge(self, other: CachedAttributes) -> CachedAttributes {
        CachedAttributes {
            has_interval: self.has_interval || other.has_interval,
            depth: self.depth.max(other.depth),
            level: self.level.max(other.level),
            symbol_bloom: self.symbol_bloom | other.symbol_bloom,
            size: self.size.saturating_add(other.size),
        }
    }
}

impl Atom {
    pub(crate) fn new(kind: AtomKind) -> Atom {
        let mut attributes =
            kind.operands().into_iter().fold(CachedAttributes::default(), |attributes, part| attributes.merge(part.attributes()));
        attributes.depth += 1;
        attributes.size = attributes.size.saturating_add(1);
        let kind = if attributes.depth > MAX_DEPTH { AtomKind::TooDeep } else { kind };
        if kind == AtomKind::TooDeep {
            // Marked as an interval so that two of them do not cancel: they may have been different.
            attributes = CachedAttributes { has_interval: true, depth: 1, size: 1, ..CachedAttributes::default() };
        }
        match &kind {
            AtomKind::Symbol(symbol) => attributes.symbol_bloom = symbol.bloom_bit(),
            AtomKind::Fold(fold) => attributes.level = attributes.level.max(fold.level),
            _ => {}
        }
        let (hash, nonnegative, degree) = (stable_hash(&kind), sign::atom_is_nonnegative(&kind), degree(&kind));
        Atom(Arc::new(AtomNode { kind, hash, attributes, nonnegative, degree }))
    }

    pub(crate) fn symbol(symbol: SymbolId) -> Atom {
        Atom::new(AtomKind::Symbol(symbol))
    }

    pub(crate) fn kind(&self) -> &AtomKind {
        &self.0.kind
    }

    pub(crate) fn attributes(&self) -> CachedAttributes {
        self.0.attributes
    }

    /// Whether it cannot be negative as long as no symbol is.
    pub(crate) fn is_nonnegative(&self) -> bool {
        self.0.nonnegative
    }

    /// Approximate growth rate; faster-growing terms are printed first.
    pub(crate) fn degree(&self) -> f64 {
        self.0.degree
    }

    /// The address; the same for all clones of one atom.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }
}

fn degree(kind: &AtomKind) -> f64 {
    let of = |formula: &Formula| formula.terms().map(|(monomial, _)| monomial.degree()).fold(0.0, f64::max);
    match kind {
        AtomKind::Symbol(_) => 1.0,
        AtomKind::Ln2 | AtomKind::TooDeep => 0.0,
        AtomKind::Log2(inner) if inner.as_coefficient().is_some() => 0.0,
        AtomKind::Log2(_) => 1.0 / 64.0,
        AtomKind::Exp2(_) => 64.0,
        AtomKind::Group(inner) | AtomKind::Rounded(_, inner) => of(inner),
        AtomKind::Extremum(_, entries) => entries.iter().map(of).fold(0.0, f64::max),
        AtomKind::Fold(fold) => of(&fold.body) + if fold.op == FoldOp::Sum { 1.0 } else { 0.0 },
        AtomKind::Piecewise(_, pieces) => pieces.iter().map(|piece| of(&piece.formula)).fold(0.0, f64::max),
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
    /// By hash, which is fast. The order that is printed is determined when a formula is displayed.
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
