//! Parts of exactly the sizes that were asked for. Partitioners come near them; what is too much is moved, first what loses least.

use std::collections::BinaryHeap;

use crate::graph::Graph;

/// A move out of a part that is too large, as good as it was when it was looked at.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Move {
    /// What less is exchanged between parts then.
    gain: i128,
    rank: u32,
    to: u32,
}

/// The parts while ranks are moved.
struct Parts<'a> {
    graph: &'a Graph,
    part: &'a mut [u32],
    /// By how much each part is too large, or too small if that is negative.
    excess: Vec<i64>,
    /// What a rank exchanges with each part; all zero between looks.
    held: Vec<u64>,
}

/// Moves ranks between parts until these have their sizes, which add up to the number of ranks.
pub(super) fn make_exact(graph: &Graph, part: &mut [u32], sizes: &[u32]) {
    let mut excess: Vec<i64> = sizes.iter().map(|size| -i64::from(*size)).collect();
    part.iter().for_each(|part| excess[*part as usize] += 1);
    let mut parts = Parts { graph, part, excess, held: vec![0; sizes.len()] };
    let mut moves: BinaryHeap<Move> = (0..graph.ranks() as u32).filter_map(|rank| parts.look(rank)).collect();
    while let Some(old) = moves.pop() {
        let Some(new) = parts.look(old.rank) else { continue };
        if new < old {
            moves.push(new);
            continue;
        }
        let from = std::mem::replace(&mut parts.part[new.rank as usize], new.to);
        parts.excess[from as usize] -= 1;
        parts.excess[new.to as usize] += 1;
        moves.extend(graph.arcs(new.rank).iter().filter_map(|arc| parts.look(arc.to)));
    }
}

impl Parts<'_> {
    /// The best move of a rank; none if its part is not too large.
    fn look(&mut self, rank: u32) -> Option<Move> {
        let from = self.part[rank as usize] as usize;
        if self.excess[from] <= 0 {
            return None;
        }
        let arcs = self.graph.arcs(rank);
        for arc in arcs {
            let held = &mut self.held[self.part[arc.to as usize] as usize];
            *held = held.saturating_add(arc.weight);
        }
        let room = (0..self.excess.len()).filter(|part| self.excess[*part] < 0);
        let best = room.max_by_key(|part| (self.held[*part], -self.excess[*part]));
        let best = best.map(|to| Move { gain: i128::from(self.held[to]) - i128::from(self.held[from]), rank, to: to as u32 });
        arcs.iter().for_each(|arc| self.held[self.part[arc.to as usize] as usize] = 0);
        best
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::graph::Edge;

    fn counts(part: &[u32], parts: usize) -> Vec<u32> {
        let mut counts = vec![0; parts];
        part.iter().for_each(|part| counts[*part as usize] += 1);
        counts
    }

    #[test]
    fn the_rank_that_loses_least_is_moved() {
        let edge = |a, b, weight| Edge { ranks: [a, b], there: weight, back: 0 };
        let graph = Graph::new(vec![1; 4], &[edge(0, 1, 9), edge(1, 2, 5), edge(2, 3, 6)]);
        let mut part = vec![0, 0, 0, 1];
        make_exact(&graph, &mut part, &[2, 2]);
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
            let edges: Vec<Edge> = edges.iter().map(|(a, b, weight)| Edge { ranks: [*a, *b], there: *weight, back: 0 }).collect();
            let graph = Graph::new(vec![1; wanted.len()], &edges);
            let mut part = before.to_vec();
            make_exact(&graph, &mut part, &sizes);
            prop_assert_eq!(counts(&part, 4), sizes.clone());
            let too_much: u32 = counts(before, 4).iter().zip(&sizes).map(|(found, size)| found.saturating_sub(*size)).sum();
            prop_assert_eq!(before.iter().zip(&part).filter(|(a, b)| a != b).count(), too_much as usize);
        }
    }
}
