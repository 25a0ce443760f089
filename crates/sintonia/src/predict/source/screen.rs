//! A prediction from source, as text.

use sintonia_model::predict::Figure;
use sintonia_pamela::compile::Share;
use sintonia_pamela::estimate::Allocation;

use super::{Outlook, Row};
use crate::fit::page::{Column, drawing, figure, hanging, number, page, remarks, table};
use crate::text::{head, percent, plural, seconds};

/// Of more settings than this, only the first and the last are explained.
const EXPLAINED: usize = 3;
/// Operations that are shown one by one.
const OPERATIONS: usize = 8;
/// Formulas longer than this are cut.
const FORMULA: usize = 400;
/// Formulas of more operations are not written at all.
const WRITTEN: u64 = 2_000;

/// Everything that was predicted.
pub fn show(outlook: &Outlook, explain: bool) -> String {
    let mut sections = vec![title(outlook), rows(outlook), best(outlook), most(outlook)];
    if explain {
        sections.push(expressions(outlook));
        sections.extend(explained(&outlook.rows).into_iter().map(explanation));
    }
    let is_sweep = outlook.rows.len() > 1;
    sections.extend([if is_sweep { drawing(super::plot::of(outlook)) } else { Vec::new() }, remarks(&remarks_of(outlook))]);
    page(sections)
}

/// T as a formula, if it is one that can be read.
pub fn formula(outlook: &Outlook) -> String {
    let time = &outlook.closed.time;
    if time.size() > WRITTEN { format!("(a formula of {} operations)", time.size()) } else { time.to_string() }
}

fn title(outlook: &Outlook) -> Vec<String> {
    let mut lines = vec![format!("{}: time on {} as predicted", outlook.name, outlook.machine), String::new()];
    lines.extend(hanging(&head(&format!("T = {}", formula(outlook)), FORMULA), 6));
    lines
}

fn rows(outlook: &Outlook) -> Vec<String> {
    let rows = &outlook.rows;
    let names = rows.first().map(|row| row.parameters.keys().collect::<Vec<_>>()).unwrap_or_default();
    let parameter = |name: &String| Column::numbers(head(name, 16), rows.iter().map(|row| number(row.parameters[name])).collect());
    let figures = |head: &str, of: &dyn Fn(&Row) -> Figure, show: &dyn Fn(f64) -> String| {
        Column::figures(head, &rows.iter().map(|row| Some(of(row))).collect::<Vec<_>>(), show)
    };
    table(names.into_iter().map(parameter).chain([
        Column::numbers("processes", rows.iter().map(|row| row.processes.to_string()).collect()),
        figures("time", &|row| row.estimate.seconds, &seconds),
        figures("speed-up", &|row| row.speedup, &|value| format!("{value:.2}")),
        figures("efficiency", &Row::efficiency, &percent),
        Column::texts("ruled by", rows.iter().map(|row| head(&row.estimate.rules.to_string(), 24)).collect()),
    ]))
}

fn processes(number: u64) -> String {
    if number == 1 { "1 process".to_owned() } else { format!("{number} processes") }
}

fn best(outlook: &Outlook) -> Vec<String> {
    let line = |sweep: &&[Row]| {
        let best = outlook.best(sweep)?;
        let with: Vec<String> = sweep[0].parameters.iter().map(|(name, value)| format!("{name} = {}", number(*value))).collect();
        let with = if with.is_empty() { String::new() } else { format!(" for {}", with.join(", ")) };
        let share = percent(outlook.efficiency);
        let enough = best.efficiency.map_or_else(|| "with none of them".to_owned(), |most| format!("up to {}", processes(most)));
        let fastest = format!("Fastest of these{with}: {}", processes(best.time));
        Some([fastest, format!("Efficiency of at least {share}{with}: {enough}")])
    };
    outlook.sweeps().iter().filter(|sweep| sweep.len() > 1).filter_map(line).flatten().collect()
}

