//! The slots of a cluster as the leaves of a tree: what is near in the network and in the host stands side by side.

use std::collections::BTreeSet;

use super::Fabric;
use crate::cluster::{Cluster, Host, Placement};
use crate::hierarchy::{Hierarchy, Level};

/// A hierarchy, and which slot of the cluster each of its leaves is.
#[derive(Clone, Debug, PartialEq)]
pub struct Ordered {
    /// The tree.
    pub hierarchy: Hierarchy,
    /// The cluster's slot of each leaf.
    pub slots: Vec<u32>,
}

/// So many pairs of hosts are looked at to say how far the parts of a domain are apart.
const PAIRS: usize = 256;

impl Ordered {
    /// A placement on the leaves as one on the slots of the cluster.
    pub fn placement(&self, on_leaves: &Placement) -> Placement {
        Placement(on_leaves.0.iter().map(|leaf| self.slots[*leaf as usize]).collect())
    }

    /// How fast the slot of each leaf computes.
    pub fn speeds(&self, fabric: &Fabric) -> Vec<f64> {
        self.slots.iter().map(|slot| fabric.speed(fabric.host(*slot))).collect()
    }
}

impl Fabric {
    /// The hierarchy of a cluster: domains of the network, hosts, sockets, caches.
    pub fn hierarchy(&self, cluster: &Cluster) -> Ordered {
        let row = self.row();
        let hosts: Vec<&Host> = row.hosts.iter().map(|host| &cluster.hosts[*host as usize]).collect();
        let mut levels = self.above_hosts(&hosts);
        levels.extend(within_hosts(&hosts, cluster));
        let slots = row.hosts.iter().flat_map(|host| self.slots_of(*host)).collect();
        Ordered { hierarchy: Hierarchy::new(without_repetition(levels)), slots }
    }

    /// The whole, and the domains of the network from the largest down.
    fn above_hosts(&self, hosts: &[&Host]) -> Vec<Level> {
        let ends = slot_ends(hosts);
        let level = |pair: &[Vec<usize>]| Level {
            starts: pair[0].iter().map(|first| if *first == 0 { 0 } else { ends[first - 1] }).chain(ends.last().copied()).collect(),
            distance: self.mean_distance(&pair[0], &pair[1]),
        };
        self.row().cuts.windows(2).map(level).collect()
    }

    /// How far hosts are apart that are in one domain of the coarser cut and in parts of it that follow each other in the finer one.
    fn mean_distance(&self, coarse: &[usize], fine: &[usize]) -> f64 {
        let hosts = &self.row().hosts;
        let coarse: BTreeSet<usize> = coarse.iter().copied().collect();
        let borders: Vec<usize> = (1..fine.len()).filter(|part| !coarse.contains(&fine[*part])).collect();
        if borders.is_empty() {
            return 0.0;
        }
        let pairs = PAIRS.max(borders.len());
        let hops = |pair: usize| {
            let part = borders[pair * borders.len() / pairs];
            let end = fine.get(part + 1).copied().unwrap_or(hosts.len());
            // Strides without a common factor with most sizes go through all combinations.
            let one = fine[part - 1] + pair * 7 % (fine[part] - fine[part - 1]);
            let other = fine[part] + pair * 11 % (end - fine[part]);
            f64::from(self.hops(hosts[one], hosts[other]))
        };
        self.distances.per_link * (0..pairs).map(hops).sum::<f64>() / pairs as f64
    }
}

/// How many slots a socket of a host has, and how many share a cache in it; all where nothing is told.
pub fn sizes(host: &Host) -> [u32; 2] {
    let at_most = |size: u32, all: u32| if size == 0 { all } else { size.min(all) };
    let socket = at_most(host.slots_per_socket, host.slots.max(1));
    [socket, at_most(host.slots_per_complex, socket)]
}

/// Hosts, sockets and caches.
fn within_hosts(hosts: &[&Host], cluster: &Cluster) -> [Level; 3] {
    let distances = cluster.distances;
    let [mut of_hosts, mut of_sockets, mut of_complexes] = [Vec::new(), Vec::new(), Vec::new()];
    let mut start = 0;
    for host in hosts {
        let [socket_size, complex_size] = sizes(host);
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
        Level { starts, distance }
    })
}

/// Where a level cuts nothing, the one before says nothing of any two slots and goes.
fn without_repetition(levels: Vec<Level>) -> Vec<Level> {
    let mut kept: Vec<Level> = Vec::with_capacity(levels.len());
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
