//! Where ranks can be: hosts with slots, and what lies between them.

use sintonia_machine::topology::{Kind, Limits, Link};
use sintonia_machine::{Duplex, Figure, Sharing, Topology};

/// A host, and how many ranks it has room for.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// Its name, as the launcher knows it.
    pub name: String,
    /// How many ranks it has room for, one on each core.
    pub slots: u32,
    /// How many slots each of its sockets has; all of them if there is one socket or nothing is known.
    pub slots_per_socket: u32,
    /// How many slots share a cache; as many as a socket has if nothing is known.
    pub slots_per_complex: u32,
    /// How many times as fast as the recorded machine it computes.
    pub speed: f64,
}

/// How far slots are apart, in any unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distances {
    /// Sharing a cache.
    pub same_complex: f64,
    /// On one socket.
    pub same_socket: f64,
    /// On one host.
    pub same_host: f64,
    /// On different hosts, for each link of the way.
    pub per_link: f64,
}

impl Default for Distances {
    /// Rough ratios of what a message costs; two hosts at one switch are two links apart, and so 10 times as far as two cores at one cache.
    fn default() -> Distances {
        Distances { same_complex: 1.0, same_socket: 2.0, same_host: 4.0, per_link: 5.0 }
    }
}

/// Hosts, and what lies between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// The hosts, in the order of the nodes of the topology.
    pub hosts: Vec<Host>,
    /// How they are connected; without one, each has a link to and from a switch that is never in the way.
    pub topology: Option<Topology>,
    /// Bytes per second of such a link.
    pub bytes_per_s: f64,
    /// How far slots are apart.
    pub distances: Distances,
}

/// A slot of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    /// The host, by its place in the cluster.
    pub host: u32,
    /// The slot, counted from 0 on each host.
    pub slot: u32,
}

/// Which rank goes to which slot. Slots are numbered through all hosts in order; none is taken twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement(pub Vec<u32>);

impl Host {
    /// A host of which nothing is known but its name and how many ranks it has room for.
    pub fn plain(name: impl Into<String>, slots: u32) -> Host {
        Host { name: name.into(), slots, slots_per_socket: slots, slots_per_complex: slots, speed: 1.0 }
    }
}

/// Bytes per second of a link of which nothing is known: ten gigabits.
pub const UNKNOWN_LINK: f64 = 1.25e9;

/// How many ranks hosts have room for.
pub fn slots(hosts: &[Host]) -> u32 {
    hosts.iter().fold(0, |sum: u32, host| sum.saturating_add(host.slots))
}

impl Cluster {
    /// Hosts between which nothing is known of the network.
    pub fn plain(hosts: Vec<Host>) -> Cluster {
        Cluster { hosts, topology: None, bytes_per_s: UNKNOWN_LINK, distances: Distances::default() }
    }

    /// How many ranks all hosts together have room for.
    pub fn slots(&self) -> u32 {
        slots(&self.hosts)
    }

    /// What lies between hosts where nothing is known of it: each has a link of this rate to and from a switch that is never in the way.
    pub fn one_switch(&self, bytes_per_s: Figure) -> Topology {
        Topology {
            kind: Kind::Crossbar { nodes: self.hosts.len() as u32 },
            link: Link { bandwidth: bytes_per_s, latency: Figure::ZERO },
            duplex: Duplex::Full,
            sharing: Sharing::Fair,
            flow_control: None,
            limits: Limits::default(),
        }
    }

    /// The first slot of each host, and the number of slots.
    pub fn starts(&self) -> Vec<u32> {
        let mut starts = vec![0u32];
        starts.extend(self.hosts.iter().scan(0u32, |end, host| {
            *end = end.saturating_add(host.slots);
            Some(*end)
        }));
        starts
    }

    /// The host of each slot.
    pub fn hosts_by_slot(&self) -> Vec<u32> {
        self.hosts.iter().zip(0..).flat_map(|(host, place)| std::iter::repeat_n(place, host.slots as usize)).collect()
    }
}

impl Placement {
    /// Hosts are filled one after another, as launchers do by core.
    pub fn by_core(ranks: u32) -> Placement {
        Placement((0..ranks).collect())
    }

    /// Ranks are dealt out to the hosts in turn, as launchers do by node.
    pub fn by_host(ranks: u32, cluster: &Cluster) -> Placement {
        let starts = cluster.starts();
        let most = cluster.hosts.iter().map(|host| host.slots).max().unwrap_or(0);
        let turn =
            |turn: u32| cluster.hosts.iter().zip(&starts).filter(move |(host, _)| host.slots > turn).map(move |(_, start)| start + turn);
        Placement((0..most).flat_map(turn).take(ranks as usize).collect())
    }

    /// The slot of each rank, host by host.
    pub fn slots(&self, cluster: &Cluster) -> Vec<Slot> {
        let starts = cluster.starts();
        let slot = |slot: &u32| {
            let host = starts.partition_point(|start| start <= slot) - 1;
            Slot { host: host as u32, slot: slot - starts[host] }
        };
        self.0.iter().map(slot).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster() -> Cluster {
        let hosts = vec![Host::plain("a", 2), Host::plain("b", 0), Host::plain("c", 3)];
        Cluster::plain(hosts)
    }

    #[test]
    fn slots_are_numbered_through_all_hosts() {
        let slots = Placement::by_core(4).slots(&cluster());
        assert_eq!(slots.iter().map(|slot| (slot.host, slot.slot)).collect::<Vec<_>>(), [(0, 0), (0, 1), (2, 0), (2, 1)]);
        assert_eq!(cluster().hosts_by_slot(), [0, 0, 2, 2, 2]);
    }

    #[test]
    fn ranks_dealt_out_in_turn_pass_by_hosts_that_are_full() {
        let slots = Placement::by_host(5, &cluster()).slots(&cluster());
        assert_eq!(slots.iter().map(|slot| (slot.host, slot.slot)).collect::<Vec<_>>(), [(0, 0), (2, 0), (0, 1), (2, 1), (2, 2)]);
    }
}
