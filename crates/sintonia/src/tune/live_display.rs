//! Live display of the tuning in the terminal: a status line with the tunlets' figures, and changes above it.

use std::io::{self, IsTerminal, Write};

use sintonia_tune::decision::{TuningDecision, TuningLogEntry};
use sintonia_tune::tunlet::TunletMetric;

/// The display.
pub(crate) struct LiveDisplay {
    /// Whether standard error is a terminal, which can hold a status line.
    is_terminal: bool,
    /// The figures of each tunlet.
    figures: Vec<(String, Vec<TunletMetric>)>,
    change_count: usize,
    /// The last printed change, and in how many more processes it was made.
    last_change: Option<(TuningDecision, usize)>,
    width: usize,
}

impl LiveDisplay {
    /// A display on standard error.
    pub(crate) fn new() -> LiveDisplay {
        // Some terminals do not report their width.
        let known = rustix::termios::tcgetwinsize(io::stderr()).ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
        let width = known.unwrap_or(80).max(20);
        LiveDisplay { is_terminal: io::stderr().is_terminal(), figures: Vec::new(), change_count: 0, last_change: None, width }
    }

    /// Displays an entry.
    pub(crate) fn show(&mut self, entry: &TuningLogEntry) {
        match entry {
            TuningLogEntry::Began { .. } => {}
            // Turns of a comparison are in the log; their result is shown.
            TuningLogEntry::Change(decision) if decision.turn => {}
            TuningLogEntry::Verdict(verdict) => {
                self.flush_repeated();
                self.print_line(&format!("{:9.3} s  {}: {}", verdict.time_s, verdict.tunlet, verdict.what));
            }
            TuningLogEntry::Change(decision) => {
                self.change_count += usize::from(decision.refused.is_none());
                match &mut self.last_change {
                    Some((last, more)) if is_same_change(last, decision) => *more += 1,
                    _ => {
                        self.flush_repeated();
                        self.print_line(&change_line(decision));
                        self.last_change = Some((decision.clone(), 0));
                    }
                }
            }
            TuningLogEntry::Finding { time_s, tunlet, what } => {
                self.flush_repeated();
                self.print_line(&format!("{time_s:9.3} s  {tunlet}: {what}"));
            }
            TuningLogEntry::Problem { what, .. } => self.print_line(what),
            TuningLogEntry::Figures { time_s, tunlet, figures } => {
                match self.figures.iter_mut().find(|(name, _)| name == tunlet) {
                    Some((_, known)) => known.clone_from(figures),
                    None => self.figures.push((tunlet.clone(), figures.clone())),
                }
                self.redraw_status(*time_s);
            }
        }
    }

    /// Prints the same change in other processes as one line.
    fn flush_repeated(&mut self) {
        match self.last_change.take() {
            Some((_, more)) if more > 0 => self.print_line(&format!("{:9}    and the same in {more} more", "")),
            _ => {}
        }
    }

    /// Prints a line above the status line.
    fn print_line(&self, line: &str) {
        if self.is_terminal {
            eprint!("\r\x1b[K");
        }
        eprintln!("sintonia: {line}");
    }

    /// Redraws the status line.
    fn redraw_status(&self, time_s: f64) {
        if self.is_terminal {
            eprint!("\r{}\x1b[K", status_line(time_s, &self.figures, self.change_count, self.width));
            // A failing display is not an error.
            let _ = io::stderr().flush();
        }
    }

    /// Clears the status line.
    pub(crate) fn clear(&mut self) {
        self.flush_repeated();
        if self.is_terminal && !self.figures.is_empty() {
            eprint!("\r\x1b[K");
        }
    }
}

/// Whether two changes differ only in the process.
fn is_same_change(one: &TuningDecision, other: &TuningDecision) -> bool {
    let about = |decision: &TuningDecision| (decision.time_s, decision.new, decision.refused.is_some());
    one.tunlet == other.tunlet && one.action == other.action && about(one) == about(other)
}

/// A change as one line.
pub(crate) fn change_line(decision: &TuningDecision) -> String {
    let TuningDecision { time_s, tunlet, action, rank, old, new, why, refused, .. } = decision;
    let rank = rank.filter(|rank| *rank != 0).map_or(String::new(), |rank| format!(" of rank {rank}"));
    let old = old.map_or(String::new(), |old| format!(" from {}", short_number(old)));
    let refused = refused.as_ref().map_or(String::new(), |why| format!(" (not done: {why})"));
    format!("{time_s:9.3} s  {tunlet}: {action}{rank}{old} to {}: {why}{refused}", short_number(*new))
}

/// The status line, truncated to the width.
fn status_line(time_s: f64, figures: &[(String, Vec<TunletMetric>)], changes: usize, width: usize) -> String {
    let mut line = format!("{time_s:.1} s");
    for figure in figures.iter().flat_map(|(_, figures)| figures) {
        let unit = if figure.unit.is_empty() { String::new() } else { format!(" {}", figure.unit) };
        line += &format!(" | {} {}{unit}", figure.name, short_number(figure.value))[..];
    }
    line += &format!(" | {changes} changes")[..];
    line.chars().take(width - 1).collect()
}

/// A number with few digits.
pub(crate) fn short_number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e9 { format!("{value}") } else { format!("{value:.3}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_fits_into_a_line() {
        let figures = [("factoring".to_owned(), vec![TunletMetric::new("iteration", 0.12345, "s"), TunletMetric::new("F0", 0.5, "")])];
        assert_eq!(status_line(3.25, &figures, 2, 80), "3.2 s | iteration 0.123 s | F0 0.500 | 2 changes");
        assert_eq!(status_line(3.25, &figures, 2, 20).chars().count(), 19);
    }

    #[test]
    fn a_change_is_told_with_its_reason() {
        let decision = TuningDecision {
            time_s: 1.5,
            tunlet: "workers".into(),
            action: "NW".into(),
            rank: Some(0),
            old: Some(7.0),
            new: 5.0,
            why: "more would wait".into(),
            refused: None,
            turn: false,
        };
        assert_eq!(change_line(&decision), "    1.500 s  workers: NW from 7 to 5: more would wait");
        let refused = TuningDecision { rank: Some(3), refused: Some("only watched".into()), ..decision };
        assert_eq!(change_line(&refused), "    1.500 s  workers: NW of rank 3 from 7 to 5: more would wait (not done: only watched)");
    }
}
