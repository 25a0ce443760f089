//! Where in the code: from `main` down to the functions it calls, and on from those in which the time goes.
//!
//! Of a function that neither began nor ended while it was looked at, nothing is known: it may run all the time. Those that it calls are
//! looked at instead.

use sintonia_link::order::Side;

use super::tally::Looks;
use crate::point::{Actor, Join, MeasurePoint};
use crate::tunlet::Wish;

/// No more places are looked at in one search.
const MOST_LOOKS: usize = 256;
/// No longer chains of calls.
const DEEPEST: usize = 12;

/// A function that is looked at, with those that lead to it.
#[derive(Debug)]
struct Suspect {
    path: Vec<String>,
    number: usize,
    since: f64,
}

/// The search in the code.
#[derive(Debug)]
pub struct CodeSearch {
    /// Whether time in MPI is looked for, or the rest.
    in_mpi: bool,
    /// Functions whose callees were asked for, with those that lead to them.
    asked: Vec<Vec<String>>,
    suspects: Vec<Suspect>,
    /// Paths in which the time goes, and what share of it.
    found: Vec<(Vec<String>, f64)>,
    looked: usize,
}

impl CodeSearch {
    /// For time in MPI, or for that outside.
    pub fn new(in_mpi: bool) -> CodeSearch {
        CodeSearch { in_mpi, asked: Vec::new(), suspects: Vec::new(), found: Vec::new(), looked: 0 }
    }

    /// Begins at `main`.
    pub fn begin(&mut self) -> Vec<Wish> {
        self.ask(vec!["main".into()]).into_iter().collect()
    }

    fn ask(&mut self, path: Vec<String>) -> Option<Wish> {
        let function = path.last()?.clone();
        if path.len() >= DEEPEST {
            return None;
        }
        self.asked.push(path);
        Some(Wish::Callees(function))
    }

    /// The callees of a function are known: they are looked at.
    pub fn callees(&mut self, function: &str, callees: &[String], looks: &mut Looks, period: f64, time: f64) -> Vec<Wish> {
        let Some(place) = self.asked.iter().position(|path| path.last().is_some_and(|last| last == function)) else { return Vec::new() };
        let path = self.asked.remove(place);
        let room = MOST_LOOKS.saturating_sub(self.looked);
        let new = callees.iter().filter(|callee| !path.contains(callee)).take(room);
        let mut wishes = Vec::new();
        for callee in new {
            let number = looks.begin();
            let path = path.iter().chain([callee]).cloned().collect();
            self.suspects.push(Suspect { path, number, since: time });
            self.looked += 1;
            let values = vec!["seconds".into(), "mpi_seconds".into()];
            let point = MeasurePoint { actor: Actor::All, function: callee.clone(), side: Side::Exit, values, join: Join::Over(period) };
            wishes.push(Wish::Look { number, point });
        }
        wishes
    }

    /// Judges functions that were looked at long enough.
    pub fn go_on(&mut self, looks: &mut Looks, threshold: f64, patience: f64, time: f64, processes: u32) -> Vec<Wish> {
        let (ripe, still): (Vec<Suspect>, Vec<Suspect>) =
            std::mem::take(&mut self.suspects).into_iter().partition(|suspect| time - suspect.since >= patience);
        self.suspects = still;
        let mut wishes = Vec::new();
        for Suspect { path, number, since } in ripe {
            let tally = looks.tally(number);
            looks.end(number);
            wishes.push(Wish::LookAway(number));
            let seconds = if self.in_mpi { tally.second } else { tally.seconds - tally.second };
            let share = seconds / ((time - since) * f64::from(processes));
            if tally.count == 0 {
                wishes.extend(self.ask(path));
            } else if share >= threshold {
                // The path is what is known best so far; those that lead to it say less.
                self.found.retain(|(other, _)| !path.starts_with(other));
                self.found.push((path.clone(), share));
                wishes.extend(self.ask(path));
            }
        }
        wishes
    }

    /// Gives up.
    pub fn end(self, looks: &mut Looks) -> Vec<Wish> {
        self.suspects
            .into_iter()
            .map(|suspect| {
                looks.end(suspect.number);
                Wish::LookAway(suspect.number)
            })
            .collect()
    }

    /// Whether nothing is looked at any more.
    pub fn is_done(&self) -> bool {
        self.suspects.is_empty() && self.asked.is_empty()
    }

    /// Where.
    pub fn words(&self) -> Option<String> {
        let words = |(path, share): &(Vec<String>, f64)| format!("under {} ({:.0} %)", path.join(" > "), 100.0 * share);
        (!self.found.is_empty()).then(|| self.found.iter().map(words).collect::<Vec<_>>().join(" and "))
    }
}
