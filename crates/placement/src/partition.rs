//! Graph partitioning into parts of exact size with little traffic between them.
//!
//! Parts are found by recursive bisection (`bisect`) and then refined pairwise (`k_way`). Cuts are compared first by the number of slots,
//! which is always met, then by computation above the limit, then by traffic across. The limit of a part is its share of the total
//! computation plus a tolerance: 5 % of the share, or one average rank if that is more. With equal computation there is no limit. The
//! result is deterministic, whatever the number of threads.

pub(crate) mod bisect;
mod coarsen;
mod heap;
mod k_way;
pub(crate) mod partition_graph;
#[cfg(test)]
mod tests;
mod two_way;

use crate::graph::RankGraph;
use bisect::{BisectionBudget, bisect};
use partition_graph::PartitionGraph;
use sintonia_fit::SplitMix64;
use std::ops::Range;
use two_way::SideTargets;

/// Search effort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SearchEffort {
    /// A single attempt.
    Quick,
    /// Default: what takes a few seconds at most.
    Usual,
    /// Many attempts.
    Thorough,
}

/// The target of a part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartTarget {
    /// Exact number of ranks.
    pub slots: u32,
    /// Maximum share of the total computation, plus tolerance.
    pub share: f64,
}

/// The part of each rank; there are as many ranks as slots.
///
/// # Panics
/// If there are not.
pub fn partition(graph: &RankGraph, parts: &[PartTarget], effort: SearchEffort) -> Vec<u32> {
    let slots: u64 = parts.iter().map(|part| u64::from(part.slots)).sum();
    assert_eq!(graph.rank_count() as u64, slots, "as many ranks as slots");
    let partition_graph = PartitionGraph::from_graph(graph);
    partition_vertices(&partition_graph, parts, BisectionBudget::new(effort, &partition_graph), 0)
}

/// The part of each vertex of a graph of single ranks.
pub(crate) fn partition_vertices(graph: &PartitionGraph, parts: &[PartTarget], budget: BisectionBudget, seed: u64) -> Vec<u32> {
    let limits = compute_limits(graph, parts);
    let mut starts = vec![0u64];
    starts.extend(parts.iter().scan(0, |end, part| {
        *end += u64::from(part.slots);
        Some(*end)
    }));
    let mut part = RecursiveBisection { starts: &starts, limits: &limits, budget, seed }.run(graph, 0..parts.len());
    if parts.len() > 2 {
        k_way::refine_pairs(graph, &mut part, &limits, budget.pair_rounds);
    }
    part
}

/// Maximum computation of each part.
fn compute_limits(graph: &PartitionGraph, parts: &[PartTarget]) -> Vec<f64> {
    let alike = graph.compute.windows(2).all(|pair| pair[0] == pair[1]);
    if alike {
        return vec![f64::INFINITY; parts.len()];
    }
    let total: f64 = graph.compute.iter().sum();
    let ranks = graph.compute.iter().filter(|compute| **compute > 0.0).count();
    let average = total / ranks.max(1) as f64;
    let shares: f64 = parts.iter().map(|part| part.share).sum();
    let scale = if shares > 0.0 { (1.0 / shares).max(1.0) } else { 1.0 };
    parts.iter().map(|part| part.share * scale * total).map(|share| share + average.max(0.05 * share)).collect()
}

/// Recursive bisection.
struct RecursiveBisection<'a> {
    /// The first slot of each part, followed by the number of slots.
    starts: &'a [u64],
    limits: &'a [f64],
    budget: BisectionBudget,
    seed: u64,
}

impl RecursiveBisection<'_> {
    /// Divides the vertices of a graph among a range of parts.
    fn run(&self, graph: &PartitionGraph, parts: Range<usize>) -> Vec<u32> {
        if parts.len() <= 1 {
            return vec![parts.start as u32; graph.len()];
        }
        let middle = self.split_index(&parts);
        let [left, right] = [parts.start..middle, middle..parts.end];
        let slots = [&left, &right].map(|group| self.starts[group.end] - self.starts[group.start]);
        let limit = [&left, &right].map(|group| self.limits[group.clone()].iter().sum());
        let mut random = SplitMix64::new(self.seed ^ (parts.start as u64) << 32 ^ parts.end as u64);
        let side = bisect(graph, SideTargets { slots, limit }, self.budget, &mut random);
        let halves = graph.split(&side, 2);
        let (first, second) = rayon::join(|| self.run(&halves[0], left), || self.run(&halves[1], right));
        let (mut first, mut second) = (first.into_iter(), second.into_iter());
        side.into_iter().filter_map(|side| if side { second.next() } else { first.next() }).collect()
    }

    /// Splits a range of parts into two with about equally many slots.
    fn split_index(&self, parts: &Range<usize>) -> usize {
        let uneven = |middle: &usize| (2 * self.starts[*middle]).abs_diff(self.starts[parts.start] + self.starts[parts.end]);
        (parts.start + 1..parts.end).min_by_key(uneven).unwrap_or(parts.end)
    }
}
