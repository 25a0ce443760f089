//! What parts of a model compete for.

use std::collections::BTreeMap;
use std::fmt;

use sintonia_formula::Formula;

use super::EACH;
use super::part::Demand;
use crate::bindings::{Bindings, HERE, called, replaced};
use crate::expression::{Expression, Fold, Range};

/// A resource, for people.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// A resource of the model, or a computer by its name or number.
    Named(String),
    /// Each of the computers that an index runs over.
    Computers,
    /// The workers that tasks are dealt to.
    Workers,
}

impl fmt::Display for Resource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Resource::Named(name) => out.write_str(name),
            Resource::Computers => out.write_str("computers"),
            Resource::Workers => out.write_str("workers"),
        }
    }
}

/// What a part needs, as it is known inside a procedure.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Needed {
    /// The computer that the part runs on, whichever that is.
    Here,
    /// A resource of the model, or a computer; also one whose name is an index or a parameter of the procedure.
    Named(String),
    /// Each of the computers of a range; in demands its name is [`EACH`].
    Each(Formula, Formula),
    /// The workers together.
    Workers,
}

impl Needed {
    pub(super) fn computer(name: &str) -> Needed {
        Needed::Named(name.to_owned())
    }

    /// What is shown of it; nothing if nobody can say what it is.
    pub(super) fn shown(&self) -> Option<Resource> {
        match self {
            Needed::Here => None,
            Needed::Named(name) => Some(Resource::Named(name.clone())),
            Needed::Each(..) => Some(Resource::Computers),
            Needed::Workers => Some(Resource::Workers),
        }
    }

    /// How long it is busy at least.
    pub(super) fn load(&self, demand: &Demand, multiplicity: &BTreeMap<String, Formula>) -> Expression {
        match self {
            Needed::Named(name) => shared(&demand.least, name, multiplicity),
            Needed::Each(from, to) => demand.least.clone().over(Fold::Max, &each(from, to)),
            Needed::Here | Needed::Workers => demand.least.clone(),
        }
    }

    /// How long anybody waits for it at most: for computers of a range, for all of them, since one part may need each in turn.
    pub(super) fn wait(&self, demand: &Demand, multiplicity: &BTreeMap<String, Formula>) -> Expression {
        match self {
            Needed::Named(name) => shared(&demand.most, name, multiplicity),
            Needed::Each(from, to) => demand.most.clone().over(Fold::Sum, &each(from, to)),
            Needed::Here | Needed::Workers => demand.most.clone(),
        }
    }

    /// The same with other things in the places of names.
    pub(super) fn with(&self, bindings: &Bindings) -> Needed {
        match self {
            Needed::Named(name) => {
                let by = bindings.iter().find(|(own, _)| own == name);
                Needed::Named(by.map_or_else(|| name.clone(), |(_, by)| called(by)))
            }
            Needed::Each(from, to) => Needed::Each(replaced(from, bindings), replaced(to, bindings)),
            Needed::Here => bindings.iter().find(|(own, _)| own == HERE).map_or(Needed::Here, |(_, by)| Needed::Named(called(by))),
            Needed::Workers => Needed::Workers,
        }
    }
}

fn each(from: &Formula, to: &Formula) -> Range {
    Range { index: EACH.to_owned(), from: from.clone(), to: to.clone() }
}

fn shared(demand: &Expression, name: &str, multiplicity: &BTreeMap<String, Formula>) -> Expression {
    multiplicity.get(name).map_or_else(|| demand.clone(), |many| demand.clone().divided(many))
}
