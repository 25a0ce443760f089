//! Compilation of a model to cost expressions.
//!
//! This is the compilation of the papers: without contention, parallel parts take as long as the longest of them (T0), and parts that need
//! the same resource take as long as all of them together on that resource (one Tr for each). Procedures are analysed once, with symbolic
//! parameters, so that the effort grows with the text of a model and not with its expansion.

mod block_cost;
mod call_order;
mod resource;
mod scope;
mod shares;
mod term_compiler;

use std::collections::BTreeMap;

use sintonia_formula::Formula;

pub use resource::ContendedResource;
pub use shares::{BranchShare, BranchShares, ShareError};

use crate::expression::CostExpr;
use crate::model::{ModelTerm, PamelaModel};
use block_cost::BlockCost;
use term_compiler::{CompiledProcedures, TermCompiler};

/// Why a model cannot be compiled.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CompileError {
    /// It has no procedures.
    #[error("the model has no procedures, so there is no program")]
    Empty,
    /// A call of an undefined procedure.
    #[error("`{caller}` calls `{called}`, which is not a procedure of the model; defined are: {known}")]
    UnknownProcedure {
        /// The calling procedure.
        caller: String,
        /// The called procedure.
        called: String,
        /// The defined procedures.
        known: String,
    },
    /// A call with too many or too few arguments.
    #[error("`{caller}` passes {given} arguments to `{called}`, which has {expected} parameters")]
    Arguments {
        /// The calling procedure.
        caller: String,
        /// The called procedure.
        called: String,
        /// The number of arguments.
        given: usize,
        /// The number of parameters.
        expected: usize,
    },
    /// A procedure that calls itself.
    #[error("`{0}` is recursive; recursion is not allowed in a model, since its depth is unknown")]
    Recursion(String),
    /// The nesting is too deep.
    #[error("`{0}`, including its callees, is nested more than {MAX_DEPTH} deep")]
    TooDeep(String),
    /// The main procedure has parameters, but nothing calls it.
    #[error("the main procedure `{procedure}` cannot have parameters: declare `parameter {name};` instead")]
    MainParameters {
        /// The procedure.
        procedure: String,
        /// Its first parameter.
        name: String,
    },
    /// A branch share that does not fit the model.
    #[error(transparent)]
    Share(#[from] ShareError),
}

/// Maximum nesting depth, including calls.
const MAX_DEPTH: u32 = 1_000;

/// The name of a computer in demands that each of several computers has.
pub(crate) const EACH_COMPUTER: &str = "computer";

/// The cost of a model.
#[derive(Debug, Clone)]
pub struct CostAnalysis {
    /// T0: the time without contention.
    pub contention_free: CostExpr,
    /// One Tr for each resource in use, divided by its multiplicity.
    pub contended: Vec<(ContendedResource, CostExpr)>,
    /// A lower bound, with contention inside each parallel block.
    pub lower: CostExpr,
    /// An upper bound for any work-conserving schedule.
    pub upper: CostExpr,
    /// The time of serial execution.
    pub serial: CostExpr,
    /// The branch shares that were used.
    pub shares: Vec<BranchShare>,
}

impl CostAnalysis {
    /// T: the maximum of T0 and all Tr.
    pub fn time(&self) -> CostExpr {
        let parts = std::iter::once(&self.contention_free).chain(self.contended.iter().map(|(_, expression)| expression));
        CostExpr::max(parts.cloned().collect())
    }
}

/// Compiles a model, given the branch shares of its conditions.
pub fn compile(model: &PamelaModel, shares: &BranchShares) -> Result<CostAnalysis, CompileError> {
    let order = call_order::topological_order(model)?;
    let mut walk = TermCompiler::new(model, shares);
    let mut known = CompiledProcedures::new();
    for procedure in &order.procedures {
        let routine = walk.procedure(procedure, &known);
        if routine.cost.depth() > MAX_DEPTH {
            return Err(CompileError::TooDeep(procedure.name.clone()));
        }
        known.insert(&procedure.name, routine);
    }
    let taken = walk.finish()?;
    let main = known.remove(order.main.name.as_str()).map_or_else(BlockCost::zero, |routine| routine.cost);
    let multiplicity = multiplicities(model);
    let contended =
        main.demands.iter().filter_map(|(resource, demand)| Some((resource.to_resource()?, resource.load(demand, &multiplicity))));
    Ok(CostAnalysis {
        contended: contended.collect(),
        contention_free: main.contention_free,
        lower: main.lower,
        upper: main.upper,
        serial: main.serial,
        shares: taken,
    })
}

/// The multiplicity of each resource of the model.
fn multiplicities(model: &PamelaModel) -> BTreeMap<String, Formula> {
    model.resources.iter().map(|resource| (resource.name.clone(), resource.multiplicity.clone())).collect()
}

fn subterms(term: &ModelTerm) -> Vec<&ModelTerm> {
    match term {
        ModelTerm::Sequence(parts) | ModelTerm::Parallel(parts) => parts.iter().collect(),
        ModelTerm::Loop { body, .. } | ModelTerm::Tasks { body, .. } | ModelTerm::Use { body, .. } => vec![body],
        ModelTerm::If { then, otherwise, .. } => vec![then, otherwise],
        ModelTerm::Comment(_)
        | ModelTerm::Operation { .. }
        | ModelTerm::Message { .. }
        | ModelTerm::Collective { .. }
        | ModelTerm::Delay(_)
        | ModelTerm::Call { .. } => Vec::new(),
    }
}
