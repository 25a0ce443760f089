//! Pairwise refinement: moving a vertex between two parts does not change their traffic with the others, so each pair can be refined by
//! itself.

use super::partition_graph::PartitionGraph;
use super::two_way::{SideTargets, TwoWayCut};

/// Refines all pairs of adjacent parts until none improves or `rounds` are over; the part sizes stay the same.
pub(crate) fn refine_pairs(graph: &PartitionGraph, part: &mut [u32], limits: &[f64], rounds: usize) {
    let parts = limits.len();
    let mut members = vec![Vec::new(); parts];
    part.iter().zip(0..).for_each(|(part, vertex)| members[*part as usize].push(vertex));
    let mut pairs = PairRefiner { graph, limits, members, index: vec![u32::MAX; graph.len()] };
    let mut changed = vec![true; parts];
    for _ in 0..rounds {
        let before = std::mem::replace(&mut changed, vec![false; parts]);
        for pair in adjacent_parts(graph, part, parts) {
            let may_change = pair.iter().any(|part| before[*part] || changed[*part]);
            if may_change && pairs.refine(pair) {
                pair.iter().for_each(|part| changed[*part] = true);
            }
        }
        for (own, members) in pairs.members.iter().enumerate() {
            members.iter().for_each(|vertex| part[*vertex as usize] = own as u32);
        }
        if !changed.contains(&true) {
            break;
        }
    }
}

/// Pairs of parts with traffic between them, heaviest first.
fn adjacent_parts(graph: &PartitionGraph, part: &[u32], parts: usize) -> Vec<[usize; 2]> {
    let between = graph.contracted(part, parts);
    let of_part = |a: u32| between.arcs(a).filter(move |(b, _)| a < *b).map(move |(b, weight)| (-weight, [a as usize, b as usize]));
    let mut pairs: Vec<(i64, [usize; 2])> = (0..parts as u32).flat_map(of_part).collect();
    pairs.sort_unstable();
    pairs.into_iter().map(|(_, pair)| pair).collect()
}

struct PairRefiner<'a> {
    graph: &'a PartitionGraph,
    limits: &'a [f64],
    /// The vertices of each part.
    members: Vec<Vec<u32>>,
    /// Scratch space: index of each vertex in the subgraph of a pair.
    index: Vec<u32>,
}

impl PairRefiner<'_> {
    /// Refines a pair of parts; returns whether it improved.
    fn refine(&mut self, pair: [usize; 2]) -> bool {
        let members = pair.map(|part| self.members[part].as_slice());
        let (graph, mut second) = self.graph.pair_subgraph(members, &mut self.index);
        let sides = SideTargets { slots: members.map(|members| members.len() as u64), limit: pair.map(|part| self.limits[part]) };
        let cut = TwoWayCut::new(&graph, sides, 0, &mut second);
        let before = cut.cost();
        if cut.refine(8) >= before {
            return false;
        }
        let both = members.concat();
        let of = |side: bool| both.iter().zip(&second).filter(move |(_, second)| **second == side).map(|(vertex, _)| *vertex).collect();
        let parts = [of(false), of(true)];
        pair.iter().zip(parts).for_each(|(part, members)| self.members[*part] = members);
        true
    }
}
