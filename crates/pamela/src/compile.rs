//! From a model to what it costs.
//!
//! The compilation of the papers: without contention what goes on at the same time takes as long as the longest part of it (T0), and what
//! needs a resource together takes as long as all of it on that resource (one Tr for each). Procedures are analysed once, with names for
//! what they are given, so that the effort grows with the text of a model and not with what it unfolds to.

mod order;
mod part;
mod resource;
mod scope;
mod shares;
mod walk;

use std::collections::BTreeMap;

use sintonia_formula::Formula;

pub use resource::Resource;
pub(crate) use scope::WORKERS;
pub use shares::{Share, ShareProblem, Shares};

use crate::expression::Expression;
use crate::model::{Model, Term};
use part::Part;
use walk::{Routines, Walk};

/// Why a model cannot be compiled.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CompileError {
    /// It has no procedures.
    #[error("the model has no procedures, so there is no program")]
    Empty,
    /// A call of nothing.
    #[error("`{caller}` calls `{called}`, which is no procedure of the model; there are: {known}")]
    UnknownProcedure {
        /// Who calls.
        caller: String,
        /// What is called.
        called: String,
        /// The procedures there are.
        known: String,
    },
    /// A call with too many or too few arguments.
    #[error("`{caller}` gives `{called}` {given} arguments, but it has {expected} parameters")]
    Arguments {
        /// Who calls.
        caller: String,
        /// What is called.
        called: String,
        /// How many arguments there are.
        given: usize,
        /// How many there should be.
        expected: usize,
    },
    /// A procedure that calls itself.
    #[error("`{0}` calls itself, directly or through others; a model has no recursion, since nothing tells how deep it goes")]
    Recursion(String),
    /// Parts in parts in parts.
    #[error("in `{0}`, with all that it calls, parts stand more than {MOST_DEPTH} deep inside each other")]
    TooDeep(String),
    /// The main procedure wants something that nobody gives it.
    #[error("`{procedure}` is where the program begins, so it cannot have parameters: declare `parameter {name};` instead")]
    MainParameters {
        /// The procedure.
        procedure: String,
        /// Its first parameter.
        name: String,
    },
    /// A share that does not fit the model.
    #[error(transparent)]
    Share(#[from] ShareProblem),
}

/// How deep parts may stand inside each other, calls included.
const MOST_DEPTH: u32 = 1_000;

/// The name that a computer has in what many computers need, each for itself.
pub(crate) const EACH: &str = "computer";

/// What a model costs.
#[derive(Debug, Clone)]
pub struct Analysis {
    /// T0: without contention.
    pub free: Expression,
    /// One Tr for each resource that anything uses, divided by how many can use it at a time.
    pub contended: Vec<(Resource, Expression)>,
    /// What it takes at least: contention inside each parallel block.
    pub lower: Expression,
    /// What it takes at most, if nobody waits for what is free.
    pub upper: Expression,
    /// What it would take with everything one after the other.
    pub serial: Expression,
    /// The shares of conditions, as they are taken.
    pub shares: Vec<Share>,
}

impl Analysis {
    /// T: the largest of T0 and all Tr.
    pub fn time(&self) -> Expression {
        let parts = std::iter::once(&self.free).chain(self.contended.iter().map(|(_, expression)| expression));
        Expression::max(parts.cloned().collect())
    }
}

/// What a model costs, with what is known of its conditions.
pub fn compile(model: &Model, shares: &Shares) -> Result<Analysis, CompileError> {
    let order = order::of(model)?;
    let mut walk = Walk::new(model, shares);
    let mut known = Routines::new();
    for procedure in &order.procedures {
        let routine = walk.procedure(procedure, &known);
        if routine.part.depth() > MOST_DEPTH {
            return Err(CompileError::TooDeep(procedure.name.clone()));
        }
        known.insert(&procedure.name, routine);
    }
    let taken = walk.finished()?;
    let main = known.remove(order.main.name.as_str()).map_or_else(Part::nothing, |routine| routine.part);
    let multiplicity = multiplicities(model);
    let contended = main.demands.iter().filter_map(|(resource, demand)| Some((resource.shown()?, resource.load(demand, &multiplicity))));
    Ok(Analysis {
        contended: contended.collect(),
        free: main.free,
        lower: main.lower,
        upper: main.upper,
        serial: main.serial,
        shares: taken,
    })
}

/// How many can use each resource of the model at a time.
fn multiplicities(model: &Model) -> BTreeMap<String, Formula> {
    model.resources.iter().map(|resource| (resource.name.clone(), resource.multiplicity.clone())).collect()
}

/// All terms directly inside a term.
fn inside(term: &Term) -> Vec<&Term> {
    match term {
        Term::Sequence(parts) | Term::Parallel(parts) => parts.iter().collect(),
        Term::Loop { body, .. } | Term::Tasks { body, .. } | Term::Use { body, .. } => vec![body],
        Term::If { then, otherwise, .. } => vec![then, otherwise],
        Term::Note(_) | Term::Operation { .. } | Term::Message { .. } | Term::Group { .. } | Term::Delay(_) | Term::Call { .. } => {
            Vec::new()
        }
    }
}
