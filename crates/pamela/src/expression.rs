//! Cost expressions, with the structure of the model.
//!
//! A [`CostExpr`] has sums and maxima where the model has sequences and branches, with a symbol for the cost of each operation. It prints
//! as in the papers: loops as `sum` and `max`, a loop of equal iterations as a factor. Subexpressions are shared: a procedure that is
//! called in many places is one expression with different bindings for its parameters.

mod print;

pub(crate) use print::cost_symbol_name;

use std::collections::HashSet;
use std::sync::Arc;

use sintonia_formula::Formula;
use sintonia_machine::CollectiveKind;

use crate::bindings::{Bindings, CURRENT_COMPUTER};
use crate::model::{ComputeOp, Computer};

/// The symbol for the number of workers.
pub(crate) const WORKERS: &str = "p";

/// The cost of a model or of a block. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct CostExpr(Arc<CostNode>);

#[derive(Debug)]
struct CostNode {
    kind: CostExprKind,
    /// The number of nodes when printed.
    size: u64,
    /// The nesting depth.
    depth: u32,
    /// Bloom filter of the names in it.
    name_bloom: u64,
}

#[derive(Debug)]
pub(crate) enum CostExprKind {
    Cost(PrimitiveCost),
    Add(Vec<CostExpr>),
    Max(Vec<CostExpr>),
    Min(Vec<CostExpr>),
    /// A multiple of the expression.
    Times(Formula, CostExpr),
    /// The expression divided by a multiplicity.
    Divided(CostExpr, Formula),
    Loop(LoopReduction, LoopRange, CostExpr),
    Tasks(AllocationMetric, LoopRange, Computer, CostExpr),
    /// The expression with names substituted.
    Bound(Bindings, CostExpr),
}

/// A cost without subexpressions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PrimitiveCost {
    /// An operation and its count.
    Operation(ComputeOp, Formula),
    Message {
        from: Computer,
        to: Computer,
        bytes: Formula,
    },
    Collective {
        operation: CollectiveKind,
        bytes: Formula,
        processes: Formula,
    },
    /// A constant time in seconds.
    Delay(Formula),
}

/// How the iterations of a loop are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LoopReduction {
    Sum,
    Max,
}

/// Which time of an allocated task set is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AllocationMetric {
    /// The time of the worker that takes longest.
    Makespan,
    /// The sum over all tasks, each on its worker.
    TotalWork,
    /// The time if all workers ended at the same time.
    Balanced,
}

/// An index and its bounds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LoopRange {
    pub(crate) index: String,
    pub(crate) from: Formula,
    pub(crate) to: Formula,
}

impl LoopRange {
    /// The number of iterations.
    pub(crate) fn trip_count(&self) -> Formula {
        Formula::sum(&self.index, &self.from, &self.to, &Formula::one())
    }

    /// Whether it spans all workers, from 1 or, as ranks, from 0; or all ranks but the first.
    pub(crate) fn spans_workers(&self) -> bool {
        let all = Formula::symbol(WORKERS);
        self.from.is_one() && self.to == all || self.spans_ranks()
    }

    /// Whether it spans ranks.
    pub(crate) fn spans_ranks(&self) -> bool {
        let last = Formula::symbol(WORKERS) - Formula::one();
        (self.from.is_zero() || self.from.is_one()) && self.to == last
    }
}

impl CostExpr {
    fn new(kind: CostExprKind) -> CostExpr {
        let (size, marks) = size_and_bloom(&kind);
        let depth = max_depth(&kind).saturating_add(1);
        CostExpr(Arc::new(CostNode { kind, size, depth, name_bloom: marks }))
    }

    pub(crate) fn zero() -> CostExpr {
        CostExpr::new(CostExprKind::Add(Vec::new()))
    }

    pub(crate) fn cost(cost: PrimitiveCost) -> CostExpr {
        CostExpr::new(CostExprKind::Cost(cost))
    }

    pub(crate) fn sum(parts: Vec<CostExpr>) -> CostExpr {
        CostExpr::combine(parts, CostExprKind::Add)
    }

