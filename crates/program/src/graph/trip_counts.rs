//! Trip counts of loops, counted in a final pass over the calls.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use sintonia_recording::{Error, Recording};

use super::loops::LoopForest;
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
    /// The header of each loop.
    headers: Vec<usize>,
}

impl LoopNesting {
    /// The nesting of these loops.
    pub(super) fn new(forest: &LoopForest) -> LoopNesting {
        LoopNesting { enclosing_loops: forest.enclosing_loops(), headers: forest.loops.iter().map(|one| one.header).collect() }
    }

    /// The trip counts of all loops on one rank.
    pub(super) fn count_trips(&self, recording: &Recording, rank: u32, node_index: &NodeIndex) -> Result<Vec<TripCounts>, Error> {
        let mut threads: FxHashMap<u16, TripCounter> = FxHashMap::default();
        let mut along = node_index.cursor(rank);
        let mut calls = recording.calls(rank)?;
        while let Some(call) = calls.next_call() {
            if let Some(node) = along.next_node(&call) {
                threads.entry(call.thread).or_insert_with(|| TripCounter::new(self.headers.len())).visit(node, self);
            }
        }
        let mut trip_counts = vec![TripCounts::default(); self.headers.len()];
        for counter in threads.into_values() {
            trip_counts.iter_mut().zip(counter.finish()).for_each(|(sum, more)| sum.merge(&more));
        }
        Ok(trip_counts)
    }
}

/// The loops that one thread is in.
struct TripCounter {
    /// Outermost first, each with its iterations so far.
    open_loops: Vec<(usize, u64)>,
    trip_counts: Vec<TripCounts>,
}

impl TripCounter {
    fn new(loops: usize) -> TripCounter {
        TripCounter { open_loops: Vec::new(), trip_counts: vec![TripCounts::default(); loops] }
    }

    fn visit(&mut self, node: usize, map: &LoopNesting) {
        let around = &map.enclosing_loops[node];
        let same = self.open_loops.iter().zip(around).take_while(|((inside, _), around)| inside == *around).count();
        self.close_below(same);
        // Nested loops may share a header: the innermost one that was not left iterates, those inside it start again.
        let heads = |number: usize| map.headers[number] == node;
        if let Some((_, trip_counts)) = self.open_loops.iter_mut().rev().find(|(number, _)| heads(*number)) {
            *trip_counts += 1;
        }
        self.open_loops.extend(around[same..].iter().map(|number| (*number, u64::from(heads(*number)))));
    }

    /// Leaves all loops below depth `stay`.
    fn close_below(&mut self, stay: usize) {
        for (number, trip_counts) in self.open_loops.drain(stay..) {
            self.trip_counts[number].merge(&TripCounts { entries: 1, total: trip_counts, min: trip_counts, max: trip_counts });
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
        let map = LoopNesting { enclosing_loops: vec![vec![0, 1], vec![0, 1], vec![0]], headers: vec![0, 0] };
        let mut counter = TripCounter::new(2);
        for node in [0, 1, 0, 1, 2, 0, 1, 0, 1, 0, 1, 2] {
            counter.visit(node, &map);
        }
        let outer = TripCounts { entries: 1, total: 2, min: 2, max: 2 };
        assert_eq!(counter.finish(), [outer, TripCounts { entries: 2, total: 5, min: 2, max: 3 }]);
    }

    #[test]
    fn rounds_are_counted_per_entry() {
        // Loop 0 is nodes 1, 2 and 3 with header 1; loop 1 inside it is node 2.
        let map = LoopNesting { enclosing_loops: vec![vec![], vec![0], vec![0, 1], vec![0], vec![]], headers: vec![1, 2] };
        let mut counter = TripCounter::new(2);
        for node in [0, 1, 2, 2, 3, 1, 2, 3, 1, 3, 1, 2, 2, 2, 4, 1, 3] {
            counter.visit(node, &map);
        }
        let outer = TripCounts { entries: 2, total: 5, min: 1, max: 4 };
        assert_eq!(counter.finish(), [outer, TripCounts { entries: 3, total: 6, min: 1, max: 3 }]);
    }
}
