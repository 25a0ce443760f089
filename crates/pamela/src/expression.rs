//! What a model costs, in the shape of the model.
//!
//! An [`Expression`] adds up and takes maxima as the model follows and branches, with a name for the cost of each operation. It prints as
//! papers print it: loops as `sum` and `max`, a loop whose rounds are alike as a factor. What is shared is held once: a procedure that is
//! called in many places is one expression with different values for its parameters.

mod print;

pub(crate) use print::cost_of;

use std::collections::HashSet;
use std::sync::Arc;

use sintonia_formula::Formula;
use sintonia_machine::Collective;

use crate::bindings::{Bindings, HERE};
use crate::compile::WORKERS;
use crate::model::{Computer, Operation};

/// The cost of a model or of a part of it; cloning it costs nothing.
#[derive(Debug, Clone)]
pub struct Expression(Arc<Node>);

#[derive(Debug)]
struct Node {
    kind: Kind,
    /// How many parts it is written with.
    size: u64,
    /// How deep its parts stand inside each other.
    depth: u32,
    /// A bit for each name in it, shared by many names: a bit that is not set tells that a name is not there.
    marks: u64,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Cost(Cost),
    Add(Vec<Expression>),
    Max(Vec<Expression>),
    Min(Vec<Expression>),
    /// So many times the same.
    Times(Formula, Expression),
    /// A part of it, where several share.
    Divided(Expression, Formula),
    Over(Fold, Range, Expression),
    Tasks(Dealt, Range, Computer, Expression),
    /// The same with other things in the places of names.
    With(Bindings, Expression),
}

/// What costs time by itself.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cost {
    /// An operation, so many times.
    Operation(Operation, Formula),
    Message {
        from: Computer,
        to: Computer,
        bytes: Formula,
    },
    Group {
        operation: Collective,
        bytes: Formula,
        processes: Formula,
    },
    /// Seconds that are known.
    Delay(Formula),
}

/// What is done with the rounds of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fold {
    Sum,
    Max,
}

/// What is asked of tasks that are dealt to workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Dealt {
    /// What the worker that needs longest needs for its tasks.
    Longest,
    /// What all tasks need, each on its worker.
    All,
    /// What each worker would need if all ended at the same time.
    Even,
}

/// An index and where it runs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Range {
    pub(crate) index: String,
    pub(crate) from: Formula,
    pub(crate) to: Formula,
}

impl Range {
    /// How many rounds there are.
    pub(crate) fn rounds(&self) -> Formula {
        Formula::sum(&self.index, &self.from, &self.to, &Formula::one())
    }

    /// Whether it counts all workers, from 1 or, as ranks, from 0; or all ranks but the first.
    pub(crate) fn is_of_workers(&self) -> bool {
        let all = Formula::symbol(WORKERS);
        self.from.is_one() && self.to == all || self.is_of_ranks()
    }

    /// Whether it counts ranks.
    pub(crate) fn is_of_ranks(&self) -> bool {
        let last = Formula::symbol(WORKERS) - Formula::one();
        (self.from.is_zero() || self.from.is_one()) && self.to == last
    }
}

impl Expression {
    fn new(kind: Kind) -> Expression {
        let (size, marks) = measured(&kind);
        let depth = deepest(&kind).saturating_add(1);
        Expression(Arc::new(Node { kind, size, depth, marks }))
    }

    pub(crate) fn nothing() -> Expression {
        Expression::new(Kind::Add(Vec::new()))
    }

    pub(crate) fn cost(cost: Cost) -> Expression {
        Expression::new(Kind::Cost(cost))
    }

    pub(crate) fn sum(parts: Vec<Expression>) -> Expression {
        Expression::joined(parts, Kind::Add)
    }

    pub(crate) fn max(parts: Vec<Expression>) -> Expression {
        Expression::joined(parts, Kind::Max)
    }

    pub(crate) fn min(parts: Vec<Expression>) -> Expression {
        Expression::joined(parts, Kind::Min)
    }

    fn joined(mut parts: Vec<Expression>, kind: fn(Vec<Expression>) -> Kind) -> Expression {
        parts.retain(|part| !part.is_nothing());
        match parts.len() {
            0 => Expression::nothing(),
            1 => parts.remove(0),
            _ => Expression::new(kind(parts)),
        }
    }

    pub(crate) fn times(self, factor: &Formula) -> Expression {
        if self.is_nothing() || factor.is_zero() {
            return Expression::nothing();
        }
        if factor.is_one() { self } else { Expression::new(Kind::Times(factor.clone(), self)) }
    }

    pub(crate) fn divided(self, by: &Formula) -> Expression {
        if by.is_one() || self.is_nothing() { self } else { Expression::new(Kind::Divided(self, by.clone())) }
    }

    /// Over the rounds of a loop. A sum of rounds that are alike is a factor; a maximum is always seen.
    pub(crate) fn over(self, fold: Fold, range: &Range) -> Expression {
        if self.is_nothing() {
            return self;
        }
        if fold == Fold::Sum && !self.mentions(&range.index) {
            return self.times(&range.rounds());
        }
        Expression::new(Kind::Over(fold, range.clone(), self))
    }

