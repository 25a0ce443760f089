//! The links between hosts and the ways over them; where hosts are few, all ways are found beforehand.

use sintonia_machine::Topology;
use sintonia_machine::topology::TopologyProblem;
use sintonia_replay::network::topology::{LinkId, Routes};
use sintonia_replay::network::{Figures, Problem};
use sintonia_replay::platform::End;

/// What is between hosts.
#[derive(Debug)]
pub struct Network {
    routes: Routes,
    s_per_byte: Vec<f64>,
    known: Option<Known>,
    hosts: u32,
}

/// The ways of all pairs of hosts, one after the other.
#[derive(Debug)]
struct Known {
    /// Where the way of each pair begins; and the end.
    starts: Vec<u32>,
    links: Vec<LinkId>,
}

/// The ways of so many hosts are known beforehand: more would not stay near the processor.
const FEW: u32 = 1024;

/// And if they have at most so many links in all.
const FEW_LINKS: usize = 1 << 24;

impl Network {
    /// The links of a topology, if it has a place for every host.
    pub fn of(topology: &Topology, hosts: usize) -> Result<Network, Problem> {
        let places = topology.kind.nodes()?;
        let Some(hosts) = u32::try_from(hosts).ok().filter(|hosts| *hosts <= places) else {
            return Err(TopologyProblem::TooSmall { places, nodes: hosts as u64 }.into());
        };
        let routes = Routes::of(topology, Figures::from(End::Middle))?;
        let s_per_byte = routes.speeds().iter().map(|link| link.bytes_per_s.recip()).collect();
        let known = if hosts <= FEW { Known::of(&routes, hosts) } else { None };
        Ok(Network { routes, s_per_byte, known, hosts })
    }

    /// How long each link takes for a byte.
    pub fn s_per_byte(&self) -> &[f64] {
        &self.s_per_byte
    }

    /// How many hosts there are.
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// The links from host to host in the order of the way; `room` is for ways that are not known beforehand.
    #[inline]
    pub fn route<'a>(&'a self, from: u32, to: u32, room: &'a mut Vec<LinkId>) -> &'a [LinkId] {
        match &self.known {
            Some(known) => known.way(self.hosts, from, to),
            None => {
                self.routes.find(from, to, room);
                room
            }
        }
    }

    /// How many links are on the way.
    #[inline]
    pub fn hops(&self, from: u32, to: u32) -> u32 {
        match &self.known {
            Some(known) => known.way(self.hosts, from, to).len() as u32,
            None => self.routes.hops(from, to),
        }
    }
}

impl Known {
    /// All ways, unless they are too long.
    fn of(routes: &Routes, hosts: u32) -> Option<Known> {
        let (mut starts, mut links, mut way) = (vec![0], Vec::new(), Vec::new());
        for from in 0..hosts {
            for to in 0..hosts {
                routes.find(from, to, &mut way);
                links.extend_from_slice(&way);
                starts.push(links.len() as u32);
            }
            if links.len() > FEW_LINKS {
                return None;
            }
        }
        Some(Known { starts, links })
    }

    #[inline]
    fn way(&self, hosts: u32, from: u32, to: u32) -> &[LinkId] {
        let pair = from as usize * hosts as usize + to as usize;
        &self.links[self.starts[pair] as usize..self.starts[pair + 1] as usize]
    }
}
