//! A placement, for programs.

use serde_json::{Value, json};
use sintonia_placement::launcher::Spot;

use super::finding::Known;
use super::{Objective, Shown};

/// One object with everything.
pub fn object(shown: &Shown) -> Value {
    let (found, objective) = (shown.found, shown.arguments.objective);
    let candidates = [&found.now].into_iter().chain(&found.others).chain([&found.placed]);
    json!({
        "cost": {"now": value(objective, &found.now), "placed": value(objective, &found.placed)},
        "objective": format!("{objective:?}").to_lowercase(),
        "gain": found.gain,
        "useless": found.useless,
        "placement": Spot::all(&found.placed.placement, &shown.room.cluster).unwrap_or_default(),
        "candidates": candidates.map(candidate).collect::<Vec<_>>(),
        "written": shown.written.path.as_ref().map(|path| path.display().to_string()),
        "command": shown.written.command,
        "environment": shown.written.environment,
        "measured": shown.measured.map(|measured| json!({"runs": measured, "verdict": measured.verdict()})),
        "notes": found.notes,
    })
}

/// What should be little, of a placement.
fn value(objective: Objective, known: &Known) -> f64 {
    match (objective, known.seconds) {
        (Objective::Time, Some([_, middle, _])) => middle,
        _ => objective.of(&known.cost),
    }
}

fn candidate(known: &Known) -> Value {
    let cost = &known.cost;
    json!({
        "name": known.way.name(),
        "busiest_link_s": cost.busiest_link_s,
        "byte_distance": cost.byte_distance,
        "across_bytes": cost.across_bytes,
        "imbalance": cost.imbalance,
        "seconds": known.seconds,
    })
}
