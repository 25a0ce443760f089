//! The interconnect of a cluster: directed links, routes between hosts, and distances between slots.
//!
//! Links and routes are those of the replay, so congestion here is congestion there.

mod domains;
mod host_order;
mod network;
mod slot_order;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use sintonia_machine::UncertainValue;
use sintonia_replay::network::NetworkError;

pub use sintonia_replay::network::topology::LinkId;
pub use slot_order::LeafMapping;

use crate::cluster::{Cluster, Host, SlotDistances};
pub(crate) use host_order::HostOrder;
use network::HostNetwork;

/// The links and routes of a cluster, and the positions of its slots.
#[derive(Debug)]
pub struct Fabric {
    network: Arc<HostNetwork>,
    host_order: Arc<HostOrder>,
    /// By slot.
    slot_positions: Vec<SlotPosition>,
    /// The first slot of each host, followed by the number of slots.
    starts: Vec<u32>,
    /// By host.
    speeds: Vec<f64>,
    distances: SlotDistances,
}

/// The position of a slot; hosts, sockets and core complexes are numbered consecutively over the cluster.
#[derive(Clone, Copy, Debug)]
struct SlotPosition {
    host: u32,
    socket: u32,
    complex: u32,
}

/// Why a cluster cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// Its topology is invalid.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// It has no slots.
    #[error("no host has a slot")]
    NoSlots,
    /// A link without bandwidth.
    #[error("link bandwidth of {0} bytes per second: must be positive")]
    Rate(f64),
    /// A host without speed.
    #[error("host `{host}` has speed {speed}: must be positive")]
    Speed {
        /// Its name.
        host: String,
        /// Its speed.
        speed: f64,
    },
}

impl Fabric {
    /// Builds the links of a cluster.
    pub fn from_cluster(cluster: &Cluster) -> Result<Fabric, Error> {
        if cluster.slot_count() == 0 {
            return Err(Error::NoSlots);
        }
        let network = match &cluster.topology {
            Some(topology) => HostNetwork::from_topology(topology, cluster.hosts.len())?,
            None => {
                let rate = UncertainValue::exact(cluster.bytes_per_s).map_err(|_| Error::Rate(cluster.bytes_per_s))?;
                HostNetwork::from_topology(&cluster.single_switch(rate), cluster.hosts.len())?
            }
        };
        if let Some(s_per_byte) = network.s_per_byte().iter().find(|s_per_byte| !is_positive(**s_per_byte)) {
            return Err(Error::Rate(s_per_byte.recip()));
        }
        if let Some(host) = cluster.hosts.iter().find(|host| !is_positive(host.speed)) {
            return Err(Error::Speed { host: host.name.clone(), speed: host.speed });
        }
        let slots: Vec<u32> = cluster.hosts.iter().map(|host| host.slots).collect();
        Ok(Fabric {
            network: Arc::new(network),
            host_order: Arc::new(HostOrder::from_topology(cluster.topology.as_ref(), &slots)),
            slot_positions: slot_positions(&cluster.hosts),
            starts: cluster.slot_starts(),
            speeds: cluster.hosts.iter().map(|host| host.speed).collect(),
            distances: cluster.distances,
        })
    }

    /// The same hosts with one slot each.
    pub fn with_one_slot_per_host(&self) -> Fabric {
        let hosts = self.host_count();
        Fabric {
            network: self.network.clone(),
            host_order: self.host_order.clone(),
            slot_positions: (0..hosts).map(|host| SlotPosition { host, socket: host, complex: host }).collect(),
            starts: (0..=hosts).collect(),
            speeds: self.speeds.clone(),
            distances: self.distances,
        }
    }

    /// The hosts ordered by proximity.
    pub(crate) fn host_order(&self) -> &HostOrder {
        &self.host_order
    }

    /// Whether all hosts are at one switch, so that they are interchangeable.
    pub fn is_flat(&self) -> bool {
        self.host_order.domain_starts.len() <= 2
    }

    /// Number of hosts.
    pub fn host_count(&self) -> u32 {
        self.network.hosts()
    }

    /// Number of slots.
    pub fn slot_count(&self) -> u32 {
        self.slot_positions.len() as u32
    }

    /// The host of a slot.
    #[inline]
    pub fn host(&self, slot: u32) -> u32 {
        self.slot_positions[slot as usize].host
    }

    /// The slots of a host.
    pub fn host_slots(&self, host: u32) -> Range<u32> {
        self.starts[host as usize]..self.starts[host as usize + 1]
    }

    /// Speed of a host relative to the recorded machine.
    pub fn speed(&self, host: u32) -> f64 {
        self.speeds[host as usize]
    }

    /// Seconds per byte of each link.
    pub fn s_per_byte(&self) -> &[f64] {
        self.network.s_per_byte()
    }

    /// The links of the route between two hosts, in order; none within a host. `buffer` is used for routes that are not tabulated.
    #[inline]
    pub fn route<'a>(&'a self, from: u32, to: u32, buffer: &'a mut Vec<LinkId>) -> &'a [LinkId] {
        self.network.route(from, to, buffer)
    }

    /// Number of links of the route between two hosts.
    #[inline]
    pub fn hops(&self, from: u32, to: u32) -> u32 {
        self.network.hops(from, to)
    }

    /// Distance of two slots; 0 for the same slot.
    #[inline]
    pub fn distance(&self, a: u32, b: u32) -> f64 {
        let [one, other] = [a, b].map(|slot| self.slot_positions[slot as usize]);
        if one.host != other.host {
            self.distances.per_link * f64::from(self.hops(one.host, other.host))
        } else if one.socket != other.socket {
            self.distances.same_host
        } else if one.complex != other.complex {
            self.distances.same_socket
        } else if a != b {
            self.distances.same_complex
        } else {
            0.0
        }
    }
}

fn is_positive(number: f64) -> bool {
    number > 0.0 && number.is_finite()
}

fn slot_positions(hosts: &[Host]) -> Vec<SlotPosition> {
    let mut assignment: Vec<SlotPosition> = Vec::new();
    for (host, about) in (0..).zip(hosts) {
        let first = assignment.last().map_or([0, 0], |last| [last.socket + 1, last.complex + 1]);
        let [socket_size, complex_size] = slot_order::socket_sizes(about);
        let complexes = socket_size.div_ceil(complex_size);
        assignment.extend((0..about.slots).map(|slot| {
            let (socket, within) = (slot / socket_size, slot % socket_size);
            SlotPosition { host, socket: first[0] + socket, complex: first[1] + socket * complexes + within / complex_size }
        }));
    }
    assignment
}
