//! Ranks on slots, so that what is exchanged has not far to go.
//!
//! The measure is bytes times distance: over all pairs of ranks, what they exchange times how far their slots are apart. Candidates are the
//! order of the ranks, blocks of a grid if the ranks are one, and divisions of the graph from the top of the machine down. The best of them are
//! made better by swaps. Domains that compute too much are dear (`burdens`). The same input gives the same placement, whatever the number of
//! threads.

mod anneal;
mod burdens;
mod climb;
mod grid;
mod multisection;
mod search;
mod seats;
#[cfg(test)]
mod tests;
mod tree;

use crate::cluster::Placement;
use crate::graph::Graph;
use crate::hierarchy::Hierarchy;
use crate::partition::Effort;
use crate::partition::net::Net;
use burdens::Burdens;
use tree::Tree;

/// Places ranks on the slots of a hierarchy, at most as many as there are slots. Speeds are those of the slots; none if all are alike.
///
/// # Panics
/// Where there are more ranks than slots.
pub fn onto_hierarchy(graph: &Graph, hierarchy: &Hierarchy, speeds: &[f64], effort: Effort) -> Placement {
    let ranks = graph.ranks();
    assert!(ranks <= hierarchy.slots() as usize, "a slot for each rank");
    let net = Net::of(graph).padded(hierarchy.slots() as usize);
    let tree = Tree::new(hierarchy);
    let mut candidates = vec![(0..hierarchy.slots()).collect::<Vec<u32>>()];
    candidates.extend(grid::placements(&net, &tree));
    candidates.extend(search::divisions(&net, &tree, speeds, effort));
    let mut slots = search::best(&net, &tree, Burdens::new(&net, &tree, speeds), candidates, effort);
    slots.truncate(ranks);
    Placement(slots)
}

/// What all pairs of ranks exchange, times how far their slots are apart.
pub fn byte_distance(graph: &Graph, hierarchy: &Hierarchy, placement: &Placement) -> f64 {
    let tree = Tree::new(hierarchy);
    let code = |rank: u32| tree.codes()[placement.0[rank as usize] as usize];
    let of_rank = |rank: u32| {
        let later = graph.arcs(rank).iter().filter(|arc| arc.to > rank);
        later.map(|arc| arc.weight as f64 * tree.distance(code(rank), code(arc.to))).sum::<f64>()
    };
    (0..graph.ranks() as u32).map(of_rank).sum()
}
