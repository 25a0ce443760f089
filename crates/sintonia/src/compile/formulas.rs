//! The cost of a model as formulas.

use std::fmt;

use serde::Serialize;
use sintonia_pamela::compile::{BranchShares, compile};
use sintonia_pamela::model::PamelaModel;

use crate::Error;

/// One of T0, T1, …, T.
#[derive(Debug, Serialize)]
pub(super) struct CostFormula {
    name: String,
    /// The contended resource, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<String>,
    formula: String,
}

impl fmt::Display for CostFormula {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} = {}", self.name, self.formula)?;
        self.resource.as_ref().map_or(Ok(()), |resource| write!(out, "    // {resource}"))
    }
}

/// The formulas of a model, T last.
pub(super) fn cost_formulas(model: &PamelaModel) -> Result<Vec<CostFormula>, Error> {
    let analysis = compile(model, &BranchShares::new()).map_err(|error| Error::Other(error.to_string()))?;
    let free = CostFormula { name: "T0".to_owned(), resource: None, formula: analysis.contention_free.to_string() };
    let contended = analysis.contended.iter().enumerate().map(|(place, (resource, expression))| CostFormula {
        name: format!("T{}", place + 1),
        resource: Some(resource.to_string()),
        formula: expression.to_string(),
    });
    let mut formulas: Vec<CostFormula> = std::iter::once(free).chain(contended).collect();
    let names: Vec<&str> = formulas.iter().map(|formula| formula.name.as_str()).collect();
    let largest = if names.len() == 1 { "T0".to_owned() } else { format!("max({})", names.join(", ")) };
    formulas.push(CostFormula { name: "T".to_owned(), resource: None, formula: largest });
    Ok(formulas)
}