    pub(crate) fn max(parts: Vec<CostExpr>) -> CostExpr {
        CostExpr::combine(parts, CostExprKind::Max)
    }

    pub(crate) fn min(parts: Vec<CostExpr>) -> CostExpr {
        CostExpr::combine(parts, CostExprKind::Min)
    }

    fn combine(mut parts: Vec<CostExpr>, kind: fn(Vec<CostExpr>) -> CostExprKind) -> CostExpr {
        parts.retain(|part| !part.is_zero());
        match parts.len() {
            0 => CostExpr::zero(),
            1 => parts.remove(0),
            _ => CostExpr::new(kind(parts)),
        }
    }

    pub(crate) fn times(self, factor: &Formula) -> CostExpr {
        if self.is_zero() || factor.is_zero() {
            return CostExpr::zero();
        }
        if factor.is_one() { self } else { CostExpr::new(CostExprKind::Times(factor.clone(), self)) }
    }

    pub(crate) fn divided(self, by: &Formula) -> CostExpr {
        if by.is_one() || self.is_zero() { self } else { CostExpr::new(CostExprKind::Divided(self, by.clone())) }
    }

    /// Reduces over the iterations of a loop. A sum of equal iterations becomes a factor; a maximum is always kept.
    pub(crate) fn looped(self, fold: LoopReduction, range: &LoopRange) -> CostExpr {
        if self.is_zero() {
            return self;
        }
        if fold == LoopReduction::Sum && !self.mentions(&range.index) {
            return self.times(&range.trip_count());
        }
        CostExpr::new(CostExprKind::Loop(fold, range.clone(), self))
    }

    /// Sums over parallel iterations that compete; the sum is kept even if they are equal.
    pub(crate) fn summed_over(self, range: &LoopRange) -> CostExpr {
        if self.is_zero() { self } else { CostExpr::new(CostExprKind::Loop(LoopReduction::Sum, range.clone(), self)) }
    }

    pub(crate) fn allocated(self, dealt: AllocationMetric, range: &LoopRange, computer: &Computer) -> CostExpr {
        if self.is_zero() { self } else { CostExpr::new(CostExprKind::Tasks(dealt, range.clone(), computer.clone(), self)) }
    }

    pub(crate) fn with_bindings(self, bindings: &Bindings) -> CostExpr {
        if self.0.name_bloom == 0 || bindings.is_empty() { self } else { CostExpr::new(CostExprKind::Bound(bindings.clone(), self)) }
    }

    pub(crate) fn kind(&self) -> &CostExprKind {
        &self.0.kind
    }

    /// The address, which identifies shared expressions.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// The number of nodes when printed. Shared subexpressions count every time, so this may be far larger than the memory used.
    pub fn size(&self) -> u64 {
        self.0.size
    }

    /// The nesting depth.
    pub(crate) fn depth(&self) -> u32 {
        self.0.depth
    }

    /// Whether it is the empty sum.
    pub fn is_zero(&self) -> bool {
        matches!(self.kind(), CostExprKind::Add(parts) if parts.is_empty())
    }

    /// Whether a free name occurs in it: a symbol of a formula, or a computer.
    pub(crate) fn mentions(&self, name: &str) -> bool {
        self.contains_name(name, &mut HashSet::new())
    }

