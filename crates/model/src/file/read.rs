//! Reads model files: any text gives a model, or an error with its position.

use std::collections::BTreeMap;

use serde::Deserialize;
use sintonia_formula::{Formula, ParseError};
use toml::Spanned;

use super::FORMAT;
use super::error::ModelFileProblem;
use crate::curve::FittedCurve;
use crate::fitted_term::FittedTerm;
use crate::machine_change::ReferenceMachine;
use crate::model::{
    CallFormulas, HoldOutValidation, MeasuredParameter, MeasuredSetting, ModelPart, ModelledQuantity, PerformanceModel, PredictionBasis,
    RoleLimit,
};
use crate::program_part::PartKind;

/// Read first, because other formats have other tables.
#[derive(Deserialize)]
struct FormatHeader {
    format: Option<Spanned<u64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawModelFile {
    #[serde(rename = "format")]
    _format: u64,
    model: Spanned<RawModelHeader>,
    #[serde(default)]
    parameter: Vec<Spanned<MeasuredParameter>>,
    #[serde(default)]
    fixed: BTreeMap<String, Spanned<f64>>,
    machine: Option<RawReferenceMachine>,
    whole: Option<RawTerm>,
    validation: Option<Spanned<HoldOutValidation>>,
    #[serde(default)]
    part: Vec<RawPart>,
    #[serde(default)]
    limit: Vec<RawLimit>,
    measured: Option<RawPoints>,
    #[serde(default)]
    possible: RawAlternatives,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawModelHeader {
    name: String,
    #[serde(default = "default_quantity")]
    quantity: String,
    #[serde(default = "default_unit")]
    unit: String,
    formula: Option<Spanned<String>>,
    error_percent: Option<Spanned<f64>>,
    uses: Option<Spanned<PredictionBasis>>,
    noise_percent: Option<Spanned<f64>>,
    #[serde(default)]
    notes: Vec<String>,
}

fn default_quantity() -> String {
    "time".into()
}

fn default_unit() -> String {
    "s".into()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawReferenceMachine {
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
    kind: PartKind,
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
struct RawPoints {
    points: Vec<Spanned<Vec<f64>>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawAlternatives {
    whole: Option<Spanned<String>>,
    parts: Vec<Spanned<String>>,
    limits: Vec<Spanned<String>>,
}

/// Parses a model.
pub(super) fn parse_model(text: &str) -> Result<PerformanceModel, ModelFileProblem> {
    let wrong = |error: toml::de::Error| ModelFileProblem::new(error.span().unwrap_or(0..0), error.message());
    let FormatHeader { format } = toml::from_str(text).map_err(wrong)?;
    let Some(format) = format else {
        return Err(ModelFileProblem::new(0..0, format!("this is not a model file: it must begin with `format = {FORMAT}`")));
    };
    if *format.get_ref() != FORMAT {
        let what = format!("model file format {} is not supported, only format {FORMAT} is", format.get_ref());
        return Err(ModelFileProblem::new(format.span(), what));
    }
    let file: RawModelFile = toml::from_str(text).map_err(wrong)?;
    let parameters = check_parameters(file.parameter)?;
    let fixed = check_numbers(file.fixed, "a fixed parameter", FINITE)?;
    let reader = FormulaReader { parameter_names: parameters.iter().map(|parameter| parameter.name.clone()).collect(), fixed: &fixed };
    let parts: Vec<ModelPart> = with_alternatives(file.part, &file.possible.parts, |part, possible| reader.part(part, possible))?;
    let limits: Vec<RoleLimit> = with_alternatives(file.limit, &file.possible.limits, |limit, possible| {
        Ok(RoleLimit { role: limit.role, term: reader.term(limit.formula, limit.error_percent, possible)? })
    })?;
    let head_span = file.model.span();
    let head = file.model.into_inner();
    if let (None, Some(error)) = (&head.formula, &head.error_percent) {
        return Err(ModelFileProblem::new(error.span(), "error_percent needs a formula: put it next to one"));
    }
    let short = head.formula.zip(Some(head.error_percent));
    let whole = reader.whole(file.whole, short, !parts.is_empty(), file.possible.whole.as_ref())?;
    let uses =
        head.uses.as_ref().map_or(if parts.is_empty() { PredictionBasis::Whole } else { PredictionBasis::Parts }, |uses| *uses.get_ref());
    let is_there = if uses == PredictionBasis::Parts { !parts.is_empty() } else { whole.is_some() };
    if !is_there {
        let what = "a model needs a formula: `formula` in [model] or [whole], or at least one [[part]] if it uses parts";
        return Err(ModelFileProblem::new(head.uses.map_or(head_span, |uses| uses.span()), what));
    }
    let home = file.machine.map(|home| Ok(ReferenceMachine { name: home.name, costs: check_numbers(home.costs, "a cost", POSITIVE)? }));
    Ok(PerformanceModel {
        name: head.name,
        quantity: ModelledQuantity { name: head.quantity, unit: head.unit },
        points: check_points(file.measured, parameters.len())?,
        parameters,
        parts,
        limits,
        whole,
        uses,
        reference_machine: home.transpose()?,
        noise_percent: check_number(head.noise_percent, "the noise of runs", FROM_ZERO)?.unwrap_or_default(),
        validation: file.validation.map(check_validation).transpose()?,
        notes: head.notes,
        fixed,
    })
}

/// A constraint on a number: its description and its check.
type NumberRule = (&'static str, fn(f64) -> bool);

const FINITE: NumberRule = ("a finite number", f64::is_finite);
const FROM_ZERO: NumberRule = ("a finite number, from 0 on", |value| value.is_finite() && value >= 0.0);
const POSITIVE: NumberRule = ("a finite number above 0", |value| value.is_finite() && value > 0.0);

/// Checks a number, if it is there.
fn check_number(raw: Option<Spanned<f64>>, what: &str, (must, is): NumberRule) -> Result<Option<f64>, ModelFileProblem> {
    match raw {
        Some(value) if !is(*value.get_ref()) => {
            Err(ModelFileProblem::new(value.span(), format!("{what} must be {must}, not {}", value.get_ref())))
        }
        value => Ok(value.map(Spanned::into_inner)),
    }
}

fn check_numbers(raw: BTreeMap<String, Spanned<f64>>, what: &str, must: NumberRule) -> Result<BTreeMap<String, f64>, ModelFileProblem> {
    let checked = |(name, value)| Ok((name, check_number(Some(value), what, must)?.unwrap_or_default()));
    raw.into_iter().map(checked).collect()
}

fn check_validation(raw: Spanned<HoldOutValidation>) -> Result<HoldOutValidation, ModelFileProblem> {
    let (must, is) = FROM_ZERO;
    let own = raw.get_ref();
    match own.parts_error_percent.into_iter().chain([own.whole_error_percent]).find(|error| !is(*error)) {
        Some(error) => Err(ModelFileProblem::new(raw.span(), format!("an error in percent must be {must}, not {error}"))),
        None => Ok(raw.into_inner()),
    }
}

/// Reads terms with their alternative formulas, if there are any.
fn with_alternatives<Raw, Out>(
    raw: Vec<Raw>,
    possible: &[Spanned<String>],
    mut read: impl FnMut(Raw, Option<&Spanned<String>>) -> Result<Out, ModelFileProblem>,
) -> Result<Vec<Out>, ModelFileProblem> {
    // If terms were added or removed by hand, the alternatives can no longer be assigned.
    let possible = if possible.len() == raw.len() { possible } else { &[] };
    raw.into_iter().enumerate().map(|(place, raw)| read(raw, possible.get(place))).collect()
}

fn check_parameters(raw: Vec<Spanned<MeasuredParameter>>) -> Result<Vec<MeasuredParameter>, ModelFileProblem> {
    let mut parameters: Vec<MeasuredParameter> = Vec::new();
    for parameter in raw {
        let span = parameter.span();
        let parameter = parameter.into_inner();
        if parameters.iter().any(|other| other.name == parameter.name) {
            return Err(ModelFileProblem::new(span, format!("duplicate parameter {}", parameter.name)));
        }
        if !(parameter.from > 0.0 && parameter.from <= parameter.to && parameter.to.is_finite()) {
            let (from, to) = (parameter.from, parameter.to);
            return Err(ModelFileProblem::new(
                span,
                format!("{} cannot range from {from} to {to}: both must be positive, and `from` must not exceed `to`", parameter.name),
            ));
        }
        parameters.push(parameter);
    }
    Ok(parameters)
}

fn check_points(raw: Option<RawPoints>, parameters: usize) -> Result<Vec<MeasuredSetting>, ModelFileProblem> {
    let point = |point: Spanned<Vec<f64>>| {
        let span = point.span();
        let mut at = point.into_inner();
        if at.len() != parameters + 1 || at.iter().any(|number| !number.is_finite()) {
            let what = format!("a point needs {parameters} parameter values and one measured value, all finite");
            return Err(ModelFileProblem::new(span, what));
        }
        let value = at.pop().unwrap_or_default();
        Ok(MeasuredSetting { at, value })
    };
    raw.map_or(Ok(Vec::new()), |raw| raw.points.into_iter().map(point).collect())
}

/// The parameters that formulas may depend on.
struct FormulaReader<'a> {
    parameter_names: Vec<String>,
    fixed: &'a BTreeMap<String, f64>,
}

impl FormulaReader<'_> {
    fn part(&self, raw: RawPart, possible: Option<&Spanned<String>>) -> Result<ModelPart, ModelFileProblem> {
        let calls = raw.calls.map(|calls| {
            Ok(CallFormulas { operation: calls.operation, count: self.formula(&calls.count)?, bytes: self.formula(&calls.bytes)? })
        });
        Ok(ModelPart {
            name: raw.name,
            kind: raw.kind,
            share: check_number(raw.share, "a share", FROM_ZERO)?.unwrap_or_default(),
            term: self.term(raw.formula, raw.error_percent, possible)?,
            calls: calls.transpose()?,
            reference_cost: raw.machine_seconds.map(|cost| self.formula(&cost)).transpose()?,
        })
    }

    /// The formula of the total: in a table of its own, or in [model] if there is nothing else.
    fn whole(
        &self,
        whole: Option<RawTerm>,
        short: Option<(Spanned<String>, Option<Spanned<f64>>)>,
        has_parts: bool,
        possible: Option<&Spanned<String>>,
    ) -> Result<Option<FittedTerm>, ModelFileProblem> {
        match (whole, short) {
            (Some(_), Some((second, _))) => {
                Err(ModelFileProblem::new(second.span(), "there are two formulas of the total: remove one, here or in [whole]"))
            }
            (None, Some((second, _))) if has_parts => Err(ModelFileProblem::new(
                second.span(),
                "the parts define the formula: remove this one, or move it to [whole] and set `uses`",
            )),
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
    ) -> Result<FittedTerm, ModelFileProblem> {
        let formula = self.formula(&formula)?;
        let error_percent = check_number(error_percent, "an error in percent", FROM_ZERO)?;
        let curve = possible.filter(|text| !text.get_ref().is_empty()).map(|text| self.curve(text)).transpose()?;
        Ok(FittedTerm { curve: curve.filter(|curve| curve.formula() == formula), formula, error_percent, scale: None })
    }

    fn curve(&self, text: &Spanned<String>) -> Result<FittedCurve, ModelFileProblem> {
        let wrong = |why: String| {
            let what = format!("these alternative formulas are invalid ({why}); without [possible], error_percent gives the intervals");
            ModelFileProblem::new(text.span(), what)
        };
        let curve: FittedCurve = serde_json::from_str(text.get_ref()).map_err(|error| wrong(error.to_string()))?;
        if curve.is_valid(&self.parameter_names) {
            Ok(curve)
        } else {
            Err(wrong("they are inconsistent with themselves or with the parameters".into()))
        }
    }

    fn formula(&self, text: &Spanned<String>) -> Result<Formula, ModelFileProblem> {
        let span = text.span();
        let formula: Formula = text.get_ref().parse().map_err(|error: ParseError| {
            // In a plain string without escapes, the position inside is known.
            let is_plain = span.len() == text.get_ref().len() + 2;
            let place = if is_plain { span.start + 1 + error.offset..span.start + 2 + error.offset } else { span.clone() };
            ModelFileProblem::new(place, format!("invalid formula: {}", error.kind))
        })?;
        match formula.symbols().into_iter().find(|symbol| !self.parameter_names.contains(symbol)) {
            None => Ok(formula),
            Some(symbol) => Err(ModelFileProblem::new(span, self.unknown_symbol(&symbol))),
        }
    }

    fn unknown_symbol(&self, symbol: &str) -> String {
        match self.fixed.get(symbol) {
            Some(value) => {
                format!("the formula depends on {symbol}, which is fixed at {value}: write the number instead, or make it a [[parameter]]")
            }
            None => format!(
                "the formula depends on {symbol}, which is not a [[parameter]]; the parameters are: {}",
                self.parameter_names.join(", ")
            ),
        }
    }
}
