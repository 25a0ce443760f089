//! Trip counts of loops, counted in a final pass over the calls.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use sintonia_recording::{Error, Recording};

use super::loops::{LoopForest, ProgramLoop};
use super::node_cursor::NodeIndex;

/// Number of entries into a loop, and of its iterations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TripCounts {
    /// Number of entries.
    pub entries: u64,
    /// Iterations over all entries.
    pub total: u64,
    /// Iterations of the shortest entry.
    pub min: u64,
    /// Iterations of the longest entry.
    pub max: u64,
}

impl TripCounts {
    /// Adds other entries.
    pub fn merge(&mut self, other: &TripCounts) {
        if other.entries == 0 {
            return;
        }
        self.min = if self.entries == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.entries += other.entries;
        self.total += other.total;
    }

    /// Mean iterations per entry.
    pub fn mean(&self) -> f64 {
        self.total as f64 / self.entries.max(1) as f64
    }
}

/// The loops that contain each node.
pub(super) struct LoopNesting {
    /// For each node, its enclosing loops, outermost first.
    enclosing_loops: Vec<Vec<usize>>,
    /// The nodes through which each loop is entered, its header first.
    entries: Vec<Vec<usize>>,
}

impl LoopNesting {
    /// The nesting of these loops.
    pub(super) fn new(forest: &LoopForest) -> LoopNesting {
        let entries = |one: &ProgramLoop| std::iter::once(one.header).chain(one.other_entries.iter().copied()).collect();
        LoopNesting { enclosing_loops: forest.enclosing_loops(), entries: forest.loops.iter().map(entries).collect() }
    }

    /// The nesting of the loops of a graph with this number of nodes.
    pub(super) fn of_loops(loops: &[ProgramLoop], nodes: usize) -> LoopNesting {
        LoopNesting::new(&LoopForest { loops: loops.to_vec(), order: (0..nodes).collect() })
    }

    /// For each call of a thread, its node, and the iteration of a loop, from 0; `None` outside of the loop. Several entries into the loop
    /// are counted together.
    pub(super) fn iterations(&self, number: usize, nodes: &[Option<usize>]) -> Vec<(Option<usize>, Option<u64>)> {
        let mut counter = TripCounter::new(self.entries.len());
        let (mut before, mut current) = (0, None);
        let visits = nodes.iter().map(|node| {
            if let Some(node) = node {
                counter.visit(*node, self);
                let iterations = counter.iterations(number);
                if let (Some(last), None) = (current, iterations) {
                    before += last;
                }
                current = iterations;
            }
            (*node, current.map(|iterations: u64| before + iterations.max(1) - 1))
        });
        visits.collect()
    }

    /// The trip counts of all loops on one rank.
    pub(super) fn count_trips(&self, recording: &Recording, rank: u32, node_index: &NodeIndex) -> Result<Vec<TripCounts>, Error> {
        let mut threads: FxHashMap<u16, TripCounter> = FxHashMap::default();
        let mut along = node_index.cursor(rank);
        let mut calls = recording.calls(rank)?;
        while let Some(call) = calls.next_call() {
            if let Some(node) = along.next_node(&call) {
                threads.entry(call.thread).or_insert_with(|| TripCounter::new(self.entries.len())).visit(node, self);
            }
        }
        let mut trip_counts = vec![TripCounts::default(); self.entries.len()];
        for counter in threads.into_values() {
            trip_counts.iter_mut().zip(counter.finish()).for_each(|(sum, more)| sum.merge(&more));
        }
        Ok(trip_counts)
    }
}

/// The loops that one thread is in.
struct TripCounter {
    /// Outermost first.
    open_loops: Vec<OpenLoop>,
    trip_counts: Vec<TripCounts>,
}

/// A loop that a thread is in.
struct OpenLoop {
    number: usize,
    /// The entry at which its iterations begin: that through which the thread entered it, or else its header.
    entry: usize,
    /// Iterations so far.
    iterations: u64,
    /// The first node in it, and how often the thread was there: its iterations, if it never visits an entry.
    first: (usize, u64),
}

