//! Builds the hierarchy of a cluster: slots that are near in network and host are adjacent leaves.

use std::collections::BTreeSet;

use super::Fabric;
use crate::cluster::{Cluster, Host, Placement};
use crate::hierarchy::{HierarchyLevel, SlotHierarchy};

/// A hierarchy, and the slot of the cluster for each leaf.
#[derive(Clone, Debug, PartialEq)]
pub struct LeafMapping {
    /// The hierarchy.
    pub hierarchy: SlotHierarchy,
    /// The slot of each leaf.
    pub slots: Vec<u32>,
}

/// Number of pairs of hosts sampled for the distance between parts of a domain.
const SAMPLED_PAIRS: usize = 256;

impl LeafMapping {
    /// Converts a placement on leaves to one on the slots of the cluster.
    pub fn to_slots(&self, on_leaves: &Placement) -> Placement {
        Placement(on_leaves.0.iter().map(|leaf| self.slots[*leaf as usize]).collect())
    }

    /// Speed of the slot of each leaf.
    pub fn speeds(&self, fabric: &Fabric) -> Vec<f64> {
        self.slots.iter().map(|slot| fabric.speed(fabric.host(*slot))).collect()
    }
}

impl Fabric {
    /// The hierarchy of a cluster: network domains, hosts, sockets, caches.
    pub fn hierarchy(&self, cluster: &Cluster) -> LeafMapping {
        let row = self.host_order();
        let hosts: Vec<&Host> = row.hosts.iter().map(|host| &cluster.hosts[*host as usize]).collect();
        let mut levels = self.network_levels(&hosts);
        levels.extend(host_levels(&hosts, cluster));
        let slots = row.hosts.iter().flat_map(|host| self.host_slots(*host)).collect();
        LeafMapping { hierarchy: SlotHierarchy::new(remove_redundant_levels(levels)), slots }
    }

    /// The whole, and the network domains, largest first.
    fn network_levels(&self, hosts: &[&Host]) -> Vec<HierarchyLevel> {
        let ends = slot_ends(hosts);
        let level = |pair: &[Vec<usize>]| HierarchyLevel {
            starts: pair[0].iter().map(|first| if *first == 0 { 0 } else { ends[first - 1] }).chain(ends.last().copied()).collect(),
            distance: self.mean_distance(&pair[0], &pair[1]),
        };
        self.host_order().domain_starts.windows(2).map(level).collect()
    }

    /// Mean distance of hosts in the same coarse domain but in adjacent fine ones.
    fn mean_distance(&self, coarse: &[usize], fine: &[usize]) -> f64 {
        let hosts = &self.host_order().hosts;
        let coarse: BTreeSet<usize> = coarse.iter().copied().collect();
        let borders: Vec<usize> = (1..fine.len()).filter(|part| !coarse.contains(&fine[*part])).collect();
        if borders.is_empty() {
            return 0.0;
        }
        let pairs = SAMPLED_PAIRS.max(borders.len());
        let hops = |pair: usize| {
            let part = borders[pair * borders.len() / pairs];
            let end = fine.get(part + 1).copied().unwrap_or(hosts.len());
            // Strides coprime to most sizes cover all combinations.
            let one = fine[part - 1] + pair * 7 % (fine[part] - fine[part - 1]);
            let other = fine[part] + pair * 11 % (end - fine[part]);
            f64::from(self.hops(hosts[one], hosts[other]))
        };
        self.distances.per_link * (0..pairs).map(hops).sum::<f64>() / pairs as f64
    }
}

/// Slots per socket of a host, and slots per cache; all if unknown.
pub(super) fn socket_sizes(host: &Host) -> [u32; 2] {
    let at_most = |size: u32, all: u32| if size == 0 { all } else { size.min(all) };
    let socket = at_most(host.slots_per_socket, host.slots.max(1));
    [socket, at_most(host.slots_per_complex, socket)]
}

/// The levels of hosts, sockets and caches.
fn host_levels(hosts: &[&Host], cluster: &Cluster) -> [HierarchyLevel; 3] {
    let distances = cluster.distances;
    let [mut of_hosts, mut of_sockets, mut of_complexes] = [Vec::new(), Vec::new(), Vec::new()];
    let mut start = 0;
    for host in hosts {
        let [socket_size, complex_size] = socket_sizes(host);
        of_hosts.push(start);
        for socket in (0..host.slots).step_by(socket_size as usize) {
            of_sockets.push(start + socket);
            let end = (socket + socket_size).min(host.slots);
            of_complexes.extend((socket..end).step_by(complex_size as usize).map(|complex| start + complex));
        }
        start += host.slots;
    }
    let levels = [(of_hosts, distances.same_host), (of_sockets, distances.same_socket), (of_complexes, distances.same_complex)];
    levels.map(|(mut starts, distance)| {
        starts.push(start);
        HierarchyLevel { starts, distance }
    })
}

/// A level with the same domains as the next says nothing about any two slots and is dropped.
fn remove_redundant_levels(levels: Vec<HierarchyLevel>) -> Vec<HierarchyLevel> {
    let mut kept: Vec<HierarchyLevel> = Vec::with_capacity(levels.len());
    for level in levels {
        match kept.last_mut() {
            Some(last) if last.starts == level.starts => *last = level,
            _ => kept.push(level),
        }
    }
    kept
}

fn slot_ends(hosts: &[&Host]) -> Vec<u32> {
    let add = |end: &mut u32, host: &&Host| {
        *end += host.slots;
        Some(*end)
    };
    hosts.iter().scan(0, add).collect()
}
