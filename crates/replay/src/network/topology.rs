//! Links of a machine and deterministic routes between its nodes.
//!
//! Routes are computed on demand, which is faster than a table of a million of them; only routes of arbitrary graphs are cached.

mod dragonfly;
mod fat_tree;
mod graph;
mod grid;
#[cfg(test)]
mod tests;

use sintonia_machine::topology::{LinkParameters, TopologyKind};
use sintonia_machine::{Duplex, Topology};

use super::{FigureSelection, NetworkError};
use dragonfly::DragonflyRouting;
use fat_tree::FatTreeRouting;
use graph::GraphRouting;
use grid::GridRouting;

/// A directed link, by index.
pub type LinkId = u32;

/// Maximum number of links that fit into memory.
pub const MOST_LINKS: u128 = 1 << 27;

/// Bandwidth and latency of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkSpeed {
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Latency in seconds.
    pub latency_s: f64,
}

/// Links of a machine, and the routes between its nodes.
#[derive(Debug)]
pub struct NetworkRoutes {
    speeds: Vec<LinkSpeed>,
    topology: RoutedTopology,
    duplex_links: DuplexLinks,
}

#[derive(Debug)]
enum RoutedTopology {
    Bus,
    Star { switch: Option<LinkId> },
    Grid(GridRouting),
    FatTree(FatTreeRouting),
    Dragonfly(DragonflyRouting),
    Graph(GraphRouting),
}

/// Links of a connection: one per direction, or one for both.
#[derive(Clone, Copy, Debug)]
struct DuplexLinks {
    duplex: Duplex,
}

impl DuplexLinks {
    fn forward(self, connection: u32) -> LinkId {
        match self.duplex {
            Duplex::Full => 2 * connection,
            Duplex::Half => connection,
        }
    }

    fn backward(self, connection: u32) -> LinkId {
        match self.duplex {
            Duplex::Full => 2 * connection + 1,
            Duplex::Half => connection,
        }
    }

    fn link_count(self, connections: u128) -> u128 {
        match self.duplex {
            Duplex::Full => 2 * connections,
            Duplex::Half => connections,
        }
    }
}

impl NetworkRoutes {
    /// The links of a topology, at a bound of their figures.
    pub fn new(topology: &Topology, bound: FigureSelection) -> Result<NetworkRoutes, NetworkError> {
        let nodes = topology.kind.node_count()?;
        let duplex = DuplexLinks { duplex: topology.duplex };
        let speed = |link: LinkParameters| bound.speed(link);
        let usual = speed(topology.link);
        let mut links = LinkTable { duplex_links: duplex, speeds: Vec::new() };
        let routed = match &topology.kind {
            TopologyKind::Bus { .. } => {
                links.speeds.push(usual);
                RoutedTopology::Bus
            }
            TopologyKind::Crossbar { .. } => {
                links.connect(nodes.into(), usual)?;
                RoutedTopology::Star { switch: None }
            }
            TopologyKind::Star { switch, .. } => {
                links.connect(nodes.into(), usual)?;
                let switch = switch.map(|rate| links.add_link(LinkSpeed { bytes_per_s: bound.rate(rate), latency_s: 0.0 }));
                RoutedTopology::Star { switch }
            }
            TopologyKind::Mesh { dimensions } => RoutedTopology::Grid(links.connect_grid(nodes, dimensions.clone(), false, usual)?),
            TopologyKind::Torus { dimensions } => RoutedTopology::Grid(links.connect_grid(nodes, dimensions.clone(), true, usual)?),
            TopologyKind::Hypercube { dimension } => {
                RoutedTopology::Grid(links.connect_grid(nodes, vec![2; *dimension as usize], false, usual)?)
            }
            TopologyKind::FatTree { levels } => {
                let tree = FatTreeRouting::new(levels).ok_or(NetworkError::TooManyLinks)?;
                for (level, connections) in levels.iter().zip(tree.connections()) {
                    links.connect(connections, level.link.map_or(usual, speed))?;
                }
                RoutedTopology::FatTree(tree)
            }
            TopologyKind::Dragonfly(machine) => {
                let dragonfly = DragonflyRouting::new(machine);
                let [local, global] = [machine.local, machine.global].map(|link| link.map_or(usual, speed));
                for (connections, speed) in dragonfly.connections().into_iter().zip([usual, local, global]) {
                    links.connect(connections, speed)?;
                }
                RoutedTopology::Dragonfly(dragonfly)
            }
            TopologyKind::Graph(graph) => {
                for edge in graph.edges() {
                    let bandwidth = edge.bandwidth.unwrap_or(topology.link.bandwidth);
                    let latency = edge.latency.unwrap_or(topology.link.latency);
                    links.connect(1, speed(LinkParameters { bandwidth, latency }))?;
                }
                RoutedTopology::Graph(GraphRouting::new(graph, |edge| links.speeds[duplex.forward(edge) as usize].latency_s))
            }
        };
        Ok(NetworkRoutes { speeds: links.speeds, topology: routed, duplex_links: duplex })
    }

