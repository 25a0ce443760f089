//! The walk through the terms of a model.

use std::collections::BTreeMap;

use sintonia_formula::Formula;

use super::multiplicities;
use super::part::Part;
use super::resource::Needed;
use super::scope::Scope;
use super::shares::{Share, ShareProblem, Shares, Taken};
use crate::expression::{Cost, Range};
use crate::model::{Computer, Model, Operation, Order, Procedure, Term};

/// A procedure that was walked through.
pub(super) struct Routine {
    /// The names that its parameters have in it.
    parameters: Vec<String>,
    pub(super) part: Part,
}

/// The procedures that are known, by their names.
pub(super) type Routines<'a> = BTreeMap<&'a str, Routine>;

/// The walk through one model.
pub(super) struct Walk<'a> {
    multiplicity: BTreeMap<String, Formula>,
    shares: Taken<'a>,
    scope: Scope,
}

impl<'a> Walk<'a> {
    pub(super) fn new(model: &Model, shares: &'a Shares) -> Walk<'a> {
        Walk { multiplicity: multiplicities(model), shares: Taken::new(shares), scope: Scope::new(model) }
    }

    /// What a procedure costs; all that it calls is known.
    pub(super) fn procedure(&mut self, procedure: &Procedure, known: &Routines) -> Routine {
        let parameters = procedure.parameters.iter().map(|name| self.scope.enter(name)).collect();
        let part = self.term(&procedure.body, known);
        procedure.parameters.iter().rev().for_each(|name| self.scope.leave(name));
        Routine { parameters, part }
    }

    /// The shares as they were taken.
    pub(super) fn finished(self) -> Result<Vec<Share>, ShareProblem> {
        self.shares.finished()
    }

    fn term(&mut self, term: &Term, known: &Routines) -> Part {
        match term {
            Term::Note(_) => Part::nothing(),
            Term::Operation { operation, times } => self.operation(operation, times),
            Term::Message { from, to, bytes } => {
                let (from, to, bytes) = (self.scope.computer(from), self.scope.computer(to), self.scope.formula(bytes));
                Part::cost(Cost::Message { from, to, bytes }, None)
            }
            Term::Group { operation, bytes, processes } => {
                let (bytes, processes) = (self.scope.formula(bytes), self.scope.formula(processes));
                Part::cost(Cost::Group { operation: *operation, bytes, processes }, None)
            }
            Term::Delay(seconds) => Part::cost(Cost::Delay(self.scope.formula(seconds)), None),
            Term::Call { procedure, arguments } => self.call(procedure, arguments, known),
            Term::Sequence(terms) => Part::sequence(self.all(terms, known)),
            Term::Parallel(terms) => Part::parallel(self.all(terms, known), &self.multiplicity),
            Term::Loop { order, index, from, to, body } => {
                let (from, to) = (self.scope.formula(from), self.scope.formula(to));
                let own = self.scope.enter(index);
                let body = self.term(body, known);
                self.scope.leave(index);
                let range = Range { index: own, from, to };
                let body = if *order == Order::Parallel && range.is_of_workers() { body.on(&range.index) } else { body };
                body.repeated(*order, &range, &self.multiplicity)
            }
            Term::Tasks { index, from, to, computer, body } => {
                let (from, to) = (self.scope.formula(from), self.scope.formula(to));
                let (own, worker) = (self.scope.enter(index), Computer(self.scope.enter(computer)));
                let body = self.term(body, known);
                self.scope.leave(computer);
                self.scope.leave(index);
                body.on(&worker.0).dealt(&Range { index: own, from, to }, &worker, &self.multiplicity)
            }
            Term::If { place, share, then, otherwise } => {
                let taken = self.shares.of(place.as_deref(), share.as_ref());
                let taken = self.scope.formula(&taken);
                let (then, otherwise) = (self.term(then, known), self.term(otherwise, known));
                Part::sequence(vec![then.scaled(&taken), otherwise.scaled(&(Formula::one() - &taken))])
            }
            Term::Use { resource, body } => {
                let resource = self.scope.computer(&Computer(resource.clone()));
                self.term(body, known).using(&resource.0)
            }
        }
    }

    fn all(&mut self, terms: &[Term], known: &Routines) -> Vec<Part> {
        terms.iter().filter(|term| !matches!(term, Term::Note(_))).map(|term| self.term(term, known)).collect()
    }

    fn operation(&self, operation: &Operation, times: &Formula) -> Part {
        let on = operation.on.as_ref().map(|on| self.scope.computer(on));
        let needed = on.as_ref().map_or(Needed::Here, |on| Needed::computer(&on.0));
        Part::cost(Cost::Operation(Operation { on, ..operation.clone() }, self.scope.formula(times)), Some(needed))
    }

    fn call(&self, procedure: &str, arguments: &[Formula], known: &Routines) -> Part {
        let Some(routine) = known.get(procedure) else { return Part::nothing() };
        let arguments = arguments.iter().map(|argument| self.scope.formula(argument));
        routine.part.with(&routine.parameters.iter().cloned().zip(arguments).collect())
    }
}
