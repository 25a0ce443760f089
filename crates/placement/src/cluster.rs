//! The cluster on which ranks are placed: hosts with slots, and the network between them.

use sintonia_machine::topology::{ConcurrencyLimits, LinkParameters, TopologyKind};
use sintonia_machine::{BandwidthSharing, Duplex, Topology, UncertainValue};

/// A host with its slots.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// Its name, as known to the launcher.
    pub name: String,
    /// Number of ranks it can take, one per core.
    pub slots: u32,
    /// Slots per socket; all of them if there is one socket or the layout is unknown.
    pub slots_per_socket: u32,
    /// Slots that share a cache; those of a socket if unknown.
    pub slots_per_complex: u32,
    /// Speed relative to the recorded machine.
    pub speed: f64,
}

/// Distances between slots, in any unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlotDistances {
    /// Between slots that share a cache.
    pub same_complex: f64,
    /// Between slots of one socket.
    pub same_socket: f64,
    /// Between slots of one host.
    pub same_host: f64,
    /// Per link of the route between hosts.
    pub per_link: f64,
}

impl Default for SlotDistances {
    /// Rough ratios of message cost. Two hosts at one switch are two links apart, and so 10 times as far as two cores that share a cache.
    fn default() -> SlotDistances {
        SlotDistances { same_complex: 1.0, same_socket: 2.0, same_host: 4.0, per_link: 5.0 }
    }
}

/// Hosts and the network between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// The hosts, in the order of the topology's nodes.
    pub hosts: Vec<Host>,
    /// The network topology; without one, every host has a link to and from an ideal switch.
    pub topology: Option<Topology>,
    /// Bandwidth of such a link in bytes per second.
    pub bytes_per_s: f64,
    /// Distances between slots.
    pub distances: SlotDistances,
}

/// A slot of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostSlot {
    /// Index of the host in the cluster.
    pub host: u32,
    /// Index of the slot on that host.
    pub slot: u32,
}

/// The slot of each rank. Slots are numbered consecutively over all hosts; no slot is used twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement(pub Vec<u32>);

impl Host {
    /// A host of which only the name and the number of slots are known.
    pub fn new(name: impl Into<String>, slots: u32) -> Host {
        Host { name: name.into(), slots, slots_per_socket: slots, slots_per_complex: slots, speed: 1.0 }
    }
}

/// Bandwidth of an unknown link: ten gigabits per second.
pub const DEFAULT_LINK_BYTES_PER_S: f64 = 1.25e9;

/// Number of slots of some hosts.
pub fn total_slots(hosts: &[Host]) -> u32 {
    hosts.iter().fold(0, |sum: u32, host| sum.saturating_add(host.slots))
}

impl Cluster {
    /// Hosts with an unknown network.
    pub fn new(hosts: Vec<Host>) -> Cluster {
        Cluster { hosts, topology: None, bytes_per_s: DEFAULT_LINK_BYTES_PER_S, distances: SlotDistances::default() }
    }

    /// Number of slots of all hosts.
    pub fn slot_count(&self) -> u32 {
        total_slots(&self.hosts)
    }

    /// The switch or group of a host; none where all hosts are equal or on a grid.
    pub fn host_group(&self, host: u32) -> Option<String> {
        match &self.topology.as_ref()?.kind {
            TopologyKind::FatTree { levels } => Some(format!("switch {}", host / levels.first()?.down.max(1))),
            TopologyKind::Dragonfly(dragonfly) => Some(format!("group {}", host / (dragonfly.nodes * dragonfly.routers).max(1))),
            _ => None,
        }
    }

    /// The topology assumed for an unknown network: every host has a link of this bandwidth to and from an ideal switch.
    pub fn single_switch(&self, bytes_per_s: UncertainValue) -> Topology {
        Topology {
            kind: TopologyKind::Crossbar { nodes: self.hosts.len() as u32 },
            link: LinkParameters { bandwidth: bytes_per_s, latency: UncertainValue::ZERO },
            duplex: Duplex::Full,
            sharing: BandwidthSharing::Fair,
            flow_control: None,
            limits: ConcurrencyLimits::default(),
        }
    }

    /// The first slot of each host, followed by the number of slots.
    pub fn slot_starts(&self) -> Vec<u32> {
        let mut starts = vec![0u32];
        starts.extend(self.hosts.iter().scan(0u32, |end, host| {
            *end = end.saturating_add(host.slots);
            Some(*end)
        }));
        starts
    }

    /// The host of each slot.
    pub fn hosts_by_slot(&self) -> Vec<u32> {
        self.hosts.iter().zip(0..).flat_map(|(host, index)| std::iter::repeat_n(index, host.slots as usize)).collect()
    }
}

impl Placement {
    /// Fills one host after the other (`--map-by core`).
    pub fn by_core(ranks: u32) -> Placement {
        Placement((0..ranks).collect())
    }

    /// Distributes ranks over the hosts round-robin (`--map-by node`).
    pub fn by_host(ranks: u32, cluster: &Cluster) -> Placement {
        let starts = cluster.slot_starts();
        let most = cluster.hosts.iter().map(|host| host.slots).max().unwrap_or(0);
        let turn =
            |turn: u32| cluster.hosts.iter().zip(&starts).filter(move |(host, _)| host.slots > turn).map(move |(_, start)| start + turn);
        Placement((0..most).flat_map(turn).take(ranks as usize).collect())
    }

    /// The host and slot of each rank.
    pub fn host_slots(&self, cluster: &Cluster) -> Vec<HostSlot> {
        let starts = cluster.slot_starts();
        let slot = |slot: &u32| {
            let host = starts.partition_point(|start| start <= slot) - 1;
            HostSlot { host: host as u32, slot: slot - starts[host] }
        };
        self.0.iter().map(slot).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster() -> Cluster {
        let hosts = vec![Host::new("a", 2), Host::new("b", 0), Host::new("c", 3)];
        Cluster::new(hosts)
    }

    #[test]
    fn slots_are_numbered_through_all_hosts() {
        let slots = Placement::by_core(4).host_slots(&cluster());
        assert_eq!(slots.iter().map(|slot| (slot.host, slot.slot)).collect::<Vec<_>>(), [(0, 0), (0, 1), (2, 0), (2, 1)]);
        assert_eq!(cluster().hosts_by_slot(), [0, 0, 2, 2, 2]);
    }

    #[test]
    fn ranks_dealt_out_in_turn_pass_by_hosts_that_are_full() {
        let slots = Placement::by_host(5, &cluster()).host_slots(&cluster());
        assert_eq!(slots.iter().map(|slot| (slot.host, slot.slot)).collect::<Vec<_>>(), [(0, 0), (2, 0), (0, 1), (2, 1), (2, 2)]);
    }
}
