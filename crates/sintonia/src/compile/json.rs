//! A compiled model as JSON.

use serde::Serialize;
use sintonia_pamela::model::{PamelaModel, SourceLanguage};
use sintonia_source::CompiledModel;

use super::CostFormula;

/// A PAMELA model.
#[derive(Serialize)]
pub(super) struct PamelaModelJson<'a> {
    language: &'static str,
    parameters: Vec<PamelaParameterJson<'a>>,
    resources: Vec<PamelaResourceJson<'a>>,
    procedures: Vec<PamelaProcedureJson<'a>>,
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    formulas: Option<&'a [CostFormula]>,
}

#[derive(Serialize)]
struct PamelaParameterJson<'a> {
    name: &'a str,
    value: Option<String>,
    note: Option<&'a str>,
}

#[derive(Serialize)]
struct PamelaResourceJson<'a> {
    name: &'a str,
    multiplicity: String,
}

#[derive(Serialize)]
struct PamelaProcedureJson<'a> {
    name: &'a str,
    parameters: &'a [String],
    note: Option<&'a str>,
}

impl<'a> PamelaModelJson<'a> {
    /// The JSON of a compiled model.
    pub(super) fn new(compiled: &'a CompiledModel, formulas: Option<&'a [CostFormula]>) -> PamelaModelJson<'a> {
        let PamelaModel { language, parameters, resources, procedures } = &compiled.model;
        let parameters = parameters.iter().map(|parameter| PamelaParameterJson {
            name: &parameter.name,
            value: parameter.value.as_ref().map(ToString::to_string),
            note: parameter.comment.as_deref(),
        });
        let resources =
            resources.iter().map(|resource| PamelaResourceJson { name: &resource.name, multiplicity: resource.multiplicity.to_string() });
        let procedures = procedures.iter().map(|procedure| PamelaProcedureJson {
            name: &procedure.name,
            parameters: &procedure.parameters,
            note: procedure.comment.as_deref(),
        });
        PamelaModelJson {
            language: match language {
                SourceLanguage::C => "c",
                SourceLanguage::Java => "java",
            },
            parameters: parameters.collect(),
            resources: resources.collect(),
            procedures: procedures.collect(),
            notes: compiled.notes.iter().map(ToString::to_string).collect(),
            formulas,
        }
    }
}
