//! Enforces one rank per slot: surplus ranks move to free slots near their own or their neighbours', at the least cost.

use std::collections::BTreeSet;

use crate::graph::RankGraph;
use crate::hierarchy::SlotHierarchy;

/// Maximum number of neighbours considered, heaviest first.
const MAX_NEIGHBOURS: usize = 8;

/// Number of free slots considered on each side of a slot.
const FREE_SLOTS_PER_SIDE: usize = 4;

/// Moves ranks off shared slots; there are as many ranks as slots.
pub(super) fn separate_ranks(graph: &RankGraph, hierarchy: &SlotHierarchy, slots: &mut [u32]) {
    let mut ranks = vec![Vec::new(); slots.len()];
    slots.iter().zip(0u32..).for_each(|(slot, rank)| ranks[*slot as usize].push(rank));
    let mut free: BTreeSet<u32> = (0..slots.len() as u32).filter(|slot| ranks[*slot as usize].is_empty()).collect();
    for mut together in ranks.into_iter().filter(|ranks| ranks.len() > 1) {
        while together.len() > 1 {
            let best = |rank: &u32| best_slot(graph, hierarchy, slots, &free, *rank).map(|(loss, slot)| (loss, *rank, slot));
            let Some((_, rank, slot)) = together.iter().filter_map(best).min_by(|a, b| a.0.total_cmp(&b.0)) else { return };
            free.remove(&slot);
            slots[rank as usize] = slot;
            together.retain(|other| *other != rank);
        }
    }
}

/// The free slot with the least loss for a rank, and that loss.
fn best_slot(graph: &RankGraph, hierarchy: &SlotHierarchy, slots: &[u32], free: &BTreeSet<u32>, rank: u32) -> Option<(f64, u32)> {
    let arcs = graph.arcs(rank);
    let cost = |own: u32| arcs.iter().map(|arc| arc.weight as f64 * hierarchy.distance(own, slots[arc.to as usize])).sum::<f64>();
    let mut heaviest: Vec<_> = arcs.iter().collect();
    heaviest.sort_by_key(|arc| std::cmp::Reverse(arc.weight));
    let own = slots[rank as usize];
    let centres = heaviest.iter().take(MAX_NEIGHBOURS).map(|arc| slots[arc.to as usize]).chain([own]);
    let near = centres
        .flat_map(|centre| free.range(centre..).take(FREE_SLOTS_PER_SIDE).chain(free.range(..centre).rev().take(FREE_SLOTS_PER_SIDE)));
    let now = cost(own);
    near.map(|slot| (cost(*slot) - now, *slot)).min_by(|a, b| a.0.total_cmp(&b.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::ExchangeEdge;

    #[test]
    fn the_rank_that_loses_least_goes_where_its_neighbour_is() {
        let edge = |a, b, weight| ExchangeEdge { ranks: [a, b], forward: weight, backward: 0 };
        let graph = RankGraph::new(vec![1; 6], &[edge(0, 1, 5), edge(1, 2, 9), edge(3, 4, 1)]);
        let hosts = SlotHierarchy::uniform(&[(2, 10.0), (3, 1.0)]);
        let mut slots = vec![0, 0, 5, 1, 2, 3];
        separate_ranks(&graph, &hosts, &mut slots);
        assert_eq!(slots, [0, 4, 5, 1, 2, 3]);
    }

    #[test]
    fn however_many_share_a_slot_each_gets_its_own() {
        let graph = RankGraph::new(vec![1; 6], &[]);
        let mut slots = vec![2; 6];
        separate_ranks(&graph, &SlotHierarchy::uniform(&[(6, 1.0)]), &mut slots);
        slots.sort_unstable();
        assert_eq!(slots, [0, 1, 2, 3, 4, 5]);
    }
}
