//! A replay with its findings, as JSON.

use std::path::Path;

use serde_json::{Value, json};
use sintonia_machine::Machine;

use crate::engine::RecordedNetwork;
use crate::scenario::{NetworkSensitivity, ScenarioResult};

/// The maximum number of listed call sites.
const MAX_SITES: usize = 1000;

/// The result of a replay.
pub struct ReplayReport<'a> {
    /// The recording or file.
    pub name: String,
    /// Whether it was actually executed, and has recorded times.
    pub was_executed: bool,
    /// The number of ranks.
    pub ranks: u32,
    /// The machine; none for the network as recorded.
    pub machine: Option<&'a Machine>,
    /// The changes, as given.
    pub changes: &'a [String],
    /// The findings of the replay.
    pub findings: ScenarioResult,
    /// The sensitivity to latency and bandwidth, if requested.
    pub sensitivity: Option<NetworkSensitivity>,
    /// The recording that was written, if any.
    pub written: Option<&'a Path>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

impl ReplayReport<'_> {
    /// All findings.
    pub fn to_json(&self) -> Value {
        let findings = &self.findings;
        let outcome = &findings.outcome;
        let recorded = |seconds: f64| self.was_executed.then_some(seconds);
        let sites = outcome.sites.iter().take(MAX_SITES).map(|site| {
            json!({
                "place": site.site_name, "operation": site.function, "calls": site.calls,
                "recorded_s": recorded(site.recorded_s), "replayed_s": site.replayed_s,
            })
        });
        let ranks = outcome
            .ranks
            .iter()
            .map(|rank| json!({"rank": rank.rank, "recorded_s": recorded(rank.recorded_s), "replayed_s": rank.replayed_s}));
        let mut value = json!({
            "recording": self.name,
            "measured_s": recorded(outcome.recorded_s),
            "seconds": findings.seconds,
            "ranks": self.ranks,
            "calls": outcome.calls,
            "per_rank": ranks.collect::<Vec<_>>(),
            "call_sites": sites.collect::<Vec<_>>(),
            "unmatched": outcome.unmatched.sends + outcome.unmatched.receives,
        });
        if let Some(machine) = self.machine {
            value["machine"] = json!(machine.metadata.name);
        }
        if let Some(before) = &findings.baseline {
            value["unchanged_s"] = json!(before.replayed_s);
        }
        if let Some(network) = &findings.recorded_network {
            value["recorded_network"] = network_json(network);
        }
        if outcome.core_waits.share > 0.0 {
            value["core_wait_share"] = json!(outcome.core_waits.share);
        }
        if let Some(undisturbed_s) = findings.undisturbed_s {
            value["undisturbed_s"] = json!(undisturbed_s);
        }
        if let Some(found) = &self.sensitivity {
            value["sensitivity"] = sensitivity_json(found);
        }
        if !self.notes.is_empty() {
            value["notes"] = json!(self.notes);
        }
        if let Some(path) = self.written {
            value["written"] = json!(path.display().to_string());
        }
        value
    }
}

/// The estimated network; null where it is unknown because ranks waited for a core.
fn network_json(network: &RecordedNetwork) -> Value {
    let known = |value: f64| (!network.transfers.are_too_few()).then_some(value);
    let mut json = json!({"latency_s": known(network.latency_s), "s_per_byte": known(network.s_per_byte)});
    if network.transfers.disturbed > 0 {
        json["undisturbed_messages"] = json!(network.transfers.undisturbed);
        json["disturbed_messages"] = json!(network.transfers.disturbed);
    }
    json
}

fn sensitivity_json(found: &NetworkSensitivity) -> Value {
    json!({
        "per_latency_second": found.per_latency_second,
        "per_second_per_byte": found.per_second_per_byte,
        "latency_share": found.latency_share,
        "bandwidth_share": found.bandwidth_share,
    })
}
