//! Graphs: the way with the fewest links, of those the one with the least latency, of those the one over the links that stand first.

use std::sync::OnceLock;

use sintonia_machine::topology;

use super::{LinkId, Ways};

/// A vertex, the connection to it and whether that is taken in the direction in which it is written.
type Step = (u32, u32, bool);

/// How one gets to a vertex last: over which connection, from which vertex.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    from: u32,
    connection: u32,
    forward: bool,
}

/// Nodes and switches, and the ways that were asked for.
#[derive(Debug)]
pub struct Graph {
    neighbours: Vec<Vec<Step>>,
    latencies: Vec<f64>,
    /// By the node that one comes from: how one gets to each vertex.
    arrivals: Vec<OnceLock<Box<[Arrival]>>>,
}

impl Graph {
    pub fn new(graph: &topology::Graph, latency: impl Fn(u32) -> f64) -> Graph {
        let mut neighbours = vec![Vec::new(); graph.vertices() as usize];
        for (connection, edge) in (0..).zip(graph.edges()) {
            let [a, b] = edge.ends;
            neighbours[a as usize].push((b, connection, true));
            neighbours[b as usize].push((a, connection, false));
        }
        let latencies = (0..graph.edges().len() as u32).map(latency).collect();
        Graph { neighbours, latencies, arrivals: vec![OnceLock::new(); graph.nodes() as usize] }
    }

    pub fn find(&self, from: u32, to: u32, ways: Ways, route: &mut Vec<LinkId>) {
        let link = |step: Arrival| if step.forward { ways.there(step.connection) } else { ways.back(step.connection) };
        route.extend(self.backwards(from, to).map(link));
        route.reverse();
    }

    /// How many links are on the way.
    pub fn hops(&self, from: u32, to: u32) -> u32 {
        self.backwards(from, to).count() as u32
    }

    /// The way, from its end.
    fn backwards(&self, from: u32, to: u32) -> impl Iterator<Item = Arrival> {
        let arrivals = self.arrivals[from as usize].get_or_init(|| self.explore(from));
        let arrival = move |vertex: u32| (vertex != from).then(|| arrivals[vertex as usize]);
        std::iter::successors(arrival(to), move |step| arrival(step.from))
    }

    /// How one gets to each vertex: all that are as many links away as each other are found before those farther off.
    fn explore(&self, from: u32) -> Box<[Arrival]> {
        let count = self.neighbours.len();
        let mut arrivals = vec![Arrival { from, connection: 0, forward: true }; count].into_boxed_slice();
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
                        arrivals[at] = Arrival { from: here, connection, forward };
                    }
                }
            }
            ring.clear();
            std::mem::swap(&mut ring, &mut next);
        }
        arrivals
    }
}
