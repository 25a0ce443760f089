//! Prints predictions from source as text.

use sintonia_model::predict::EstimateRange;
use sintonia_pamela::compile::BranchShare;
use sintonia_pamela::estimate::AllocationPolicy;

use super::{SourcePredictionRow, SourcePredictions};
use crate::text::{format_percent, format_plural, format_seconds, truncate_end};
use crate::text_layout::{TextColumn, estimate_text, hanging_indent, join_sections, remarks, render_plot, render_table, short_number};

/// With more settings than this, only the first and the last are explained.
const MAX_EXPLAINED: usize = 3;
/// The maximum number of listed operations.
const MAX_OPERATIONS: usize = 8;
/// Longer formulas are truncated.
const MAX_FORMULA_WIDTH: usize = 400;
/// Formulas with more operations are not printed at all.
const MAX_FORMULA_SIZE: u64 = 2_000;

/// All predictions.
pub(super) fn render(predictions: &SourcePredictions, explain: bool) -> String {
    let mut sections = vec![title_section(predictions), row_section(predictions), best_section(predictions), dominant_section(predictions)];
    if explain {
        sections.push(expression_section(predictions));
        sections.extend(explained_rows(&predictions.rows).into_iter().map(explanation_section));
    }
    let is_sweep = predictions.rows.len() > 1;
    sections.extend([
        if is_sweep { render_plot(super::plot::plot_predictions(predictions)) } else { Vec::new() },
        remarks(&source_remarks(predictions)),
    ]);
    join_sections(sections)
}

/// T as a formula, if it is readable.
pub(super) fn time_formula(predictions: &SourcePredictions) -> String {
    let time = &predictions.closed_forms.time;
    if time.size() > MAX_FORMULA_SIZE { format!("(a formula of {} operations)", time.size()) } else { time.to_string() }
}

fn title_section(predictions: &SourcePredictions) -> Vec<String> {
    let mut lines = vec![format!("{}: predicted time on {}", predictions.name, predictions.machine), String::new()];
    lines.extend(hanging_indent(&truncate_end(&format!("T = {}", time_formula(predictions)), MAX_FORMULA_WIDTH), 6));
    lines
}

fn row_section(predictions: &SourcePredictions) -> Vec<String> {
    let rows = &predictions.rows;
    let names = rows.first().map(|row| row.parameters.keys().collect::<Vec<_>>()).unwrap_or_default();
    let parameter =
        |name: &String| TextColumn::right(truncate_end(name, 16), rows.iter().map(|row| short_number(row.parameters[name])).collect());
    let figures = |head: &str, of: &dyn Fn(&SourcePredictionRow) -> EstimateRange, show: &dyn Fn(f64) -> String| {
        TextColumn::estimates(head, &rows.iter().map(|row| Some(of(row))).collect::<Vec<_>>(), show)
    };
    render_table(names.into_iter().map(parameter).chain([
        TextColumn::right("processes", rows.iter().map(|row| row.processes.to_string()).collect()),
        figures("time", &|row| row.estimate.seconds, &format_seconds),
        figures("speed-up", &|row| row.speedup, &|value| format!("{value:.2}")),
        figures("efficiency", &SourcePredictionRow::efficiency, &format_percent),
        TextColumn::left("dominated by", rows.iter().map(|row| truncate_end(&row.estimate.limiting_term.to_string(), 24)).collect()),
    ]))
}

fn count_processes(number: u64) -> String {
    if number == 1 { "1 process".to_owned() } else { format!("{number} processes") }
}

fn best_section(predictions: &SourcePredictions) -> Vec<String> {
    let line = |sweep: &&[SourcePredictionRow]| {
        let best = predictions.best(sweep)?;
        let with: Vec<String> = sweep[0].parameters.iter().map(|(name, value)| format!("{name} = {}", short_number(*value))).collect();
        let with = if with.is_empty() { String::new() } else { format!(" for {}", with.join(", ")) };
        let share = format_percent(predictions.efficiency);
        let enough = best.efficiency.map_or_else(|| "never".to_owned(), |most| format!("up to {}", count_processes(most)));
        let fastest = format!("Fastest of these{with}: {}", count_processes(best.time));
        Some([fastest, format!("Efficiency of at least {share}{with}: {enough}")])
    };
    predictions.sweeps().iter().filter(|sweep| sweep.len() > 1).filter_map(line).flatten().collect()
}

