//! What can stand in the way of an estimate.

use sintonia_formula::{Formula, Interval, Undefined, Values};

use crate::compile::CompileError;
use crate::model::Parameter;

/// Formulas longer than this are not shown in messages.
const SHOWN: usize = 120;

/// Why there is no estimate.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EstimateError {
    /// The model cannot be compiled.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The machine has no nodes.
    #[error("the machine file has no nodes, so nothing is known of what operations cost")]
    NoNodes,
    /// Nobody works.
    #[error("there must be at least one worker")]
    NoWorkers,
    /// An operation that the machine does not know.
    #[error("`{operation}` has no cost on the nodes `{kind}` of the machine file ({table}); {}", among(known))]
    UnknownOperation {
        /// The operation.
        operation: String,
        /// The nodes.
        kind: String,
        /// The table that it should stand in.
        table: &'static str,
        /// The operations there are.
        known: String,
    },
    /// The machine does not know messages.
    #[error("the machine file does not say what messages cost: it has no `transfer` and no `send` under `network`")]
    NoMessages,
    /// The machine does not know an operation of a group.
    #[error("the machine file does not say what `{operation}` costs; under `group` it has {}", if known.is_empty() { "nothing" } else { known })]
    NoGroup {
        /// The operation.
        operation: &'static str,
        /// Those there are.
        known: String,
    },
    /// A parameter without a value.
    #[error("the parameter `{name}` has no value: give one with -p {name}=…{}", note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default())]
    Unbound {
        /// Its name.
        name: String,
        /// What it means.
        note: Option<String>,
    },
    /// A value for a parameter that the model does not have.
    #[error("the model has no parameter `{name}`; {}", parameters(known))]
    UnknownParameter {
        /// Its name.
        name: String,
        /// Those there are.
        known: Vec<String>,
    },
    /// A formula that has no value.
    #[error("{of} has no value: {reason}{}", shown(formula))]
    NoValue {
        /// What it should be the value of.
        of: String,
        /// The formula.
        formula: String,
        /// Why not.
        reason: String,
    },
}

fn among(known: &str) -> String {
    if known.is_empty() { "there are no costs at all".to_owned() } else { format!("there are: {known}") }
}

fn parameters(known: &[String]) -> String {
    if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) }
}

fn shown(formula: &str) -> String {
    if formula.is_empty() { String::new() } else { format!(", in {formula}") }
}

impl EstimateError {
    pub(crate) fn unbound(parameter: &Parameter) -> EstimateError {
        EstimateError::Unbound { name: parameter.name.clone(), note: parameter.note.clone() }
    }
}

/// The value of a formula, or what it should have been the value of.
pub(crate) fn value(formula: &Formula, values: &Values<Interval>, of: impl Fn() -> String) -> Result<Interval, EstimateError> {
    let text =
        || Some(formula).filter(|formula| formula.size() < 40).map(|formula| format!("{formula:.6}")).filter(|text| text.len() < SHOWN);
    let no_value = |reason: String| EstimateError::NoValue { of: of(), formula: text().unwrap_or_default(), reason };
    match formula.enclose(values) {
        Ok(value) if value.low().is_finite() && value.high().is_finite() => Ok(value),
        Ok(_) => Err(no_value("something is divided by a range that holds zero, or the result is too large for a number".to_owned())),
        Err(Undefined::Symbol(name)) => Err(EstimateError::Unbound { name, note: None }),
        Err(undefined) => Err(no_value(undefined.to_string())),
    }
}
