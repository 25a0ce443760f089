//! What a model costs, as the formulas of the papers.

use std::fmt;

use serde::Serialize;
use sintonia_pamela::compile::{Shares, compile};
use sintonia_pamela::model::Model;

use crate::Error;

/// One of T0, T1, …, T.
#[derive(Debug, Serialize)]
pub struct Formula {
    name: String,
    /// What is competed for, if it is about that.
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<String>,
    formula: String,
}

impl fmt::Display for Formula {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} = {}", self.name, self.formula)?;
        self.resource.as_ref().map_or(Ok(()), |resource| write!(out, "    // {resource}"))
    }
}

/// The formulas of a model, T last.
pub fn of(model: &Model) -> Result<Vec<Formula>, Error> {
    let analysis = compile(model, &Shares::new()).map_err(|error| Error::Other(error.to_string()))?;
    let free = Formula { name: "T0".to_owned(), resource: None, formula: analysis.free.to_string() };
    let contended = analysis.contended.iter().enumerate().map(|(place, (resource, expression))| Formula {
        name: format!("T{}", place + 1),
        resource: Some(resource.to_string()),
        formula: expression.to_string(),
    });
    let mut formulas: Vec<Formula> = std::iter::once(free).chain(contended).collect();
    let names: Vec<&str> = formulas.iter().map(|formula| formula.name.as_str()).collect();
    let largest = if names.len() == 1 { "T0".to_owned() } else { format!("max({})", names.join(", ")) };
    formulas.push(Formula { name: "T".to_owned(), resource: None, formula: largest });
    Ok(formulas)
}
