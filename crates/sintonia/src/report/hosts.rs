//! Hosts, binding and limits in the text report: what the ranks ran on, and what they had of it.

use std::collections::HashMap;

use sintonia_insight::RunSummary;
use sintonia_insight::resources::{RankUsage, ThreadBinding};
use sintonia_recording::host::{HostDescription, ProcessLimits};

use crate::report::SCREEN_COLUMNS;
use crate::text::{format_bytes, format_plural, format_rank_list, format_ranks, format_seconds, wrap};

/// The sections; one of which nothing is known is empty.
pub(super) fn sections(summary: &RunSummary) -> [Vec<String>; 3] {
    [hosts(&summary.host_descriptions), binding(summary), limits(&summary.resources)]
}

/// One paragraph for each host.
fn hosts(descriptions: &[HostDescription]) -> Vec<String> {
    if descriptions.is_empty() {
        return Vec::new();
    }
    let paragraph = |host: &HostDescription| {
        let facts = [processors(host), processor_model(host), memory(host), system(host)];
        let text = format!("{}: {}", host.name, facts.into_iter().flatten().collect::<Vec<_>>().join("; "));
        let lead = |index: usize| if index == 0 { "  " } else { "      " };
        let lines = wrap(&text, SCREEN_COLUMNS - 6);
        lines.into_iter().enumerate().map(|(index, line)| format!("{}{line}", lead(index))).collect::<Vec<String>>()
    };
    std::iter::once("Hosts".to_string()).chain(descriptions.iter().flat_map(paragraph)).collect()
}

fn processors(host: &HostDescription) -> Option<String> {
    if host.processors.is_empty() {
        return None;
    }
    let smt = match host.cores {
        None => None,
        Some(_) if host.smt_siblings.is_empty() => Some("no SMT".to_string()),
        Some(_) => Some(format!("SMT ({})", host.smt_siblings.first().map(String::as_str).unwrap_or_default())),
    };
    let count = |number: Option<u32>, one: &str| number.map(|number| format_plural(number.into(), one));
    let counts = [count(host.cores, "core"), count(host.sockets, "socket"), count(host.numa_nodes, "NUMA node"), smt];
    let counts: String = counts.into_iter().flatten().map(|count| format!(", {count}")).collect();
    Some(format!("processors {}{counts}", host.processors))
}

fn processor_model(host: &HostDescription) -> Option<String> {
    let mhz = |frequency: f64| format!("{frequency:.0} MHz");
    let base = host.base_mhz.map(|frequency| format!("base {}", mhz(frequency)));
    let current = host.current_mhz.map(|frequency| format!("{} at the start", mhz(frequency)));
    joined([host.cpu_model.clone(), base, current])
}

fn memory(host: &HostDescription) -> Option<String> {
    host.memory_bytes.map(|bytes| format!("{} of memory", format_bytes(bytes)))
}

fn system(host: &HostDescription) -> Option<String> {
    let load = |load: Option<[f64; 3]>, when: &str| load.map(|[minute, ..]| format!("{minute:.2} at the {when}"));
    let load = joined([load(host.load_at_start, "start"), load(host.load_at_end, "end")]).map(|load| format!("load {load}"));
    let kernel = host.kernel.as_ref().map(|release| format!("Linux {release}"));
    [kernel, load].into_iter().flatten().reduce(|all, next| format!("{all}; {next}"))
}

fn joined<const N: usize>(parts: [Option<String>; N]) -> Option<String> {
    parts.into_iter().flatten().reduce(|all, next| format!("{all}, {next}"))
}

/// The processors on which ranks may run; ranks with the same ones in one line.
fn binding(summary: &RunSummary) -> Vec<String> {
    let hosts: HashMap<u32, &str> = match summary.hosts.len() {
        0 | 1 => HashMap::new(),
        _ => summary.per_rank.iter().map(|rank| (rank.rank, rank.host.as_str())).collect(),
    };
    let row = |resources: &RankUsage| {
        let bindings = resources.bindings();
        let host = hosts.get(&resources.rank).copied().unwrap_or_default();
        (!bindings.is_empty()).then_some(((host, bindings), resources.rank))
    };
    let rows = group_by_key(summary.resources.iter().filter_map(row)).into_iter().map(|((host, bindings), ranks)| {
        let host = if host.is_empty() { String::new() } else { format!(" on {host}") };
        format!("  {}{host}: {}", format_ranks(&ranks), processors_of_threads(&bindings))
    });
    titled("Processors on which the ranks may run", rows)
}

fn processors_of_threads(bindings: &[ThreadBinding]) -> String {
    let mask = |binding: &ThreadBinding| match &binding.affinity_at_end {
        Some(end) => format!("{}, at the end {end}", binding.affinity),
        None => binding.affinity.clone(),
    };
    if let [all] = bindings {
        return mask(all);
    }
    let of_threads = |binding: &ThreadBinding| {
        let threads: Vec<u32> = binding.threads.iter().map(|thread| u32::from(*thread)).collect();
        let noun = if threads.len() == 1 { "thread" } else { "threads" };
        format!("{noun} {}: {}", format_rank_list(&threads), mask(binding))
    };
    bindings.iter().map(of_threads).collect::<Vec<_>>().join("; ")
}

