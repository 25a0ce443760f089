//! Enforces exact part sizes: partitioners only approximate them. Surplus ranks are moved, least loss first.

use std::collections::BinaryHeap;

use crate::graph::RankGraph;

/// A move out of an oversized part, with its gain when it was computed.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct RankMove {
    /// Reduction of the traffic between parts.
    gain: i128,
    rank: u32,
    to: u32,
}

/// The parts while ranks are moved.
struct PartSizes<'a> {
    graph: &'a RankGraph,
    part: &'a mut [u32],
    /// Surplus of each part; negative if it is too small.
    excess: Vec<i64>,
    /// Traffic of a rank with each part; zero between uses.
    exchanged: Vec<u64>,
}

/// Moves ranks between parts until they have these sizes, which add up to the number of ranks.
pub(super) fn enforce_sizes(graph: &RankGraph, part: &mut [u32], sizes: &[u32]) {
    let mut excess: Vec<i64> = sizes.iter().map(|size| -i64::from(*size)).collect();
    part.iter().for_each(|part| excess[*part as usize] += 1);
    let mut parts = PartSizes { graph, part, excess, exchanged: vec![0; sizes.len()] };
    let mut moves: BinaryHeap<RankMove> = (0..graph.rank_count() as u32).filter_map(|rank| parts.best_move(rank)).collect();
    while let Some(old) = moves.pop() {
        let Some(new) = parts.best_move(old.rank) else { continue };
        if new < old {
            moves.push(new);
            continue;
        }
        let from = std::mem::replace(&mut parts.part[new.rank as usize], new.to);
        parts.excess[from as usize] -= 1;
        parts.excess[new.to as usize] += 1;
        moves.extend(graph.arcs(new.rank).iter().filter_map(|arc| parts.best_move(arc.to)));
    }
}

impl PartSizes<'_> {
    /// The best move of a rank; none if its part is not oversized.
    fn best_move(&mut self, rank: u32) -> Option<RankMove> {
        let from = self.part[rank as usize] as usize;
        if self.excess[from] <= 0 {
            return None;
        }
        let arcs = self.graph.arcs(rank);
        for arc in arcs {
            let held = &mut self.exchanged[self.part[arc.to as usize] as usize];
            *held = held.saturating_add(arc.weight);
        }
        let buffer = (0..self.excess.len()).filter(|part| self.excess[*part] < 0);
        let best = buffer.max_by_key(|part| (self.exchanged[*part], -self.excess[*part]));
        let best = best.map(|to| RankMove { gain: i128::from(self.exchanged[to]) - i128::from(self.exchanged[from]), rank, to: to as u32 });
        arcs.iter().for_each(|arc| self.exchanged[self.part[arc.to as usize] as usize] = 0);
        best
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::graph::ExchangeEdge;

    fn counts(part: &[u32], parts: usize) -> Vec<u32> {
        let mut counts = vec![0; parts];
        part.iter().for_each(|part| counts[*part as usize] += 1);
        counts
    }

    #[test]
    fn the_rank_that_loses_least_is_moved() {
        let edge = |a, b, weight| ExchangeEdge { ranks: [a, b], forward: weight, backward: 0 };
        let graph = RankGraph::new(vec![1; 4], &[edge(0, 1, 9), edge(1, 2, 5), edge(2, 3, 6)]);
        let mut part = vec![0, 0, 0, 1];
        enforce_sizes(&graph, &mut part, &[2, 2]);
        assert_eq!(part, [0, 0, 1, 1]);
    }

    proptest! {
        #[test]
        fn parts_have_their_sizes_and_no_more_is_moved_than_is_too_much(
            wanted in prop::collection::vec(0u32..4, 1..40),
            found in prop::collection::vec(0u32..4, 40),
            edges in prop::collection::vec((0u32..40, 0u32..40, 1u64..100), 0..80),
        ) {
            let sizes = counts(&wanted, 4);
            let before = &found[..wanted.len()];
            let edges: Vec<ExchangeEdge> = edges.iter().map(|(a, b, weight)| ExchangeEdge { ranks: [*a, *b], forward: *weight, backward: 0 }).collect();
            let graph = RankGraph::new(vec![1; wanted.len()], &edges);
            let mut part = before.to_vec();
            enforce_sizes(&graph, &mut part, &sizes);
            prop_assert_eq!(counts(&part, 4), sizes.clone());
            let too_much: u32 = counts(before, 4).iter().zip(&sizes).map(|(found, size)| found.saturating_sub(*size)).sum();
            prop_assert_eq!(before.iter().zip(&part).filter(|(a, b)| a != b).count(), too_much as usize);
        }
    }
}
