//! Which hosts are near each other: the domains of a topology that a host is in, from the largest down.
//!
//! Trees and dragonflies have domains of their own. Grids have none, so they are halved along their longest dimension again and again; graphs
//! are halved so that few links are between the halves.

use sintonia_machine::Topology;
use sintonia_machine::topology::{self, Kind};

use crate::graph::{Edge, Graph};
use crate::partition::{self, Effort, Part};

/// The domains of a host: which part of the whole, which part of that, and so on.
pub type Domains = Vec<u32>;

/// The domains of each host. Hosts that have the same all the way are all alike to each other.
pub fn domains(topology: Option<&Topology>, hosts: u32) -> Vec<Domains> {
    match topology.map(|topology| &topology.kind) {
        None | Some(Kind::Bus { .. } | Kind::Crossbar { .. } | Kind::Star { .. }) => vec![Domains::new(); hosts as usize],
        Some(Kind::Mesh { dimensions } | Kind::Torus { dimensions }) => (0..hosts).map(|host| halves(dimensions, host)).collect(),
        Some(Kind::Hypercube { dimension }) => (0..hosts).map(|host| halves(&vec![2; *dimension as usize], host)).collect(),
        Some(Kind::FatTree { levels }) => {
            let switches: Vec<u32> = levels.iter().map(|level| level.down).collect();
            (0..hosts).map(|host| digits(&switches, host)).collect()
        }
        Some(Kind::Dragonfly(dragonfly)) => {
            let sizes = [dragonfly.nodes, dragonfly.routers, dragonfly.groups];
            (0..hosts).map(|host| digits(&sizes, host)).collect()
        }
        Some(Kind::Graph(graph)) => halved_graph(graph, hosts),
    }
}

/// The number of a node in a system of counting with so many in one of the next, from the greatest down; the last one, the node itself, is
/// left away.
fn digits(sizes: &[u32], node: u32) -> Domains {
    let mut rest = node;
    let mut digits: Domains = sizes
        .iter()
        .map(|size| {
            let digit = rest % size;
            rest /= size;
            digit
        })
        .collect();
    digits.reverse();
    digits.pop();
    digits
}

/// In which half of a grid a node is, in which half of that, and so on until it is alone.
fn halves(dimensions: &[u32], node: u32) -> Domains {
    let mut rest = node;
    // Along each dimension, where the node is in the box that is left, and how long that is.
    let mut left: Vec<(u32, u32)> = Vec::with_capacity(dimensions.len());
    for length in dimensions {
        left.push((rest % length, *length));
        rest /= length;
    }
    let mut halves = Domains::new();
    while let Some((place, length)) = left.iter_mut().rev().max_by_key(|(_, length)| *length).filter(|(_, length)| *length > 1) {
        let middle = length.div_ceil(2);
        let is_upper = *place >= middle;
        halves.push(is_upper.into());
        (*place, *length) = if is_upper { (*place - middle, *length - middle) } else { (*place, middle) };
    }
    halves
}

/// A part of a topology that is a graph: vertices, and the links between them.
struct Piece {
    vertices: Vec<u32>,
    links: Vec<[u32; 2]>,
}

/// Nodes and switches are halved together; switches go where their nodes are.
fn halved_graph(topology: &topology::Graph, hosts: u32) -> Vec<Domains> {
    let mut domains = vec![Domains::new(); hosts as usize];
    let mut places = vec![0; topology.vertices() as usize];
    let links = topology.edges().iter().map(|edge| edge.ends).collect();
    let mut pieces = vec![Piece { vertices: (0..topology.vertices()).collect(), links }];
    while let Some(piece) = pieces.pop() {
        if piece.vertices.iter().filter(|vertex| **vertex < hosts).count() < 2 {
            continue;
        }
        let halves = piece.halve(hosts, &mut places);
        for (number, half) in (0..).zip(&halves) {
            half.vertices.iter().filter(|vertex| **vertex < hosts).for_each(|host| domains[*host as usize].push(number));
        }
        pieces.extend(halves);
    }
    domains
}

impl Piece {
    /// Halves with few links between them, and about as many hosts in both; `places` is room for a number for each vertex.
    fn halve(self, hosts: u32, places: &mut [u32]) -> [Piece; 2] {
        (0..).zip(&self.vertices).for_each(|(place, vertex)| places[*vertex as usize] = place);
        let edges = self.links.iter().map(|ends| Edge { ranks: ends.map(|end| places[end as usize]), there: 1, back: 1 });
        let is_host = |vertex: &u32| u64::from(*vertex < hosts);
        let graph = Graph::new(self.vertices.iter().map(is_host).collect(), &edges.collect::<Vec<_>>());
        let count = self.vertices.len() as u32;
        let parts = [count / 2, count - count / 2].map(|slots| Part { slots, share: 0.5 });
        let part = partition::partition(&graph, &parts, Effort::Quick);
        let is_in = |vertex: u32, number: u32| part[places[vertex as usize] as usize] == number;
        [0, 1].map(|number| Piece {
            vertices: self.vertices.iter().copied().filter(|vertex| is_in(*vertex, number)).collect(),
            links: self.links.iter().copied().filter(|ends| ends.iter().all(|end| is_in(*end, number))).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_is_halved_along_its_longest_dimension_first() {
        // 4 x 2: first by the long dimension, then that is as long as the other, and the first of both is taken.
        assert_eq!((0..8).map(|node| halves(&[4, 2], node)[0]).collect::<Vec<_>>(), [0, 0, 1, 1, 0, 0, 1, 1]);
        assert_eq!(halves(&[4, 2], 5), [0, 1, 1]);
        assert_eq!(halves(&[3], 1), [0, 1]);
        assert_eq!(halves(&[3], 2), [1]);
        assert!(halves(&[1, 1], 0).is_empty());
    }

    #[test]
    fn a_node_of_a_tree_is_under_a_switch_of_each_level() {
        assert_eq!(digits(&[4, 3, 2], 23), [1, 2]);
        assert_eq!(digits(&[4, 3, 2], 4), [0, 1]);
    }

    #[test]
    fn a_graph_is_halved_where_few_links_are_between_the_halves() {
        // Two rings of four nodes, each node with a switch in common, and one link between both switches.
        let lines: String = (0..8).map(|node| format!("{node} {}\n", ["left", "right"][node % 2])).collect();
        let graph = topology::Graph::parse(&(lines + "left right\n"), "g", std::path::Path::new("g")).unwrap();
        let domains = halved_graph(&graph, 8);
        assert!((0..8).all(|host| domains[host][0] == domains[host % 2][0]));
        assert_ne!(domains[0][0], domains[1][0]);
    }
}
