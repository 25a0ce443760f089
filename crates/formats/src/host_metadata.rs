//! What a recording knows of its hosts and of where its ranks may run, for formats that have a place for metadata.

use serde_json::{Value, json};
use sintonia_recording::header::{RecordedRank, RecordingHeader};

/// Hosts, and for each rank its limits and what its threads used, as in `recording.json`; `None` if nothing is known.
pub(crate) fn host_metadata(header: &RecordingHeader) -> Option<Value> {
    let is_known = |rank: &&RecordedRank| !rank.usage.is_empty() || rank.limits.is_some();
    let about = |rank: &RecordedRank| json!({"rank": rank.rank, "limits": rank.limits, "threads": rank.usage});
    let ranks: Vec<Value> = header.ranks.iter().filter(is_known).map(about).collect();
    let is_empty = header.host_descriptions.is_empty() && ranks.is_empty();
    (!is_empty).then(|| json!({"hosts": header.host_descriptions, "ranks": ranks}))
}

/// Where the first thread of a rank may run, and its quota, in a few words; `None` if nothing is known.
pub(crate) fn process_label(rank: &RecordedRank) -> Option<String> {
    let affinity = rank.usage.first().map(|thread| thread.affinity.as_str()).filter(|affinity| !affinity.is_empty());
    let quota = rank.limits.as_ref().and_then(|limits| limits.cpu_quota);
    let parts = [affinity.map(|affinity| format!("processors {affinity}")), quota.map(|quota| format!("quota of {quota:.2} processors"))];
    parts.into_iter().flatten().reduce(|all, next| format!("{all}, {next}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_recording::host::{HostDescription, ProcessLimits, ThreadUsage};

    #[test]
    fn a_recording_without_hosts_has_no_metadata() {
        let header = RecordingHeader { ranks: vec![RecordedRank::default()], ..RecordingHeader::default() };
        assert_eq!(host_metadata(&header), None);
        assert_eq!(process_label(&header.ranks[0]), None);
    }

    #[test]
    fn hosts_and_ranks_are_described() {
        let usage = vec![ThreadUsage { cpu_ns: 5, affinity: "0-1".into(), ..ThreadUsage::default() }];
        let limits = Some(ProcessLimits { cpu_quota: Some(1.5), ..ProcessLimits::default() });
        let rank = RecordedRank { rank: 3, usage, limits, ..RecordedRank::default() };
        assert_eq!(process_label(&rank).as_deref(), Some("processors 0-1, quota of 1.50 processors"));
        let host = HostDescription { name: "a".into(), cores: Some(2), ..HostDescription::default() };
        let header = RecordingHeader { host_descriptions: vec![host], ranks: vec![rank], ..RecordingHeader::default() };
        let found = host_metadata(&header).unwrap();
        assert_eq!((&found["hosts"][0]["cores"], &found["ranks"][0]["rank"]), (&json!(2), &json!(3)));
        assert_eq!((&found["ranks"][0]["limits"]["cpu_quota"], &found["ranks"][0]["threads"][0]["cpu_ns"]), (&json!(1.5), &json!(5)));
    }
}
