//! Reads a model: any text gives a model, or what is wrong with it and where.

use std::collections::BTreeMap;

use serde::Deserialize;
use sintonia_formula::Formula;
use toml::Spanned;

use super::FORMAT;
use super::error::Problem;
use crate::curve::Curve;
use crate::machine::Home;
use crate::model::{Calls, Limit, Measured, Model, ModelPart, Parameter, Quantity, Uses, Validation};
use crate::part::Kind;
use crate::term::Term;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: Spanned<u64>,
    model: Spanned<Head>,
    #[serde(default)]
    parameter: Vec<Spanned<Parameter>>,
    #[serde(default)]
    fixed: BTreeMap<String, f64>,
    machine: Option<RawHome>,
    whole: Option<RawTerm>,
    validation: Option<Validation>,
    #[serde(default)]
    part: Vec<RawPart>,
    #[serde(default)]
    limit: Vec<RawLimit>,
    measured: Option<Points>,
    #[serde(default)]
    possible: Possible,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    name: String,
    #[serde(default = "time")]
    quantity: String,
    #[serde(default = "second")]
    unit: String,
    formula: Option<Spanned<String>>,
    uses: Option<Spanned<Uses>>,
    #[serde(default)]
    noise_percent: f64,
    #[serde(default)]
    notes: Vec<String>,
}

fn time() -> String {
    "time".into()
}

