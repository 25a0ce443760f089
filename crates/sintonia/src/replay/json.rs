//! A replay, for programs.

use serde_json::{Value, json};
use sintonia_replay::case::Sensitivity;

use super::Shown;

/// Call sites that are listed.
const MOST_SITES: usize = 1000;

/// Everything that was found.
pub fn value(shown: &Shown) -> Value {
    let findings = &shown.findings;
    let outcome = &findings.outcome;
    let recorded = |seconds: f64| shown.was_run.then_some(seconds);
    let sites = outcome.sites.iter().take(MOST_SITES).map(|site| {
        json!({
            "place": site.place, "operation": site.function, "calls": site.calls,
            "recorded_s": recorded(site.recorded_s), "replayed_s": site.replayed_s,
        })
    });
    let ranks =
        outcome.ranks.iter().map(|rank| json!({"rank": rank.rank, "recorded_s": recorded(rank.recorded_s), "replayed_s": rank.replayed_s}));
    let mut value = json!({
        "recording": shown.name,
        "measured_s": recorded(outcome.recorded_s),
        "seconds": findings.seconds,
        "ranks": shown.ranks,
        "calls": outcome.calls,
        "per_rank": ranks.collect::<Vec<_>>(),
        "call_sites": sites.collect::<Vec<_>>(),
        "unmatched": outcome.unmatched.sends + outcome.unmatched.receives,
    });
    if let Some(machine) = shown.machine {
        value["machine"] = json!(machine.about.name);
    }
    if let Some(before) = &findings.before {
        value["unchanged_s"] = json!(before.seconds);
    }
    if let Some(network) = &findings.recorded {
        value["recorded_network"] = json!({"latency_s": network.latency_s, "s_per_byte": network.s_per_byte});
    }
    if let Some(found) = &shown.sensitivity {
        value["sensitivity"] = sensitivity(found);
    }
    if !shown.notes.is_empty() {
        value["notes"] = json!(shown.notes);
    }
    if let Some(path) = shown.written {
        value["written"] = json!(path.display().to_string());
    }
    value
}

fn sensitivity(found: &Sensitivity) -> Value {
    json!({
        "per_latency_second": found.per_latency_second,
        "per_second_per_byte": found.per_second_per_byte,
        "latency_share": found.latency_share,
        "bandwidth_share": found.bandwidth_share,
    })
}
