//! A placement as JSON.

use serde_json::{Value, json};
use sintonia_placement::launcher::RankSlot;

use super::search::EvaluatedPlacement;
use super::{ObjectiveArg, PlaceOutput};

/// All results.
pub(super) fn placement_json(shown: &PlaceOutput) -> Value {
    let (found, objective) = (shown.found, shown.args.objective);
    let candidates = [&found.current].into_iter().chain(&found.alternatives).chain([&found.proposed]);
    json!({
        "cost": {"now": objective_value(objective, &found.current), "placed": objective_value(objective, &found.proposed)},
        "objective": format!("{objective:?}").to_lowercase(),
        "gain": found.gain,
        "useless": found.no_gain_reason,
        "placement": RankSlot::from_placement(&found.proposed.placement, &shown.hosts.cluster).unwrap_or_default(),
        "candidates": candidates.map(candidate_json).collect::<Vec<_>>(),
        "written": shown.written.path.as_ref().map(|path| path.display().to_string()),
        "command": shown.written.command,
        "environment": shown.written.environment,
        "measured": shown.measured.map(|measured| json!({"runs": measured, "verdict": measured.verdict()})),
        "notes": found.notes,
    })
}

/// The objective's value of a placement.
fn objective_value(objective: ObjectiveArg, known: &EvaluatedPlacement) -> f64 {
    match (objective, known.seconds) {
        (ObjectiveArg::Time, Some([_, middle, _])) => middle,
        _ => objective.cost_value(&known.cost),
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
