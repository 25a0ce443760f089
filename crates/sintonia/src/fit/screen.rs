//! What was fitted, as text.

use std::path::Path;

use sintonia_fit::pieces::{Estimate, Piece};
use sintonia_model::curve::{Curve, Lines};
use sintonia_model::model::{Calls, Model, Uses};

use super::page::{Column, amount, drawing, figure, hanging, number, page, remarks, table};
use super::recordings::record;
use super::{Found, symbol};
use crate::text::{head, percent, plural, tail};

const PARTS: usize = 12;
const NAME: usize = 46;
const FORMULA: usize = 70;

/// Everything that was found.
pub fn show(found: &[Found], written: Option<&Path>) -> String {
    let plots = found.len() == 1;
    found.iter().map(|found| one(found, written, plots)).collect::<Vec<_>>().join("\n")
}

fn one(found: &Found, written: Option<&Path>, plots: bool) -> String {
    let model = &found.model;
    let drawn = if plots { super::plot::of(model).map(drawing).unwrap_or_default() } else { Vec::new() };
    page([title(found), parts(model), check(model), drawn, remarks(&model.notes), ending(found, written)])
}

fn title(found: &Found) -> Vec<String> {
    let model = &found.model;
    let ranges: Vec<String> = model.parameters.iter().map(|p| format!("{} = {} to {}", p.name, p.from, p.to)).collect();
    let fixed: String = model.fixed.iter().map(|(name, value)| format!(", {name} = {value}")).collect();
    let mut lines = vec![format!("{}: {}, {}{fixed}", model.name, found.of, ranges.join(", ")), String::new()];
    lines.extend(match model.whole.as_ref().and_then(|whole| whole.curve.as_ref()) {
        Some(Curve::Pieces(pieces)) => straight_lines(model, pieces),
        _ => hanging(&format!("{}({}) = {:.4} {}", symbol(model), model.names().join(", "), model.formula(), model.quantity.unit), 6),
    });
    if !found.outside.is_empty() {
        lines.push(format!("  {}", found.outside));
    }
    lines
}

/// Straight lines, where each holds, and how sure its two numbers are.
fn straight_lines(model: &Model, Lines { parameter, lines }: &Lines) -> Vec<String> {
    let unit = model.quantity.unit.as_str();
    let each = |show: &dyn Fn(usize, &Piece) -> String| lines.pieces.iter().enumerate().map(|(place, piece)| show(place, piece)).collect();
    let sure = |estimate: &Estimate| figure([estimate.low, estimate.value, estimate.high], &|value| amount(value, unit));
    let range = |place: usize| match lines.breaks.get(place) {
        Some(end) => format!("up to {}", figure([end.interval.low, end.at, end.interval.high], &number)),
        None if place == 0 => "everywhere".into(),
        None => "beyond".into(),
    };
    let formula = |piece: &Piece| {
        let (sign, intercept) = if piece.intercept.value < 0.0 { ('-', -piece.intercept.value) } else { ('+', piece.intercept.value) };
        format!("{}({parameter}) = {:.6e}*{parameter} {sign} {intercept:.6e} {unit}", symbol(model), piece.slope.value)
    };
    let ranges: Vec<String> = each(&|place, _| range(place));
    let formulas = table([Column::texts("", each(&|_, piece| formula(piece))), Column::texts("", ranges.clone())]);
    let numbers = table([
        Column::texts(parameter.as_str(), ranges),
        Column::texts("at zero", each(&|_, piece| sure(&piece.intercept))),
        Column::texts(format!("for each {parameter}"), each(&|_, piece| sure(&piece.slope))),
    ]);
    [&formulas[1..], &[String::new()], &numbers].concat()
}

fn parts(model: &Model) -> Vec<String> {
    if model.parts.is_empty() {
        return Vec::new();
    }
    let shown = &model.parts[..model.parts.len().min(PARTS)];
    let more = if shown.len() < model.parts.len() { format!(" ({} of {})", shown.len(), model.parts.len()) } else { String::new() };
    let roles = || model.limits.iter();
    let names = shown.iter().map(|part| part.name.clone()).chain(roles().map(|limit| format!("at least: {} is busy", limit.role)));
    let terms = || shown.iter().map(|part| &part.term).chain(roles().map(|limit| &limit.term));
    let calls = |of: &dyn Fn(&Calls) -> String| shown.iter().map(|part| part.calls.as_ref().map(of).unwrap_or_default()).collect();
    table([
        Column::texts(format!("Parts of the critical path{more}"), names.map(|name| tail(&name, NAME)).collect()),
        Column::numbers("share", shown.iter().map(|part| percent(part.share)).collect()),
        Column::numbers("error", terms().map(|term| error(term.error_percent)).collect()),
        Column::texts(model.quantity.unit.as_str(), terms().map(|term| head(&format!("{:.4}", term.formula), FORMULA)).collect()),
        Column::texts("calls", calls(&|calls| calls.count.to_string())),
        Column::texts("bytes", calls(&|calls| format!("{:.4}", calls.bytes))),
    ])
}

fn error(percent: Option<f64>) -> String {
    percent.map_or("?".into(), |percent| if percent < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") })
}

/// How far the model is off, and what that was found by.
fn check(model: &Model) -> Vec<String> {
    let Some(validation) = model.validation else {
        let scatter = format!("single values scatter by {}", error(Some(model.noise_percent)));
        return match model.whole.as_ref().filter(|_| model.parts.is_empty()) {
            Some(whole) => vec![format!("Check: {} by {} on average; {scatter}", how(whole.curve.as_ref()), error(whole.error_percent))],
            None => vec!["Check: there are too few runs to predict the largest from the others".into()],
        };
    };
    let runs = if validation.runs == 1 { "largest run".into() } else { plural(validation.runs as u64, "largest run") };
    let whole = error(Some(validation.whole_error_percent));
    let parts = validation.parts_error_percent.map(|parts| error(Some(parts)));
    let line = match (model.uses, parts) {
        (Uses::Whole, Some(parts)) => {
            format!("off by {whole} with the formula of the whole, which is used; {parts} with the sum of the parts")
        }
        (Uses::Parts, Some(parts)) => {
            format!("off by {parts} with the sum of the parts, which is used; {whole} with one formula of the whole")
        }
        (_, None) => format!("off by {whole}"),
    };
    hanging(&format!("Check: the {runs}, predicted from the others: {line}"), 0).iter().map(|line| line.trim().to_owned()).collect()
}

/// What the error of a formula says.
fn how(curve: Option<&Curve>) -> &'static str {
    match curve {
        Some(Curve::Scaling(model)) if model.error_percent.validated.is_some() => "the largest, predicted from the others, are off",
        _ => "what was measured is off",
    }
}

fn ending(found: &Found, written: Option<&Path>) -> Vec<String> {
    let next = found.next.iter().map(|next| format!("The run that would tell most: {}", record(next)));
    let point = found
        .model
        .parameters
        .iter()
        .map(|p| if p.name == "p" { format!("--procs {}", 2.0 * p.to) } else { format!("-p {}={}", p.name, 4.0 * p.to) });
    let predict = written.map(|path| format!("To predict: sintonia predict {} {}", path.display(), point.collect::<Vec<_>>().join(" ")));
    next.chain(predict).collect()
}
