//! Graph coarsening by heavy-edge matching.
//!
//! Vertices are matched in pairs, by traffic per pair of ranks they stand for. If many remain unmatched (stars, isolated ranks), those with
//! the same heaviest neighbour are matched.

use super::partition_graph::PartitionGraph;
use sintonia_fit::SplitMix64;

/// An unmatched vertex.
const UNMATCHED: u32 = u32::MAX;

/// A coarser graph, and the mapping of vertices to it.
pub(crate) struct CoarseGraph {
    /// The coarser graph.
    pub graph: PartitionGraph,
    /// The coarse vertex of each fine one.
    pub cluster: Vec<u32>,
}

/// Matches vertices up to a combined size of `largest`, on the same side if sides are given; `None` if too few could be matched.
pub(crate) fn coarsen(graph: &PartitionGraph, largest: u32, side: Option<&[bool]>, random: &mut SplitMix64) -> Option<CoarseGraph> {
    let vertices = graph.len();
    let order = shuffled(vertices, random);
    let mut matching = VertexMatching { graph, largest, side, mate: vec![UNMATCHED; vertices] };
    let mut priority = vec![0u32; vertices];
    order.iter().zip(0..).for_each(|(vertex, index)| priority[*vertex as usize] = index);
    for vertex in &order {
        matching.match_best(*vertex, &priority);
    }
    let alone = matching.mate.iter().filter(|mate| **mate == UNMATCHED).count();
    if alone * 3 > vertices {
        matching.match_leftovers(&order);
    }
    let (cluster, clusters) = matching.clusters();
    (clusters * 20 < vertices * 19).then(|| CoarseGraph { graph: graph.contracted(&cluster, clusters), cluster })
}

/// All vertices in random order.
pub(crate) fn shuffled(vertices: usize, random: &mut SplitMix64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..vertices as u32).collect();
    for index in (1..vertices).rev() {
        order.swap(index, random.index_below(index + 1));
    }
    order
}

struct VertexMatching<'a> {
    graph: &'a PartitionGraph,
    largest: u32,
    side: Option<&'a [bool]>,
    mate: Vec<u32>,
}

impl VertexMatching<'_> {
    fn can_match(&self, a: u32, b: u32) -> bool {
        a != b
            && self.graph.sizes[a as usize].saturating_add(self.graph.sizes[b as usize]) <= self.largest
            && self.side.is_none_or(|side| side[a as usize] == side[b as usize])
    }

    fn match_pair(&mut self, a: u32, b: u32) {
        self.mate[a as usize] = b;
        self.mate[b as usize] = a;
    }

    fn is_unmatched(&self, vertex: u32) -> bool {
        self.mate[vertex as usize] == UNMATCHED
    }

    fn match_best(&mut self, vertex: u32, priority: &[u32]) {
        if !self.is_unmatched(vertex) {
            return;
        }
        let mut best: Option<(f64, u32, u32)> = None;
        for (to, weight) in self.graph.arcs(vertex).filter(|(to, _)| self.is_unmatched(*to) && self.can_match(vertex, *to)) {
            let candidate = (weight as f64 / f64::from(self.graph.sizes[to as usize]), priority[to as usize], to);
            if best.is_none_or(|best| candidate > best) {
                best = Some(candidate);
            }
        }
        if let Some((_, _, to)) = best {
            self.match_pair(vertex, to);
        }
    }

    fn match_leftovers(&mut self, order: &[u32]) {
        let nowhere = self.graph.len();
        let mut waiting = vec![UNMATCHED; nowhere + 1];
        for vertex in order.iter().copied() {
            if !self.is_unmatched(vertex) {
                continue;
            }
            let best = self.graph.arcs(vertex).max_by_key(|(_, weight)| *weight).map_or(nowhere, |(to, _)| to as usize);
            let other = waiting[best];
            if other != UNMATCHED && self.can_match(vertex, other) {
                self.match_pair(vertex, other);
                waiting[best] = UNMATCHED;
            } else {
                waiting[best] = vertex;
            }
        }
    }

    fn clusters(&self) -> (Vec<u32>, usize) {
        let mut cluster = vec![UNMATCHED; self.graph.len()];
        let mut clusters = 0;
        for vertex in 0..self.graph.len() {
            if cluster[vertex] == UNMATCHED {
                cluster[vertex] = clusters;
                if self.mate[vertex] != UNMATCHED {
                    cluster[self.mate[vertex] as usize] = clusters;
                }
                clusters += 1;
            }
        }
        (cluster, clusters as usize)
    }
}
