//! One rank on each slot. Where there are several, all but one go to free slots, near their own or their neighbours', where that costs least.

use std::collections::BTreeSet;

use crate::graph::Graph;
use crate::hierarchy::Hierarchy;

/// So many neighbours are looked at, those first with which most is exchanged.
const NEIGHBOURS: usize = 8;

/// So many free slots are looked at on each side of a slot.
const AROUND: usize = 4;

/// Moves ranks off slots that they share; there are as many ranks as slots.
pub(super) fn move_apart(graph: &Graph, hierarchy: &Hierarchy, slots: &mut [u32]) {
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

/// The free slot where a rank loses least, and how much.
fn best_slot(graph: &Graph, hierarchy: &Hierarchy, slots: &[u32], free: &BTreeSet<u32>, rank: u32) -> Option<(f64, u32)> {
    let arcs = graph.arcs(rank);
    let cost = |own: u32| arcs.iter().map(|arc| arc.weight as f64 * hierarchy.distance(own, slots[arc.to as usize])).sum::<f64>();
    let mut heaviest: Vec<_> = arcs.iter().collect();
    heaviest.sort_by_key(|arc| std::cmp::Reverse(arc.weight));
    let own = slots[rank as usize];
    let centres = heaviest.iter().take(NEIGHBOURS).map(|arc| slots[arc.to as usize]).chain([own]);
    let near = centres.flat_map(|centre| free.range(centre..).take(AROUND).chain(free.range(..centre).rev().take(AROUND)));
    let now = cost(own);
    near.map(|slot| (cost(*slot) - now, *slot)).min_by(|a, b| a.0.total_cmp(&b.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Edge;

    #[test]
    fn the_rank_that_loses_least_goes_where_its_neighbour_is() {
        let edge = |a, b, weight| Edge { ranks: [a, b], there: weight, back: 0 };
        let graph = Graph::new(vec![1; 6], &[edge(0, 1, 5), edge(1, 2, 9), edge(3, 4, 1)]);
        let hosts = Hierarchy::uniform(&[(2, 10.0), (3, 1.0)]);
        let mut slots = vec![0, 0, 5, 1, 2, 3];
        move_apart(&graph, &hosts, &mut slots);
        assert_eq!(slots, [0, 4, 5, 1, 2, 3]);
    }

    #[test]
    fn however_many_share_a_slot_each_gets_its_own() {
        let graph = Graph::new(vec![1; 6], &[]);
        let mut slots = vec![2; 6];
        move_apart(&graph, &Hierarchy::uniform(&[(6, 1.0)]), &mut slots);
        slots.sort_unstable();
        assert_eq!(slots, [0, 1, 2, 3, 4, 5]);
    }
}
