//! What lies between the slots of a cluster: the links in each direction, the way from host to host over them, and how far slots are apart.
//!
//! Links and ways are those of the replay, so what is found to be busy here is what is in the way there.

mod domains;
mod network;
mod order;
mod row;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use sintonia_machine::Figure;
use sintonia_replay::network::Problem;

pub use order::Ordered;
pub use sintonia_replay::network::topology::LinkId;

use crate::cluster::{Cluster, Distances, Host};
use network::Network;
pub(crate) use row::Row;

/// The links of a cluster, the ways over them, and where its slots are.
#[derive(Debug)]
pub struct Fabric {
    network: Arc<Network>,
    row: Arc<Row>,
    /// By slot.
    seats: Vec<Seat>,
    /// The first slot of each host, and the number of slots.
    starts: Vec<u32>,
    /// By host.
    speeds: Vec<f64>,
    distances: Distances,
}

/// Where a slot is: what it is in, each numbered through all hosts.
#[derive(Clone, Copy, Debug)]
struct Seat {
    host: u32,
    socket: u32,
    complex: u32,
}

/// Why a cluster has no links.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// Its topology is none.
    #[error(transparent)]
    Network(#[from] Problem),
    /// There is no room for anybody.
    #[error("no host has a slot")]
    NoSlots,
    /// Nothing ever gets over a link.
    #[error("a link of {0} bytes per second: it must be more than 0")]
    Rate(f64),
    /// A host that never gets anything done.
    #[error("the host `{host}` computes {speed} times as fast: it must be more than 0")]
    Speed {
        /// Its name.
        host: String,
        /// What is told of it.
        speed: f64,
    },
}

impl Fabric {
    /// The links of a cluster.
    pub fn of(cluster: &Cluster) -> Result<Fabric, Error> {
        if cluster.slots() == 0 {
            return Err(Error::NoSlots);
        }
        let network = match &cluster.topology {
            Some(topology) => Network::of(topology, cluster.hosts.len())?,
            None => {
                let rate = Figure::exact(cluster.bytes_per_s).map_err(|_| Error::Rate(cluster.bytes_per_s))?;
                Network::of(&cluster.one_switch(rate), cluster.hosts.len())?
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
            row: Arc::new(Row::of(cluster.topology.as_ref(), &slots)),
            seats: seats(&cluster.hosts),
            starts: cluster.starts(),
            speeds: cluster.hosts.iter().map(|host| host.speed).collect(),
            distances: cluster.distances,
        })
    }

    /// The same hosts with one slot each.
    pub fn of_whole_hosts(&self) -> Fabric {
        let hosts = self.hosts();
        Fabric {
            network: self.network.clone(),
            row: self.row.clone(),
            seats: (0..hosts).map(|host| Seat { host, socket: host, complex: host }).collect(),
            starts: (0..=hosts).collect(),
            speeds: self.speeds.clone(),
            distances: self.distances,
        }
    }

    /// The hosts in a row, near ones side by side.
    pub(crate) fn row(&self) -> &Row {
        &self.row
    }

    /// Whether all hosts are at one switch, so that it makes no difference which of them is where.
    pub fn is_flat(&self) -> bool {
        self.row.cuts.len() <= 2
    }

    /// How many hosts there are.
    pub fn hosts(&self) -> u32 {
        self.network.hosts()
    }

    /// How many slots there are.
    pub fn slots(&self) -> u32 {
        self.seats.len() as u32
    }

    /// The host of a slot.
    #[inline]
    pub fn host(&self, slot: u32) -> u32 {
        self.seats[slot as usize].host
    }

    /// The slots of a host.
    pub fn slots_of(&self, host: u32) -> Range<u32> {
        self.starts[host as usize]..self.starts[host as usize + 1]
    }

    /// How many times as fast as the recorded machine a host computes.
    pub fn speed(&self, host: u32) -> f64 {
        self.speeds[host as usize]
    }

    /// How long each link takes for a byte.
    pub fn s_per_byte(&self) -> &[f64] {
        self.network.s_per_byte()
    }

    /// The links from host to host, in the order of the way; none within a host. There is `room` for them where they must be found.
    #[inline]
    pub fn route<'a>(&'a self, from: u32, to: u32, room: &'a mut Vec<LinkId>) -> &'a [LinkId] {
        self.network.route(from, to, room)
    }

    /// How many links are on the way from host to host.
    #[inline]
    pub fn hops(&self, from: u32, to: u32) -> u32 {
        self.network.hops(from, to)
    }

    /// How far two slots are apart; nothing from itself.
    #[inline]
    pub fn distance(&self, a: u32, b: u32) -> f64 {
        let [one, other] = [a, b].map(|slot| self.seats[slot as usize]);
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

fn seats(hosts: &[Host]) -> Vec<Seat> {
    let mut seats: Vec<Seat> = Vec::new();
    for (host, about) in (0..).zip(hosts) {
        let first = seats.last().map_or([0, 0], |last| [last.socket + 1, last.complex + 1]);
        let [socket_size, complex_size] = order::sizes(about);
        let complexes = socket_size.div_ceil(complex_size);
        seats.extend((0..about.slots).map(|slot| {
            let (socket, within) = (slot / socket_size, slot % socket_size);
            Seat { host, socket: first[0] + socket, complex: first[1] + socket * complexes + within / complex_size }
        }));
    }
    seats
}
