//! The performance model of a program: formulas of its parts, and their sum.

use std::collections::BTreeMap;

use serde::Serialize;
use sintonia_fit::quantity_kind::QuantityKind;
use sintonia_formula::Formula;

use crate::fitted_term::FittedTerm;
use crate::host_effects::HostEffects;
use sintonia_insight::program_part::PartKind;

/// A performance model.
#[derive(Clone, Debug, PartialEq)]
pub struct PerformanceModel {
    /// What is modelled.
    pub name: String,
    /// The region or call path of the program, if it is a model of one.
    pub region: Option<String>,
    /// What the formulas give.
    pub quantity: ModelledQuantity,
    /// The parameters and their measured ranges.
    pub parameters: Vec<MeasuredParameter>,
    /// Parameters that were constant in all runs.
    pub fixed: BTreeMap<String, f64>,
    /// The parts of the time, largest first.
    pub parts: Vec<ModelPart>,
    /// Lower bounds: the busy time of each role that is not on the critical path already.
    pub limits: Vec<RoleLimit>,
    /// The formula of the total, fitted without the parts.
    pub whole: Option<FittedTerm>,
    /// Which formula predictions use.
    pub uses: PredictionBasis,
    /// The machine of the runs, if known.
    pub reference_machine: Option<ReferenceMachine>,
    /// What the host adds to the formulas.
    pub host_effects: HostEffects,
    /// The spread of repeated runs, in percent.
    pub noise_percent: f64,
    /// How well it predicts the largest runs from the others; `None` if there are too few.
    pub validation: Option<HoldOutValidation>,
    /// The measurements.
    pub points: Vec<MeasuredSetting>,
    /// Notes for the reader, one sentence each.
    pub notes: Vec<String>,
}

/// The machine of the runs.
#[derive(Clone, Debug, PartialEq)]
pub struct ReferenceMachine {
    /// Its name.
    pub name: String,
    /// Arithmetic and memory costs in seconds, by name.
    pub costs: BTreeMap<String, f64>,
    /// How disturbed the measurement of these costs was, as in the machine file.
    pub disturbance: f64,
    /// Up to how many ranks the runs had on a node for each of its cores: 1 if they filled nodes before they used others.
    pub ranks_per_core: f64,
}

/// The quantity that a model describes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModelledQuantity {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
}

/// A parameter of a model and its measured range.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuredParameter {
    /// Its name.
    pub name: String,
    /// The smallest measured value.
    pub from: f64,
    /// The largest measured value.
    pub to: f64,
    /// What it is, if known.
    #[serde(skip_serializing_if = "is_unknown")]
    pub kind: QuantityKind,
}

fn is_unknown(kind: &QuantityKind) -> bool {
    *kind == QuantityKind::Unknown
}

/// A part of the time.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelPart {
    /// Its display name.
    pub name: String,
    /// Whether it depends on processors or network.
    pub kind: PartKind,
    /// Its share of the time of all runs.
    pub share: f64,
    /// Its time in seconds.
    pub term: FittedTerm,
    /// The calls there, if it is an operation.
    pub calls: Option<CallFormulas>,
    /// The cost of one call in seconds, according to the machine file of the runs.
    pub reference_cost: Option<Formula>,
}

/// The calls of an operation.
#[derive(Clone, Debug, PartialEq)]
pub struct CallFormulas {
    /// The MPI function.
    pub operation: String,
    /// The number of calls, over all ranks.
    pub count: Formula,
    /// Their bytes, over all ranks.
    pub bytes: Formula,
    /// The number of ranks that make none; 0 if that differs between runs.
    pub idle_ranks: usize,
}

/// A lower bound of the time: the busy time of a role.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleLimit {
    /// The name of the role.
    pub role: String,
    /// The busy time of its busiest rank, in seconds.
    pub term: FittedTerm,
}

/// Which formula predictions use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PredictionBasis {
    /// The sum of the parts.
    Parts,
    /// The formula of the total.
    Whole,
}

/// How well the largest runs are predicted from the others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HoldOutValidation {
    /// Mean error in percent with the sum of the parts; `None` if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts_error_percent: Option<f64>,
    /// The same with the formula of the total.
    pub whole_error_percent: f64,
    /// How far the median of them, for the parameter where it is farthest, is outside of its interval with the sum of the parts, relative to the
    /// half-width of the interval on a logarithmic scale; 1 if it is inside, and at most 3.
    pub parts_widening: f64,
    /// The same with the formula of the total.
    pub whole_widening: f64,
    /// The number of predicted runs.
    pub runs: usize,
}

/// One measured run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuredSetting {
    /// The parameter values.
    pub at: Vec<f64>,
    /// The measured value.
    pub value: f64,
}

impl PerformanceModel {
    /// The names of the parameters.
    pub fn parameter_names(&self) -> Vec<String> {
        self.parameters.iter().map(|parameter| parameter.name.clone()).collect()
    }

    /// The formula that predictions use.
    pub fn formula(&self) -> Formula {
        match (self.uses, &self.whole) {
            (PredictionBasis::Whole, Some(whole)) => whole.formula.clone(),
            _ => self.sum_formula(),
        }
    }

    /// The same formula on the machine of the runs.
    pub fn reference_formula(&self) -> Formula {
        let home = |term: &FittedTerm| FittedTerm { scale: None, ..term.clone() };
        let parts = self.parts.iter().map(|part| ModelPart { term: home(&part.term), ..part.clone() });
        let limits = self.limits.iter().map(|limit| RoleLimit { term: home(&limit.term), ..limit.clone() });
        PerformanceModel { parts: parts.collect(), limits: limits.collect(), ..self.clone() }.formula()
    }

    /// Whether it was transferred to another machine.
    pub fn is_on_other_machine(&self) -> bool {
        self.parts.iter().any(|part| part.term.scale.is_some())
    }

    /// The sum of the parts, bounded below by the roles.
    pub fn sum_formula(&self) -> Formula {
        let parts = self.parts.iter().fold(Formula::zero(), |sum, part| sum + part.term.scaled_formula());
        let limits = self.limits.iter().map(|limit| limit.term.scaled_formula());
        if self.limits.is_empty() { parts } else { Formula::max_of([parts].into_iter().chain(limits)) }
    }

    /// The factor by which the held-out runs say that intervals are too narrow, on a logarithmic scale; 1 without any.
    pub fn interval_widening(&self) -> f64 {
        match (self.uses, self.validation) {
            (PredictionBasis::Parts, Some(validation)) => validation.parts_widening,
            (PredictionBasis::Whole, Some(validation)) => validation.whole_widening,
            (_, None) => 1.0,
        }
    }

    /// The error of predictions in percent, at the largest runs when held out.
    pub fn error_percent(&self) -> Option<f64> {
        match (self.uses, self.validation) {
            (PredictionBasis::Parts, Some(validation)) => validation.parts_error_percent,
            (PredictionBasis::Whole, Some(validation)) => Some(validation.whole_error_percent),
            (_, None) => None,
        }
    }
}
