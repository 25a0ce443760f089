//! How much an edge of the communication graph weighs: bytes, what each message costs besides, and whether the run waited for it.

use std::collections::BTreeMap;

use sintonia_machine::{Machine, PairClass};
use sintonia_program::CommunicationGraph;

use crate::machine::transfer;
use crate::{Edge, Graph};

/// What besides its bytes makes a message weigh.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weights {
    /// What a message costs that has no bytes, in bytes: what the network could carry meanwhile.
    pub bytes_per_message: f64,
    /// How long a rank is in MPI on average, in microseconds: whether some compute longer than others matters as much as computing does.
    pub mpi_us: u64,
    /// How many messages from one rank to another are on the critical path.
    pub critical: BTreeMap<(u32, u32), u64>,
}

/// A message on the critical path weighs so many times what others do: all of it makes the run longer, while the others mostly have time.
const CRITICAL: f64 = 4.0;

/// The bytes of a communication graph, as they are.
pub fn bytes(graph: &CommunicationGraph) -> Graph {
    let edge = |edge: &sintonia_program::Edge| Edge { ranks: edge.ranks, there: edge.bytes_there, back: edge.bytes - edge.bytes_there };
    Graph::new(graph.compute_us.clone(), &graph.edges.iter().map(edge).collect::<Vec<_>>())
}

/// The same with everything that counts.
pub fn weighed(graph: &CommunicationGraph, weights: &Weights) -> Graph {
    let edge = |edge: &sintonia_program::Edge| {
        let [first, second] = edge.ranks;
        let forth = if edge.bytes > 0 { edge.bytes_there as f64 / edge.bytes as f64 } else { 0.5 };
        let weight = |share: f64, bytes: u64, pair: (u32, u32)| {
            let messages = share * edge.messages as f64;
            let critical = weights.critical.get(&pair).map_or(0.0, |count| *count as f64 / messages.max(1.0)).min(1.0);
            let plain = bytes as f64 + messages * weights.bytes_per_message;
            (plain * (1.0 + (CRITICAL - 1.0) * critical)) as u64
        };
        Edge {
            ranks: edge.ranks,
            there: weight(forth, edge.bytes_there, (first, second)),
            back: weight(1.0 - forth, edge.bytes - edge.bytes_there, (second, first)),
        }
    };
    let compute = graph.compute_us.iter().map(|compute| compute.saturating_add(weights.mpi_us)).collect();
    Graph::new(compute, &graph.edges.iter().map(edge).collect::<Vec<_>>())
}

/// What a message costs that has no bytes, in bytes that the network could carry meanwhile: as a machine file says for messages of this size; else
/// about a packet.
pub fn bytes_per_message(machine: Option<&Machine>, mean_bytes: f64) -> f64 {
    const PACKET: f64 = 1500.0;
    let line = machine.and_then(|machine| Some(transfer(machine.network(PairClass::OtherNode)?)?.line(mean_bytes)));
    let middles = line.map(|line| [line.intercept, line.slope].map(|figure| <[f64; 3]>::from(figure)[1]));
    middles.filter(|[intercept, slope]| *intercept >= 0.0 && *slope > 0.0).map_or(PACKET, |[intercept, slope]| intercept / slope)
}

/// The mean size of a message; 0 if there is none.
pub fn mean_bytes(graph: &CommunicationGraph) -> f64 {
    let sum = |what: fn(&sintonia_program::Edge) -> u64| graph.edges.iter().map(|edge| what(edge) as f64).sum::<f64>();
    sum(|edge| edge.bytes) / sum(|edge| edge.messages).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph() -> CommunicationGraph {
        let edge = |ranks, bytes, bytes_there, messages| sintonia_program::Edge { ranks, bytes, bytes_there, messages };
        let edges = vec![edge([0, 1], 1000, 1000, 10), edge([1, 2], 1000, 500, 10), edge([0, 2], 0, 0, 4)];
        CommunicationGraph { compute_us: vec![1; 3], edges, collectives: None, left_out: Default::default() }
    }

    fn sent(graph: &Graph, from: u32, to: u32) -> u64 {
        graph.arcs(from).iter().find(|arc| arc.to == to).unwrap().sent
    }

    #[test]
    fn messages_weigh_something_even_without_bytes() {
        let weighed = weighed(&graph(), &Weights { bytes_per_message: 100.0, ..Weights::default() });
        assert_eq!([(0, 1), (1, 0), (1, 2), (2, 1), (0, 2)].map(|(from, to)| sent(&weighed, from, to)), [2000, 0, 1000, 1000, 200]);
        assert_eq!(sent(&bytes(&graph()), 1, 2), 500);
        assert!((mean_bytes(&graph()) - 2000.0 / 24.0).abs() < 1e-12);
    }

    #[test]
    fn what_the_run_waited_for_weighs_more_and_only_in_its_direction() {
        let critical = BTreeMap::from([((1, 2), 5), ((0, 1), 1)]);
        let weighed = weighed(&graph(), &Weights { critical, ..Weights::default() });
        assert_eq!([(1, 2), (2, 1), (0, 1)].map(|(from, to)| sent(&weighed, from, to)), [2000, 500, 1300]);
    }
}
