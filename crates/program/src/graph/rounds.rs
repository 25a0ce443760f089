//! How often loops go round: counted in another look at the calls, when the loops are known.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use sintonia_recording::{Error, Recording};

use super::along::Atlas;
use super::loops::Forest;

/// How often a loop was entered and went round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rounds {
    /// How often it was entered.
    pub entries: u64,
    /// Rounds of all entries together.
    pub total: u64,
    /// Rounds of the shortest entry.
    pub least: u64,
    /// Rounds of the longest entry.
    pub most: u64,
}

impl Rounds {
    /// The rounds of other entries as well.
    pub fn merge(&mut self, other: &Rounds) {
        if other.entries == 0 {
            return;
        }
        self.least = if self.entries == 0 { other.least } else { self.least.min(other.least) };
        self.most = self.most.max(other.most);
        self.entries += other.entries;
        self.total += other.total;
    }

    /// Rounds per entry on average.
    pub fn mean(&self) -> f64 {
        self.total as f64 / self.entries.max(1) as f64
    }
}

/// The loops around each node.
pub struct Map {
    /// For each node the loops around it, from the outermost to the innermost.
    around: Vec<Vec<usize>>,
    /// The header of each loop.
    headers: Vec<usize>,
}

impl Map {
    /// The map of a program with these loops.
    pub fn new(forest: &Forest) -> Map {
        Map { around: forest.around(), headers: forest.loops.iter().map(|one| one.header).collect() }
    }

    /// The rounds of each loop on one rank of a recording.
    pub fn count(&self, recording: &Recording, rank: u32, atlas: &Atlas) -> Result<Vec<Rounds>, Error> {
        let mut threads: HashMap<u16, Counter> = HashMap::new();
        let mut along = atlas.along(rank);
        let mut calls = recording.calls(rank)?;
        while let Some(call) = calls.next_call() {
            if let Some(node) = along.node(&call) {
                threads.entry(call.thread).or_insert_with(|| Counter::new(self.headers.len())).arrive(node, self);
            }
        }
        let mut rounds = vec![Rounds::default(); self.headers.len()];
        for counter in threads.into_values() {
            rounds.iter_mut().zip(counter.done()).for_each(|(sum, more)| sum.merge(&more));
        }
        Ok(rounds)
    }
}

/// The loops that one thread is in.
struct Counter {
    /// From the outermost to the innermost, each with its rounds so far.
    inside: Vec<(usize, u64)>,
    rounds: Vec<Rounds>,
}

impl Counter {
    fn new(loops: usize) -> Counter {
        Counter { inside: Vec::new(), rounds: vec![Rounds::default(); loops] }
    }

    fn arrive(&mut self, node: usize, map: &Map) {
        let around = &map.around[node];
        let same = self.inside.iter().zip(around).take_while(|((inside, _), around)| inside == *around).count();
        self.leave(same);
        // Loops inside each other may begin with the same node: the innermost one that was not left goes round, those in it begin anew.
        let heads = |number: usize| map.headers[number] == node;
        if let Some((_, rounds)) = self.inside.iter_mut().rev().find(|(number, _)| heads(*number)) {
            *rounds += 1;
        }
        self.inside.extend(around[same..].iter().map(|number| (*number, u64::from(heads(*number)))));
    }

    /// Leaves all loops but the outermost so many.
    fn leave(&mut self, stay: usize) {
        for (number, rounds) in self.inside.drain(stay..) {
            self.rounds[number].merge(&Rounds { entries: 1, total: rounds, least: rounds, most: rounds });
        }
    }

    fn done(mut self) -> Vec<Rounds> {
        self.leave(0);
        self.rounds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_with_one_header_are_counted_apart() {
        // ((0 1)* 2)*
        let map = Map { around: vec![vec![0, 1], vec![0, 1], vec![0]], headers: vec![0, 0] };
        let mut counter = Counter::new(2);
        for node in [0, 1, 0, 1, 2, 0, 1, 0, 1, 0, 1, 2] {
            counter.arrive(node, &map);
        }
        let outer = Rounds { entries: 1, total: 2, least: 2, most: 2 };
        assert_eq!(counter.done(), [outer, Rounds { entries: 2, total: 5, least: 2, most: 3 }]);
    }

    #[test]
    fn rounds_are_counted_per_entry() {
        // Loop 0 is nodes 1, 2 and 3 with header 1; loop 1 inside it is node 2.
        let map = Map { around: vec![vec![], vec![0], vec![0, 1], vec![0], vec![]], headers: vec![1, 2] };
        let mut counter = Counter::new(2);
        for node in [0, 1, 2, 2, 3, 1, 2, 3, 1, 3, 1, 2, 2, 2, 4, 1, 3] {
            counter.arrive(node, &map);
        }
        let outer = Rounds { entries: 2, total: 5, least: 1, most: 4 };
        assert_eq!(counter.done(), [outer, Rounds { entries: 3, total: 6, least: 1, most: 3 }]);
    }
}
