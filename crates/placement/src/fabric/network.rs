//! The links between hosts and the routes over them; tabulated for small numbers of hosts.

use sintonia_machine::Topology;
use sintonia_machine::topology::TopologyError;
use sintonia_replay::network::topology::{LinkId, NetworkRoutes};
use sintonia_replay::network::{FigureSelection, NetworkError};
use sintonia_replay::platform::IntervalBound;

/// The network between hosts.
#[derive(Debug)]
pub(super) struct HostNetwork {
    routes: NetworkRoutes,
    s_per_byte: Vec<f64>,
    route_table: Option<RouteTable>,
    hosts: u32,
}

/// The routes of all pairs of hosts, concatenated.
#[derive(Debug)]
struct RouteTable {
    /// Start of the route of each pair, followed by the end.
    starts: Vec<u32>,
    links: Vec<LinkId>,
}

/// Maximum number of hosts for which routes are tabulated: a larger table would not fit into the cache.
const MAX_TABLE_HOSTS: u32 = 1024;

/// Maximum number of links in the table.
const MAX_TABLE_LINKS: usize = 1 << 24;

impl HostNetwork {
    /// The links of a topology, if it has a node for every host.
    pub(super) fn from_topology(topology: &Topology, hosts: usize) -> Result<HostNetwork, NetworkError> {
        let indices = topology.kind.node_count()?;
        let Some(hosts) = u32::try_from(hosts).ok().filter(|hosts| *hosts <= indices) else {
            return Err(TopologyError::TooSmall { places: indices, nodes: hosts as u64 }.into());
        };
        let routes = NetworkRoutes::new(topology, FigureSelection::from(IntervalBound::Middle))?;
        let s_per_byte = routes.speeds().iter().map(|link| link.bytes_per_s.recip()).collect();
        let known = if hosts <= MAX_TABLE_HOSTS { RouteTable::from_routes(&routes, hosts) } else { None };
        Ok(HostNetwork { routes, s_per_byte, route_table: known, hosts })
    }

    /// Seconds per byte of each link.
    pub(super) fn s_per_byte(&self) -> &[f64] {
        &self.s_per_byte
    }

    /// Number of hosts.
    pub(super) fn hosts(&self) -> u32 {
        self.hosts
    }

    /// The links of the route between two hosts, in order; `buffer` is used for routes that are not tabulated.
    #[inline]
    pub(super) fn route<'a>(&'a self, from: u32, to: u32, buffer: &'a mut Vec<LinkId>) -> &'a [LinkId] {
        match &self.route_table {
            Some(known) => known.route(self.hosts, from, to),
            None => {
                self.routes.find_route(from, to, buffer);
                buffer
            }
        }
    }

    /// Number of links of the route.
    #[inline]
    pub(super) fn hops(&self, from: u32, to: u32) -> u32 {
        match &self.route_table {
            Some(known) => known.route(self.hosts, from, to).len() as u32,
            None => self.routes.hops(from, to),
        }
    }
}

impl RouteTable {
    /// All routes, unless they are too long.
    fn from_routes(routes: &NetworkRoutes, hosts: u32) -> Option<RouteTable> {
        let (mut starts, mut links, mut method) = (vec![0], Vec::new(), Vec::new());
        for from in 0..hosts {
            for to in 0..hosts {
                routes.find_route(from, to, &mut method);
                links.extend_from_slice(&method);
                starts.push(links.len() as u32);
            }
            if links.len() > MAX_TABLE_LINKS {
                return None;
            }
        }
        Some(RouteTable { starts, links })
    }

    #[inline]
    fn route(&self, hosts: u32, from: u32, to: u32) -> &[LinkId] {
        let pair = from as usize * hosts as usize + to as usize;
        &self.links[self.starts[pair] as usize..self.starts[pair + 1] as usize]
    }
}
