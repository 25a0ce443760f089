//! Errors of estimates.

use sintonia_formula::{EvaluationError, Formula, Interval, SymbolValues};

use crate::compile::CompileError;
use crate::model::ModelParameter;

/// Longer formulas are not shown in messages.
const MAX_SHOWN_LEN: usize = 120;

/// Why there is no estimate.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EstimateError {
    /// The model cannot be compiled.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The machine has no nodes.
    #[error("the machine file has no nodes, so the costs of operations are unknown")]
    NoNodes,
    /// The number of workers is zero.
    #[error("there must be at least one worker")]
    NoWorkers,
    /// The machine file has no cost for an operation.
    #[error("`{operation}` has no cost on the nodes `{kind}` of the machine file ({table}); {}", among(known))]
    UnknownOperation {
        /// The operation.
        operation: String,
        /// The nodes.
        kind: String,
        /// The table that should contain it.
        table: &'static str,
        /// The operations it has.
        known: String,
    },
    /// The machine file has no cost for messages.
    #[error("the machine file has no cost for messages: neither `transfer` nor `send` under `network`")]
    NoMessages,
    /// The machine file has no cost for a collective.
    #[error("the machine file has no cost for `{operation}`; under `group` it has {}", if known.is_empty() { "nothing" } else { known })]
    UnknownCollective {
        /// The collective.
        operation: &'static str,
        /// Those it has.
        known: String,
    },
    /// A parameter without a value.
    #[error("the parameter `{name}` has no value: give one with -p {name}=…{}", note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default())]
    UnboundParameter {
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
        /// Those it has.
        known: Vec<String>,
    },
    /// A formula without a value.
    #[error("{of} has no value: {reason}{}", shown(formula))]
    NoValue {
        /// What it is the value of.
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
    pub(crate) fn unbound(parameter: &ModelParameter) -> EstimateError {
        EstimateError::UnboundParameter { name: parameter.name.clone(), note: parameter.comment.clone() }
    }
}

/// The value of a formula; `of` names it in the error.
pub(crate) fn evaluate_formula(
    formula: &Formula,
    values: &SymbolValues<Interval>,
    of: impl Fn() -> String,
) -> Result<Interval, EstimateError> {
    let text = || {
        Some(formula).filter(|formula| formula.size() < 40).map(|formula| format!("{formula:.6}")).filter(|text| text.len() < MAX_SHOWN_LEN)
    };
    let no_value = |reason: String| EstimateError::NoValue { of: of(), formula: text().unwrap_or_default(), reason };
    match formula.enclose(values) {
        Ok(value) if value.low().is_finite() && value.high().is_finite() => Ok(value),
        Ok(_) => Err(no_value("division by an interval that contains zero, or the result is too large".to_owned())),
        Err(EvaluationError::Symbol(name)) => Err(EstimateError::UnboundParameter { name, note: None }),
        Err(undefined) => Err(no_value(undefined.to_string())),
    }
}
