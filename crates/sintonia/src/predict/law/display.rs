//! Prints the evaluation of laws as text.

use sintonia_model::laws::task_times::MeanEstimate;
use sintonia_model::laws::{self, LawAnswer, LawQuantity, LawRow};
use sintonia_model::predict::EstimateRange;

use super::ValueOrigin;
use crate::text::{format_percent, format_plural, format_seconds};
use crate::text_layout::{TextColumn, estimate_text, hanging_indent, join_sections, render_plot, render_table, short_number};

/// More rows than this are thinned to doubling positions.
const MAX_ROWS: usize = 16;

/// All results.
pub(super) fn render(answers: &[LawAnswer], origin: &ValueOrigin, efficiency: f64) -> String {
    let of_law = |answer| [title_section(answer), formula_section(answer), row_section(answer), facts_section(answer, efficiency)];
    let drawn = render_plot(super::plot::plot_answers(answers));
    join_sections([estimate_section(origin)].into_iter().chain(answers.iter().flat_map(of_law)).chain([drawn]))
}

fn estimate_section(origin: &ValueOrigin) -> Vec<String> {
    let ValueOrigin::Recorded(path, master_worker, found) = origin else { return Vec::new() };
    let text = |estimate: &MeanEstimate, show: &dyn Fn(f64) -> String| {
        let (low, high) = estimate.interval.unwrap_or((estimate.value, estimate.value));
        estimate_text([low, estimate.value, high], show)
    };
    let mut lines = vec![format!(
        "{path}: rank {} hands out {} to {}",
        master_worker.master,
        format_plural(found.tasks, "task"),
        format_plural(master_worker.workers as u64, "worker")
    )];
    let rows = [
        ("R", text(&found.computing, &format_seconds), "to compute a task"),
        ("C", text(&found.overhead, &format_seconds), "of communication per task"),
        ("G", text(&found.granularity, &short_number), "granularity, R/C"),
    ];
    let columns = render_table([
        TextColumn::left("", rows.iter().map(|(name, ..)| format!("{name} =")).collect()),
        TextColumn::left("", rows.iter().map(|(_, value, _)| value.clone()).collect()),
        TextColumn::left("", rows.iter().map(|(.., what)| what.to_string()).collect()),
    ]);
    lines.extend(columns.into_iter().skip(1));
    lines.push("  N is the number of workers, without the master.".into());
    lines
}

fn title_section(answer: &LawAnswer) -> Vec<String> {
    let mut lines = vec![format!("{} ({})", answer.law.title, answer.law.source.author)];
    lines.extend(hanging_indent(answer.law.statement, 0));
    lines
}

/// Each formula as published, with values inserted, and its origin.
fn formula_section(answer: &LawAnswer) -> Vec<String> {
    let equation = |of: LawQuantity| answer.law.equation(of);
    let general = |of: LawQuantity| format!("{} = {}", of.symbol(), equation(of).map_or("", |equation| equation.text));
    let origin = |of: LawQuantity| match equation(of).map(|equation| equation.origin) {
        Some(laws::EquationOrigin::Printed(number)) if number.starts_with(|c: char| c.is_ascii_digit()) => format!("equation {number}"),
        Some(laws::EquationOrigin::Printed(name)) => name.into(),
        _ => "derived".into(),
    };
    let each = |show: &dyn Fn(&(LawQuantity, String)) -> String| answer.formulas.iter().map(show).collect::<Vec<String>>();
    let columns = render_table([
        TextColumn::left("", each(&|(of, _)| general(*of))),
        TextColumn::left("", each(&|(_, formula)| format!("= {formula}"))),
        TextColumn::left("", each(&|(of, _)| origin(*of))),
    ]);
    columns.into_iter().skip(1).collect()
}

fn row_section(answer: &LawAnswer) -> Vec<String> {
    let rows = select_rows(&answer.rows);
    let column = |head: &str, of: fn(&LawRow) -> Option<EstimateRange>, show: &dyn Fn(f64) -> String| {
        TextColumn::estimates(head, &rows.iter().map(|row| of(row)).collect::<Vec<_>>(), show)
    };
    render_table([
        TextColumn::right(answer.variable, rows.iter().map(|row| short_number(row.at)).collect()),
        column("time", |row| row.seconds, &format_seconds),
        column("latency", |row| row.latency, &format_seconds),
        column("speed-up", |row| row.speedup, &|value| format!("{value:.2}")),
        column("efficiency", |row| row.efficiency, &format_percent),
    ])
}

/// The rows that fit on a screen: all, or those at doubling positions, and the last.
fn select_rows(rows: &[LawRow]) -> Vec<&LawRow> {
    let is_shown = |index: usize| rows.len() <= MAX_ROWS || (index + 1).is_power_of_two() || index + 1 == rows.len();
    rows.iter().enumerate().filter(|(index, _)| is_shown(*index)).map(|(_, row)| row).collect()
}

fn facts_section(answer: &LawAnswer, efficiency: f64) -> Vec<String> {
    // Rounding down keeps the efficiency.
    let nodes = |value: f64| short_number(value.floor());
    let line = |(of, value): &(LawQuantity, EstimateRange)| match of {
        LawQuantity::Granularity => format!("Granularity: G = {}", estimate_text(*value, &short_number)),
        LawQuantity::SerialTime => format!("Time on one node: {}", estimate_text(*value, &format_seconds)),
        LawQuantity::TimeLimit => format!("Minimum time for many nodes: {}", estimate_text(*value, &format_seconds)),
        LawQuantity::SpeedUpLimit => format!("Maximum speed-up for many nodes: {}", estimate_text(*value, &short_number)),
        LawQuantity::EfficiencyLimit => format!("Efficiency limit for many nodes: {}", estimate_text(*value, &format_percent)),
        LawQuantity::BestNodes => format!("Fastest: {} nodes", estimate_text(*value, &short_number)),
        _ => format!("Efficiency of at least {}: up to {} nodes", format_percent(efficiency), estimate_text(*value, &nodes)),
    };
    answer.facts.iter().map(line).collect()
}