/// The dominant operations at the first and last number of processes, for the last parameter values.
fn dominant_section(predictions: &SourcePredictions) -> Vec<String> {
    let sweep = predictions.sweeps().last().copied().unwrap_or_default();
    let (Some(first), Some(last)) = (sweep.first(), sweep.last()) else { return Vec::new() };
    let of =
        |row: &SourcePredictionRow, name: &str| row.estimate.shares.iter().find(|(own, _)| own == name).map_or(0.0, |(_, share)| *share);
    let most = |name: &str| of(first, name).max(of(last, name));
    let mut names: Vec<&str> = [last, first].iter().flat_map(|row| &row.estimate.shares).map(|(name, _)| name.as_str()).collect();
    names.sort_by(|a, b| most(b).total_cmp(&most(a)).then(a.cmp(b)));
    names.dedup();
    names.truncate(MAX_OPERATIONS);
    if names.is_empty() {
        return Vec::new();
    }
    let column = |row: &SourcePredictionRow| {
        let shares = names.iter().map(|name| format_percent(of(row, name))).collect();
        TextColumn::right(format!("p = {}", row.processes), shares)
    };
    let mut columns = vec![TextColumn::left("", names.iter().map(|name| (*name).to_owned()).collect())];
    columns.extend(if sweep.len() > 1 { vec![column(first), column(last)] } else { vec![column(last)] });
    let mut lines = vec!["Dominant operations".to_owned()];
    lines.extend(render_table(columns));
    lines
}

/// The expressions, structured like the model.
fn expression_section(predictions: &SourcePredictions) -> Vec<String> {
    let analysis = predictions.estimator.analysis();
    let mut lines = hanging_indent(&truncate_end(&format!("T0 = {}", analysis.contention_free), MAX_FORMULA_WIDTH), 6);
    for (index, (resource, load)) in analysis.contended.iter().enumerate() {
        lines.extend(hanging_indent(&truncate_end(&format!("T{} = {load}", index + 1), MAX_FORMULA_WIDTH), 6));
        lines.push(format!("      for {resource}"));
    }
    [vec!["Without contention, and for each resource".to_owned()], lines].concat()
}

fn explained_rows(rows: &[SourcePredictionRow]) -> Vec<&SourcePredictionRow> {
    match rows {
        [first, .., last] if rows.len() > MAX_EXPLAINED => vec![first, last],
        all => all.iter().collect(),
    }
}

fn explanation_section(row: &SourcePredictionRow) -> Vec<String> {
    let estimate = &row.estimate;
    let mut setting: Vec<String> = row.parameters.iter().map(|(name, value)| format!("{name} = {}", short_number(*value))).collect();
    setting.push(format!("p = {}", row.processes));
    let [least, greatest] = estimate.bounds;
    let mut lines = vec![format!("{}: {}", setting.join(", "), estimate_text(estimate.seconds, &format_seconds))];
    let names = estimate.terms.iter().map(|(rule, _)| rule.to_string()).collect();
    let values: Vec<Option<EstimateRange>> = estimate.terms.iter().map(|(_, value)| Some(*value)).collect();
    lines.extend(render_table([TextColumn::left("", names), TextColumn::estimates("", &values, &format_seconds)]).into_iter().skip(1));
    lines.push(format!("  at middle costs between {} and {}", format_seconds(least), format_seconds(greatest)));
    for group in &estimate.team.0 {
        let (workers, cores) = (format_plural(group.workers, "worker"), format_plural(group.cores, "core"));
        lines.push(format!("  {workers} on {} ({cores}), factor {}", group.node_kind, short_number(group.relative_speed)));
    }
    lines
}

fn source_remarks(predictions: &SourcePredictions) -> Vec<String> {
    let mut remarks = vec![
        "each operation costs between its throughput and its latency from the machine file; intervals cover this range".to_owned(),
        match predictions.speedup_base {
            1 => "speed-ups are relative to 1 process".to_owned(),
            base => {
                format!("speed-ups are relative to {base} processes, taken as fully efficient (see --base)")
            }
        },
    ];
    let guessed: Vec<&BranchShare> = predictions.estimator.analysis().shares.iter().filter(|share| share.is_guess).collect();
    let mut places: Vec<&str> = guessed.iter().filter_map(|share| share.place.as_deref()).collect();
    places.sort_unstable();
    places.dedup();
    if !guessed.is_empty() {
        let at = if places.is_empty() { String::new() } else { format!(" ({})", truncate_end(&places.join(", "), 60)) };
        remarks.push(format!(
            "{}{at} assumed to hold half of the time; use --taken PLACE=SHARE",
            format_plural(guessed.len() as u64, "condition")
        ));
    }
    if predictions.rows.iter().any(|row| row.estimate.team.shares_cores()) {
        remarks.push("there are more workers than cores; they are assumed to share them evenly".to_owned());
    }
    if predictions.rows.iter().any(|row| row.estimate.is_sampled) {
        let sampled = "task costs have no closed form, and only a sample was evaluated:";
        remarks.push(format!("{sampled} the bounds assume that the other tasks are like their neighbours in the sample"));
    }
    if predictions.allocation == AllocationPolicy::Mixed {
        remarks.push("half of the tasks are assigned in advance, the others to whichever worker is free".to_owned());
    }
    remarks
}