fn second() -> String {
    "s".into()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawHome {
    name: String,
    #[serde(default)]
    costs: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTerm {
    formula: Spanned<String>,
    error_percent: Option<Spanned<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPart {
    name: String,
    kind: Kind,
    #[serde(default)]
    share: f64,
    formula: Spanned<String>,
    error_percent: Option<Spanned<f64>>,
    calls: Option<RawCalls>,
    machine_seconds: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLimit {
    role: String,
    formula: Spanned<String>,
    error_percent: Option<Spanned<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCalls {
    operation: String,
    count: Spanned<String>,
    bytes: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Points {
    points: Vec<Spanned<Vec<f64>>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Possible {
    whole: Option<Spanned<String>>,
    parts: Vec<Spanned<String>>,
    limits: Vec<Spanned<String>>,
}

/// The model of a text.
pub fn model(text: &str) -> Result<Model, Problem> {
    let file: File = toml::from_str(text).map_err(|error| Problem::new(error.span().unwrap_or(0..0), error.message()))?;
    if *file.format.get_ref() != FORMAT {
        let what = format!("this is a model file of format {}, and only format {FORMAT} is known", file.format.get_ref());
        return Err(Problem::new(file.format.span(), what));
    }
    let parameters = parameters(file.parameter)?;
    let reader = Reader { names: parameters.iter().map(|parameter| parameter.name.clone()).collect(), fixed: &file.fixed };
    let parts: Vec<ModelPart> = with_possible(file.part, &file.possible.parts, |part, possible| reader.part(part, possible))?;
    let limits: Vec<Limit> = with_possible(file.limit, &file.possible.limits, |limit, possible| {
        Ok(Limit { role: limit.role, term: reader.term(limit.formula, limit.error_percent, possible)? })
    })?;
    let head_span = file.model.span();
    let head = file.model.into_inner();
    let whole = match (file.whole, head.formula) {
        (Some(whole), _) => Some(reader.term(whole.formula, whole.error_percent, file.possible.whole.as_ref())?),
        (None, Some(formula)) if parts.is_empty() => Some(reader.term(formula, None, None)?),
        _ => None,
    };
    let uses = head.uses.as_ref().map_or(if parts.is_empty() { Uses::Whole } else { Uses::Parts }, |uses| *uses.get_ref());
    let is_there = if uses == Uses::Parts { !parts.is_empty() } else { whole.is_some() };
    if !is_there {
        let what = "a model needs a formula: `formula` in [model] or [whole], or at least one [[part]] if it uses parts";
        return Err(Problem::new(head.uses.map_or(head_span, |uses| uses.span()), what));
    }
    Ok(Model {
        name: head.name,
        quantity: Quantity { name: head.quantity, unit: head.unit },
        points: points(file.measured, parameters.len())?,
        fixed: file.fixed.clone(),
        parameters,
        parts,
        limits,
        whole,
        uses,
        home: file.machine.map(|home| Home { name: home.name, costs: home.costs }),
        noise_percent: head.noise_percent.abs(),
        validation: file.validation,
        notes: head.notes,
    })
}

/// Terms with the possible formulas that belong to them, if there are any.
fn with_possible<Raw, Out>(
    raw: Vec<Raw>,
    possible: &[Spanned<String>],
    mut read: impl FnMut(Raw, Option<&Spanned<String>>) -> Result<Out, Problem>,
) -> Result<Vec<Out>, Problem> {
    // Where terms were added or taken away by hand, it is not known any more what belongs to what.
    let possible = if possible.len() == raw.len() { possible } else { &[] };
    raw.into_iter().enumerate().map(|(place, raw)| read(raw, possible.get(place))).collect()
}

fn parameters(raw: Vec<Spanned<Parameter>>) -> Result<Vec<Parameter>, Problem> {
    let mut parameters: Vec<Parameter> = Vec::new();
    for parameter in raw {
        let span = parameter.span();
        let parameter = parameter.into_inner();
        if parameters.iter().any(|other| other.name == parameter.name) {
            return Err(Problem::new(span, format!("two parameters are called {}", parameter.name)));
        }
        if !(parameter.from > 0.0 && parameter.from <= parameter.to && parameter.to.is_finite()) {
            let (from, to) = (parameter.from, parameter.to);
            return Err(Problem::new(
                span,
                format!("{} cannot go from {from} to {to}: both are positive, and `from` is not more", parameter.name),
            ));
        }
        parameters.push(parameter);
    }
    Ok(parameters)
}

fn points(raw: Option<Points>, parameters: usize) -> Result<Vec<Measured>, Problem> {
    let point = |point: Spanned<Vec<f64>>| {
        let span = point.span();
        let mut at = point.into_inner();
        if at.len() != parameters + 1 || at.iter().any(|number| !number.is_finite()) {
            let what = format!("a point has {parameters} values of parameters and one that was measured, all of them finite");
            return Err(Problem::new(span, what));
        }
        let value = at.pop().unwrap_or_default();
        Ok(Measured { at, value })
    };
    raw.map_or(Ok(Vec::new()), |raw| raw.points.into_iter().map(point).collect())
}

/// What formulas may depend on.
struct Reader<'a> {
    names: Vec<String>,
    fixed: &'a BTreeMap<String, f64>,
}

impl Reader<'_> {
    fn part(&self, raw: RawPart, possible: Option<&Spanned<String>>) -> Result<ModelPart, Problem> {
        let calls = raw
            .calls
            .map(|calls| Ok(Calls { operation: calls.operation, count: self.formula(&calls.count)?, bytes: self.formula(&calls.bytes)? }));
        Ok(ModelPart {
            name: raw.name,
            kind: raw.kind,
            share: raw.share,
            term: self.term(raw.formula, raw.error_percent, possible)?,
            calls: calls.transpose()?,
            home_cost: raw.machine_seconds.map(|cost| self.formula(&cost)).transpose()?,
        })
    }

    fn term(
        &self,
        formula: Spanned<String>,
        error_percent: Option<Spanned<f64>>,
        possible: Option<&Spanned<String>>,
    ) -> Result<Term, Problem> {
        let formula = self.formula(&formula)?;
        let error_percent = match error_percent {
            Some(error) if !(error.get_ref().is_finite() && *error.get_ref() >= 0.0) => {
                return Err(Problem::new(error.span(), "an error is a number of percent, from 0 on"));
            }
            error => error.map(Spanned::into_inner),
        };
        let curve = possible.filter(|text| !text.get_ref().is_empty()).map(|text| self.curve(text)).transpose()?;
        Ok(Term { curve: curve.filter(|curve| curve.formula() == formula), formula, error_percent, scale: None })
    }

    fn curve(&self, text: &Spanned<String>) -> Result<Curve, Problem> {
        let wrong = |why: String| {
            let what =
                format!("these possible formulas cannot be understood ({why}); without [possible], error_percent gives the intervals");
            Problem::new(text.span(), what)
        };
        let curve: Curve = serde_json::from_str(text.get_ref()).map_err(|error| wrong(error.to_string()))?;
        if curve.is_sound(&self.names) { Ok(curve) } else { Err(wrong("they contradict themselves or the parameters".into())) }
    }

    fn formula(&self, text: &Spanned<String>) -> Result<Formula, Problem> {
        let span = text.span();
        let formula: Formula =
            text.get_ref().parse().map_err(|error| Problem::new(span.clone(), format!("this is no formula: {error}")))?;
        match formula.symbols().into_iter().find(|symbol| !self.names.contains(symbol)) {
            None => Ok(formula),
            Some(symbol) => Err(Problem::new(span, self.unknown(&symbol))),
        }
    }

    fn unknown(&self, symbol: &str) -> String {
        match self.fixed.get(symbol) {
            Some(value) => {
                format!("the formula depends on {symbol}, which is fixed at {value}: write the number, or make it a [[parameter]]")
            }
            None => format!("the formula depends on {symbol}, which is no [[parameter]]; known are: {}", self.names.join(", ")),
        }
    }
}
