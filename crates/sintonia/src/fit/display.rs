//! Prints the result of a fit as text.

use std::path::Path;

use sintonia_fit::piecewise::{IntervalEstimate, LinearPiece};
use sintonia_fit::quantity_kind::QuantityKind;
use sintonia_model::curve::{FittedCurve, PiecewiseCurve};
use sintonia_model::model::{CallFormulas, MeasuredParameter, PerformanceModel, PredictionBasis};
use sintonia_model::run::RANKS_PARAMETER;

use super::{FitResult, quantity_symbol};
use crate::text::{format_percent, format_plural, truncate_end, truncate_start};
use crate::text_layout::{
    TextColumn, estimate_text, hanging_indent, join_sections, remarks, render_plot, render_table, short_number, with_unit,
};

const MAX_PARTS: usize = 12;
/// Intervals that are wider by less look the same.
const SHOWN_WIDENING: f64 = 1.05;
/// More series than this are shown as one table.
const MAX_SHOWN_SERIES: usize = 6;
const NAME_WIDTH: usize = 46;
const FORMULA_WIDTH: usize = 70;

/// All results.
pub(super) fn render(found: &[FitResult], written: Option<&Path>) -> String {
    if found.len() > MAX_SHOWN_SERIES {
        return join_sections([series_section(found), series_remarks(found), next_steps(&found[0], written)]);
    }
    let plots = found.len() == 1;
    found.iter().map(|found| render_one(found, written, plots)).collect::<Vec<_>>().join("\n")
}

/// One line for each series.
fn series_section(found: &[FitResult]) -> Vec<String> {
    let each = |show: &dyn Fn(&PerformanceModel) -> String| found.iter().map(|found| show(&found.model)).collect();
    let formula = |model: &PerformanceModel| format!("{:.4} {}", model.formula(), model.quantity.unit);
    let error = |model: &PerformanceModel| error_text(model.whole.as_ref().and_then(|whole| whole.error_percent));
    let mut lines = vec![format!("{}, {}", format_plural(found.len() as u64, "model"), ranges_text(&found[0].model)), String::new()];
    lines.extend(render_table([
        TextColumn::left("Series", each(&|model| truncate_start(&model.name, NAME_WIDTH))),
        TextColumn::right("error", each(&error)),
        TextColumn::left("formula", each(&|model| truncate_end(formula(model).trim_end(), FORMULA_WIDTH))),
    ]));
    lines
}

/// The remarks about all series, each with the name of its own.
fn series_remarks(found: &[FitResult]) -> Vec<String> {
    let named = |found: &FitResult| found.model.notes.iter().map(|note| format!("{}: {note}", found.model.name)).collect::<Vec<_>>();
    remarks(&found.iter().flat_map(named).collect::<Vec<String>>())
}

/// The measured range of each parameter, and what it is.
fn ranges_text(model: &PerformanceModel) -> String {
    let kind = |parameter: &MeasuredParameter| match parameter.kind {
        QuantityKind::Unknown => String::new(),
        _ if parameter.name == RANKS_PARAMETER => String::new(),
        kind => format!(" ({})", kind.word()),
    };
    let ranges = model.parameters.iter().map(|p| format!("{} = {} to {}{}", p.name, p.from, p.to, kind(p)));
    ranges.collect::<Vec<_>>().join(", ")
}

fn render_one(found: &FitResult, written: Option<&Path>, plots: bool) -> String {
    let model = &found.model;
    let drawn = if plots { super::plot::plot_model(model).map(render_plot).unwrap_or_default() } else { Vec::new() };
    join_sections([
        title_section(found),
        coefficients_section(found),
        parts_section(model),
        validation_section(model),
        drawn,
        remarks(&model.notes),
        next_steps(found, written),
    ])
}

fn title_section(found: &FitResult) -> Vec<String> {
    let model = &found.model;
    let fixed: String = model.fixed.iter().map(|(name, value)| format!(", {name} = {value}")).collect();
    let mut lines = vec![format!("{}: {}, {}{fixed}", model.name, found.input_summary, ranges_text(model)), String::new()];
    lines.extend(match model.whole.as_ref().and_then(|whole| whole.curve.as_ref()) {
        Some(FittedCurve::Piecewise(pieces)) => piecewise_section(model, pieces),
        _ => hanging_indent(
            &format!("{}({}) = {:.4} {}", quantity_symbol(model), model.parameter_names().join(", "), model.formula(), model.quantity.unit),
            6,
        ),
    });
    if !found.excluded_time.is_empty() {
        lines.push(format!("  {}", found.excluded_time));
    }
    lines
}

/// The coefficients of a given form, each with its interval and the product that it multiplies.
fn coefficients_section(found: &FitResult) -> Vec<String> {
    let Some(curve) = found.model.whole.as_ref().and_then(|whole| whole.curve.as_ref()) else { return Vec::new() };
    let (terms, unit) = (curve.terms(), found.model.quantity.unit.as_str());
    let estimate = |one: &IntervalEstimate| Some([one.low, one.value, one.high]);
    let estimates: Vec<_> = found.coefficients.iter().map(|one| estimate(&one.estimate)).collect();
    render_table([
        TextColumn::left("Coefficient", found.coefficients.iter().map(|one| one.name.clone()).collect()),
        TextColumn::estimates("estimate", &estimates, &|value| with_unit(value, unit)),
        TextColumn::left("times", found.coefficients.iter().map(|one| terms[one.term].term.to_string()).collect()),
    ])
}