/// What takes most of the time, with the first and the last number of processes of the last values of the parameters.
fn most(outlook: &Outlook) -> Vec<String> {
    let sweep = outlook.sweeps().last().copied().unwrap_or_default();
    let (Some(first), Some(last)) = (sweep.first(), sweep.last()) else { return Vec::new() };
    let of = |row: &Row, name: &str| row.estimate.shares.iter().find(|(own, _)| own == name).map_or(0.0, |(_, share)| *share);
    let most = |name: &str| of(first, name).max(of(last, name));
    let mut names: Vec<&str> = [last, first].iter().flat_map(|row| &row.estimate.shares).map(|(name, _)| name.as_str()).collect();
    names.sort_by(|a, b| most(b).total_cmp(&most(a)).then(a.cmp(b)));
    names.dedup();
    names.truncate(OPERATIONS);
    if names.is_empty() {
        return Vec::new();
    }
    let column = |row: &Row| {
        let shares = names.iter().map(|name| percent(of(row, name))).collect();
        Column::numbers(format!("p = {}", row.processes), shares)
    };
    let mut columns = vec![Column::texts("", names.iter().map(|name| (*name).to_owned()).collect())];
    columns.extend(if sweep.len() > 1 { vec![column(first), column(last)] } else { vec![column(last)] });
    let mut lines = vec!["What takes most of the time".to_owned()];
    lines.extend(table(columns));
    lines
}

/// The expressions in the shape of the model.
fn expressions(outlook: &Outlook) -> Vec<String> {
    let analysis = outlook.estimator.analysis();
    let mut lines = hanging(&head(&format!("T0 = {}", analysis.free), FORMULA), 6);
    for (place, (resource, load)) in analysis.contended.iter().enumerate() {
        lines.extend(hanging(&head(&format!("T{} = {load}", place + 1), FORMULA), 6));
        lines.push(format!("      for {resource}"));
    }
    [vec!["Without contention, and for each resource".to_owned()], lines].concat()
}

fn explained(rows: &[Row]) -> Vec<&Row> {
    match rows {
        [first, .., last] if rows.len() > EXPLAINED => vec![first, last],
        all => all.iter().collect(),
    }
}

fn explanation(row: &Row) -> Vec<String> {
    let estimate = &row.estimate;
    let mut setting: Vec<String> = row.parameters.iter().map(|(name, value)| format!("{name} = {}", number(*value))).collect();
    setting.push(format!("p = {}", row.processes));
    let [least, greatest] = estimate.bounds;
    let mut lines = vec![format!("{}: {}", setting.join(", "), figure(estimate.seconds, &seconds))];
    let names = estimate.terms.iter().map(|(rule, _)| rule.to_string()).collect();
    let values: Vec<Option<Figure>> = estimate.terms.iter().map(|(_, value)| Some(*value)).collect();
    lines.extend(table([Column::texts("", names), Column::figures("", &values, &seconds)]).into_iter().skip(1));
    lines.push(format!("  with middle costs between {} and {}", seconds(least), seconds(greatest)));
    for crew in &estimate.team.0 {
        let (workers, cores) = (plural(crew.workers, "worker"), plural(crew.cores, "core"));
        lines.push(format!("  {workers} on {} ({cores}), factor {}", crew.kind, number(crew.factor)));
    }
    lines
}

fn remarks_of(outlook: &Outlook) -> Vec<String> {
    let mut told = vec![
        "each operation costs between its throughput and its latency, as the machine file has them; the times hold for these costs"
            .to_owned(),
        match outlook.base {
            1 => "speed-ups are over 1 process".to_owned(),
            base => {
                format!("speed-ups are over {base} processes, which count as {base} without losses; another base is chosen with --base")
            }
        },
    ];
    let guessed: Vec<&Share> = outlook.estimator.analysis().shares.iter().filter(|share| share.is_guess).collect();
    let mut places: Vec<&str> = guessed.iter().filter_map(|share| share.place.as_deref()).collect();
    places.sort_unstable();
    places.dedup();
    if !guessed.is_empty() {
        let at = if places.is_empty() { String::new() } else { format!(" ({})", head(&places.join(", "), 60)) };
        told.push(format!(
            "{}{at} taken to hold half of the time; --taken PLACE=SHARE says how often",
            plural(guessed.len() as u64, "condition")
        ));
    }
    if outlook.rows.iter().any(|row| row.estimate.team.shares_cores()) {
        told.push("there are more workers than cores: they are taken to share them evenly".to_owned());
    }
    if outlook.rows.iter().any(|row| row.estimate.is_sampled) {
        let told_of = "tasks differ in a way that has no closed form, and only some of them were looked at:";
        told.push(format!("{told_of} the time is between the bounds as far as the others are like those between which they stand"));
    }
    if outlook.allocation == Allocation::Mixed {
        told.push("half of the tasks are dealt at the beginning, the others to whoever is free".to_owned());
    }
    told
}
