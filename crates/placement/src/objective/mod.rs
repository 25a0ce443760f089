//! What a placement costs, and which of two is better.
//!
//! On a real run over several hosts the time followed the busiest link, not the sum of all bytes; so that is the usual objective. How long the
//! slowest host computes matters as much: a placement that has a tenth more of both is a fifth worse, in whatever units they are given.

mod load;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;

pub use load::{Computing, Loads};

use crate::cluster::Placement;
use crate::fabric::Fabric;
use crate::graph::Graph;

/// What should be little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// How long the busiest link is busy.
    Congestion,
    /// Bytes times the distance they go, of all together.
    ByteDistance,
}

/// What a placement costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// How long the busiest link is busy, in seconds.
    pub busiest_link_s: f64,
    /// Bytes times the distance they go, of all together.
    pub byte_distance: f64,
    /// Bytes that go from one host to another.
    pub across_bytes: u64,
    /// How much longer than the mean the slowest host computes: 0.1 is a tenth. See [`Computing`].
    pub imbalance: f64,
}

/// So much imbalance is no reason for anything: computing times of two runs differ as much.
pub const TOLERATED_IMBALANCE: f64 = 0.05;

/// Costs that differ by less than this part of them are the same: sums in another order can be told apart no better.
const HAIR: f64 = 1e-9;

/// What a placement costs on a cluster.
pub fn cost(graph: &Graph, fabric: &Fabric, placement: &Placement) -> Cost {
    let slot = |rank: u32| placement.0[rank as usize];
    let (mut byte_distance, mut across_bytes) = (0.0, 0u64);
    for rank in 0..graph.ranks() as u32 {
        for arc in graph.arcs(rank) {
            byte_distance += arc.sent as f64 * fabric.distance(slot(rank), slot(arc.to));
            if fabric.host(slot(rank)) != fabric.host(slot(arc.to)) {
                across_bytes = across_bytes.saturating_add(arc.sent);
            }
        }
    }
    Cost {
        busiest_link_s: Loads::of(graph, fabric, placement).busiest_s(fabric),
        byte_distance,
        across_bytes,
        imbalance: Computing::of(graph, fabric, placement).imbalance(),
    }
}

impl Cost {
    /// Whether it is better than another: by the objective, with imbalance beyond what is tolerated counted in; where that is the same, by the
    /// other objective, and then by the imbalance.
    pub fn is_better(&self, other: &Cost, objective: Objective) -> bool {
        let keys = [self, other].map(|cost| cost.keys(objective));
        let differ = keys[0].iter().zip(&keys[1]).map(|(own, others)| compare(*own, *others));
        differ.fold(Ordering::Equal, Ordering::then) == Ordering::Less
    }

    /// The objective, with imbalance beyond what is tolerated counted in.
    pub fn total(&self, objective: Objective) -> f64 {
        self.keys(objective)[0]
    }

    fn keys(&self, objective: Objective) -> [f64; 3] {
        let uneven = 1.0 + (self.imbalance - TOLERATED_IMBALANCE).max(0.0);
        let [link, distance] = [self.busiest_link_s, self.byte_distance].map(|cost| cost * uneven);
        match objective {
            Objective::Congestion => [link, distance, self.imbalance],
            Objective::ByteDistance => [distance, link, self.imbalance],
        }
    }
}

fn compare(own: f64, others: f64) -> Ordering {
    let is_same = (own - others).abs() <= HAIR * own.abs().max(others.abs());
    if is_same { Ordering::Equal } else { own.total_cmp(&others) }
}
