//! The tuning log of a recorded run, as text.

use sintonia_tune::decision::{TuningDecision, TuningLogEntry};
use sintonia_tune::tunlet::TunletMetric;

use super::SCREEN_COLUMNS;
use crate::text::{format_plural, wrap};
use crate::tune::live_display::{change_line, short_number};

/// The log as lines; `all` shows every change.
pub(super) fn log_lines(log: &[TuningLogEntry], all: bool) -> Vec<String> {
    let changes: Vec<&TuningDecision> = log.iter().filter_map(TuningLogEntry::decision).collect();
    let made = changes.iter().filter(|one| one.refused.is_none()).count();
    let mut lines = vec![match changes.len() - made {
        0 => format!("Tuning: {}", format_plural(made as u64, "change")),
        refused => format!("Tuning: {}, and {refused} not made", format_plural(made as u64, "change")),
    }];
    if all {
        lines.extend(changes.iter().map(|one| change_line(one)));
    } else {
        lines.extend(changed_points(&changes).into_iter().map(|point| changes_line(&changes, point)));
    }
    // Changed values are listed already.
    lines.extend(figure_lines(log, &changed_points(&changes)));
    for entry in log {
        match entry {
            TuningLogEntry::Finding { tunlet, what, .. } => lines.extend(indent(&format!("{tunlet}: {what}"))),
            TuningLogEntry::Verdict(verdict) => lines.extend(indent(&format!("{}: {}", verdict.tunlet, verdict.what))),
            TuningLogEntry::Problem { what, .. } => lines.extend(indent(what)),
            TuningLogEntry::Began { .. } | TuningLogEntry::Change(_) | TuningLogEntry::Figures { .. } => {}
        }
    }
    lines
}

fn indent(text: &str) -> Vec<String> {
    wrap(text, SCREEN_COLUMNS - 4)
        .into_iter()
        .enumerate()
        .map(|(index, line)| if index == 0 { format!("  {line}") } else { format!("    {line}") })
        .collect()
}

/// The changed points, each once.
fn changed_points<'log>(changes: &[&'log TuningDecision]) -> Vec<&'log str> {
    let mut points: Vec<&str> = Vec::new();
    for one in changes {
        if !points.contains(&one.action.as_str()) {
            points.push(&one.action);
        }
    }
    points
}

/// All changes of one point in a line: first and last value, how often, and the last reason.
fn changes_line(changes: &[&TuningDecision], point: &str) -> String {
    let own: Vec<&&TuningDecision> = changes.iter().filter(|one| one.action == point).collect();
    let first = own.first().and_then(|one| one.old).map_or("?".into(), short_number);
    let Some(last) = own.last() else { return String::new() };
    let times = if own.len() == 1 { "once".into() } else { format!("{} times", own.len()) };
    let refused = last.refused.as_ref().map_or(String::new(), |why| format!(" (not done: {why})"));
    format!("  {point:<10} {first} -> {}, {times}, last at {:.1} s: {}{refused}", short_number(last.new), last.time_s, last.why)
}

/// The first and last value of each figure.
fn figure_lines(log: &[TuningLogEntry], known: &[&str]) -> Vec<String> {
    let figure_entries = || {
        log.iter().filter_map(|entry| match entry {
            TuningLogEntry::Figures { figures, .. } => Some(figures),
            _ => None,
        })
    };
    let mut names: Vec<&str> = Vec::new();
    for figure in figure_entries().flatten() {
        if !names.contains(&figure.name.as_str()) && !known.contains(&figure.name.as_str()) {
            names.push(&figure.name);
        }
    }
    let of = |name: &str, figures: &[TunletMetric]| figures.iter().find(|figure| figure.name == name).cloned();
    let line = |name: &str| {
        let first = figure_entries().find_map(|figures| of(name, figures))?;
        let last = figure_entries().rev().find_map(|figures| of(name, figures))?;
        let unit = if last.unit.is_empty() { String::new() } else { format!(" {}", last.unit) };
        Some(format!("  {name:<10} first {}, last {}{unit}", short_number(first.value), short_number(last.value)))
    };
    names.into_iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(time_s: f64, old: f64, new: f64) -> TuningLogEntry {
        TuningLogEntry::Change(TuningDecision {
            time_s,
            tunlet: "workers".into(),
            action: "NW".into(),
            rank: Some(0),
            old: Some(old),
            new,
            why: "fewer do as well".into(),
            refused: None,
            turn: false,
        })
    }

    #[test]
    fn changes_of_one_variable_are_one_line_unless_all_is_asked_for() {
        let figures = |value| TuningLogEntry::Figures {
            time_s: 1.0,
            tunlet: "workers".into(),
            figures: vec![TunletMetric::new("iteration", value, "s")],
        };
        let log = [decision(1.0, 7.0, 5.0), figures(2.0), decision(2.5, 5.0, 4.0), figures(1.5)];
        assert_eq!(
            log_lines(&log, false),
            ["Tuning: 2 changes", "  NW         7 -> 4, 2 times, last at 2.5 s: fewer do as well", "  iteration  first 2, last 1.500 s"]
        );
        assert_eq!(log_lines(&log, true).len(), 4);
    }
}
