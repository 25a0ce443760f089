//! Resources that blocks of a model compete for.

use std::collections::BTreeMap;
use std::fmt;

use sintonia_formula::Formula;

use super::EACH_COMPUTER;
use crate::bindings::{Bindings, CURRENT_COMPUTER, display_name, substitute_all};
use crate::expression::{CostExpr, LoopRange, LoopReduction};

/// A resource in results.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContendedResource {
    /// A resource of the model, or a computer by its name or number.
    Named(String),
    /// Each of the computers of an index range.
    Computers,
    /// The workers that tasks are allocated to.
    Workers,
}

impl fmt::Display for ContendedResource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ContendedResource::Named(name) => out.write_str(name),
            ContendedResource::Computers => out.write_str("computers"),
            ContendedResource::Workers => out.write_str("workers"),
        }
    }
}

/// How long a block needs a resource, not counting waiting.
#[derive(Debug, Clone)]
pub(super) struct ResourceDemand {
    /// Lower bound: the holder takes its contention-free time.
    pub(super) lower: CostExpr,
    /// Upper bound: the holder takes its serial time.
    pub(super) upper: CostExpr,
}

/// A resource as known inside a procedure.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ResourceKey {
    /// The computer that the block runs on, not known yet.
    CurrentComputer,
    /// A resource of the model, or a computer; also one whose name is an index or a parameter of the procedure.
    Named(String),
    /// Each of the computers of a range; in demands its name is [`EACH_COMPUTER`].
    EachComputer(Formula, Formula),
    /// All workers together.
    Workers,
}

impl ResourceKey {
    pub(super) fn computer(name: &str) -> ResourceKey {
        ResourceKey::Named(name.to_owned())
    }

    /// The resource in results; `None` if it is not known.
    pub(super) fn to_resource(&self) -> Option<ContendedResource> {
        match self {
            ResourceKey::CurrentComputer => None,
            ResourceKey::Named(name) => Some(ContendedResource::Named(name.clone())),
            ResourceKey::EachComputer(..) => Some(ContendedResource::Computers),
            ResourceKey::Workers => Some(ContendedResource::Workers),
        }
    }

    /// The time for which it is at least busy.
    pub(super) fn load(&self, demand: &ResourceDemand, multiplicity: &BTreeMap<String, Formula>) -> CostExpr {
        match self {
            ResourceKey::Named(name) => per_unit(&demand.lower, name, multiplicity),
            ResourceKey::EachComputer(from, to) => demand.lower.clone().looped(LoopReduction::Max, &computer_range(from, to)),
            ResourceKey::CurrentComputer | ResourceKey::Workers => demand.lower.clone(),
        }
    }

    /// The maximum waiting time for it. For the computers of a range it is the sum over all of them, since one part may need each in turn.
    pub(super) fn wait(&self, demand: &ResourceDemand, multiplicity: &BTreeMap<String, Formula>) -> CostExpr {
        match self {
            ResourceKey::Named(name) => per_unit(&demand.upper, name, multiplicity),
            ResourceKey::EachComputer(from, to) => demand.upper.clone().looped(LoopReduction::Sum, &computer_range(from, to)),
            ResourceKey::CurrentComputer | ResourceKey::Workers => demand.upper.clone(),
        }
    }

    /// Substitutes names.
    pub(super) fn with_bindings(&self, bindings: &Bindings) -> ResourceKey {
        match self {
            ResourceKey::Named(name) => {
                let by = bindings.iter().find(|(own, _)| own == name);
                ResourceKey::Named(by.map_or_else(|| name.clone(), |(_, by)| display_name(by)))
            }
            ResourceKey::EachComputer(from, to) => ResourceKey::EachComputer(substitute_all(from, bindings), substitute_all(to, bindings)),
            ResourceKey::CurrentComputer => bindings
                .iter()
                .find(|(own, _)| own == CURRENT_COMPUTER)
                .map_or(ResourceKey::CurrentComputer, |(_, by)| ResourceKey::Named(display_name(by))),
            ResourceKey::Workers => ResourceKey::Workers,
        }
    }
}

fn computer_range(from: &Formula, to: &Formula) -> LoopRange {
    LoopRange { index: EACH_COMPUTER.to_owned(), from: from.clone(), to: to.clone() }
}

fn per_unit(demand: &CostExpr, name: &str, multiplicity: &BTreeMap<String, Formula>) -> CostExpr {
    multiplicity.get(name).map_or_else(|| demand.clone(), |many| demand.clone().divided(many))
}
