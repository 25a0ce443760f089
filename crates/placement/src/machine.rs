//! The cluster described by a machine file.

use sintonia_machine::{Machine, MessageMetric, NetworkCosts, NodeType, PairClass};

use crate::cluster::DEFAULT_LINK_BYTES_PER_S;
use crate::{Cluster, Host, SlotDistances};

/// Maximum number of hosts that are listed individually.
const MAX_HOSTS: u64 = 1 << 22;

impl Cluster {
    /// The hosts of a machine, in the order of its nodes, for a program with this mean message size. Nodes without a name are numbered:
    /// `node0`, `node1`.
    pub fn from_machine(machine: &Machine, mean_bytes: f64) -> Cluster {
        let mut hosts: Vec<Host> = Vec::new();
        for node in &machine.nodes {
            for number in 0..node.count.min(MAX_HOSTS) as usize {
                let name = node.layout.hosts.get(number).cloned().unwrap_or_else(|| format!("node{}", hosts.len()));
                hosts.push(host(node, name));
            }
        }
        Cluster {
            hosts,
            topology: machine.topology.clone(),
            bytes_per_s: link_bytes_per_s(machine),
            distances: distances(machine, mean_bytes).unwrap_or_default(),
        }
    }
}

/// Whether every node of a machine has a host name for the launcher.
pub fn has_host_names(machine: &Machine) -> bool {
    machine.nodes.iter().all(|node| !node.layout.hosts.is_empty())
}

fn host(node: &NodeType, name: String) -> Host {
    let slots = u32::try_from(node.cores).unwrap_or(u32::MAX);
    let per = |parts: Option<u64>| slots / parts.map_or(1, |parts| u32::try_from(parts).unwrap_or(1)).clamp(1, slots.max(1));
    let slots_per_socket = per(node.layout.sockets);
    let slots_per_complex = per(node.layout.complexes).min(slots_per_socket);
    Host { name, slots, slots_per_socket, slots_per_complex, speed: node.speed.middle() }
}

/// Bandwidth between two nodes for large messages, in bytes per second.
fn link_bytes_per_s(machine: &Machine) -> f64 {
    let slope = machine.network(PairClass::OtherNode).and_then(transfer_timing).map(|pieces| <[f64; 3]>::from(pieces.last().slope)[1]);
    slope.filter(|slope| *slope > 0.0).map_or(DEFAULT_LINK_BYTES_PER_S, |slope| 1.0 / slope)
}

pub(crate) fn transfer_timing(network: &NetworkCosts) -> Option<&sintonia_machine::PiecewiseCost> {
    let timing = network.messages.get(&MessageMetric::Transfer).or_else(|| network.messages.get(&MessageMetric::Send))?;
    Some(&timing.pieces)
}

/// Distances by the time of a message of this size; distances that were not measured keep the default ratios.
fn distances(machine: &Machine, mean_bytes: f64) -> Option<SlotDistances> {
    let usual = SlotDistances::default();
    let time = |class: PairClass| Some(transfer_timing(machine.networks.get(&class)?)?.at(mean_bytes)[1]).filter(|time| *time > 0.0);
    let other = time(PairClass::OtherNode)?;
    let host =
        time(PairClass::SameNode).or_else(|| time(PairClass::SameComplex)).unwrap_or(other * usual.same_host / (2.0 * usual.per_link));
    let complex = time(PairClass::SameComplex).filter(|complex| *complex < host).unwrap_or(host * usual.same_complex / usual.same_host);
    let same_host = host / complex;
    // A message between hosts is never nearer than one within a host.
    let per_link = (other.max(host) / complex) / 2.0;
    Some(SlotDistances { same_complex: 1.0, same_socket: same_host.sqrt(), same_host, per_link })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const TEXT: &str = r#"format = 1
[machine]
name = "two kinds"
[[node]]
kind = "small"
count = 2
cores = 4
sockets = 2
hosts = ["a", "b"]
[[node]]
kind = "large"
count = 1
cores = 8
complexes = 4
speed = 2
[network.same_node.transfer]
pieces = [{ intercept_s = 1e-6, slope_s_per_byte = 1e-10 }]
[network.other_node.transfer]
pieces = [{ intercept_s = 1e-5, slope_s_per_byte = 1e-8 }]
"#;

    #[test]
    fn nodes_are_hosts_with_their_inside() {
        let machine = Machine::parse(TEXT, Path::new("m.toml")).unwrap();
        let cluster = Cluster::from_machine(&machine, 10_000.0);
        let options: Vec<_> =
            cluster.hosts.iter().map(|h| (h.name.as_str(), h.slots, h.slots_per_socket, h.slots_per_complex, h.speed)).collect();
        assert_eq!(options, [("a", 4, 2, 2, 1.0), ("b", 4, 2, 2, 1.0), ("node2", 8, 8, 2, 2.0)]);
        assert_eq!((cluster.bytes_per_s, has_host_names(&machine)), (1e8, false));
    }

    #[test]
    fn distances_follow_what_was_measured() {
        let machine = Machine::parse(TEXT, Path::new("m.toml")).unwrap();
        let distances = Cluster::from_machine(&machine, 10_000.0).distances;
        // 110 us between hosts, 2 us within.
        assert!((2.0 * distances.per_link / distances.same_host - 55.0).abs() < 1e-9, "{distances:?}");
        assert_eq!((distances.same_complex, distances.same_host), (1.0, 4.0));
    }
}
