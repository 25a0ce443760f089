//! A replay as JSON.

use serde_json::{Value, json};
use sintonia_replay::scenario::NetworkSensitivity;

use super::ReplayReport;

/// The maximum number of listed call sites.
const MAX_SITES: usize = 1000;

/// All findings.
pub(crate) fn replay_json(shown: &ReplayReport) -> Value {
    let findings = &shown.findings;
    let outcome = &findings.outcome;
    let recorded = |seconds: f64| shown.was_executed.then_some(seconds);
    let sites = outcome.sites.iter().take(MAX_SITES).map(|site| {
        json!({
            "place": site.site_name, "operation": site.function, "calls": site.calls,
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
        value["machine"] = json!(machine.metadata.name);
    }
    if let Some(before) = &findings.baseline {
        value["unchanged_s"] = json!(before.replayed_s);
    }
    if let Some(network) = &findings.recorded_network {
        value["recorded_network"] = json!({"latency_s": network.latency_s, "s_per_byte": network.s_per_byte});
    }
    if let Some(found) = &shown.sensitivity {
        value["sensitivity"] = sensitivity_json(found);
    }
    if !shown.notes.is_empty() {
        value["notes"] = json!(shown.notes);
    }
    if let Some(path) = shown.written {
        value["written"] = json!(path.display().to_string());
    }
    value
}

fn sensitivity_json(found: &NetworkSensitivity) -> Value {
    json!({
        "per_latency_second": found.per_latency_second,
        "per_second_per_byte": found.per_second_per_byte,
        "latency_share": found.latency_share,
        "bandwidth_share": found.bandwidth_share,
    })
}
