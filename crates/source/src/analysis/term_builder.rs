//! Collects costs into terms.
//!
//! Consecutive operations are counted together: their order has no meaning.

use sintonia_formula::Formula;
use sintonia_pamela::model::{ComputeOp, ModelTerm};

/// A sequence of terms under construction.
#[derive(Debug, Default)]
pub(crate) struct TermBuilder {
    terms: Vec<ModelTerm>,
    /// The start of the operations that may still be merged.
    open: usize,
}

impl TermBuilder {
    /// Adds an operation with a count.
    pub(crate) fn add(&mut self, operation: ComputeOp, times: Formula) {
        for term in &mut self.terms[self.open..] {
            if let ModelTerm::Operation { operation: other, times: so_far } = term
                && *other == operation
            {
                *so_far += times;
                return;
            }
        }
        self.terms.push(ModelTerm::Operation { operation, times });
    }

    /// Adds a term; a sequence is flattened.
    pub(crate) fn push(&mut self, term: ModelTerm) {
        match term {
            ModelTerm::Sequence(terms) => terms.into_iter().for_each(|term| self.push(term)),
            ModelTerm::Operation { operation, times } => self.add(operation, times),
            term => {
                self.terms.push(term);
                self.open = self.terms.len();
            }
        }
    }

    /// Starts a group: later operations are counted separately.
    pub(crate) fn start_group(&mut self) {
        self.open = self.terms.len();
    }

    pub(crate) fn into_term(mut self) -> ModelTerm {
        if self.terms.len() == 1 { self.terms.remove(0) } else { ModelTerm::Sequence(self.terms) }
    }
}

/// Whether a term does nothing.
pub(crate) fn is_empty_term(term: &ModelTerm) -> bool {
    match term {
        ModelTerm::Comment(_) => true,
        ModelTerm::Sequence(terms) => terms.iter().all(is_empty_term),
        _ => false,
    }
}

/// Whether the formulas of a term depend on a symbol.
pub(crate) fn depends_on(term: &ModelTerm, symbol: &str) -> bool {
    let has = |formula: &Formula| formula.symbols().contains(symbol);
    match term {
        ModelTerm::Comment(_) => false,
        ModelTerm::Operation { times, .. } => has(times),
        ModelTerm::Message { bytes, .. } => has(bytes),
        ModelTerm::Collective { bytes, processes, .. } => has(bytes) || has(processes),
        ModelTerm::Delay(time) => has(time),
        ModelTerm::Call { arguments, .. } => arguments.iter().any(has),
        ModelTerm::Sequence(terms) | ModelTerm::Parallel(terms) => terms.iter().any(|term| depends_on(term, symbol)),
        ModelTerm::Loop { from, to, body, .. } | ModelTerm::Tasks { from, to, body, .. } => {
            has(from) || has(to) || depends_on(body, symbol)
        }
        ModelTerm::If { share, then, otherwise, .. } => {
            share.as_ref().is_some_and(has) || depends_on(then, symbol) || depends_on(otherwise, symbol)
        }
        ModelTerm::Use { body, .. } => depends_on(body, symbol),
    }
}

/// Substitutes a formula for a symbol.
pub(crate) fn substitute_symbol(term: &ModelTerm, symbol: &str, by: &Formula) -> ModelTerm {
    let change = |formula: &Formula| formula.substitute(symbol, by);
    let inside = |term: &ModelTerm| Box::new(substitute_symbol(term, symbol, by));
    match term {
        ModelTerm::Comment(text) => ModelTerm::Comment(text.clone()),
        ModelTerm::Operation { operation, times } => ModelTerm::Operation { operation: operation.clone(), times: change(times) },
        ModelTerm::Message { from, to, bytes } => ModelTerm::Message { from: from.clone(), to: to.clone(), bytes: change(bytes) },
        ModelTerm::Collective { operation, bytes, processes } => {
            ModelTerm::Collective { operation: *operation, bytes: change(bytes), processes: change(processes) }
        }
        ModelTerm::Delay(time) => ModelTerm::Delay(change(time)),
        ModelTerm::Call { procedure, arguments } => {
            ModelTerm::Call { procedure: procedure.clone(), arguments: arguments.iter().map(change).collect() }
        }
        ModelTerm::Sequence(terms) => ModelTerm::Sequence(terms.iter().map(|term| substitute_symbol(term, symbol, by)).collect()),
        ModelTerm::Parallel(terms) => ModelTerm::Parallel(terms.iter().map(|term| substitute_symbol(term, symbol, by)).collect()),
        ModelTerm::Loop { order, index, from, to, body } => {
            let body = if index == symbol { body.clone() } else { inside(body) };
            ModelTerm::Loop { order: *order, index: index.clone(), from: change(from), to: change(to), body }
        }
        ModelTerm::Tasks { index, from, to, computer, body } => {
            let body = if index == symbol { body.clone() } else { inside(body) };
            ModelTerm::Tasks { index: index.clone(), from: change(from), to: change(to), computer: computer.clone(), body }
        }
        ModelTerm::If { position: place, share, then, otherwise } => {
            ModelTerm::If { position: place.clone(), share: share.as_ref().map(change), then: inside(then), otherwise: inside(otherwise) }
        }
        ModelTerm::Use { resource, body } => ModelTerm::Use { resource: resource.clone(), body: inside(body) },
    }
}
