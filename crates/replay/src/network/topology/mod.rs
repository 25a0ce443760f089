//! The links of a machine, and over which of them a message goes.
//!
//! Every pair of nodes has one route, the same each time. Where numbers say it (all topologies but graphs) it is computed when asked for, which
//! is faster than looking it up in a memory that holds a million of them; the routes of a graph are found when first asked for, and kept.

mod dragonfly;
mod fat_tree;
mod graph;
mod grid;
#[cfg(test)]
mod tests;

use sintonia_machine::topology::{Kind, Link};
use sintonia_machine::{Duplex, Topology};

use super::{Figures, Problem};
use dragonfly::Dragonfly;
use fat_tree::FatTree;
use graph::Graph;
use grid::Grid;

/// A link in one direction, by number.
pub type LinkId = u32;

/// The most links there may be; more would not fit into memory.
pub const MOST_LINKS: u128 = 1 << 27;

/// What a link can do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Seconds that it adds to each message.
    pub latency_s: f64,
}

/// The links of a machine, and the route of each pair of nodes.
#[derive(Debug)]
pub struct Routes {
    speeds: Vec<Speed>,
    shape: Shape,
    ways: Ways,
}

#[derive(Debug)]
enum Shape {
    Bus,
    Star { switch: Option<LinkId> },
    Grid(Grid),
    FatTree(FatTree),
    Dragonfly(Dragonfly),
    Graph(Graph),
}

/// Which links a connection has: one for each way, or one for both.
#[derive(Clone, Copy, Debug)]
struct Ways {
    duplex: Duplex,
}

impl Ways {
    fn there(self, connection: u32) -> LinkId {
        match self.duplex {
            Duplex::Full => 2 * connection,
            Duplex::Half => connection,
        }
    }

    fn back(self, connection: u32) -> LinkId {
        match self.duplex {
            Duplex::Full => 2 * connection + 1,
            Duplex::Half => connection,
        }
    }

    fn links(self, connections: u128) -> u128 {
        match self.duplex {
            Duplex::Full => 2 * connections,
            Duplex::Half => connections,
        }
    }
}

impl Routes {
    /// The links of a topology, with the figures of that bound.
    pub fn of(topology: &Topology, bound: Figures) -> Result<Routes, Problem> {
        let nodes = topology.kind.nodes()?;
        let ways = Ways { duplex: topology.duplex };
        let speed = |link: Link| bound.speed(link);
        let usual = speed(topology.link);
        let mut links = Links { ways, speeds: Vec::new() };
        let shape = match &topology.kind {
            Kind::Bus { .. } => {
                links.speeds.push(usual);
                Shape::Bus
            }
            Kind::Crossbar { .. } => {
                links.connect(nodes.into(), usual)?;
                Shape::Star { switch: None }
            }
            Kind::Star { switch, .. } => {
                links.connect(nodes.into(), usual)?;
                let switch = switch.map(|rate| links.one(Speed { bytes_per_s: bound.rate(rate), latency_s: 0.0 }));
                Shape::Star { switch }
            }
            Kind::Mesh { dimensions } => Shape::Grid(links.grid(nodes, dimensions.clone(), false, usual)?),
            Kind::Torus { dimensions } => Shape::Grid(links.grid(nodes, dimensions.clone(), true, usual)?),
            Kind::Hypercube { dimension } => Shape::Grid(links.grid(nodes, vec![2; *dimension as usize], false, usual)?),
            Kind::FatTree { levels } => {
                let tree = FatTree::new(levels).ok_or(Problem::TooManyLinks)?;
                for (level, connections) in levels.iter().zip(tree.connections()) {
                    links.connect(connections, level.link.map_or(usual, speed))?;
                }
                Shape::FatTree(tree)
            }
            Kind::Dragonfly(machine) => {
                let dragonfly = Dragonfly::new(machine);
                let [local, global] = [machine.local, machine.global].map(|link| link.map_or(usual, speed));
                for (connections, speed) in dragonfly.connections().into_iter().zip([usual, local, global]) {
                    links.connect(connections, speed)?;
                }
                Shape::Dragonfly(dragonfly)
            }
            Kind::Graph(graph) => {
                for edge in graph.edges() {
                    let bandwidth = edge.bandwidth.unwrap_or(topology.link.bandwidth);
                    let latency = edge.latency.unwrap_or(topology.link.latency);
                    links.connect(1, speed(Link { bandwidth, latency }))?;
                }
                Shape::Graph(Graph::new(graph, |edge| links.speeds[ways.there(edge) as usize].latency_s))
            }
        };
        Ok(Routes { speeds: links.speeds, shape, ways })
    }

    /// What each link can do.
    pub fn speeds(&self) -> &[Speed] {
        &self.speeds
    }

    /// By link: whether all ways over it end on one link that is not wider. Then it is never in anybody's way before that one is. Those are
    /// told that can be found quickly: the ways down a fat tree with a way for every node.
    pub fn spared(&self) -> Vec<bool> {
        let mut spared = vec![false; self.speeds.len()];
        if let (Shape::FatTree(tree), Duplex::Full) = (&self.shape, self.ways.duplex) {
            let rate = |connection: u32| self.speeds[self.ways.back(connection) as usize].bytes_per_s;
            for (connection, last) in tree.lone_ways() {
                spared[self.ways.back(connection) as usize] = rate(connection) >= rate(last);
            }
        }
        spared
    }

    /// Puts the links from node to node into `route`, in the order of the way; none within a node.
    pub fn find(&self, from: u32, to: u32, route: &mut Vec<LinkId>) {
        route.clear();
        if from == to {
            return;
        }
        match &self.shape {
            Shape::Bus => route.push(0),
            Shape::Star { switch } => {
                route.push(self.ways.there(from));
                route.extend(*switch);
                route.push(self.ways.back(to));
            }
            Shape::Grid(grid) => grid.find(from, to, self.ways, route),
            Shape::FatTree(tree) => tree.find(from, to, self.ways, route),
            Shape::Dragonfly(dragonfly) => dragonfly.find(from, to, self.ways, route),
            Shape::Graph(graph) => graph.find(from, to, self.ways, route),
        }
    }

    /// How many links the route from node to node has; quicker than finding it.
    pub fn hops(&self, from: u32, to: u32) -> u32 {
        match &self.shape {
            _ if from == to => 0,
            Shape::Bus => 1,
            Shape::Star { switch } => 2 + u32::from(switch.is_some()),
            Shape::Grid(grid) => grid.hops(from, to),
            Shape::FatTree(tree) => tree.hops(from, to),
            Shape::Dragonfly(dragonfly) => dragonfly.hops(from, to),
            Shape::Graph(graph) => graph.hops(from, to),
        }
    }
}

/// Links while they are made.
struct Links {
    ways: Ways,
    speeds: Vec<Speed>,
}

impl Links {
    fn connect(&mut self, connections: u128, speed: Speed) -> Result<(), Problem> {
        let links = self.speeds.len() as u128 + self.ways.links(connections);
        if links > MOST_LINKS {
            return Err(Problem::TooManyLinks);
        }
        self.speeds.resize(links as usize, speed);
        Ok(())
    }

    /// A connection along each dimension for each node.
    fn grid(&mut self, nodes: u32, dimensions: Vec<u32>, wraps: bool, speed: Speed) -> Result<Grid, Problem> {
        self.connect(u128::from(nodes) * dimensions.len() as u128, speed)?;
        Ok(Grid { dimensions, wraps })
    }

    /// One link that is for both ways.
    fn one(&mut self, speed: Speed) -> LinkId {
        self.speeds.push(speed);
        self.speeds.len() as LinkId - 1
    }
}
