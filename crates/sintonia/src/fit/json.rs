//! What was fitted, for programs.

use std::collections::BTreeMap;

use serde::Serialize;
use sintonia_fit::pieces::{Estimate, Piece};
use sintonia_model::curve::{self, Curve, Lines};
use sintonia_model::model::{Model, Parameter, Uses, Validation};
use sintonia_model::part::Kind;
use sintonia_model::term::Term;

use super::Found;
use super::recordings::record;

/// Everything that was found.
#[derive(Serialize)]
pub struct Shown<'a> {
    models: Vec<Fitted<'a>>,
    parameters: &'a [Parameter],
    fixed: &'a BTreeMap<String, f64>,
    unit: &'a str,
    uses: Uses,
    validation: Option<Validation>,
    noise_percent: f64,
    next: Option<Next>,
    notes: &'a [String],
}

/// One formula: first that of the whole, then those of its parts, then those of roles.
#[derive(Serialize)]
struct Fitted<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<Kind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<f64>,
    /// Of a whole: those of its parts and roles are the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'a str>,
    formula: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    terms: Vec<Summand>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pieces: Vec<Line>,
    error_percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calls: Option<Calls<'a>>,
}

#[derive(Serialize)]
struct Summand {
    term: String,
    coefficient: [f64; 3],
}

/// A straight line, and where it holds: up to and including `to`.
#[derive(Serialize)]
struct Line {
    from: f64,
    to: f64,
    /// Where its end may be; the last one goes on.
    to_between: Option<[f64; 2]>,
    intercept: [f64; 3],
    slope: [f64; 3],
}

#[derive(Serialize)]
struct Calls<'a> {
    operation: &'a str,
    count: String,
    bytes: String,
}

#[derive(Serialize)]
struct Next {
    parameters: BTreeMap<String, f64>,
    command: String,
}

impl<'a> Shown<'a> {
    /// Everything that was found: all formulas, and what is said of the first model.
    pub fn of(found: &'a [Found]) -> Shown<'a> {
        let Found { model, next, .. } = &found[0];
        let next = next.as_ref().map(|next| Next { parameters: next.parameters.iter().cloned().collect(), command: record(next) });
        Shown {
            models: found.iter().flat_map(|found| models(&found.model)).collect(),
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

fn models(model: &Model) -> Vec<Fitted<'_>> {
    let own = model.whole.as_ref().filter(|_| model.uses == Uses::Whole);
    let whole = Fitted {
        unit: Some(&model.quantity.unit),
        formula: model.formula().to_string(),
        error_percent: model.error_percent().or(model.whole.as_ref().and_then(|whole| whole.error_percent)),
        ..Fitted::of(&model.name, own)
    };
    let parts = model.parts.iter().map(|part| Fitted {
        kind: Some(part.kind),
        share: Some(part.share),
        calls: part.calls.as_ref().map(|calls| Calls {
            operation: &calls.operation,
            count: calls.count.to_string(),
            bytes: calls.bytes.to_string(),
        }),
        ..Fitted::of(&part.name, Some(&part.term))
    });
    let limits = model.limits.iter().map(|limit| Fitted::of(&limit.role, Some(&limit.term)));
    [whole].into_iter().chain(parts).chain(limits).collect()
}

impl<'a> Fitted<'a> {
    fn of(name: &'a str, term: Option<&'a Term>) -> Fitted<'a> {
        let curve = term.and_then(|term| term.curve.as_ref());
        Fitted {
            name,
            kind: None,
            share: None,
            unit: None,
            formula: term.map(|term| term.formula.to_string()).unwrap_or_default(),
            terms: curve.map(terms).unwrap_or_default(),
            pieces: curve.map(pieces).unwrap_or_default(),
            error_percent: term.and_then(|term| term.error_percent),
            calls: None,
        }
    }
}

fn terms(curve: &Curve) -> Vec<Summand> {
    let summand = |summand: curve::Summand| Summand { term: summand.term.to_string(), coefficient: summand.coefficient };
    curve.terms().into_iter().map(summand).collect()
}

fn pieces(curve: &Curve) -> Vec<Line> {
    let Curve::Pieces(Lines { lines, .. }) = curve else { return Vec::new() };
    let figure = |estimate: &Estimate| [estimate.low, estimate.value, estimate.high];
    let line = |(place, piece): (usize, &Piece)| Line {
        from: piece.from,
        to: piece.to,
        to_between: lines.breaks.get(place).map(|end| [end.interval.low, end.interval.high]),
        intercept: figure(&piece.intercept),
        slope: figure(&piece.slope),
    };
    lines.pieces.iter().enumerate().map(line).collect()
}
