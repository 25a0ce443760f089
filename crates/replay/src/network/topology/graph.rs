//! Shortest-path routing in graphs: fewest links, then lowest latency, then file order.

use std::sync::OnceLock;

use sintonia_machine::topology;

use super::{DuplexLinks, LinkId};

/// Vertex, connection, and whether the connection is used in file direction.
type GraphNeighbour = (u32, u32, bool);

/// Predecessor on a shortest path.
#[derive(Clone, Copy, Debug)]
struct PathPredecessor {
    from: u32,
    connection: u32,
    forward: bool,
}

/// Nodes and switches, with cached shortest paths.
#[derive(Debug)]
pub(super) struct GraphRouting {
    neighbours: Vec<Vec<GraphNeighbour>>,
    latencies: Vec<f64>,
    /// Shortest-path predecessors, by source node.
    predecessors: Vec<OnceLock<Box<[PathPredecessor]>>>,
}

impl GraphRouting {
    pub(super) fn new(graph: &topology::LinkGraph, latency: impl Fn(u32) -> f64) -> GraphRouting {
        let mut neighbours = vec![Vec::new(); graph.vertex_count() as usize];
        for (connection, edge) in (0..).zip(graph.edges()) {
            let [a, b] = edge.ends;
            neighbours[a as usize].push((b, connection, true));
            neighbours[b as usize].push((a, connection, false));
        }
        let latencies = (0..graph.edges().len() as u32).map(latency).collect();
        GraphRouting { neighbours, latencies, predecessors: vec![OnceLock::new(); graph.node_count() as usize] }
    }

    pub(super) fn find_route(&self, from: u32, to: u32, duplex: DuplexLinks, route: &mut Vec<LinkId>) {
        let link = |step: PathPredecessor| if step.forward { duplex.forward(step.connection) } else { duplex.backward(step.connection) };
        route.extend(self.reverse_path(from, to).map(link));
        route.reverse();
    }

    /// Number of links of a route.
    pub(super) fn hops(&self, from: u32, to: u32) -> u32 {
        self.reverse_path(from, to).count() as u32
    }

    /// The path from its end.
    fn reverse_path(&self, from: u32, to: u32) -> impl Iterator<Item = PathPredecessor> {
        let arrivals = self.predecessors[from as usize].get_or_init(|| self.shortest_paths(from));
        let arrival = move |vertex: u32| (vertex != from).then(|| arrivals[vertex as usize]);
        std::iter::successors(arrival(to), move |step| arrival(step.from))
    }

    /// Breadth-first search from a node.
    fn shortest_paths(&self, from: u32) -> Box<[PathPredecessor]> {
        let count = self.neighbours.len();
        let mut arrivals = vec![PathPredecessor { from, connection: 0, forward: true }; count].into_boxed_slice();
        let (mut distance, mut latency) = (vec![u32::MAX; count], vec![f64::INFINITY; count]);
        (distance[from as usize], latency[from as usize]) = (0, 0.0);
        let (mut ring, mut next, mut links) = (vec![from], Vec::new(), 0);
        while !ring.is_empty() {
            links += 1;
            for &here in &ring {
                for &(vertex, connection, forward) in &self.neighbours[here as usize] {
                    let at = vertex as usize;
                    let total = latency[here as usize] + self.latencies[connection as usize];
                    if distance[at] == u32::MAX {
                        distance[at] = links;
                        next.push(vertex);
                    }
                    if distance[at] == links && total < latency[at] {
                        latency[at] = total;
                        arrivals[at] = PathPredecessor { from: here, connection, forward };
                    }
                }
            }
            ring.clear();
            std::mem::swap(&mut ring, &mut next);
        }
        arrivals
    }
}