    /// Bandwidth and latency of each link.
    pub fn speeds(&self) -> &[LinkSpeed] {
        &self.speeds
    }

    /// By link: whether all routes over it end on one link with at most its bandwidth, so that it can never limit. Only finds the cheap
    /// cases: down-links of a fat tree with one path per node.
    pub fn never_limiting(&self) -> Vec<bool> {
        let mut spared = vec![false; self.speeds.len()];
        if let (RoutedTopology::FatTree(tree), Duplex::Full) = (&self.topology, self.duplex_links.duplex) {
            let rate = |connection: u32| self.speeds[self.duplex_links.backward(connection) as usize].bytes_per_s;
            for (connection, last) in tree.single_node_connections() {
                spared[self.duplex_links.backward(connection) as usize] = rate(connection) >= rate(last);
            }
        }
        spared
    }

    /// Writes the links of a route to `route`; none within a node.
    pub fn find_route(&self, from: u32, to: u32, route: &mut Vec<LinkId>) {
        route.clear();
        if from == to {
            return;
        }
        match &self.topology {
            RoutedTopology::Bus => route.push(0),
            RoutedTopology::Star { switch } => {
                route.push(self.duplex_links.forward(from));
                route.extend(*switch);
                route.push(self.duplex_links.backward(to));
            }
            RoutedTopology::Grid(grid) => grid.find_route(from, to, self.duplex_links, route),
            RoutedTopology::FatTree(tree) => tree.find_route(from, to, self.duplex_links, route),
            RoutedTopology::Dragonfly(dragonfly) => dragonfly.find_route(from, to, self.duplex_links, route),
            RoutedTopology::Graph(graph) => graph.find_route(from, to, self.duplex_links, route),
        }
    }

    /// Number of links of a route; faster than finding it.
    pub fn hops(&self, from: u32, to: u32) -> u32 {
        match &self.topology {
            _ if from == to => 0,
            RoutedTopology::Bus => 1,
            RoutedTopology::Star { switch } => 2 + u32::from(switch.is_some()),
            RoutedTopology::Grid(grid) => grid.hops(from, to),
            RoutedTopology::FatTree(tree) => tree.hops(from, to),
            RoutedTopology::Dragonfly(dragonfly) => dragonfly.hops(from, to),
            RoutedTopology::Graph(graph) => graph.hops(from, to),
        }
    }
}

/// Links under construction.
struct LinkTable {
    duplex_links: DuplexLinks,
    speeds: Vec<LinkSpeed>,
}

impl LinkTable {
    fn connect(&mut self, connections: u128, speed: LinkSpeed) -> Result<(), NetworkError> {
        let links = self.speeds.len() as u128 + self.duplex_links.link_count(connections);
        if links > MOST_LINKS {
            return Err(NetworkError::TooManyLinks);
        }
        self.speeds.resize(links as usize, speed);
        Ok(())
    }

    /// One connection per node and dimension.
    fn connect_grid(&mut self, nodes: u32, dimensions: Vec<u32>, wraps: bool, speed: LinkSpeed) -> Result<GridRouting, NetworkError> {
        self.connect(u128::from(nodes) * dimensions.len() as u128, speed)?;
        Ok(GridRouting { dimensions, wraps })
    }

    /// Adds one link for both directions.
    fn add_link(&mut self, speed: LinkSpeed) -> LinkId {
        self.speeds.push(speed);
        self.speeds.len() as LinkId - 1
    }
}