impl TripCounter {
    fn new(loops: usize) -> TripCounter {
        TripCounter { open_loops: Vec::new(), trip_counts: vec![TripCounts::default(); loops] }
    }

    fn visit(&mut self, node: usize, map: &LoopNesting) {
        let around = &map.enclosing_loops[node];
        let same = self.open_loops.iter().zip(around).take_while(|(inside, around)| inside.number == **around).count();
        self.close_below(same);
        // Nested loops may share a header: the innermost one that was not left iterates, those inside it start again.
        if let Some(open) = self.open_loops.iter_mut().rev().find(|open| open.entry == node) {
            open.iterations += 1;
        }
        if let Some(open) = self.open_loops.iter_mut().rev().find(|open| open.first.0 == node) {
            open.first.1 += 1;
        }
        self.open_loops.extend(around[same..].iter().map(|number| {
            let entries = &map.entries[*number];
            let entry = if entries.contains(&node) { node } else { entries[0] };
            OpenLoop { number: *number, entry, iterations: u64::from(entry == node), first: (node, 1) }
        }));
    }

    /// Iterations so far of a loop that the thread is in.
    fn iterations(&self, number: usize) -> Option<u64> {
        let open = self.open_loops.iter().find(|open| open.number == number)?;
        Some(if open.iterations == 0 { open.first.1 } else { open.iterations })
    }

    /// Leaves all loops below depth `stay`.
    fn close_below(&mut self, stay: usize) {
        for OpenLoop { number, iterations, first, .. } in self.open_loops.drain(stay..) {
            let iterations = if iterations == 0 { first.1 } else { iterations };
            self.trip_counts[number].merge(&TripCounts { entries: 1, total: iterations, min: iterations, max: iterations });
        }
    }

    fn finish(mut self) -> Vec<TripCounts> {
        self.close_below(0);
        self.trip_counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_with_one_header_are_counted_apart() {
        // ((0 1)* 2)*
        let map = LoopNesting { enclosing_loops: vec![vec![0, 1], vec![0, 1], vec![0]], entries: vec![vec![0], vec![0]] };
        let mut counter = TripCounter::new(2);
        for node in [0, 1, 0, 1, 2, 0, 1, 0, 1, 0, 1, 2] {
            counter.visit(node, &map);
        }
        let outer = TripCounts { entries: 1, total: 2, min: 2, max: 2 };
        assert_eq!(counter.finish(), [outer, TripCounts { entries: 2, total: 5, min: 2, max: 3 }]);
    }

    #[test]
    fn a_rank_that_enters_elsewhere_counts_its_own_rounds() {
        let map = LoopNesting { enclosing_loops: vec![vec![0], vec![0], vec![0]], entries: vec![vec![0, 1]] };
        let count = |nodes: &[usize]| {
            let mut counter = TripCounter::new(1);
            nodes.iter().for_each(|node| counter.visit(*node, &map));
            counter.finish()[0].total
        };
        assert_eq!((count(&[0, 1, 2, 0, 1, 2]), count(&[1, 2, 1, 2, 1, 2]), count(&[2, 2, 2, 2])), (2, 3, 4));
    }

    #[test]
    fn rounds_are_counted_per_entry() {
        // Loop 0 is nodes 1, 2 and 3 with header 1; loop 1 inside it is node 2.
        let map = LoopNesting { enclosing_loops: vec![vec![], vec![0], vec![0, 1], vec![0], vec![]], entries: vec![vec![1], vec![2]] };
        let mut counter = TripCounter::new(2);
        for node in [0, 1, 2, 2, 3, 1, 2, 3, 1, 3, 1, 2, 2, 2, 4, 1, 3] {
            counter.visit(node, &map);
        }
        let outer = TripCounts { entries: 2, total: 5, min: 1, max: 4 };
        assert_eq!(counter.finish(), [outer, TripCounts { entries: 3, total: 6, min: 1, max: 3 }]);
    }
}
