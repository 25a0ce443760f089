//! Locates time in the code: from `main` down to its callees, and on from those with most of the time.
//!
//! A function that neither began nor ended while it was measured may run all the time. Its callees are measured instead.

use sintonia_link::probe_protocol::HookSide;

use super::call_totals::PointRegistry;
use crate::tuning_points::{Actor, EventJoin, MeasurePoint};
use crate::tunlet::TuningAction;

/// Most measure points of one search.
const MAX_POINTS: usize = 256;
/// Longest call path.
const MAX_DEPTH: usize = 12;

/// A measured function with its call path.
#[derive(Debug)]
struct SuspectFunction {
    path: Vec<String>,
    number: usize,
    since: f64,
}

/// The search in the code.
#[derive(Debug)]
pub(super) struct CodeSearch {
    /// Whether time in MPI is searched, or computation.
    in_mpi: bool,
    /// Call paths of functions whose callees were queried.
    asked: Vec<Vec<String>>,
    suspects: Vec<SuspectFunction>,
    /// Call paths with most of the time, and their share.
    found: Vec<(Vec<String>, f64)>,
    n_points: usize,
}

impl CodeSearch {
    /// Searches time in MPI, or computation.
    pub(super) fn new(in_mpi: bool) -> CodeSearch {
        CodeSearch { in_mpi, asked: Vec::new(), suspects: Vec::new(), found: Vec::new(), n_points: 0 }
    }

    /// Starts at `main`.
    pub(super) fn begin(&mut self) -> Vec<TuningAction> {
        self.query_callees(vec!["main".into()]).into_iter().collect()
    }

    fn query_callees(&mut self, path: Vec<String>) -> Option<TuningAction> {
        let function = path.last()?.clone();
        if path.len() >= MAX_DEPTH {
            return None;
        }
        self.asked.push(path);
        Some(TuningAction::QueryCallees(function))
    }

    /// Adds measure points for the callees of a function.
    pub(super) fn on_callees(
        &mut self,
        function: &str,
        callees: &[String],
        registry: &mut PointRegistry,
        period: f64,
        time: f64,
    ) -> Vec<TuningAction> {
        let Some(index) = self.asked.iter().position(|path| path.last().is_some_and(|last| last == function)) else { return Vec::new() };
        let path = self.asked.remove(index);
        let room = MAX_POINTS.saturating_sub(self.n_points);
        let new = callees.iter().filter(|callee| !path.contains(callee)).take(room);
        let mut actions = Vec::new();
        for callee in new {
            let number = registry.add();
            let path = path.iter().chain([callee]).cloned().collect();
            self.suspects.push(SuspectFunction { path, number, since: time });
            self.n_points += 1;
            let values = vec!["seconds".into(), "mpi_seconds".into()];
            let point =
                MeasurePoint { actor: Actor::All, function: callee.clone(), side: HookSide::Exit, values, join: EventJoin::Over(period) };
            actions.push(TuningAction::AddPoint { number, point });
        }
        actions
    }

    /// Judges functions that were measured long enough.
    pub(super) fn advance(
        &mut self,
        registry: &mut PointRegistry,
        threshold: f64,
        patience: f64,
        time: f64,
        processes: u32,
    ) -> Vec<TuningAction> {
        let (due, pending): (Vec<SuspectFunction>, Vec<SuspectFunction>) =
            std::mem::take(&mut self.suspects).into_iter().partition(|suspect| time - suspect.since >= patience);
        self.suspects = pending;
        let mut actions = Vec::new();
        for SuspectFunction { path, number, since } in due {
            let tally = registry.totals(number);
            registry.remove(number);
            actions.push(TuningAction::RemovePoint(number));
            let seconds = if self.in_mpi { tally.second_value } else { tally.seconds - tally.second_value };
            let share = seconds / ((time - since) * f64::from(processes));
            if tally.count == 0 {
                actions.extend(self.query_callees(path));
            } else if share >= threshold {
                // The longer path replaces its prefixes.
                self.found.retain(|(other, _)| !path.starts_with(other));
                self.found.push((path.clone(), share));
                actions.extend(self.query_callees(path));
            }
        }
        actions
    }

    /// Cancels the search.
    pub(super) fn end(self, registry: &mut PointRegistry) -> Vec<TuningAction> {
        self.suspects
            .into_iter()
            .map(|suspect| {
                registry.remove(suspect.number);
                TuningAction::RemovePoint(suspect.number)
            })
            .collect()
    }

    /// Whether the search is finished.
    pub(super) fn is_done(&self) -> bool {
        self.suspects.is_empty() && self.asked.is_empty()
    }

    /// The call paths found.
    pub(super) fn describe(&self) -> Option<String> {
        let words = |(path, share): &(Vec<String>, f64)| format!("under {} ({:.0} %)", path.join(" > "), 100.0 * share);
        (!self.found.is_empty()).then(|| self.found.iter().map(words).collect::<Vec<_>>().join(" and "))
    }
}
