//! What is in a model, for programs.

use serde::Serialize;
use sintonia_pamela::model::{Language, Model};
use sintonia_source::Compiled;

use super::Formula;

/// A model.
#[derive(Serialize)]
pub struct Shown<'a> {
    language: &'static str,
    parameters: Vec<Parameter<'a>>,
    resources: Vec<Resource<'a>>,
    procedures: Vec<Procedure<'a>>,
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    formulas: Option<&'a [Formula]>,
}

#[derive(Serialize)]
struct Parameter<'a> {
    name: &'a str,
    value: Option<String>,
    note: Option<&'a str>,
}

#[derive(Serialize)]
struct Resource<'a> {
    name: &'a str,
    multiplicity: String,
}

#[derive(Serialize)]
struct Procedure<'a> {
    name: &'a str,
    parameters: &'a [String],
    note: Option<&'a str>,
}

impl<'a> Shown<'a> {
    /// What is shown of a model that was compiled.
    pub fn of(compiled: &'a Compiled, formulas: Option<&'a [Formula]>) -> Shown<'a> {
        let Model { language, parameters, resources, procedures } = &compiled.model;
        let parameters = parameters.iter().map(|parameter| Parameter {
            name: &parameter.name,
            value: parameter.value.as_ref().map(ToString::to_string),
            note: parameter.note.as_deref(),
        });
        let resources = resources.iter().map(|resource| Resource { name: &resource.name, multiplicity: resource.multiplicity.to_string() });
        let procedures = procedures.iter().map(|procedure| Procedure {
            name: &procedure.name,
            parameters: &procedure.parameters,
            note: procedure.note.as_deref(),
        });
        Shown {
            language: match language {
                Language::C => "c",
                Language::Java => "java",
            },
            parameters: parameters.collect(),
            resources: resources.collect(),
            procedures: procedures.collect(),
            notes: compiled.notes.iter().map(ToString::to_string).collect(),
            formulas,
        }
    }
}
