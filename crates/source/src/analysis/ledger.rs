//! Costs as they come up, gathered into terms.
//!
//! Operations that follow each other without anything between are counted together: the order of what has no structure has no meaning.

use sintonia_formula::Formula;
use sintonia_pamela::model::{Operation, Term};

/// Terms one after the other.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    terms: Vec<Term>,
    /// Where the operations begin that may still be counted together.
    open: usize,
}

impl Ledger {
    /// Adds an operation, so many times.
    pub(crate) fn add(&mut self, operation: Operation, times: Formula) {
        for term in &mut self.terms[self.open..] {
            if let Term::Operation { operation: other, times: so_far } = term
                && *other == operation
            {
                *so_far += times;
                return;
            }
        }
        self.terms.push(Term::Operation { operation, times });
    }

    /// Adds a term, unless it is nothing.
    pub(crate) fn push(&mut self, term: Term) {
        match term {
            Term::Sequence(terms) => terms.into_iter().for_each(|term| self.push(term)),
            Term::Operation { operation, times } => self.add(operation, times),
            term => {
                self.terms.push(term);
                self.open = self.terms.len();
            }
        }
    }

    /// Counts what comes from here on separately.
    pub(crate) fn part(&mut self) {
        self.open = self.terms.len();
    }

    /// All of it as one term.
    pub(crate) fn into_term(mut self) -> Term {
        if self.terms.len() == 1 { self.terms.remove(0) } else { Term::Sequence(self.terms) }
    }
}

/// Whether nothing is done in a term.
pub(crate) fn is_nothing(term: &Term) -> bool {
    match term {
        Term::Note(_) => true,
        Term::Sequence(terms) => terms.iter().all(is_nothing),
        _ => false,
    }
}

/// Whether the numbers of a term depend on a symbol.
pub(crate) fn depends_on(term: &Term, symbol: &str) -> bool {
    let has = |formula: &Formula| formula.symbols().contains(symbol);
    match term {
        Term::Note(_) => false,
        Term::Operation { times, .. } => has(times),
        Term::Message { bytes, .. } => has(bytes),
        Term::Group { bytes, processes, .. } => has(bytes) || has(processes),
        Term::Delay(time) => has(time),
        Term::Call { arguments, .. } => arguments.iter().any(has),
        Term::Sequence(terms) | Term::Parallel(terms) => terms.iter().any(|term| depends_on(term, symbol)),
        Term::Loop { from, to, body, .. } | Term::Tasks { from, to, body, .. } => has(from) || has(to) || depends_on(body, symbol),
        Term::If { share, then, otherwise, .. } => {
            share.as_ref().is_some_and(has) || depends_on(then, symbol) || depends_on(otherwise, symbol)
        }
        Term::Use { body, .. } => depends_on(body, symbol),
    }
}

/// The same term with something in place of a symbol.
pub(crate) fn substituted(term: &Term, symbol: &str, by: &Formula) -> Term {
    let change = |formula: &Formula| formula.substitute(symbol, by);
    let inside = |term: &Term| Box::new(substituted(term, symbol, by));
    match term {
        Term::Note(text) => Term::Note(text.clone()),
        Term::Operation { operation, times } => Term::Operation { operation: operation.clone(), times: change(times) },
        Term::Message { from, to, bytes } => Term::Message { from: from.clone(), to: to.clone(), bytes: change(bytes) },
        Term::Group { operation, bytes, processes } => {
            Term::Group { operation: *operation, bytes: change(bytes), processes: change(processes) }
        }
        Term::Delay(time) => Term::Delay(change(time)),
        Term::Call { procedure, arguments } => {
            Term::Call { procedure: procedure.clone(), arguments: arguments.iter().map(change).collect() }
        }
        Term::Sequence(terms) => Term::Sequence(terms.iter().map(|term| substituted(term, symbol, by)).collect()),
        Term::Parallel(terms) => Term::Parallel(terms.iter().map(|term| substituted(term, symbol, by)).collect()),
        Term::Loop { order, index, from, to, body } => {
            let body = if index == symbol { body.clone() } else { inside(body) };
            Term::Loop { order: *order, index: index.clone(), from: change(from), to: change(to), body }
        }
        Term::Tasks { index, from, to, computer, body } => {
            let body = if index == symbol { body.clone() } else { inside(body) };
            Term::Tasks { index: index.clone(), from: change(from), to: change(to), computer: computer.clone(), body }
        }
        Term::If { place, share, then, otherwise } => {
            Term::If { place: place.clone(), share: share.as_ref().map(change), then: inside(then), otherwise: inside(otherwise) }
        }
        Term::Use { resource, body } => Term::Use { resource: resource.clone(), body: inside(body) },
    }
}
