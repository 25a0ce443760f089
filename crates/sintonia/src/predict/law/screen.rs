//! What laws say, as text.

use sintonia_formats::plot;
use sintonia_model::laws::Quantity;
use sintonia_model::laws::tasks::Estimate;
use sintonia_model::predict::Figure;

use super::{Answer, Origin, Row};
use crate::text::{percent, plural, seconds, wrapped};

const COLUMNS: usize = 100;
/// More rows than this are shown at doubling distances.
const ROWS: usize = 16;

/// Everything that the laws say.
pub fn show(answers: &[Answer], origin: &Origin, efficiency: f64) -> String {
    let mut sections = vec![estimated(origin)];
    sections.extend(answers.iter().flat_map(|answer| [title(answer), table(answer), facts(answer, efficiency)]));
    let screen = plot::Screen { rows: 10, ..plot::Screen::new(COLUMNS, crate::fit::plot::letters()) };
    sections.push(plot::text(&super::plot::of(answers), screen).lines().map(str::to_owned).collect());
    let sections = sections.iter().filter(|lines| !lines.is_empty());
    sections.map(|lines| lines.iter().map(|line| format!("{}\n", line.trim_end())).collect::<String>()).collect::<Vec<_>>().join("\n")
}

fn estimated(origin: &Origin) -> Vec<String> {
    let Origin::Recorded(path, farm, found) = origin else { return Vec::new() };
    let time = |estimate: &Estimate| {
        let between = estimate.between.map(|(low, high)| format!(" [{}, {}]", seconds(low), seconds(high))).unwrap_or_default();
        format!("{}{between}", seconds(estimate.value))
    };
    let granularity = found.granularity.between.map(|(low, high)| format!(" [{low:.3}, {high:.3}]")).unwrap_or_default();
    vec![
        format!("{path}: rank {} hands out {} to {}", farm.master, plural(found.tasks, "task"), plural(farm.workers as u64, "worker")),
        format!("  R = {}  to compute a task", time(&found.computing)),
        format!("  C = {}  of communication for a task", time(&found.overhead)),
        format!("  G = {:.3}{granularity}  R over C", found.granularity.value),
    ]
}

fn title(answer: &Answer) -> Vec<String> {
    let mut lines = vec![format!("{} ({})", answer.law.title, answer.law.source.author)];
    lines.extend(wrapped(answer.law.says, COLUMNS - 2).into_iter().map(|line| format!("  {line}")));
    for (of, formula) in &answer.formulas {
        let origin = match answer.law.equation(*of).map(|equation| equation.origin) {
            Some(sintonia_model::laws::Origin::Printed(number)) => format!("equation {number}"),
            _ => "follows from it".into(),
        };
        let general = answer.law.equation(*of).map_or("", |equation| equation.text);
        lines.push(format!("  {} = {general} = {formula}   ({origin})", of.symbol()));
    }
    lines
}

/// What a column shows of a row, if there is anything.
type Column = fn(&Row) -> Option<String>;

fn table(answer: &Answer) -> Vec<String> {
    let columns: [(&str, Column); 4] = [
        ("time", |row| row.seconds.map(|value| figure(value, &seconds))),
        ("latency", |row| row.latency.map(|value| figure(value, &seconds))),
        ("speed-up", |row| row.speedup.map(|value| figure(value, &|value| format!("{value:.2}")))),
        ("efficiency", |row| row.efficiency.map(|value| figure(value, &percent))),
    ];
    let columns: Vec<(&str, Column)> = columns.into_iter().filter(|(_, show)| answer.rows.iter().any(|row| show(row).is_some())).collect();
    let heads: String = columns.iter().map(|(name, _)| format!(" {name:>24}")).collect();
    let mut lines = vec![format!("{:>9}{heads}", answer.along)];
    for row in shown(&answer.rows) {
        let cells: String = columns.iter().map(|(_, show)| format!(" {:>24}", show(row).unwrap_or_else(|| "-".into()))).collect();
        lines.push(format!("{:>9}{cells}", row.at));
    }
    lines
}

/// The rows that fit on a screen: all, or those whose places double, and the last.
fn shown(rows: &[Row]) -> Vec<&Row> {
    let is_shown = |place: usize| rows.len() <= ROWS || (place + 1).is_power_of_two() || place + 1 == rows.len();
    rows.iter().enumerate().filter(|(place, _)| is_shown(*place)).map(|(_, row)| row).collect()
}

fn figure([low, middle, high]: Figure, show: &dyn Fn(f64) -> String) -> String {
    if high <= low * (1.0 + 1e-9) { show(middle) } else { format!("{} [{}, {}]", show(middle), show(low), show(high)) }
}

/// A number with the digits it has, but no more than two behind the point.
fn plain(value: f64) -> String {
    let digits = format!("{value:.2}");
    digits.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn facts(answer: &Answer, efficiency: f64) -> Vec<String> {
    let line = |(of, figure_of): &(Quantity, Figure)| {
        let (number, time) = (figure(*figure_of, &plain), figure(*figure_of, &seconds));
        match of {
            Quantity::Granularity => format!("Granularity G: {number}"),
            Quantity::TimeAlone => format!("Time on one node: {time}"),
            Quantity::TimeLimit => format!("However many nodes, never below {time}"),
            Quantity::SpeedUpLimit => format!("However many nodes, never {number} times faster"),
            Quantity::EfficiencyLimit => format!("The efficiency for ever more nodes: {}", figure(*figure_of, &percent)),
            Quantity::BestNodes => format!("Fastest with {number} nodes"),
            _ => format!("Efficiency of at least {}: up to {number} nodes", percent(efficiency)),
        }
    };
    answer.facts.iter().map(line).collect()
}
