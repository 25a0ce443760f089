//! The tuning as it goes on, in the terminal: what tunlets know at the moment in a line that stays, what they change above it.

use std::io::{self, IsTerminal, Write};

use sintonia_tune::decision::{Decision, Entry};
use sintonia_tune::tunlet::Figure;

/// What the terminal shows.
pub struct Live {
    /// Whether a line can stay while others pass above it.
    stays: bool,
    /// What each tunlet knows.
    figures: Vec<(String, Vec<Figure>)>,
    changes: usize,
    /// The change that was shown last, and in how many more processes it was made.
    last: Option<(Decision, usize)>,
    width: usize,
}

impl Live {
    /// For standard error.
    pub fn new() -> Live {
        // Some terminals do not know how wide they are.
        let known = rustix::termios::tcgetwinsize(io::stderr()).ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
        let width = known.unwrap_or(80).max(20);
        Live { stays: io::stderr().is_terminal(), figures: Vec::new(), changes: 0, last: None, width }
    }

    /// Something happened.
    pub fn show(&mut self, entry: &Entry) {
        match entry {
            Entry::Began { .. } => {}
            Entry::Change(decision) => {
                self.changes += usize::from(decision.refused.is_none());
                match &mut self.last {
                    Some((last, more)) if is_same(last, decision) => *more += 1,
                    _ => {
                        self.say_of_others();
                        self.line(&change(decision));
                        self.last = Some((decision.clone(), 0));
                    }
                }
            }
            Entry::Finding { time_s, tunlet, what } => {
                self.say_of_others();
                self.line(&format!("{time_s:9.3} s  {tunlet}: {what}"));
            }
            Entry::Problem { what, .. } => self.line(what),
            Entry::Figures { time_s, tunlet, figures } => {
                match self.figures.iter_mut().find(|(name, _)| name == tunlet) {
                    Some((_, known)) => known.clone_from(figures),
                    None => self.figures.push((tunlet.clone(), figures.clone())),
                }
                self.draw(*time_s);
            }
        }
    }

    /// The same change in other processes is told in one line.
    fn say_of_others(&mut self) {
        match self.last.take() {
            Some((_, more)) if more > 0 => self.line(&format!("{:9}    and the same in {more} more", "")),
            _ => {}
        }
    }

    /// A line that passes.
    fn line(&self, line: &str) {
        if self.stays {
            eprint!("\r\x1b[K");
        }
        eprintln!("sintonia: {line}");
    }

    /// The line that stays.
    fn draw(&self, time_s: f64) {
        if self.stays {
            eprint!("\r{}\x1b[K", status(time_s, &self.figures, self.changes, self.width));
            // What cannot be shown is no reason to fail.
            let _ = io::stderr().flush();
        }
    }

    /// The line goes away.
    pub fn end(&mut self) {
        self.say_of_others();
        if self.stays && !self.figures.is_empty() {
            eprint!("\r\x1b[K");
        }
    }
}

/// Whether two changes differ in the process only.
fn is_same(one: &Decision, other: &Decision) -> bool {
    let about = |decision: &Decision| (decision.time_s, decision.new, decision.refused.is_some());
    one.tunlet == other.tunlet && one.action == other.action && about(one) == about(other)
}

/// A change in one line.
pub fn change(decision: &Decision) -> String {
    let Decision { time_s, tunlet, action, rank, old, new, why, refused } = decision;
    let rank = rank.filter(|rank| *rank != 0).map_or(String::new(), |rank| format!(" of rank {rank}"));
    let old = old.map_or(String::new(), |old| format!(" from {}", number(old)));
    let refused = refused.as_ref().map_or(String::new(), |why| format!(" (not done: {why})"));
    format!("{time_s:9.3} s  {tunlet}: {action}{rank}{old} to {}: {why}{refused}", number(*new))
}

/// What is known, in at most so many letters.
fn status(time_s: f64, figures: &[(String, Vec<Figure>)], changes: usize, width: usize) -> String {
    let mut line = format!("{time_s:.1} s");
    for figure in figures.iter().flat_map(|(_, figures)| figures) {
        let unit = if figure.unit.is_empty() { String::new() } else { format!(" {}", figure.unit) };
        line += &format!(" | {} {}{unit}", figure.name, number(figure.value))[..];
    }
    line += &format!(" | {changes} changes")[..];
    line.chars().take(width - 1).collect()
}

/// A number with as many digits as one looks at.
pub fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e9 { format!("{value}") } else { format!("{value:.3}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_fits_into_a_line() {
        let figures = [("factoring".to_owned(), vec![Figure::new("iteration", 0.12345, "s"), Figure::new("F0", 0.5, "")])];
        assert_eq!(status(3.25, &figures, 2, 80), "3.2 s | iteration 0.123 s | F0 0.500 | 2 changes");
        assert_eq!(status(3.25, &figures, 2, 20).chars().count(), 19);
    }

    #[test]
    fn a_change_is_told_with_its_reason() {
        let decision = Decision {
            time_s: 1.5,
            tunlet: "workers".into(),
            action: "NW".into(),
            rank: Some(0),
            old: Some(7.0),
            new: 5.0,
            why: "more would wait".into(),
            refused: None,
        };
        assert_eq!(change(&decision), "    1.500 s  workers: NW from 7 to 5: more would wait");
        let refused = Decision { rank: Some(3), refused: Some("only watched".into()), ..decision };
        assert_eq!(change(&refused), "    1.500 s  workers: NW of rank 3 from 7 to 5: more would wait (not done: only watched)");
    }
}
