//! Scotch places a graph on a tree of slots by itself. Where domains are not alike, it is told the tree with all domains as large as the
//! largest, and which of its leaves there are.

use std::fmt::Write;

use super::Error;
use super::apart::move_apart;
use super::program::Folder;
use crate::graph::Graph;
use crate::hierarchy::Hierarchy;

/// The largest number that Scotch counts to where its integers are small.
const MOST: u64 = i32::MAX as u64;

/// The farthest that two slots may be apart in whole numbers: it is multiplied with what is exchanged.
const FARTHEST: f64 = 100.0;

/// The slot of each rank; there are as many ranks as slots.
pub(super) fn place(graph: &Graph, hierarchy: &Hierarchy, folder: &Folder) -> Result<Vec<u32>, Error> {
    let tree = Tree::of(hierarchy);
    if graph.edges() == 0 || tree.levels.is_empty() {
        return Ok((0..hierarchy.slots()).collect());
    }
    folder.write("graph", written(graph, tree.farthest()))?;
    folder.write("target", tree.written().ok_or_else(|| Error::TooUneven { program: folder.name() })?)?;
    folder.run(&["-b0.01", "graph", "target", "map"])?;
    let mut slots = read(graph.ranks(), folder)?;
    move_apart(graph, hierarchy, &mut slots);
    Ok(slots)
}

/// The graph as Scotch reads it: for each vertex its number of neighbours, and the weight of the edge to each with the neighbour.
fn written(graph: &Graph, farthest: u64) -> String {
    let ranks = 0..graph.ranks() as u32;
    let sum: u128 = ranks.clone().flat_map(|rank| graph.arcs(rank)).map(|arc| u128::from(arc.weight)).sum();
    let arcs = 2 * graph.edges() as u64;
    let room = (MOST / farthest).saturating_sub(arcs).max(1);
    let divisor = sum.div_ceil(u128::from(room)).max(1);
    let mut text = format!("0\n{} {arcs}\n0 010\n", graph.ranks());
    for rank in ranks {
        let _ = write!(text, "{}", graph.arcs(rank).len());
        for arc in graph.arcs(rank) {
            let _ = write!(text, " {} {}", (u128::from(arc.weight) / divisor).max(1), arc.to);
        }
        text.push('\n');
    }
    text
}

/// The slots as told by Scotch.
fn read(ranks: usize, folder: &Folder) -> Result<Vec<u32>, Error> {
    let expected = "a slot for each rank";
    let numbers = folder.numbers("map", 2 * ranks + 1, expected)?;
    let mut slots = vec![u32::MAX; ranks];
    for pair in numbers[1..].chunks_exact(2) {
        let slot = slots.get_mut(pair[0] as usize).ok_or_else(|| folder.unexpected(expected))?;
        *slot = pair[1];
    }
    if slots.iter().all(|slot| (*slot as usize) < ranks) { Ok(slots) } else { Err(folder.unexpected(expected)) }
}

/// A level of the tree that cuts something.
struct TreeLevel {
    /// The most parts that a domain has.
    most: u32,
    /// How far they are apart.
    distance: f64,
    /// The place of each slot's part in its domain.
    places: Vec<u32>,
}

/// A tree in which all slots have a leaf.
struct Tree {
    slots: u32,
    levels: Vec<TreeLevel>,
}

impl Tree {
    fn of(hierarchy: &Hierarchy) -> Tree {
        let slots = hierarchy.slots();
        let singles: Vec<u32> = (0..=slots).collect();
        let finer = hierarchy.levels().iter().skip(1).map(|level| &level.starts).chain([&singles]);
        let level = |(level, finer): (&crate::hierarchy::Level, &Vec<u32>)| {
            let mut places = Vec::with_capacity(slots as usize);
            let mut firsts = level.starts.iter().peekable();
            let mut place = 0;
            for part in finer.windows(2) {
                place = if firsts.next_if_eq(&&part[0]).is_some() { 0 } else { place + 1 };
                places.extend((part[0]..part[1]).map(|_| place));
            }
            TreeLevel { most: places.iter().max().map_or(0, |last| last + 1), distance: level.distance, places }
        };
        let levels = hierarchy.levels().iter().zip(finer).map(level).filter(|level| level.most > 1).collect();
        Tree { slots, levels }
    }

    /// Distances in whole numbers, the shortest 1.
    fn distances(&self) -> Vec<u64> {
        let shortest = self.levels.iter().map(|level| level.distance).filter(|distance| *distance > 0.0).fold(f64::INFINITY, f64::min);
        let whole = |level: &TreeLevel| (level.distance / shortest).round().clamp(1.0, FARTHEST) as u64;
        self.levels.iter().map(whole).collect()
    }

    fn farthest(&self) -> u64 {
        self.distances().into_iter().max().unwrap_or(1)
    }

    /// The tree as Scotch reads it; none if it has more leaves than Scotch can count.
    fn written(&self) -> Option<String> {
        let leaves = self.levels.iter().try_fold(1u32, |leaves, level| leaves.checked_mul(level.most))?;
        if u64::from(leaves) > MOST {
            return None;
        }
        let mut tree = format!("tleaf {}", self.levels.len());
        for (level, distance) in self.levels.iter().zip(self.distances()) {
            let _ = write!(tree, " {} {distance}", level.most);
        }
        if leaves == self.slots {
            return Some(tree + "\n");
        }
        let leaf = |slot: usize| self.levels.iter().fold(0, |leaf, level| leaf * level.most + level.places[slot]);
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
    use crate::hierarchy::Level;

    #[test]
    fn a_machine_whose_domains_are_alike_is_a_tree() {
        let tree = Tree::of(&Hierarchy::uniform(&[(4, 20.0), (1, 10.0), (2, 2.0), (8, 1.0)]));
        assert_eq!(tree.written().as_deref(), Some("tleaf 3 4 20 2 2 8 1\n"));
    }

    #[test]
    fn slots_of_unequal_hosts_are_some_leaves_of_a_larger_tree() {
        let levels = [(vec![0, 5], 5.0), (vec![0, 3, 5], 0.5)].map(|(starts, distance)| Level { starts, distance });
        let tree = Tree::of(&Hierarchy::new(levels.to_vec()));
        assert_eq!(tree.written().as_deref(), Some("sub 5 0 1 2 3 4 tleaf 2 2 10 3 1\n"));
    }

    #[test]
    fn a_single_slot_is_no_tree() {
        assert!(Tree::of(&Hierarchy::uniform(&[(1, 1.0)])).levels.is_empty());
    }
}
