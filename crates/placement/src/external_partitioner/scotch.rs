//! Scotch maps a graph onto a tree of slots. For uneven domains it gets a tree padded to the largest domain, and the list of leaves that
//! exist.

use std::fmt::Write;

use super::Error;
use super::separate::separate_ranks;
use super::subprocess::PartitionerRun;
use crate::graph::RankGraph;
use crate::hierarchy::SlotHierarchy;

/// The largest number of a Scotch with 32-bit integers.
const MAX_INT: u64 = i32::MAX as u64;

/// Maximum integer distance of two slots: it is multiplied by the traffic.
const MAX_DISTANCE: f64 = 100.0;

/// The slot of each rank; there are as many ranks as slots.
pub(super) fn place(graph: &RankGraph, hierarchy: &SlotHierarchy, folder: &PartitionerRun) -> Result<Vec<u32>, Error> {
    let tree = ScotchTree::from_hierarchy(hierarchy);
    if graph.edge_count() == 0 || tree.levels.is_empty() {
        return Ok((0..hierarchy.slot_count()).collect());
    }
    folder.write("graph", graph_text(graph, tree.max_distance()))?;
    folder.write("target", tree.target_text().ok_or_else(|| Error::TooUneven { program: folder.program_name() })?)?;
    folder.run(&["-b0.01", "graph", "target", "map"])?;
    let mut slots = read_mapping(graph.rank_count(), folder)?;
    separate_ranks(graph, hierarchy, &mut slots);
    Ok(slots)
}

/// The graph in Scotch's format: for each vertex the number of neighbours, then weight and neighbour of each edge.
fn graph_text(graph: &RankGraph, farthest: u64) -> String {
    let ranks = 0..graph.rank_count() as u32;
    let sum: u128 = ranks.clone().flat_map(|rank| graph.arcs(rank)).map(|arc| u128::from(arc.weight)).sum();
    let arcs = 2 * graph.edge_count() as u64;
    let buffer = (MAX_INT / farthest).saturating_sub(arcs).max(1);
    let divisor = sum.div_ceil(u128::from(buffer)).max(1);
    let mut text = format!("0\n{} {arcs}\n0 010\n", graph.rank_count());
    for rank in ranks {
        let _ = write!(text, "{}", graph.arcs(rank).len());
        for arc in graph.arcs(rank) {
            let _ = write!(text, " {} {}", (u128::from(arc.weight) / divisor).max(1), arc.to);
        }
        text.push('\n');
    }
    text
}

/// The slots chosen by Scotch.
fn read_mapping(ranks: usize, folder: &PartitionerRun) -> Result<Vec<u32>, Error> {
    let expected = "a slot for each rank";
    let numbers = folder.read_numbers("map", 2 * ranks + 1, expected)?;
    let mut slots = vec![u32::MAX; ranks];
    for pair in numbers[1..].chunks_exact(2) {
        let slot = slots.get_mut(pair[0] as usize).ok_or_else(|| folder.unexpected(expected))?;
        *slot = pair[1];
    }
    if slots.iter().all(|slot| (*slot as usize) < ranks) { Ok(slots) } else { Err(folder.unexpected(expected)) }
}

/// A level of the tree with more than one part.
struct ScotchLevel {
    /// Maximum number of parts of a domain.
    max_parts: u32,
    /// Their distance.
    distance: f64,
    /// Index of each slot's part in its domain.
    part_indices: Vec<u32>,
}

/// A tree that contains all slots as leaves.
struct ScotchTree {
    slots: u32,
    levels: Vec<ScotchLevel>,
}

impl ScotchTree {
    fn from_hierarchy(hierarchy: &SlotHierarchy) -> ScotchTree {
        let slots = hierarchy.slot_count();
        let singles: Vec<u32> = (0..=slots).collect();
        let finer = hierarchy.levels().iter().skip(1).map(|level| &level.starts).chain([&singles]);
        let level = |(level, finer): (&crate::hierarchy::HierarchyLevel, &Vec<u32>)| {
            let mut indices = Vec::with_capacity(slots as usize);
            let mut firsts = level.starts.iter().peekable();
            let mut place = 0;
            for part in finer.windows(2) {
                place = if firsts.next_if_eq(&&part[0]).is_some() { 0 } else { place + 1 };
                indices.extend((part[0]..part[1]).map(|_| place));
            }
            ScotchLevel { max_parts: indices.iter().max().map_or(0, |last| last + 1), distance: level.distance, part_indices: indices }
        };
        let levels = hierarchy.levels().iter().zip(finer).map(level).filter(|level| level.max_parts > 1).collect();
        ScotchTree { slots, levels }
    }

    /// Integer distances, the shortest 1.
    fn distances(&self) -> Vec<u64> {
        let shortest = self.levels.iter().map(|level| level.distance).filter(|distance| *distance > 0.0).fold(f64::INFINITY, f64::min);
        let whole = |level: &ScotchLevel| (level.distance / shortest).round().clamp(1.0, MAX_DISTANCE) as u64;
        self.levels.iter().map(whole).collect()
    }

    fn max_distance(&self) -> u64 {
        self.distances().into_iter().max().unwrap_or(1)
    }

    /// The tree in Scotch's format; `None` if it has more leaves than Scotch can count.
    fn target_text(&self) -> Option<String> {
        let leaves = self.levels.iter().try_fold(1u32, |leaves, level| leaves.checked_mul(level.max_parts))?;
        if u64::from(leaves) > MAX_INT {
            return None;
        }
        let mut tree = format!("tleaf {}", self.levels.len());
        for (level, distance) in self.levels.iter().zip(self.distances()) {
            let _ = write!(tree, " {} {distance}", level.max_parts);
        }
        if leaves == self.slots {
            return Some(tree + "\n");
        }
        let leaf = |slot: usize| self.levels.iter().fold(0, |leaf, level| leaf * level.max_parts + level.part_indices[slot]);
        let mut text = format!("sub {}", self.slots);
        for slot in 0..self.slots as usize {
            let _ = write!(text, " {}", leaf(slot));
        }
        Some(format!("{text} {tree}\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hierarchy::HierarchyLevel;

    #[test]
    fn a_machine_whose_domains_are_alike_is_a_tree() {
        let tree = ScotchTree::from_hierarchy(&SlotHierarchy::uniform(&[(4, 20.0), (1, 10.0), (2, 2.0), (8, 1.0)]));
        assert_eq!(tree.target_text().as_deref(), Some("tleaf 3 4 20 2 2 8 1\n"));
    }

    #[test]
    fn slots_of_unequal_hosts_are_some_leaves_of_a_larger_tree() {
        let levels = [(vec![0, 5], 5.0), (vec![0, 3, 5], 0.5)].map(|(starts, distance)| HierarchyLevel { starts, distance });
        let tree = ScotchTree::from_hierarchy(&SlotHierarchy::new(levels.to_vec()));
        assert_eq!(tree.target_text().as_deref(), Some("sub 5 0 1 2 3 4 tleaf 2 2 10 3 1\n"));
    }

    #[test]
    fn a_single_slot_is_no_tree() {
        assert!(ScotchTree::from_hierarchy(&SlotHierarchy::uniform(&[(1, 1.0)])).levels.is_empty());
    }
}
