//! What was fitted, as text.

use std::path::Path;

use sintonia_fit::pieces::Estimate;
use sintonia_formats::plot;
use sintonia_model::curve::Curve;
use sintonia_model::model::{Model, ModelPart, Uses};

use super::recordings::record;
use super::{Found, symbol};
use crate::text::{head, percent, plural, tail, wrapped};

const COLUMNS: usize = 100;
const PARTS: usize = 12;
const NAME: usize = 46;

/// Everything that was found.
pub fn show(found: &[Found], written: Option<&Path>) -> String {
    let plots = found.len() == 1;
    found.iter().map(|found| one(found, written, plots)).collect::<Vec<_>>().join("\n")
}

fn one(found: &Found, written: Option<&Path>, plots: bool) -> String {
    let drawing = if plots { drawing(&found.model) } else { Vec::new() };
    let sections =
        [title(found), pieces(&found.model), parts(&found.model), check(&found.model), drawing, remarks(found), ending(found, written)];
    let sections = sections.iter().filter(|lines| !lines.is_empty());
    sections.map(|lines| lines.iter().map(|line| format!("{}\n", line.trim_end())).collect::<String>()).collect::<Vec<_>>().join("\n")
}

fn title(found: &Found) -> Vec<String> {
    let model = &found.model;
    let ranges: Vec<String> = model.parameters.iter().map(|p| format!("{} = {} to {}", p.name, p.from, p.to)).collect();
    let fixed: String = model.fixed.iter().map(|(name, value)| format!(", {name} = {value}")).collect();
    let mut lines = vec![format!("{}: {}, {}{fixed}", model.name, found.of, ranges.join(", ")), String::new()];
    let formula = format!("{}({}) = {} {}", symbol(model), model.names().join(", "), model.formula(), model.quantity.unit);
    lines.extend(indented(&formula, 6));
    if !found.outside.is_empty() {
        lines.push(format!("  {}", found.outside));
    }
    lines
}

/// A formula over as many lines as it needs, broken between its terms.
fn indented(text: &str, hang: usize) -> Vec<String> {
    let lines = wrapped(text, COLUMNS - 2 - hang);
    lines
        .into_iter()
        .enumerate()
        .map(|(place, line)| format!("  {}{line}", if place > 0 { " ".repeat(hang) } else { String::new() }))
        .collect()
}

/// Straight lines and where each holds.
fn pieces(model: &Model) -> Vec<String> {
    let Some(Curve::Pieces(pieces)) = model.whole.as_ref().and_then(|whole| whole.curve.as_ref()) else { return Vec::new() };
    let mut lines = vec![format!("{:>24}  {:>34}  {:>34}", pieces.parameter, "at zero", "for each more")];
    for (place, piece) in pieces.lines.pieces.iter().enumerate() {
        let figure = |estimate: &Estimate| format!("{:.6e} [{:.3e}, {:.3e}]", estimate.value, estimate.low, estimate.high);
        let range = match pieces.lines.breaks.get(place) {
            Some(end) => format!("up to {} [{}, {}]", end.at, end.interval.low, end.interval.high),
            None => "beyond".into(),
        };
        lines.push(format!("{range:>24}  {:>34}  {:>34}", figure(&piece.intercept), figure(&piece.slope)));
    }
    lines
}

fn parts(model: &Model) -> Vec<String> {
    if model.parts.is_empty() {
        return Vec::new();
    }
    let shown = model.parts.len().min(PARTS);
    let more = if shown < model.parts.len() { format!(" ({shown} of {}; all with --json)", model.parts.len()) } else { String::new() };
    let title = format!("Parts of the critical path{more}");
    let mut lines = vec![format!("{title:<width$} share  error  seconds", width = NAME + 2)];
    lines.extend(model.parts.iter().take(shown).map(part));
    for limit in &model.limits {
        let name = format!("at least: {} is busy", limit.role);
        lines.push(format!("  {:<NAME$}        {:>5}  {}", tail(&name, NAME), error(limit.term.error_percent), limit.term.formula));
    }
    lines
}

fn part(part: &ModelPart) -> String {
    let calls = part.calls.as_ref().map(|calls| format!("  ({} calls, {} bytes)", calls.count, calls.bytes)).unwrap_or_default();
    let (name, share) = (tail(&part.name, NAME), percent(part.share));
    head(&format!("  {name:<NAME$} {share:>5}  {:>5}  {}{calls}", error(part.term.error_percent), part.term.formula), 160)
}

fn error(percent: Option<f64>) -> String {
    percent.map_or("?".into(), |percent| if percent < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") })
}

fn check(model: &Model) -> Vec<String> {
    if model.parts.is_empty() && model.validation.is_none() {
        let wrong = error(model.whole.as_ref().and_then(|whole| whole.error_percent));
        return vec![format!("Check: off by {wrong} on average, repetitions scatter by {}", error(Some(model.noise_percent)))];
    }
    let Some(validation) = model.validation else {
        return vec!["Check: there are too few runs to predict the largest from the others".into()];
    };
    let runs = plural(validation.runs as u64, "largest run");
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
    vec![format!("Check: the {runs}, predicted from the others: {line}")]
}

fn drawing(model: &Model) -> Vec<String> {
    let screen = plot::Screen { rows: 10, ..plot::Screen::new(COLUMNS, super::plot::letters()) };
    let text = plot::text(&plot::Plot { residuals: Vec::new(), ..super::plot::of(model) }, screen);
    text.lines().map(str::to_owned).collect()
}

fn remarks(found: &Found) -> Vec<String> {
    let mut lines: Vec<String> = found.model.notes.iter().flat_map(|note| indented(note, 2)).collect();
    if !lines.is_empty() {
        lines.insert(0, "Keep in mind".into());
    }
    lines
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