/// The pieces with their ranges, and the intervals of slope and intercept.
fn piecewise_section(model: &PerformanceModel, PiecewiseCurve { parameter, lines }: &PiecewiseCurve) -> Vec<String> {
    let unit = model.quantity.unit.as_str();
    let each =
        |show: &dyn Fn(usize, &LinearPiece) -> String| lines.pieces.iter().enumerate().map(|(index, piece)| show(index, piece)).collect();
    let sure = |estimate: &IntervalEstimate| estimate_text([estimate.low, estimate.value, estimate.high], &|value| with_unit(value, unit));
    let range = |index: usize| match lines.breaks.get(index) {
        Some(end) => format!("up to {}", estimate_text([end.interval.low, end.at, end.interval.high], &short_number)),
        None if index == 0 => "everywhere".into(),
        None => "beyond".into(),
    };
    let formula = |piece: &LinearPiece| {
        let (sign, intercept) = if piece.intercept.value < 0.0 { ('-', -piece.intercept.value) } else { ('+', piece.intercept.value) };
        format!("{}({parameter}) = {:.6e}*{parameter} {sign} {intercept:.6e} {unit}", quantity_symbol(model), piece.slope.value)
    };
    let ranges: Vec<String> = each(&|index, _| range(index));
    let formulas = render_table([TextColumn::left("", each(&|_, piece| formula(piece))), TextColumn::left("", ranges.clone())]);
    let numbers = render_table([
        TextColumn::left(parameter.as_str(), ranges),
        TextColumn::left("intercept", each(&|_, piece| sure(&piece.intercept))),
        TextColumn::left(format!("per {parameter}"), each(&|_, piece| sure(&piece.slope))),
    ]);
    [&formulas[1..], &[String::new()], &numbers].concat()
}

fn parts_section(model: &PerformanceModel) -> Vec<String> {
    if model.parts.is_empty() {
        return Vec::new();
    }
    let shown = &model.parts[..model.parts.len().min(MAX_PARTS)];
    let more = if shown.len() < model.parts.len() { format!(" ({} of {})", shown.len(), model.parts.len()) } else { String::new() };
    let roles = || model.limits.iter();
    let names = shown.iter().map(|part| part.name.clone()).chain(roles().map(|limit| format!("at least: {} busy", limit.role)));
    let terms = || shown.iter().map(|part| &part.term).chain(roles().map(|limit| &limit.term));
    let calls = |of: &dyn Fn(&CallFormulas) -> String| shown.iter().map(|part| part.calls.as_ref().map(of).unwrap_or_default()).collect();
    render_table([
        TextColumn::left(format!("Parts of the critical path{more}"), names.map(|name| truncate_start(&name, NAME_WIDTH)).collect()),
        TextColumn::right("share", shown.iter().map(|part| format_percent(part.share)).collect()),
        TextColumn::right("error", terms().map(|term| error_text(term.error_percent)).collect()),
        TextColumn::left(
            model.quantity.unit.as_str(),
            terms().map(|term| truncate_end(&format!("{:.4}", term.formula), FORMULA_WIDTH)).collect(),
        ),
        TextColumn::left("calls", calls(&|calls| calls.count.to_string())),
        TextColumn::left("bytes", calls(&|calls| format!("{:.4}", calls.bytes))),
    ])
}

fn error_text(percent: Option<f64>) -> String {
    percent.map_or("?".into(), |percent| if percent < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") })
}

/// The error of the model, and how it was determined.
fn validation_section(model: &PerformanceModel) -> Vec<String> {
    let Some(validation) = model.validation else {
        let scatter = format!("spread of single values: {}", error_text(Some(model.noise_percent)));
        return match model.whole.as_ref().filter(|_| model.parts.is_empty()) {
            Some(whole) => {
                vec![format!(
                    "Validation: {}: {} on average; {scatter}",
                    error_meaning(whole.curve.as_ref()),
                    error_text(whole.error_percent)
                )]
            }
            None => vec!["Validation: too few runs to predict the largest from the others".into()],
        };
    };
    let runs = if validation.runs == 1 { "largest run".into() } else { format_plural(validation.runs as u64, "largest run") };
    let whole = error_text(Some(validation.whole_error_percent));
    let parts = validation.parts_error_percent.map(|parts| error_text(Some(parts)));
    let line = match (model.uses, parts) {
        (PredictionBasis::Whole, Some(parts)) => {
            format!("error {whole} with the formula of the total (used), {parts} with the sum of the parts")
        }
        (PredictionBasis::Parts, Some(parts)) => {
            format!("error {parts} with the sum of the parts (used), {whole} with one formula of the total")
        }
        (_, None) => format!("error {whole}"),
    };
    let widening = match model.interval_widening() {
        widening if widening >= SHOWN_WIDENING => {
            format!(
                "; most of them are outside of their interval, so intervals are made {widening:.1} times as wide (on a logarithmic scale)"
            )
        }
        _ => String::new(),
    };
    hanging_indent(&format!("Validation: the {runs}, predicted from the others: {line}{widening}"), 0)
        .iter()
        .map(|line| line.trim().to_owned())
        .collect()
}

/// How the error of a formula was determined.
fn error_meaning(curve: Option<&FittedCurve>) -> &'static str {
    match curve {
        Some(FittedCurve::Scaling(model)) if model.error_percent.validated.is_some() => {
            "error of the largest values, predicted from the others"
        }
        _ => "error at the measured values",
    }
}

fn next_steps(found: &FitResult, written: Option<&Path>) -> Vec<String> {
    let next = found.next.iter().map(|next| format!("Most informative next run: {}", next.record_command()));
    let point = found
        .model
        .parameters
        .iter()
        .map(|p| if p.name == "p" { format!("--procs {}", 2.0 * p.to) } else { format!("-p {}={}", p.name, 4.0 * p.to) });
    let predict = written.map(|path| format!("To predict: sintonia predict {} {}", path.display(), point.collect::<Vec<_>>().join(" ")));
    next.chain(predict).collect()
}
