//! What the index needs, measured in the run: computing, bytes, and from the time between a master's sending and a worker's beginning, over
//! chunks of different sizes, the latency and the time for each byte.

use std::collections::{HashMap, VecDeque};

use super::index::Load;
use crate::statistics::{line, median};

/// How many messages the latency is measured by.
const MESSAGES: usize = 128;

/// Sums of one iteration.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Iteration {
    /// How many workers took part.
    pub workers: u32,
    /// How long it took.
    pub seconds: f64,
    /// Tasks sent to workers.
    pub out: f64,
    /// Tasks that came back.
    pub back: f64,
    /// Seconds of computing.
    pub computing: f64,
}

impl Iteration {
    /// The index as it was measured, for one task: what can be compared where the number of tasks changes.
    pub fn index(&self) -> f64 {
        f64::from(self.workers) * (self.seconds / self.out).powi(2)
    }
}

/// What was measured.
#[derive(Debug)]
pub struct Measured {
    history: usize,
    /// Bytes of a task.
    unit: f64,
    now: Iteration,
    begin: f64,
    latest: VecDeque<Iteration>,
    /// Messages on their way, by rank: when and how many tasks were sent, or begun; one of the two may be told first.
    sent: HashMap<u32, VecDeque<(f64, f64)>>,
    begun: HashMap<u32, VecDeque<(f64, f64)>>,
    /// Tasks and seconds of messages.
    messages: VecDeque<(f64, f64)>,
    under_way: HashMap<u32, f64>,
}

impl Measured {
    /// Nothing yet; so many iterations will count.
    pub fn new(history: usize) -> Measured {
        Measured {
            history: history.max(1),
            unit: 1.0,
            now: Iteration::default(),
            begin: 0.0,
            latest: VecDeque::new(),
            sent: HashMap::new(),
            begun: HashMap::new(),
            messages: VecDeque::new(),
            under_way: HashMap::new(),
        }
    }

    /// An iteration begins, with so many workers and bytes for each task.
    pub fn begins(&mut self, time: f64, workers: u32, unit: f64) {
        self.now = Iteration { workers, ..Iteration::default() };
        (self.begin, self.unit) = (time, unit);
    }

    /// It has ended.
    pub fn ends(&mut self, time: f64) {
        self.now.seconds = time - self.begin;
        if self.now.out <= 0.0 || self.now.computing <= 0.0 {
            return;
        }
        // What was measured with other workers does not count for these.
        if self.latest.back().is_some_and(|last| last.workers != self.now.workers) {
            self.latest.clear();
        }
        if self.latest.len() == self.history {
            self.latest.pop_front();
        }
        self.latest.push_back(self.now);
    }

    /// The master sends a chunk.
    pub fn sent(&mut self, rank: u32, time: f64, tasks: f64) {
        self.now.out += tasks;
        self.sent.entry(rank).or_default().push_back((time, tasks));
        self.match_messages(rank);
    }

    /// A worker begins a chunk.
    pub fn chunk_begins(&mut self, rank: u32, time: f64, tasks: f64) {
        self.under_way.insert(rank, time);
        self.begun.entry(rank).or_default().push_back((time, tasks));
        self.match_messages(rank);
    }

    /// A worker has ended its chunk.
    pub fn chunk_ends(&mut self, rank: u32, time: f64) {
        if let Some(begin) = self.under_way.remove(&rank) {
            self.now.computing += (time - begin).max(0.0);
        }
    }

    /// The master has got a chunk back.
    pub fn received(&mut self, tasks: f64) {
        self.now.back += tasks;
    }

    fn match_messages(&mut self, rank: u32) {
        let (sent, begun) = (self.sent.entry(rank).or_default(), self.begun.entry(rank).or_default());
        let (Some((from, tasks)), Some((to, same))) = (sent.front().copied(), begun.front().copied()) else { return };
        if tasks != same || to < from {
            // Something was lost on the way here: what is left cannot be matched.
            sent.clear();
            begun.clear();
            return;
        }
        sent.pop_front();
        begun.pop_front();
        if self.messages.len() == MESSAGES {
            self.messages.pop_front();
        }
        self.messages.push_back((tasks, to - from));
    }

    /// The latest iterations with the number of workers that there are now.
    pub fn latest(&self) -> &VecDeque<Iteration> {
        &self.latest
    }

    /// The load of the latest iterations; `None` before one is complete.
    pub fn load(&self) -> Option<Load> {
        let of = |value: fn(&Iteration) -> f64| median(self.latest.iter().map(value));
        let messages: Vec<(f64, f64)> = self.messages.iter().map(|(tasks, seconds)| (tasks * self.unit, *seconds)).collect();
        let flat = || Some((median(messages.iter().map(|(_, seconds)| *seconds))?, 0.0));
        // Messages do not become quicker with their size: such a line is noise.
        let (latency, per_byte) = line(&messages).filter(|(_, slope)| *slope > 0.0).or_else(flat)?;
        let (out, back) = (of(|iteration| iteration.out)?, of(|iteration| iteration.back)?);
        Some(Load {
            latency: latency.max(0.0),
            per_byte,
            bytes: (out + back) * self.unit,
            share_out: out / (out + back),
            computing: of(|iteration| iteration.computing)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_and_time_for_each_byte_come_from_messages_of_different_sizes() {
        let mut measured = Measured::new(3);
        measured.begins(0.0, 2, 16.0);
        for (place, tasks) in [100.0, 50.0, 25.0, 400.0].into_iter().enumerate() {
            let (rank, begin) = (1 + place as u32 % 2, place as f64);
            let arrival = begin + 1e-4 + 16.0 * tasks * 1e-8;
            // The worker's beginning may be told before the master's sending.
            if place == 1 {
                measured.chunk_begins(rank, arrival, tasks);
                measured.sent(rank, begin, tasks);
            } else {
                measured.sent(rank, begin, tasks);
                measured.chunk_begins(rank, arrival, tasks);
            }
            measured.chunk_ends(rank, arrival + 0.5);
            measured.received(tasks / 4.0);
        }
        measured.ends(4.0);
        let load = measured.load().expect("an iteration");
        assert!((load.latency - 1e-4).abs() < 1e-9 && (load.per_byte - 1e-8).abs() < 1e-12, "{load:?}");
        assert!((load.computing - 2.0).abs() < 1e-9 && (load.share_out - 0.8).abs() < 1e-9, "{load:?}");
        assert_eq!(load.bytes, 575.0 * 1.25 * 16.0);
    }

    #[test]
    fn what_was_lost_does_not_become_a_message() {
        let mut measured = Measured::new(3);
        measured.begins(0.0, 1, 16.0);
        measured.sent(1, 0.0, 10.0);
        measured.sent(1, 1.0, 20.0);
        measured.chunk_begins(1, 1.1, 20.0);
        assert!(measured.messages.is_empty());
        measured.sent(1, 2.0, 10.0);
        measured.chunk_begins(1, 2.5, 10.0);
        assert_eq!(measured.messages, [(10.0, 0.5)]);
    }

    #[test]
    fn another_number_of_workers_begins_anew() {
        let mut measured = Measured::new(3);
        for (place, workers) in [4, 4, 2].into_iter().enumerate() {
            measured.begins(place as f64, workers, 1.0);
            measured.sent(1, place as f64, 10.0);
            measured.chunk_begins(1, place as f64, 10.0);
            measured.chunk_ends(1, place as f64 + 0.5);
            measured.ends(place as f64 + 0.6);
        }
        assert_eq!(measured.latest().len(), 1);
    }
}
