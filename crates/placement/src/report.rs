//! What a search has found: as JSON, and in one sentence.

use serde_json::{Value, json};

use crate::available_hosts::AvailableHosts;
use crate::gain::PlacementGain;
use crate::input::PlacementInput;
use crate::launcher::RankSlot;
use crate::launcher_file::WrittenPlacement;
use crate::paired_runs::PairedRuns;
use crate::proposal::{EvaluatedPlacement, GainBasis, PlacementGoal, PlacementProposal};

/// Everything about a proposed placement.
#[derive(Clone, Copy)]
pub struct PlacementReport<'a> {
    /// What was minimised.
    pub goal: PlacementGoal,
    /// What is placed.
    pub input: &'a PlacementInput,
    /// Where it is placed.
    pub hosts: &'a AvailableHosts,
    /// What was found.
    pub proposal: &'a PlacementProposal,
    /// The file for the launcher.
    pub written: &'a WrittenPlacement,
    /// Measured runs with and without the placement.
    pub measured: Option<PairedRuns>,
}

impl PlacementReport<'_> {
    /// All results.
    pub fn to_json(&self) -> Value {
        let (found, goal) = (self.proposal, self.goal);
        let candidates = [&found.current].into_iter().chain(&found.alternatives).chain([&found.proposed]);
        json!({
            "cost": {"now": goal_value(goal, &found.current), "placed": goal_value(goal, &found.proposed)},
            "objective": format!("{goal:?}").to_lowercase(),
            "gain": found.gain,
            "useless": found.no_gain_reason,
            "placement": RankSlot::from_placement(&found.proposed.placement, &self.hosts.cluster).unwrap_or_default(),
            "candidates": candidates.map(candidate_json).collect::<Vec<_>>(),
            "written": self.written.path.as_ref().map(|path| path.display().to_string()),
            "command": self.written.command,
            "environment": self.written.environment,
            "measured": self.measured.map(|measured| json!({"runs": measured, "verdict": measured.verdict()})),
            "notes": found.notes,
        })
    }

    /// The result in one sentence.
    pub fn verdict(&self) -> String {
        let found = self.proposal;
        if let Some(why) = &found.no_gain_reason {
            return format!("Placement does not help here: {why}.");
        }
        let on = match (found.basis, &self.hosts.machine) {
            (GainBasis::Replays, Some(machine)) => format!("replayed on {}", machine.metadata.name),
            (GainBasis::Distances, _) => "if MPI time shrinks with the distance of bytes; a replay does not model cores".into(),
            _ if self.input.recording.is_none() => "at most, if it only communicates; a graph has no times".into(),
            (_, Some(_)) => "if MPI time shrinks with it; a profile cannot be replayed".into(),
            _ => "if MPI time shrinks with it; the network is unknown (use --machine)".into(),
        };
        format!("{} {}: {on}.", objective_text(self.goal), savings_text(found.gain))
    }
}

/// What the goal minimises, for a placement.
fn goal_value(goal: PlacementGoal, known: &EvaluatedPlacement) -> f64 {
    match (goal, known.seconds) {
        (PlacementGoal::Time, Some([_, middle, _])) => middle,
        _ => goal.cost_value(&known.cost),
    }
}

fn candidate_json(known: &EvaluatedPlacement) -> Value {
    let cost = &known.cost;
    json!({
        "name": known.origin.name(),
        "busiest_link_s": cost.busiest_link_s,
        "byte_distance": cost.byte_distance,
        "across_bytes": cost.inter_host_bytes,
        "imbalance": cost.imbalance,
        "seconds": known.seconds,
    })
}

fn objective_text(goal: PlacementGoal) -> &'static str {
    match goal {
        PlacementGoal::Congestion => "With less load on the busiest link, the run",
        PlacementGoal::Bytes => "With shorter distances of bytes, the run",
        PlacementGoal::Time => "Placed by replayed time, the run",
    }
}

/// The interval as text.
fn savings_text(PlacementGain([low, middle, high]): PlacementGain) -> String {
    // Adding zero turns -0 into 0.
    let percent = |share: f64| format!("{:.1}", (1000.0 * share).round() / 10.0 + 0.0);
    match (percent(low), percent(high)) {
        (low, high) if low == high => format!("takes {low} % less time"),
        (low, high) => format!("takes {} % less time ({low} to {high} %)", percent(middle)),
    }
}
