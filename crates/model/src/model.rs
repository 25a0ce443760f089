//! The model of a program's time: formulas of its parts, and what they add up to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sintonia_formula::Formula;

use crate::machine::Home;
use crate::part::Kind;
use crate::term::Term;

/// A model.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// What it is of.
    pub name: String,
    /// What its formulas give.
    pub quantity: Quantity,
    /// The parameters, and between which values they were measured.
    pub parameters: Vec<Parameter>,
    /// Parameters that had the same value in all runs.
    pub fixed: BTreeMap<String, f64>,
    /// What the time is made of, most first.
    pub parts: Vec<ModelPart>,
    /// What keeps each role busy, where that is not what the time is made of already: the time is never less.
    pub limits: Vec<Limit>,
    /// The formula of the whole, found without looking at the parts.
    pub whole: Option<Term>,
    /// What predictions are made with.
    pub uses: Uses,
    /// The machine that the runs were made on, if it is known.
    pub home: Option<Home>,
    /// How far repetitions of one run scatter, in percent.
    pub noise_percent: f64,
    /// How well it predicts the largest runs from the others; `None` if there are too few to try.
    pub validation: Option<Validation>,
    /// What was measured.
    pub points: Vec<Measured>,
    /// What a reader should know, one sentence each.
    pub notes: Vec<String>,
}

/// What the formulas of a model give.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quantity {
    /// What it is.
    pub name: String,
    /// Its unit.
    pub unit: String,
}

/// A parameter of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// The least value that was measured.
    pub from: f64,
    /// The largest value that was measured.
    pub to: f64,
}

/// A part of the time.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelPart {
    /// What it is, as people are shown it.
    pub name: String,
    /// What it depends on.
    pub kind: Kind,
    /// Its share of the time of all runs.
    pub share: f64,
    /// Seconds that it takes.
    pub term: Term,
    /// What is called there, if it is an operation.
    pub calls: Option<Calls>,
    /// Seconds that one call costs by the file of the machine that the runs were made on.
    pub home_cost: Option<Formula>,
}

/// The calls of an operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Calls {
    /// The MPI function.
    pub operation: String,
    /// How many of all ranks together.
    pub count: Formula,
    /// Bytes of all of them together.
    pub bytes: Formula,
}

/// A role whose ranks are never faster than they can work.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// What the role is called.
    pub role: String,
    /// Seconds that its busiest rank is busy.
    pub term: Term,
}

/// What predictions are made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Uses {
    /// The sum of the parts.
    Parts,
    /// The formula of the whole.
    Whole,
}

/// How well the largest runs are predicted from the others: the mean error in percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Validation {
    /// With the sum of the parts; `None` if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts_error_percent: Option<f64>,
    /// With the formula of the whole.
    pub whole_error_percent: f64,
    /// How many runs were predicted.
    pub runs: usize,
}

/// One run, as it was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// The values of the parameters.
    pub at: Vec<f64>,
    /// What was measured there.
    pub value: f64,
}

impl Model {
    /// The names of the parameters.
    pub fn names(&self) -> Vec<String> {
        self.parameters.iter().map(|parameter| parameter.name.clone()).collect()
    }

    /// The formula that predictions are made with.
    pub fn formula(&self) -> Formula {
        match (self.uses, &self.whole) {
            (Uses::Whole, Some(whole)) => whole.formula.clone(),
            _ => self.sum(),
        }
    }

    /// The same formula on the machine that the runs were made on.
    pub fn formula_at_home(&self) -> Formula {
        let home = |term: &Term| Term { scale: None, ..term.clone() };
        let parts = self.parts.iter().map(|part| ModelPart { term: home(&part.term), ..part.clone() });
        let limits = self.limits.iter().map(|limit| Limit { term: home(&limit.term), ..limit.clone() });
        Model { parts: parts.collect(), limits: limits.collect(), ..self.clone() }.formula()
    }

    /// Whether it is that of another machine than the one it was measured on.
    pub fn is_exchanged(&self) -> bool {
        self.parts.iter().any(|part| part.term.scale.is_some())
    }

    /// What the parts add up to, or what keeps a role busy if that is more.
    pub fn sum(&self) -> Formula {
        let parts = self.parts.iter().fold(Formula::zero(), |sum, part| sum + part.term.whole_formula());
        let limits = self.limits.iter().map(|limit| limit.term.whole_formula());
        if self.limits.is_empty() { parts } else { Formula::max_of([parts].into_iter().chain(limits)) }
    }

    /// The error of what predictions are made with, in percent, at the largest runs when they were held out.
    pub fn error_percent(&self) -> Option<f64> {
        match (self.uses, self.validation) {
            (Uses::Parts, Some(validation)) => validation.parts_error_percent,
            (Uses::Whole, Some(validation)) => Some(validation.whole_error_percent),
            (_, None) => None,
        }
    }
}