    fn contains_name(&self, name: &str, seen: &mut HashSet<(usize, String)>) -> bool {
        if self.0.name_bloom & bloom_bit(name) == 0 {
            return false;
        }
        // Small expressions are cheaper to search than to cache.
        if self.size() > 32 && !seen.insert((self.address(), name.to_owned())) {
            return false;
        }
        let has = |formula: &Formula| formula.symbols().contains(name);
        match self.kind() {
            CostExprKind::Cost(cost) => cost.mentions(name),
            CostExprKind::Add(parts) | CostExprKind::Max(parts) | CostExprKind::Min(parts) => {
                parts.iter().any(|part| part.contains_name(name, seen))
            }
            CostExprKind::Times(factor, body) | CostExprKind::Divided(body, factor) => has(factor) || body.contains_name(name, seen),
            CostExprKind::Loop(_, range, body) => {
                has(&range.from) || has(&range.to) || range.index != name && body.contains_name(name, seen)
            }
            CostExprKind::Tasks(_, range, computer, body) => {
                has(&range.from) || has(&range.to) || range.index != name && computer.0 != name && body.contains_name(name, seen)
            }
            CostExprKind::Bound(bindings, body) => {
                let through = bindings.iter().any(|(own, by)| has(by) && body.contains_name(own, seen));
                through || bindings.iter().all(|(own, _)| own != name) && body.contains_name(name, seen)
            }
        }
    }
}

impl PrimitiveCost {
    fn formulas(&self) -> Vec<&Formula> {
        match self {
            PrimitiveCost::Operation(_, formula) | PrimitiveCost::Message { bytes: formula, .. } | PrimitiveCost::Delay(formula) => {
                vec![formula]
            }
            PrimitiveCost::Collective { bytes, processes, .. } => vec![bytes, processes],
        }
    }

    fn computers(&self) -> Vec<&str> {
        match self {
            PrimitiveCost::Operation(operation, _) => vec![operation.computer.as_ref().map_or(CURRENT_COMPUTER, |on| &on.0)],
            PrimitiveCost::Message { from, to, .. } => vec![&from.0, &to.0],
            PrimitiveCost::Collective { .. } | PrimitiveCost::Delay(_) => Vec::new(),
        }
    }

    fn mentions(&self, name: &str) -> bool {
        self.computers().contains(&name) || self.formulas().iter().any(|formula| formula.symbols().contains(name))
    }
}

fn bloom_bit(name: &str) -> u64 {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    1 << (hash >> 58)
}

fn symbol_bloom(formula: &Formula) -> u64 {
    if formula.as_exact().is_some() { 0 } else { formula.symbols().iter().map(|name| bloom_bit(name)).fold(0, |all, one| all | one) }
}

fn max_depth(kind: &CostExprKind) -> u32 {
    match kind {
        CostExprKind::Cost(_) => 0,
        CostExprKind::Add(parts) | CostExprKind::Max(parts) | CostExprKind::Min(parts) => {
            parts.iter().map(CostExpr::depth).max().unwrap_or(0)
        }
        CostExprKind::Times(_, body)
        | CostExprKind::Divided(body, _)
        | CostExprKind::Loop(_, _, body)
        | CostExprKind::Tasks(_, _, _, body)
        | CostExprKind::Bound(_, body) => body.depth(),
    }
}

fn size_and_bloom(kind: &CostExprKind) -> (u64, u64) {
    let of_range = |range: &LoopRange| symbol_bloom(&range.from) | symbol_bloom(&range.to);
    match kind {
        CostExprKind::Cost(cost) => {
            let formulas = cost.formulas().into_iter().fold(0, |all, formula| all | symbol_bloom(formula));
            (1, cost.computers().iter().fold(formulas, |all, computer| all | bloom_bit(computer)))
        }
        CostExprKind::Add(parts) | CostExprKind::Max(parts) | CostExprKind::Min(parts) => {
            parts.iter().fold((1, 0), |(size, marks), part| (part.size().saturating_add(size), marks | part.0.name_bloom))
        }
        CostExprKind::Times(factor, body) | CostExprKind::Divided(body, factor) => {
            (body.size().saturating_add(1), body.0.name_bloom | symbol_bloom(factor))
        }
        CostExprKind::Loop(_, range, body) | CostExprKind::Tasks(_, range, _, body) => {
            (body.size().saturating_add(1), body.0.name_bloom | of_range(range))
        }
        CostExprKind::Bound(bindings, body) => {
            (body.size().saturating_add(1), bindings.iter().fold(body.0.name_bloom, |all, (_, by)| all | symbol_bloom(by)))
        }
    }
}