    /// Over rounds that go on at the same time but compete: a sum that is seen even if they are alike.
    pub(crate) fn added_over(self, range: &Range) -> Expression {
        if self.is_nothing() { self } else { Expression::new(Kind::Over(Fold::Sum, range.clone(), self)) }
    }

    pub(crate) fn dealt(self, dealt: Dealt, range: &Range, computer: &Computer) -> Expression {
        if self.is_nothing() { self } else { Expression::new(Kind::Tasks(dealt, range.clone(), computer.clone(), self)) }
    }

    pub(crate) fn with(self, bindings: &Bindings) -> Expression {
        if self.0.marks == 0 || bindings.is_empty() { self } else { Expression::new(Kind::With(bindings.clone(), self)) }
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.0.kind
    }

    /// Where it lies in memory, which tells shared expressions.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// How many parts it is written with; what is shared is written each time, so this may be far more than the memory it takes.
    pub fn size(&self) -> u64 {
        self.0.size
    }

    /// How deep its parts stand inside each other.
    pub(crate) fn depth(&self) -> u32 {
        self.0.depth
    }

    /// Whether there is nothing in it.
    pub fn is_nothing(&self) -> bool {
        matches!(self.kind(), Kind::Add(parts) if parts.is_empty())
    }

    /// Whether a name from outside is in it: a symbol of a formula, or a computer.
    pub(crate) fn mentions(&self, name: &str) -> bool {
        self.searched(name, &mut HashSet::new())
    }

    fn searched(&self, name: &str, seen: &mut HashSet<(usize, String)>) -> bool {
        if self.0.marks & mark(name) == 0 {
            return false;
        }
        // What is small is searched faster than it is remembered.
        if self.size() > 32 && !seen.insert((self.address(), name.to_owned())) {
            return false;
        }
        let has = |formula: &Formula| formula.symbols().contains(name);
        match self.kind() {
            Kind::Cost(cost) => cost.mentions(name),
            Kind::Add(parts) | Kind::Max(parts) | Kind::Min(parts) => parts.iter().any(|part| part.searched(name, seen)),
            Kind::Times(factor, body) | Kind::Divided(body, factor) => has(factor) || body.searched(name, seen),
            Kind::Over(_, range, body) => has(&range.from) || has(&range.to) || range.index != name && body.searched(name, seen),
            Kind::Tasks(_, range, computer, body) => {
                has(&range.from) || has(&range.to) || range.index != name && computer.0 != name && body.searched(name, seen)
            }
            Kind::With(bindings, body) => {
                let through = bindings.iter().any(|(own, by)| has(by) && body.searched(own, seen));
                through || bindings.iter().all(|(own, _)| own != name) && body.searched(name, seen)
            }
        }
    }
}

impl Cost {
    fn formulas(&self) -> Vec<&Formula> {
        match self {
            Cost::Operation(_, formula) | Cost::Message { bytes: formula, .. } | Cost::Delay(formula) => vec![formula],
            Cost::Group { bytes, processes, .. } => vec![bytes, processes],
        }
    }

    /// The names of its computers.
    fn computers(&self) -> Vec<&str> {
        match self {
            Cost::Operation(operation, _) => vec![operation.on.as_ref().map_or(HERE, |on| &on.0)],
            Cost::Message { from, to, .. } => vec![&from.0, &to.0],
            Cost::Group { .. } | Cost::Delay(_) => Vec::new(),
        }
    }

    fn mentions(&self, name: &str) -> bool {
        self.computers().contains(&name) || self.formulas().iter().any(|formula| formula.symbols().contains(name))
    }
}

fn mark(name: &str) -> u64 {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    1 << (hash >> 58)
}

fn marks(formula: &Formula) -> u64 {
    if formula.as_exact().is_some() { 0 } else { formula.symbols().iter().map(|name| mark(name)).fold(0, |all, one| all | one) }
}

fn deepest(kind: &Kind) -> u32 {
    match kind {
        Kind::Cost(_) => 0,
        Kind::Add(parts) | Kind::Max(parts) | Kind::Min(parts) => parts.iter().map(Expression::depth).max().unwrap_or(0),
        Kind::Times(_, body) | Kind::Divided(body, _) | Kind::Over(_, _, body) | Kind::Tasks(_, _, _, body) | Kind::With(_, body) => {
            body.depth()
        }
    }
}

fn measured(kind: &Kind) -> (u64, u64) {
    let of_range = |range: &Range| marks(&range.from) | marks(&range.to);
    match kind {
        Kind::Cost(cost) => {
            let formulas = cost.formulas().into_iter().fold(0, |all, formula| all | marks(formula));
            (1, cost.computers().iter().fold(formulas, |all, computer| all | mark(computer)))
        }
        Kind::Add(parts) | Kind::Max(parts) | Kind::Min(parts) => {
            parts.iter().fold((1, 0), |(size, marks), part| (part.size().saturating_add(size), marks | part.0.marks))
        }
        Kind::Times(factor, body) | Kind::Divided(body, factor) => (body.size().saturating_add(1), body.0.marks | marks(factor)),
        Kind::Over(_, range, body) | Kind::Tasks(_, range, _, body) => (body.size().saturating_add(1), body.0.marks | of_range(range)),
        Kind::With(bindings, body) => (body.size().saturating_add(1), bindings.iter().fold(body.0.marks, |all, (_, by)| all | marks(by))),
    }
}
