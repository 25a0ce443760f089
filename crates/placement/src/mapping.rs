//! Maps ranks onto a hierarchy of slots, minimising bytes times distance.
//!
//! Candidates are the order of the ranks, blocks if the ranks form a grid, and top-down partitions of the graph. The best of them are
//! refined by swaps. Overloaded domains are penalised (`domain_loads`). The result is deterministic, whatever the number of threads.

mod anneal;
mod domain_loads;
mod grid;
mod hill_climb;
mod multisection;
mod search;
mod slot_assignment;
mod slot_codes;
#[cfg(test)]
mod tests;

use crate::cluster::Placement;
use crate::graph::RankGraph;
use crate::hierarchy::SlotHierarchy;
use crate::partition::SearchEffort;
use crate::partition::partition_graph::PartitionGraph;
use domain_loads::DomainLoads;
use slot_codes::SlotCodes;

/// Maps ranks onto the slots of a hierarchy. `speeds` are those of the slots; empty if all are equal.
///
/// # Panics
/// If there are more ranks than slots.
pub fn map_onto_hierarchy(graph: &RankGraph, hierarchy: &SlotHierarchy, speeds: &[f64], effort: SearchEffort) -> Placement {
    let ranks = graph.rank_count();
    assert!(ranks <= hierarchy.slot_count() as usize, "a slot for each rank");
    let partition_graph = PartitionGraph::from_graph(graph).padded(hierarchy.slot_count() as usize);
    let tree = SlotCodes::new(hierarchy);
    let mut candidates = vec![(0..hierarchy.slot_count()).collect::<Vec<u32>>()];
    candidates.extend(grid::grid_placements(&partition_graph, &tree));
    candidates.extend(search::division_candidates(&partition_graph, &tree, speeds, effort));
    let mut slots = search::best_assignment(&partition_graph, &tree, DomainLoads::new(&partition_graph, &tree, speeds), candidates, effort);
    slots.truncate(ranks);
    Placement(slots)
}

/// Bytes times distance, summed over all pairs of ranks.
pub fn byte_distance(graph: &RankGraph, hierarchy: &SlotHierarchy, placement: &Placement) -> f64 {
    let tree = SlotCodes::new(hierarchy);
    let code = |rank: u32| tree.codes()[placement.0[rank as usize] as usize];
    let of_rank = |rank: u32| {
        let later = graph.arcs(rank).iter().filter(|arc| arc.to > rank);
        later.map(|arc| arc.weight as f64 * tree.distance(code(rank), code(arc.to))).sum::<f64>()
    };
    (0..graph.rank_count() as u32).map(of_rank).sum()
}
