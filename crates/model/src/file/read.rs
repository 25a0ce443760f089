//! Reads a model: any text gives a model, or what is wrong with it and where.

use std::collections::BTreeMap;

use serde::Deserialize;
use sintonia_formula::{Formula, ParseError};
use toml::Spanned;

use super::FORMAT;
use super::error::Problem;
use crate::curve::Curve;
use crate::machine::Home;
use crate::model::{Calls, Limit, Measured, Model, ModelPart, Parameter, Quantity, Uses, Validation};
use crate::part::Kind;
use crate::term::Term;

/// What is looked at first: other formats have other tables.
#[derive(Deserialize)]
struct Versioned {
    format: Option<Spanned<u64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "format")]
    _format: u64,
    model: Spanned<Head>,
    #[serde(default)]
    parameter: Vec<Spanned<Parameter>>,
    #[serde(default)]
    fixed: BTreeMap<String, Spanned<f64>>,
    machine: Option<RawHome>,
    whole: Option<RawTerm>,
    validation: Option<Spanned<Validation>>,
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
    error_percent: Option<Spanned<f64>>,
    uses: Option<Spanned<Uses>>,
    noise_percent: Option<Spanned<f64>>,
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
    costs: BTreeMap<String, Spanned<f64>>,
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
    share: Option<Spanned<f64>>,
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
    let wrong = |error: toml::de::Error| Problem::new(error.span().unwrap_or(0..0), error.message());
    let Versioned { format } = toml::from_str(text).map_err(wrong)?;
    let Some(format) = format else {
        return Err(Problem::new(0..0, format!("this is no model file: `format = {FORMAT}` is missing, with which one begins")));
    };
    if *format.get_ref() != FORMAT {
        let what = format!("this is a model file of format {}, and only format {FORMAT} is known", format.get_ref());
        return Err(Problem::new(format.span(), what));
    }
    let file: File = toml::from_str(text).map_err(wrong)?;
    let parameters = parameters(file.parameter)?;
    let fixed = numbers(file.fixed, "a fixed parameter", FINITE)?;
    let reader = Reader { names: parameters.iter().map(|parameter| parameter.name.clone()).collect(), fixed: &fixed };
    let parts: Vec<ModelPart> = with_possible(file.part, &file.possible.parts, |part, possible| reader.part(part, possible))?;
    let limits: Vec<Limit> = with_possible(file.limit, &file.possible.limits, |limit, possible| {
        Ok(Limit { role: limit.role, term: reader.term(limit.formula, limit.error_percent, possible)? })
    })?;
    let head_span = file.model.span();
    let head = file.model.into_inner();
    if let (None, Some(error)) = (&head.formula, &head.error_percent) {
        return Err(Problem::new(error.span(), "there is no formula here that this could be the error of: put it beside one"));
    }
    let short = head.formula.zip(Some(head.error_percent));
    let whole = reader.whole(file.whole, short, !parts.is_empty(), file.possible.whole.as_ref())?;
    let uses = head.uses.as_ref().map_or(if parts.is_empty() { Uses::Whole } else { Uses::Parts }, |uses| *uses.get_ref());
    let is_there = if uses == Uses::Parts { !parts.is_empty() } else { whole.is_some() };
    if !is_there {
        let what = "a model needs a formula: `formula` in [model] or [whole], or at least one [[part]] if it uses parts";
        return Err(Problem::new(head.uses.map_or(head_span, |uses| uses.span()), what));
    }
    let home = file.machine.map(|home| Ok(Home { name: home.name, costs: numbers(home.costs, "a cost", POSITIVE)? }));
    Ok(Model {
        name: head.name,
        quantity: Quantity { name: head.quantity, unit: head.unit },
        points: points(file.measured, parameters.len())?,
        parameters,
        parts,
        limits,
        whole,
        uses,
        home: home.transpose()?,
        noise_percent: number(head.noise_percent, "how far runs scatter", FROM_ZERO)?.unwrap_or_default(),
        validation: file.validation.map(validation).transpose()?,
        notes: head.notes,
        fixed,
    })
}

/// What a number must be: in words, and how that is found.
type Must = (&'static str, fn(f64) -> bool);

const FINITE: Must = ("a finite number", f64::is_finite);
const FROM_ZERO: Must = ("a finite number, from 0 on", |value| value.is_finite() && value >= 0.0);
const POSITIVE: Must = ("a finite number above 0", |value| value.is_finite() && value > 0.0);

/// A number that is what it must be, if it is there.
fn number(raw: Option<Spanned<f64>>, what: &str, (must, is): Must) -> Result<Option<f64>, Problem> {
    match raw {
        Some(value) if !is(*value.get_ref()) => Err(Problem::new(value.span(), format!("{what} must be {must}, not {}", value.get_ref()))),
        value => Ok(value.map(Spanned::into_inner)),
    }
}

fn numbers(raw: BTreeMap<String, Spanned<f64>>, what: &str, must: Must) -> Result<BTreeMap<String, f64>, Problem> {
    let checked = |(name, value)| Ok((name, number(Some(value), what, must)?.unwrap_or_default()));
    raw.into_iter().map(checked).collect()
}

fn validation(raw: Spanned<Validation>) -> Result<Validation, Problem> {
    let (must, is) = FROM_ZERO;
    let own = raw.get_ref();
    match own.parts_error_percent.into_iter().chain([own.whole_error_percent]).find(|error| !is(*error)) {
        Some(error) => Err(Problem::new(raw.span(), format!("an error in percent must be {must}, not {error}"))),
        None => Ok(raw.into_inner()),
    }
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
            share: number(raw.share, "a share", FROM_ZERO)?.unwrap_or_default(),
            term: self.term(raw.formula, raw.error_percent, possible)?,
            calls: calls.transpose()?,
            home_cost: raw.machine_seconds.map(|cost| self.formula(&cost)).transpose()?,
        })
    }

    /// The formula of the whole: in a table of its own, or, where there is nothing else, in [model].
    fn whole(
        &self,
        whole: Option<RawTerm>,
        short: Option<(Spanned<String>, Option<Spanned<f64>>)>,
        has_parts: bool,
        possible: Option<&Spanned<String>>,
    ) -> Result<Option<Term>, Problem> {
        match (whole, short) {
            (Some(_), Some((second, _))) => {
                Err(Problem::new(second.span(), "there are two formulas of the whole: leave one out, here or in [whole]"))
            }
            (None, Some((second, _))) if has_parts => {
                Err(Problem::new(second.span(), "the parts make the formula: leave this one out, or put it into [whole] and set `uses`"))
            }
            (Some(whole), None) => self.term(whole.formula, whole.error_percent, possible).map(Some),
            (None, Some((formula, error))) => self.term(formula, error, None).map(Some),
            (None, None) => Ok(None),
        }
    }

    fn term(
        &self,
        formula: Spanned<String>,
        error_percent: Option<Spanned<f64>>,
        possible: Option<&Spanned<String>>,
    ) -> Result<Term, Problem> {
        let formula = self.formula(&formula)?;
        let error_percent = number(error_percent, "an error in percent", FROM_ZERO)?;
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
        let formula: Formula = text.get_ref().parse().map_err(|error: ParseError| {
            // Between two quotation marks without anything escaped, the place inside is known.
            let is_plain = span.len() == text.get_ref().len() + 2;
            let place = if is_plain { span.start + 1 + error.at..span.start + 2 + error.at } else { span.clone() };
            Problem::new(place, format!("this is no formula: {}", error.expected))
        })?;
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
