//! What laws say, as text.

use sintonia_model::laws::tasks::Estimate;
use sintonia_model::laws::{self, Quantity};
use sintonia_model::predict::Figure;

use super::{Answer, Origin, Row};
use crate::fit::page::{Column, drawing, figure, hanging, number, page, table};
use crate::text::{percent, plural, seconds};

/// More rows than this are shown at doubling distances.
const ROWS: usize = 16;

/// Everything that the laws say.
pub fn show(answers: &[Answer], origin: &Origin, efficiency: f64) -> String {
    let of_law = |answer| [title(answer), formulas(answer), rows(answer), facts(answer, efficiency)];
    let drawn = drawing(super::plot::of(answers));
    page([estimated(origin)].into_iter().chain(answers.iter().flat_map(of_law)).chain([drawn]))
}

fn estimated(origin: &Origin) -> Vec<String> {
    let Origin::Recorded(path, farm, found) = origin else { return Vec::new() };
    let told = |estimate: &Estimate, show: &dyn Fn(f64) -> String| {
        let (low, high) = estimate.between.unwrap_or((estimate.value, estimate.value));
        figure([low, estimate.value, high], show)
    };
    let mut lines = vec![format!(
        "{path}: rank {} hands out {} to {}",
        farm.master,
        plural(found.tasks, "task"),
        plural(farm.workers as u64, "worker")
    )];
    let rows = [
        ("R", told(&found.computing, &seconds), "to compute a task"),
        ("C", told(&found.overhead, &seconds), "of communication for a task"),
        ("G", told(&found.granularity, &number), "the granularity, R over C"),
    ];
    let columns = table([
        Column::texts("", rows.iter().map(|(name, ..)| format!("{name} =")).collect()),
        Column::texts("", rows.iter().map(|(_, value, _)| value.clone()).collect()),
        Column::texts("", rows.iter().map(|(.., what)| what.to_string()).collect()),
    ]);
    lines.extend(columns.into_iter().skip(1));
    lines.push("  N counts the workers; the one that hands out the tasks comes besides.".into());
    lines
}

fn title(answer: &Answer) -> Vec<String> {
    let mut lines = vec![format!("{} ({})", answer.law.title, answer.law.source.author)];
    lines.extend(hanging(answer.law.says, 0));
    lines
}

/// Each formula as it is printed, with the values in it, and where it comes from.
fn formulas(answer: &Answer) -> Vec<String> {
    let equation = |of: Quantity| answer.law.equation(of);
    let general = |of: Quantity| format!("{} = {}", of.symbol(), equation(of).map_or("", |equation| equation.text));
    let origin = |of: Quantity| match equation(of).map(|equation| equation.origin) {
        Some(laws::Origin::Printed(number)) if number.starts_with(|c: char| c.is_ascii_digit()) => format!("equation {number}"),
        Some(laws::Origin::Printed(name)) => name.into(),
        _ => "follows from it".into(),
    };
    let each = |show: &dyn Fn(&(Quantity, String)) -> String| answer.formulas.iter().map(show).collect::<Vec<String>>();
    let columns = table([
        Column::texts("", each(&|(of, _)| general(*of))),
        Column::texts("", each(&|(_, formula)| format!("= {formula}"))),
        Column::texts("", each(&|(of, _)| origin(*of))),
    ]);
    columns.into_iter().skip(1).collect()
}

fn rows(answer: &Answer) -> Vec<String> {
    let rows = shown(&answer.rows);
    let column = |head: &str, of: fn(&Row) -> Option<Figure>, show: &dyn Fn(f64) -> String| {
        Column::figures(head, &rows.iter().map(|row| of(row)).collect::<Vec<_>>(), show)
    };
    table([
        Column::numbers(answer.along, rows.iter().map(|row| number(row.at)).collect()),
        column("time", |row| row.seconds, &seconds),
        column("latency", |row| row.latency, &seconds),
        column("speed-up", |row| row.speedup, &|value| format!("{value:.2}")),
        column("efficiency", |row| row.efficiency, &percent),
    ])
}

/// The rows that fit on a screen: all, or those whose places double, and the last.
fn shown(rows: &[Row]) -> Vec<&Row> {
    let is_shown = |place: usize| rows.len() <= ROWS || (place + 1).is_power_of_two() || place + 1 == rows.len();
    rows.iter().enumerate().filter(|(place, _)| is_shown(*place)).map(|(_, row)| row).collect()
}

fn facts(answer: &Answer, efficiency: f64) -> Vec<String> {
    // Of what is not whole, a node less is still enough.
    let nodes = |value: f64| number(value.floor());
    let line = |(of, value): &(Quantity, Figure)| match of {
        Quantity::Granularity => format!("Granularity: G = {}", figure(*value, &number)),
        Quantity::TimeAlone => format!("One node takes {}", figure(*value, &seconds)),
        Quantity::TimeLimit => format!("However many nodes, never below {}", figure(*value, &seconds)),
        Quantity::SpeedUpLimit => format!("However many nodes, never more than {} times faster", figure(*value, &number)),
        Quantity::EfficiencyLimit => format!("For ever more nodes, the efficiency comes to {}", figure(*value, &percent)),
        Quantity::BestNodes => format!("Fastest with {} nodes", figure(*value, &number)),
        _ => format!("Efficiency of at least {}: up to {} nodes", percent(efficiency), figure(*value, &nodes)),
    };
    answer.facts.iter().map(line).collect()
}
