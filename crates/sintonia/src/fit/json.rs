//! The result of a fit as JSON.

use std::collections::BTreeMap;

use serde::Serialize;
use sintonia_fit::linear_form::FormCoefficient;
use sintonia_fit::piecewise::{IntervalEstimate, LinearPiece};
use sintonia_insight::program_part::PartKind;
use sintonia_model::curve::{self, FittedCurve, PiecewiseCurve};
use sintonia_model::fitted_term::FittedTerm;
use sintonia_model::model::{HoldOutValidation, MeasuredParameter, PredictionBasis};

use super::FitResult;

/// All results.
#[derive(Serialize)]
pub(super) struct FitJson<'a> {
    models: Vec<FormulaJson<'a>>,
    parameters: &'a [MeasuredParameter],
    fixed: &'a BTreeMap<String, f64>,
    unit: &'a str,
    uses: PredictionBasis,
    validation: Option<HoldOutValidation>,
    noise_percent: f64,
    next: Option<NextRunJson>,
    notes: &'a [String],
}

/// One formula: first the total, then its parts, then roles.
#[derive(Serialize)]
struct FormulaJson<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<PartKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<f64>,
    unit: &'a str,
    formula: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    terms: Vec<TermJson>,
    /// Of a given form, by name: low, estimate, high.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    coefficients: BTreeMap<&'a str, [f64; 3]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pieces: Vec<PieceJson>,
    error_percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calls: Option<CallFormulasJson<'a>>,
    /// Of a model, not of its parts and roles.
    #[serde(flatten)]
    about: Option<ModelMetadataJson<'a>>,
}

/// What holds for all formulas of a model.
#[derive(Serialize)]
struct ModelMetadataJson<'a> {
    parameters: &'a [MeasuredParameter],
    noise_percent: f64,
    notes: &'a [String],
}

#[derive(Serialize)]
struct TermJson {
    term: String,
    coefficient: [f64; 3],
}

/// A linear piece and its range, up to and including `to`.
#[derive(Serialize)]
struct PieceJson {
    from: f64,
    to: f64,
    /// Interval of its end; none for the last one.
    to_between: Option<[f64; 2]>,
    intercept: [f64; 3],
    slope: [f64; 3],
}

#[derive(Serialize)]
struct CallFormulasJson<'a> {
    operation: &'a str,
    count: String,
    count_unit: &'static str,
    bytes: String,
    bytes_unit: &'static str,
}

#[derive(Serialize)]
struct NextRunJson {
    parameters: BTreeMap<String, f64>,
    command: String,
}

impl<'a> FitJson<'a> {
    /// All formulas, and the metadata of the first model.
    pub(super) fn new(found: &'a [FitResult]) -> FitJson<'a> {
        let FitResult { model, next, .. } = &found[0];
        let next =
            next.as_ref().map(|next| NextRunJson { parameters: next.parameters.iter().cloned().collect(), command: next.record_command() });
        FitJson {
            models: found.iter().flat_map(model_formulas).collect(),
            parameters: &model.parameters,
            fixed: &model.fixed,
            unit: &model.quantity.unit,
            uses: model.uses,
            validation: model.validation,
            noise_percent: model.noise_percent,
            next,
            notes: &model.notes,
        }
    }
}

fn model_formulas(found: &FitResult) -> Vec<FormulaJson<'_>> {
    let (model, unit) = (&found.model, found.model.quantity.unit.as_str());
    let coefficient = |one: &FormCoefficient| [one.estimate.low, one.estimate.value, one.estimate.high];
    let own = model.whole.as_ref().filter(|_| model.uses == PredictionBasis::Whole);
    let whole = FormulaJson {
        formula: model.formula().to_string(),
        coefficients: found.coefficients.iter().map(|one| (one.name.as_str(), coefficient(one))).collect(),
        error_percent: model.error_percent().or(model.whole.as_ref().and_then(|whole| whole.error_percent)),
        about: Some(ModelMetadataJson { parameters: &model.parameters, noise_percent: model.noise_percent, notes: &model.notes }),
        ..FormulaJson::new(&model.name, unit, own)
    };
    let parts = model.parts.iter().map(|part| FormulaJson {
        kind: Some(part.kind),
        share: Some(part.share),
        calls: part.calls.as_ref().map(|calls| CallFormulasJson {
            operation: &calls.operation,
            count: calls.count.to_string(),
            count_unit: "count",
            bytes: calls.bytes.to_string(),
            bytes_unit: "B",
        }),
        ..FormulaJson::new(&part.name, unit, Some(&part.term))
    });
    let limits = model.limits.iter().map(|limit| FormulaJson::new(&limit.role, unit, Some(&limit.term)));
    [whole].into_iter().chain(parts).chain(limits).collect()
}

impl<'a> FormulaJson<'a> {
    fn new(name: &'a str, unit: &'a str, term: Option<&'a FittedTerm>) -> FormulaJson<'a> {
        let curve = term.and_then(|term| term.curve.as_ref());
        FormulaJson {
            name,
            kind: None,
            share: None,
            unit,
            formula: term.map(|term| term.formula.to_string()).unwrap_or_default(),
            terms: curve.map(terms).unwrap_or_default(),
            coefficients: BTreeMap::new(),
            pieces: curve.map(pieces).unwrap_or_default(),
            error_percent: term.and_then(|term| term.error_percent),
            calls: None,
            about: None,
        }
    }
}

fn terms(curve: &FittedCurve) -> Vec<TermJson> {
    let summand = |summand: curve::FormulaTerm| TermJson { term: summand.term.to_string(), coefficient: summand.coefficient };
    curve.terms().into_iter().map(summand).collect()
}

fn pieces(curve: &FittedCurve) -> Vec<PieceJson> {
    let FittedCurve::Piecewise(PiecewiseCurve { lines, .. }) = curve else { return Vec::new() };
    let figure = |estimate: &IntervalEstimate| [estimate.low, estimate.value, estimate.high];
    let line = |(index, piece): (usize, &LinearPiece)| PieceJson {
        from: piece.from,
        to: piece.to,
        to_between: lines.breaks.get(index).map(|end| [end.interval.low, end.interval.high]),
        intercept: figure(&piece.intercept),
        slope: figure(&piece.slope),
    };
    lines.pieces.iter().enumerate().map(line).collect()
}
