//! Compilation of the terms of a model.

use std::collections::BTreeMap;

use sintonia_formula::Formula;

use super::block_cost::BlockCost;
use super::multiplicities;
use super::resource::ResourceKey;
use super::scope::ProcedureScope;
use super::shares::{BranchShare, BranchShares, ShareError, ShareLookup};
use crate::expression::{LoopRange, PrimitiveCost};
use crate::model::{ComputeOp, Computer, LoopOrder, ModelTerm, PamelaModel, ProcedureDecl};

pub(super) struct CompiledProcedure {
    /// The unambiguous names of its parameters.
    parameters: Vec<String>,
    pub(super) cost: BlockCost,
}

/// Compiled procedures by name.
pub(super) type CompiledProcedures<'a> = BTreeMap<&'a str, CompiledProcedure>;

/// The state of compiling one model.
pub(super) struct TermCompiler<'a> {
    multiplicity: BTreeMap<String, Formula>,
    shares: ShareLookup<'a>,
    scope: ProcedureScope,
}

impl<'a> TermCompiler<'a> {
    pub(super) fn new(model: &PamelaModel, shares: &'a BranchShares) -> TermCompiler<'a> {
        TermCompiler { multiplicity: multiplicities(model), shares: ShareLookup::new(shares), scope: ProcedureScope::new(model) }
    }

    /// Compiles a procedure; its callees are already compiled.
    pub(super) fn procedure(&mut self, procedure: &ProcedureDecl, known: &CompiledProcedures) -> CompiledProcedure {
        let parameters = procedure.parameters.iter().map(|name| self.scope.enter(name)).collect();
        let part = self.term(&procedure.body, known);
        procedure.parameters.iter().rev().for_each(|name| self.scope.leave(name));
        CompiledProcedure { parameters, cost: part }
    }

    /// The shares that were used.
    pub(super) fn finish(self) -> Result<Vec<BranchShare>, ShareError> {
        self.shares.finish()
    }

    fn term(&mut self, term: &ModelTerm, known: &CompiledProcedures) -> BlockCost {
        match term {
            ModelTerm::Comment(_) => BlockCost::zero(),
            ModelTerm::Operation { operation, times } => self.operation(operation, times),
            ModelTerm::Message { from, to, bytes } => {
                let (from, to, bytes) = (self.scope.computer(from), self.scope.computer(to), self.scope.formula(bytes));
                BlockCost::from_cost(PrimitiveCost::Message { from, to, bytes }, None)
            }
            ModelTerm::Collective { operation, bytes, processes } => {
                let (bytes, processes) = (self.scope.formula(bytes), self.scope.formula(processes));
                BlockCost::from_cost(PrimitiveCost::Collective { operation: *operation, bytes, processes }, None)
            }
            ModelTerm::Delay(seconds) => BlockCost::from_cost(PrimitiveCost::Delay(self.scope.formula(seconds)), None),
            ModelTerm::Call { procedure, arguments } => self.call(procedure, arguments, known),
            ModelTerm::Sequence(terms) => BlockCost::sequence(self.terms(terms, known)),
            ModelTerm::Parallel(terms) => BlockCost::parallel(self.terms(terms, known), &self.multiplicity),
            ModelTerm::Loop { order, index, from, to, body } => {
                let (from, to) = (self.scope.formula(from), self.scope.formula(to));
                let own = self.scope.enter(index);
                let body = self.term(body, known);
                self.scope.leave(index);
                let range = LoopRange { index: own, from, to };
                let body = if *order == LoopOrder::Parallel && range.spans_workers() { body.on_computer(&range.index) } else { body };
                body.looped(*order, &range, &self.multiplicity)
            }
            ModelTerm::Tasks { index, from, to, computer, body } => {
                let (from, to) = (self.scope.formula(from), self.scope.formula(to));
                let (own, worker) = (self.scope.enter(index), Computer(self.scope.enter(computer)));
                let body = self.term(body, known);
                self.scope.leave(computer);
                self.scope.leave(index);
                body.on_computer(&worker.0).allocated(&LoopRange { index: own, from, to }, &worker, &self.multiplicity)
            }
            ModelTerm::If { position: place, share, then, otherwise } => {
                let taken = self.shares.lookup(place.as_deref(), share.as_ref());
                let taken = self.scope.formula(&taken);
                let (then, otherwise) = (self.term(then, known), self.term(otherwise, known));
                BlockCost::sequence(vec![then.scaled(&taken), otherwise.scaled(&(Formula::one() - &taken))])
            }
            ModelTerm::Use { resource, body } => {
                let resource = self.scope.computer(&Computer(resource.clone()));
                self.term(body, known).using(&resource.0)
            }
        }
    }

    fn terms(&mut self, terms: &[ModelTerm], known: &CompiledProcedures) -> Vec<BlockCost> {
        terms.iter().filter(|term| !matches!(term, ModelTerm::Comment(_))).map(|term| self.term(term, known)).collect()
    }

    fn operation(&self, operation: &ComputeOp, times: &Formula) -> BlockCost {
        let on = operation.computer.as_ref().map(|on| self.scope.computer(on));
        let needed = on.as_ref().map_or(ResourceKey::CurrentComputer, |on| ResourceKey::computer(&on.0));
        BlockCost::from_cost(
            PrimitiveCost::Operation(ComputeOp { computer: on, ..operation.clone() }, self.scope.formula(times)),
            Some(needed),
        )
    }

    fn call(&self, procedure: &str, arguments: &[Formula], known: &CompiledProcedures) -> BlockCost {
        let Some(routine) = known.get(procedure) else { return BlockCost::zero() };
        let arguments = arguments.iter().map(|argument| self.scope.formula(argument));
        routine.cost.with_bindings(&routine.parameters.iter().cloned().zip(arguments).collect())
    }
}