/// Limits of control groups; ranks with the same ones in one line.
fn limits(resources: &[RankUsage]) -> Vec<String> {
    // Ranks read the time at their own ends, so it differs a little between ranks of one group.
    let without_time = |limits: &ProcessLimits| format!("{:?}", ProcessLimits { throttled_ns: None, ..limits.clone() });
    let row = |resources: &RankUsage| resources.limits.as_ref().map(|limits| (without_time(limits), (resources.rank, limits.clone())));
    let rows = group_by_key(resources.iter().filter_map(row)).into_iter().map(|(_, ranks)| {
        let latest = ranks.iter().map(|(_, limits)| limits).max_by_key(|limits| limits.throttled_ns).cloned().unwrap_or_default();
        let ranks: Vec<u32> = ranks.iter().map(|(rank, _)| *rank).collect();
        format!("  {}: {}", format_ranks(&ranks), limits_text(&latest))
    });
    titled("Limits of control groups", rows)
}

fn limits_text(limits: &ProcessLimits) -> String {
    let group = limits.cpu_quota_group.as_ref().map(|group| format!(" (group {group})")).unwrap_or_default();
    let quota = limits.cpu_quota.map(|quota| format!("processor time of {quota:.2} processors{group}"));
    let throttled = limits.throttled_ns.map(|ns| format!("throttled for {}", format_seconds(ns as f64 / 1e9)));
    let memory = limits.memory_bytes.map(|bytes| format!("{} of memory", format_bytes(bytes)));
    joined([quota, throttled, memory]).unwrap_or_default()
}

fn titled(title: &str, rows: impl Iterator<Item = String>) -> Vec<String> {
    let rows: Vec<String> = rows.collect();
    if rows.is_empty() { Vec::new() } else { std::iter::once(title.to_string()).chain(rows).collect() }
}

/// Values with the same key, in order of first occurrence.
fn group_by_key<K: Clone + Eq + std::hash::Hash, V>(pairs: impl Iterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    let mut index: HashMap<K, usize> = HashMap::new();
    for (key, value) in pairs {
        let at = *index.entry(key.clone()).or_insert(groups.len());
        match groups.get_mut(at) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binding(threads: &[u16], affinity: &str, at_end: Option<&str>) -> ThreadBinding {
        ThreadBinding { threads: threads.to_vec(), affinity: affinity.into(), affinity_at_end: at_end.map(String::from) }
    }

    #[test]
    fn a_host_is_one_paragraph() {
        let host = HostDescription {
            name: "node1".into(),
            processors: "0-7".into(),
            cores: Some(4),
            sockets: Some(1),
            numa_nodes: Some(2),
            smt_siblings: ["0,4", "1,5", "2,6", "3,7"].map(String::from).to_vec(),
            cpu_model: Some("Some CPU".into()),
            base_mhz: Some(2400.0),
            current_mhz: Some(3100.4),
            kernel: Some("6.1.0".into()),
            memory_bytes: Some(64_000_000_000),
            caches: Vec::new(),
            load_at_start: Some([0.5, 0.0, 0.0]),
            load_at_end: Some([3.25, 0.0, 0.0]),
        };
        let expected = [
            "Hosts",
            "  node1: processors 0-7, 4 cores, 1 socket, 2 NUMA nodes, SMT (0,4); Some CPU, base 2400 MHz,",
            "      3100 MHz at the start; 64.0 GB of memory; Linux 6.1.0; load 0.50 at the start, 3.25 at the end",
        ];
        assert_eq!(hosts(&[host]), expected);
        assert_eq!(hosts(&[HostDescription { name: "b".into(), ..HostDescription::default() }]), ["Hosts", "  b:"]);
    }

    #[test]
    fn threads_are_named_where_they_differ() {
        assert_eq!(processors_of_threads(&[binding(&[0, 1], "0-1", None)]), "0-1");
        assert_eq!(processors_of_threads(&[binding(&[0], "0", Some("1"))]), "0, at the end 1");
        let several = [binding(&[0, 2, 3], "0-1", None), binding(&[1], "1", Some("0"))];
        assert_eq!(processors_of_threads(&several), "threads 0, 2-3: 0-1; thread 1: 1, at the end 0");
    }

    #[test]
    fn ranks_with_the_same_limits_are_one_line() {
        let rank = |rank, quota, throttled_ns| RankUsage {
            rank,
            limits: Some(ProcessLimits {
                cpu_quota: Some(quota),
                cpu_quota_group: Some("/job".into()),
                throttled_ns: Some(throttled_ns),
                memory_bytes: None,
            }),
            threads: Vec::new(),
        };
        let found = limits(&[rank(0, 1.5, 2_000_000_000), rank(1, 1.5, 2_000_000_001), rank(2, 1.0, 0)]);
        let expected = [
            "Limits of control groups",
            "  ranks 0-1: processor time of 1.50 processors (group /job), throttled for 2.00 s",
            "  rank 2: processor time of 1.00 processors (group /job), throttled for 0 s",
        ];
        assert_eq!(found, expected);
    }
}
