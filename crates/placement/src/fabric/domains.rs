//! The nested domains of a topology that each host belongs to, largest first.
//!
//! Trees and dragonflies have natural domains. Grids are bisected recursively along their longest dimension; graphs are bisected with a
//! small cut.

use sintonia_machine::Topology;
use sintonia_machine::topology::{self, TopologyKind};

use crate::graph::{ExchangeEdge, RankGraph};
use crate::partition::{self, PartTarget, SearchEffort};

/// The domains of a host: its part of the whole, its part of that, and so on.
pub(super) type DomainPath = Vec<u32>;

/// The domains of each host. Hosts with the same path are equivalent.
pub(super) fn host_domains(topology: Option<&Topology>, hosts: u32) -> Vec<DomainPath> {
    match topology.map(|topology| &topology.kind) {
        None | Some(TopologyKind::Bus { .. } | TopologyKind::Crossbar { .. } | TopologyKind::Star { .. }) => {
            vec![DomainPath::new(); hosts as usize]
        }
        Some(TopologyKind::Mesh { dimensions } | TopologyKind::Torus { dimensions }) => {
            (0..hosts).map(|host| bisect_grid(dimensions, host)).collect()
        }
        Some(TopologyKind::Hypercube { dimension }) => (0..hosts).map(|host| bisect_grid(&vec![2; *dimension as usize], host)).collect(),
        Some(TopologyKind::FatTree { levels }) => {
            let switches: Vec<u32> = levels.iter().map(|level| level.down).collect();
            (0..hosts).map(|host| mixed_radix_digits(&switches, host)).collect()
        }
        Some(TopologyKind::Dragonfly(dragonfly)) => {
            let sizes = [dragonfly.nodes, dragonfly.routers, dragonfly.groups];
            (0..hosts).map(|host| mixed_radix_digits(&sizes, host)).collect()
        }
        Some(TopologyKind::Graph(graph)) => bisect_graph(graph, hosts),
    }
}

/// The mixed-radix digits of a node number, most significant first, without the last one (the node itself).
fn mixed_radix_digits(sizes: &[u32], node: u32) -> DomainPath {
    let mut rest = node;
    let mut digits: DomainPath = sizes
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

/// Recursive bisection of a grid: the half a node is in, the half of that, and so on until it is alone.
fn bisect_grid(dimensions: &[u32], node: u32) -> DomainPath {
    let mut rest = node;
    // For each dimension, the coordinate within the remaining box and its length.
    let mut left: Vec<(u32, u32)> = Vec::with_capacity(dimensions.len());
    for length in dimensions {
        left.push((rest % length, *length));
        rest /= length;
    }
    let mut halves = DomainPath::new();
    while let Some((coordinate, length)) = left.iter_mut().rev().max_by_key(|(_, length)| *length).filter(|(_, length)| *length > 1) {
        let middle = length.div_ceil(2);
        let is_upper = *coordinate >= middle;
        halves.push(is_upper.into());
        (*coordinate, *length) = if is_upper { (*coordinate - middle, *length - middle) } else { (*coordinate, middle) };
    }
    halves
}

/// A part of a graph topology: vertices and the links between them.
struct TopologyPart {
    vertices: Vec<u32>,
    links: Vec<[u32; 2]>,
}

/// Nodes and switches are bisected together; switches follow their nodes.
fn bisect_graph(topology: &topology::LinkGraph, hosts: u32) -> Vec<DomainPath> {
    let mut domains = vec![DomainPath::new(); hosts as usize];
    let mut indices = vec![0; topology.vertex_count() as usize];
    let links = topology.edges().iter().map(|edge| edge.ends).collect();
    let mut pieces = vec![TopologyPart { vertices: (0..topology.vertex_count()).collect(), links }];
    while let Some(piece) = pieces.pop() {
        if piece.vertices.iter().filter(|vertex| **vertex < hosts).count() < 2 {
            continue;
        }
        let halves = piece.bisect(hosts, &mut indices);
        for (number, half) in (0..).zip(&halves) {
            half.vertices.iter().filter(|vertex| **vertex < hosts).for_each(|host| domains[*host as usize].push(number));
        }
        pieces.extend(halves);
    }
    domains
}

impl TopologyPart {
    /// Two halves with a small cut and about equally many hosts; `indices` is scratch space with an entry per vertex.
    fn bisect(self, hosts: u32, indices: &mut [u32]) -> [TopologyPart; 2] {
        (0..).zip(&self.vertices).for_each(|(coordinate, vertex)| indices[*vertex as usize] = coordinate);
        let edges = self.links.iter().map(|ends| ExchangeEdge { ranks: ends.map(|end| indices[end as usize]), forward: 1, backward: 1 });
        let is_host = |vertex: &u32| u64::from(*vertex < hosts);
        let graph = RankGraph::new(self.vertices.iter().map(is_host).collect(), &edges.collect::<Vec<_>>());
        let count = self.vertices.len() as u32;
        let parts = [count / 2, count - count / 2].map(|slots| PartTarget { slots, share: 0.5 });
        let part = partition::partition(&graph, &parts, SearchEffort::Quick);
        let is_in = |vertex: u32, number: u32| part[indices[vertex as usize] as usize] == number;
        [0, 1].map(|number| TopologyPart {
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
        // 4 x 2: first along the long dimension; then both are equally long, and the first one is taken.
        assert_eq!((0..8).map(|node| bisect_grid(&[4, 2], node)[0]).collect::<Vec<_>>(), [0, 0, 1, 1, 0, 0, 1, 1]);
        assert_eq!(bisect_grid(&[4, 2], 5), [0, 1, 1]);
        assert_eq!(bisect_grid(&[3], 1), [0, 1]);
        assert_eq!(bisect_grid(&[3], 2), [1]);
        assert!(bisect_grid(&[1, 1], 0).is_empty());
    }

    #[test]
    fn a_node_of_a_tree_is_under_a_switch_of_each_level() {
        assert_eq!(mixed_radix_digits(&[4, 3, 2], 23), [1, 2]);
        assert_eq!(mixed_radix_digits(&[4, 3, 2], 4), [0, 1]);
    }

    #[test]
    fn a_graph_is_halved_where_few_links_are_between_the_halves() {
        // Two rings of four nodes, each with a common switch, and one link between the switches.
        let lines: String = (0..8).map(|node| format!("{node} {}\n", ["left", "right"][node % 2])).collect();
        let graph = topology::LinkGraph::parse(&(lines + "left right\n"), "g", std::path::Path::new("g")).unwrap();
        let domains = bisect_graph(&graph, 8);
        assert!((0..8).all(|host| domains[host][0] == domains[host % 2][0]));
        assert_ne!(domains[0][0], domains[1][0]);
    }
}
