//! The cost of a placement, and which of two is better.
//!
//! In measured multi-host runs the time followed the most loaded link rather than the sum of all bytes, so that is the default objective.
//! Load imbalance counts equally: 10 % more of both is 20 % worse, in any unit.

mod load;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;

pub use load::{ComputeBalance, LinkLoads};

use crate::cluster::Placement;
use crate::fabric::Fabric;
use crate::graph::RankGraph;

/// What to minimise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacementObjective {
    /// Busy time of the most loaded link.
    Congestion,
    /// Total bytes times distance.
    ByteDistance,
}

/// The cost of a placement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlacementCost {
    /// Busy time of the most loaded link in seconds.
    pub busiest_link_s: f64,
    /// Total bytes times distance.
    pub byte_distance: f64,
    /// Bytes between hosts.
    pub inter_host_bytes: u64,
    /// Relative excess of the slowest host over the mean: 0.1 is a tenth. See [`ComputeBalance`].
    pub imbalance: f64,
}

/// Tolerated imbalance: compute times of repeated runs differ as much.
pub const TOLERATED_IMBALANCE: f64 = 0.05;

/// Costs with a smaller relative difference are equal: the order of summation changes as much.
const RELATIVE_TOLERANCE: f64 = 1e-9;

/// The cost of a placement on a cluster.
pub fn placement_cost(graph: &RankGraph, fabric: &Fabric, placement: &Placement) -> PlacementCost {
    let slot = |rank: u32| placement.0[rank as usize];
    let (mut byte_distance, mut across_bytes) = (0.0, 0u64);
    for rank in 0..graph.rank_count() as u32 {
        for arc in graph.arcs(rank) {
            byte_distance += arc.sent as f64 * fabric.distance(slot(rank), slot(arc.to));
            if fabric.host(slot(rank)) != fabric.host(slot(arc.to)) {
                across_bytes = across_bytes.saturating_add(arc.sent);
            }
        }
    }
    PlacementCost {
        busiest_link_s: LinkLoads::from_placement(graph, fabric, placement).busiest_s(fabric),
        byte_distance,
        inter_host_bytes: across_bytes,
        imbalance: ComputeBalance::from_placement(graph, fabric, placement).imbalance(),
    }
}

impl PlacementCost {
    /// Whether it is better than another: by the objective including excess imbalance; on a tie by the other objective, then by imbalance.
    pub fn is_better(&self, other: &PlacementCost, objective: PlacementObjective) -> bool {
        let keys = [self, other].map(|cost| cost.keys(objective));
        let differ = keys[0].iter().zip(&keys[1]).map(|(own, others)| compare_with_tolerance(*own, *others));
        differ.fold(Ordering::Equal, Ordering::then) == Ordering::Less
    }

    /// The objective, including excess imbalance.
    pub fn total(&self, objective: PlacementObjective) -> f64 {
        self.keys(objective)[0]
    }

    fn keys(&self, objective: PlacementObjective) -> [f64; 3] {
        let uneven = 1.0 + (self.imbalance - TOLERATED_IMBALANCE).max(0.0);
        let [link, distance] = [self.busiest_link_s, self.byte_distance].map(|cost| cost * uneven);
        match objective {
            PlacementObjective::Congestion => [link, distance, self.imbalance],
            PlacementObjective::ByteDistance => [distance, link, self.imbalance],
        }
    }
}

fn compare_with_tolerance(own: f64, others: f64) -> Ordering {
    let is_same = (own - others).abs() <= RELATIVE_TOLERANCE * own.abs().max(others.abs());
    if is_same { Ordering::Equal } else { own.total_cmp(&others) }
}
