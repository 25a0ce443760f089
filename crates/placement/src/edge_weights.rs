//! Edge weights of the communication graph: bytes, per-message cost, and criticality.

use std::collections::BTreeMap;

use sintonia_machine::{Machine, PairClass};
use sintonia_program::CommunicationGraph;

use crate::machine::transfer_timing;
use crate::{ExchangeEdge, RankGraph};

/// Weights of a message besides its bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgeWeights {
    /// Cost of an empty message, as the bytes the network could transfer in that time.
    pub bytes_per_message: f64,
    /// Mean MPI time of a rank in microseconds. It is added to computation, so that imbalance counts relative to the whole run time.
    pub mpi_us: u64,
    /// Number of messages on the critical path, by (from, to).
    pub critical: BTreeMap<(u32, u32), u64>,
}

/// Weight factor of messages on the critical path: all of their time extends the run, while the others mostly have slack.
const CRITICAL_FACTOR: f64 = 4.0;

/// A graph weighted by bytes only.
pub fn byte_graph(graph: &CommunicationGraph) -> RankGraph {
    let edge = |edge: &sintonia_program::CommEdge| ExchangeEdge {
        ranks: edge.ranks,
        forward: edge.bytes_forward,
        backward: edge.bytes - edge.bytes_forward,
    };
    RankGraph::new(graph.compute_us.clone(), &graph.edges.iter().map(edge).collect::<Vec<_>>())
}

/// A graph with all weights applied.
pub fn weighted_graph(graph: &CommunicationGraph, weights: &EdgeWeights) -> RankGraph {
    let edge = |edge: &sintonia_program::CommEdge| {
        let [first, second] = edge.ranks;
        let forth = if edge.bytes > 0 { edge.bytes_forward as f64 / edge.bytes as f64 } else { 0.5 };
        let weight = |share: f64, bytes: u64, pair: (u32, u32)| {
            let messages = share * edge.messages as f64;
            let critical = weights.critical.get(&pair).map_or(0.0, |count| *count as f64 / messages.max(1.0)).min(1.0);
            let plain = bytes as f64 + messages * weights.bytes_per_message;
            (plain * (1.0 + (CRITICAL_FACTOR - 1.0) * critical)) as u64
        };
        ExchangeEdge {
            ranks: edge.ranks,
            forward: weight(forth, edge.bytes_forward, (first, second)),
            backward: weight(1.0 - forth, edge.bytes - edge.bytes_forward, (second, first)),
        }
    };
    let compute = graph.compute_us.iter().map(|compute| compute.saturating_add(weights.mpi_us)).collect();
    RankGraph::new(compute, &graph.edges.iter().map(edge).collect::<Vec<_>>())
}

/// Cost of an empty message, as the bytes the network could transfer in that time: from the machine file, for messages of this size;
/// otherwise about one packet.
pub fn bytes_per_message(machine: Option<&Machine>, mean_bytes: f64) -> f64 {
    const PACKET: f64 = 1500.0;
    let line = machine.and_then(|machine| Some(transfer_timing(machine.network(PairClass::OtherNode)?)?.line(mean_bytes)));
    let middles = line.map(|line| [line.intercept, line.slope].map(|figure| <[f64; 3]>::from(figure)[1]));
    middles.filter(|[intercept, slope]| *intercept >= 0.0 && *slope > 0.0).map_or(PACKET, |[intercept, slope]| intercept / slope)
}

/// Mean message size; 0 without messages.
pub fn mean_bytes(graph: &CommunicationGraph) -> f64 {
    let sum = |what: fn(&sintonia_program::CommEdge) -> u64| graph.edges.iter().map(|edge| what(edge) as f64).sum::<f64>();
    sum(|edge| edge.bytes) / sum(|edge| edge.messages).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph() -> CommunicationGraph {
        let edge = |ranks, bytes, bytes_there, messages| sintonia_program::CommEdge { ranks, bytes, bytes_forward: bytes_there, messages };
        let edges = vec![edge([0, 1], 1000, 1000, 10), edge([1, 2], 1000, 500, 10), edge([0, 2], 0, 0, 4)];
        CommunicationGraph { compute_us: vec![1; 3], edges, collectives: None, omitted: Default::default() }
    }

    fn sent(graph: &RankGraph, from: u32, to: u32) -> u64 {
        graph.arcs(from).iter().find(|arc| arc.to == to).unwrap().sent
    }

    #[test]
    fn messages_weigh_something_even_without_bytes() {
        let weighed = weighted_graph(&graph(), &EdgeWeights { bytes_per_message: 100.0, ..EdgeWeights::default() });
        assert_eq!([(0, 1), (1, 0), (1, 2), (2, 1), (0, 2)].map(|(from, to)| sent(&weighed, from, to)), [2000, 0, 1000, 1000, 200]);
        assert_eq!(sent(&byte_graph(&graph()), 1, 2), 500);
        assert!((mean_bytes(&graph()) - 2000.0 / 24.0).abs() < 1e-12);
    }

    #[test]
    fn what_the_run_waited_for_weighs_more_and_only_in_its_direction() {
        let critical = BTreeMap::from([((1, 2), 5), ((0, 1), 1)]);
        let weighed = weighted_graph(&graph(), &EdgeWeights { critical, ..EdgeWeights::default() });
        assert_eq!([(1, 2), (2, 1), (0, 1)].map(|(from, to)| sent(&weighed, from, to)), [2000, 500, 1300]);
    }
}
