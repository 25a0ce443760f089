//! What was changed while the program ran, beside what the recording says: of a run that was tuned.

use std::path::Path;

use sintonia_tune::decision::{self, Decision, Entry};
use sintonia_tune::tunlet::Figure;

use super::screen::COLUMNS;
use crate::Error;
use crate::text::{plural, wrapped};
use crate::tune::live::{change, number};

/// The log of the tuning of a recorded run, if it was tuned.
pub fn log(recording: &Path) -> Result<Option<Vec<Entry>>, Error> {
    decision::read(&recording.join(decision::FILE)).map_err(|error| Error::Other(error.to_string()))
}

/// The log as lines; `all` shows every one of them.
pub fn lines(log: &[Entry], all: bool) -> Vec<String> {
    let changes: Vec<&Decision> = log.iter().filter_map(Entry::decision).collect();
    let made = changes.iter().filter(|one| one.refused.is_none()).count();
    let mut lines = vec![match changes.len() - made {
        0 => format!("Tuning: {}", plural(made as u64, "change")),
        refused => format!("Tuning: {}, and {refused} that were not made", plural(made as u64, "change")),
    }];
    if all {
        lines.extend(changes.iter().map(|one| change(one)));
    } else {
        lines.extend(points(&changes).into_iter().map(|point| point_line(&changes, point)));
    }
    // What was changed is told already.
    lines.extend(figures(log, &points(&changes)));
    for entry in log {
        match entry {
            Entry::Finding { tunlet, what, .. } => lines.extend(indented(&format!("{tunlet}: {what}"))),
            Entry::Problem { what, .. } => lines.extend(indented(what)),
            Entry::Began { .. } | Entry::Change(_) | Entry::Figures { .. } => {}
        }
    }
    lines
}

fn indented(text: &str) -> Vec<String> {
    wrapped(text, COLUMNS - 4)
        .into_iter()
        .enumerate()
        .map(|(place, line)| if place == 0 { format!("  {line}") } else { format!("    {line}") })
        .collect()
}

/// What was changed: each once.
fn points<'log>(changes: &[&'log Decision]) -> Vec<&'log str> {
    let mut points: Vec<&str> = Vec::new();
    for one in changes {
        if !points.contains(&one.action.as_str()) {
            points.push(&one.action);
        }
    }
    points
}

/// All changes of one thing in a line: from what to what, how often, and the last reason.
fn point_line(changes: &[&Decision], point: &str) -> String {
    let own: Vec<&&Decision> = changes.iter().filter(|one| one.action == point).collect();
    let first = own.first().and_then(|one| one.old).map_or("?".into(), number);
    let Some(last) = own.last() else { return String::new() };
    let times = if own.len() == 1 { "once".into() } else { format!("{} times", own.len()) };
    let refused = last.refused.as_ref().map_or(String::new(), |why| format!(" (not done: {why})"));
    format!("  {point:<10} {first} -> {}, {times}, last at {:.1} s: {}{refused}", number(last.new), last.time_s, last.why)
}

/// How the figures began, and how they ended.
fn figures(log: &[Entry], known: &[&str]) -> Vec<String> {
    let told = || {
        log.iter().filter_map(|entry| match entry {
            Entry::Figures { figures, .. } => Some(figures),
            _ => None,
        })
    };
    let mut names: Vec<&str> = Vec::new();
    for figure in told().flatten() {
        if !names.contains(&figure.name.as_str()) && !known.contains(&figure.name.as_str()) {
            names.push(&figure.name);
        }
    }
    let of = |name: &str, figures: &[Figure]| figures.iter().find(|figure| figure.name == name).cloned();
    let line = |name: &str| {
        let first = told().find_map(|figures| of(name, figures))?;
        let last = told().rev().find_map(|figures| of(name, figures))?;
        let unit = if last.unit.is_empty() { String::new() } else { format!(" {}", last.unit) };
        Some(format!("  {name:<10} {} at first, {}{unit} at last", number(first.value), number(last.value)))
    };
    names.into_iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(time_s: f64, old: f64, new: f64) -> Entry {
        Entry::Change(Decision {
            time_s,
            tunlet: "workers".into(),
            action: "NW".into(),
            rank: Some(0),
            old: Some(old),
            new,
            why: "fewer do as well".into(),
            refused: None,
        })
    }

    #[test]
    fn changes_of_one_variable_are_one_line_unless_all_is_asked_for() {
        let figures = |value| Entry::Figures { time_s: 1.0, tunlet: "workers".into(), figures: vec![Figure::new("iteration", value, "s")] };
        let log = [decision(1.0, 7.0, 5.0), figures(2.0), decision(2.5, 5.0, 4.0), figures(1.5)];
        assert_eq!(
            lines(&log, false),
            [
                "Tuning: 2 changes",
                "  NW         7 -> 4, 2 times, last at 2.5 s: fewer do as well",
                "  iteration  2 at first, 1.500 s at last"
            ]
        );
        assert_eq!(lines(&log, true).len(), 4);
    }
}
