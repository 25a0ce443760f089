//! Measures the load for the index: computation, bytes, and from the delay between a master's send and a worker's start, over chunks
//! of different sizes, latency and time per byte.

use std::collections::{HashMap, VecDeque};

use super::performance_index::MasterWorkerLoad;
use crate::statistics::{median, theil_sen_line};

/// Messages kept for the latency.
const MAX_MESSAGES: usize = 128;

/// Totals of one iteration.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct IterationTotals {
    /// Number of workers.
    pub workers: u32,
    /// Duration.
    pub seconds: f64,
    /// Tasks sent to workers.
    pub sent_tasks: f64,
    /// Tasks returned.
    pub returned_tasks: f64,
    /// Seconds of computation.
    pub computing: f64,
    /// Tasks answered, where messages are known by their bytes only.
    pub answered_tasks: f64,
}

impl IterationTotals {
    /// Measured index per task, comparable if the number of tasks changes.
    pub(super) fn index(&self) -> f64 {
        let tasks = if self.answered_tasks > 0.0 { self.answered_tasks } else { self.sent_tasks };
        f64::from(self.workers) * (self.seconds / tasks).powi(2)
    }
}

/// Measures the load of iterations.
#[derive(Debug)]
pub(super) struct LoadMeter {
    history: usize,
    /// Bytes of a task.
    task_bytes: f64,
    current: IterationTotals,
    begin: f64,
    latest: VecDeque<IterationTotals>,
    /// Messages in flight by rank: time and tasks of sends and of starts; either may be reported first.
    sent: HashMap<u32, VecDeque<(f64, f64)>>,
    begun: HashMap<u32, VecDeque<(f64, f64)>>,
    /// Tasks and seconds of messages.
    messages: VecDeque<(f64, f64)>,
    /// Bytes and seconds of the answer that the master received fastest, which did not wait for it.
    fastest_answer: Option<(f64, f64)>,
    running: HashMap<u32, f64>,
}

impl LoadMeter {
    /// Keeps `history` iterations.
    pub(super) fn new(history: usize) -> LoadMeter {
        LoadMeter {
            history: history.max(1),
            task_bytes: 1.0,
            current: IterationTotals::default(),
            begin: 0.0,
            latest: VecDeque::new(),
            sent: HashMap::new(),
            begun: HashMap::new(),
            messages: VecDeque::new(),
            fastest_answer: None,
            running: HashMap::new(),
        }
    }

    /// An iteration begins, with this many workers and bytes per task.
    pub(super) fn begin_iteration(&mut self, time: f64, workers: u32, task_bytes: f64) {
        self.current = IterationTotals { workers, ..IterationTotals::default() };
        (self.begin, self.task_bytes) = (time, task_bytes);
    }

    /// The iteration ends.
    pub(super) fn end_iteration(&mut self, time: f64) {
        self.current.seconds = time - self.begin;
        if self.current.sent_tasks <= 0.0 || self.current.computing <= 0.0 {
            return;
        }
        // Measurements with another number of workers do not apply.
        if self.latest.back().is_some_and(|last| last.workers != self.current.workers) {
            self.latest.clear();
        }
        if self.latest.len() == self.history {
            self.latest.pop_front();
        }
        self.latest.push_back(self.current);
    }

    /// The master sends a chunk.
    pub(super) fn chunk_sent(&mut self, rank: u32, time: f64, tasks: f64) {
        self.current.sent_tasks += tasks;
        self.sent.entry(rank).or_default().push_back((time, tasks));
        self.match_messages(rank);
    }

    /// A worker begins a chunk.
    pub(super) fn chunk_begins(&mut self, rank: u32, time: f64, tasks: f64) {
        self.running.insert(rank, time);
        self.begun.entry(rank).or_default().push_back((time, tasks));
        self.match_messages(rank);
    }

    /// A worker has finished its chunk.
    pub(super) fn chunk_ends(&mut self, rank: u32, time: f64) {
        if let Some(begin) = self.running.remove(&rank) {
            self.current.computing += (time - begin).max(0.0);
        }
    }

    /// The master has received a result.
    pub(super) fn chunk_received(&mut self, tasks: f64) {
        self.current.returned_tasks += tasks;
    }

    /// The number of workers of the current iteration, where it is known at its end only.
    pub(super) fn set_workers(&mut self, workers: u32) {
        self.current.workers = workers;
    }

    /// A piece of this many tasks is answered.
    pub(super) fn piece_answered(&mut self, tasks: f64) {
        self.current.answered_tasks += tasks;
    }

    /// The master has received an answer of this size, so long after the worker sent it.
    pub(super) fn answer_arrived(&mut self, bytes: f64, seconds: f64) {
        if seconds > 0.0 && self.fastest_answer.is_none_or(|(_, least)| seconds < least) {
            self.fastest_answer = Some((bytes, seconds));
        }
    }

    /// Latency and time per byte where all messages to workers have one size: the answers have another one.
    fn line_through_answer(&self, messages: &[(f64, f64)]) -> Option<(f64, f64)> {
        // The fastest of both: the others waited for a processor, which has nothing to do with their size.
        let (bytes, seconds) = messages.iter().copied().min_by(|one, other| one.1.total_cmp(&other.1))?;
        let (answer_bytes, answer_seconds) = self.fastest_answer?;
        let per_byte = (seconds - answer_seconds) / (bytes - answer_bytes);
        let median = median(messages.iter().map(|(_, seconds)| *seconds))?;
        (per_byte.is_finite() && per_byte > 0.0).then(|| ((median - per_byte * bytes).max(0.0), per_byte))
    }

    fn match_messages(&mut self, rank: u32) {
        let (sent, begun) = (self.sent.entry(rank).or_default(), self.begun.entry(rank).or_default());
        let (Some((from, tasks)), Some((to, same))) = (sent.front().copied(), begun.front().copied()) else { return };
        if tasks != same || to < from {
            // Events were lost: the rest cannot be matched.
            sent.clear();
            begun.clear();
            return;
        }
        sent.pop_front();
        begun.pop_front();
        if self.messages.len() == MAX_MESSAGES {
            self.messages.pop_front();
        }
        self.messages.push_back((tasks, to - from));
    }

    /// The latest iterations with the current number of workers.
    pub(super) fn latest(&self) -> &VecDeque<IterationTotals> {
        &self.latest
    }

    /// The load of the latest iterations; `None` before one is complete.
    pub(super) fn load(&self) -> Option<MasterWorkerLoad> {
        let of = |value: fn(&IterationTotals) -> f64| median(self.latest.iter().map(value));
        let messages: Vec<(f64, f64)> = self.messages.iter().map(|(tasks, seconds)| (tasks * self.task_bytes, *seconds)).collect();
        let flat = || Some((median(messages.iter().map(|(_, seconds)| *seconds))?, 0.0));
        // A negative slope is noise.
        let line = theil_sen_line(&messages).filter(|(_, slope)| *slope > 0.0);
        let (latency, per_byte) = line.or_else(|| self.line_through_answer(&messages)).or_else(flat)?;
        let (out, back) = (of(|iteration| iteration.sent_tasks)?, of(|iteration| iteration.returned_tasks)?);
        Some(MasterWorkerLoad {
            latency: latency.max(0.0),
            per_byte,
            bytes: (out + back) * self.task_bytes,
            share_out: out / (out + back),
            computing: of(|iteration| iteration.computing)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_and_time_per_byte_are_fitted() {
        let mut meter = LoadMeter::new(3);
        meter.begin_iteration(0.0, 2, 16.0);
        for (index, tasks) in [100.0, 50.0, 25.0, 400.0].into_iter().enumerate() {
            let (rank, begin) = (1 + index as u32 % 2, index as f64);
            let arrival = begin + 1e-4 + 16.0 * tasks * 1e-8;
            // The worker's start may be reported before the master's send.
            if index == 1 {
                meter.chunk_begins(rank, arrival, tasks);
                meter.chunk_sent(rank, begin, tasks);
            } else {
                meter.chunk_sent(rank, begin, tasks);
                meter.chunk_begins(rank, arrival, tasks);
            }
            meter.chunk_ends(rank, arrival + 0.5);
            meter.chunk_received(tasks / 4.0);
        }
        meter.end_iteration(4.0);
        let load = meter.load().expect("an iteration");
        assert!((load.latency - 1e-4).abs() < 1e-9 && (load.per_byte - 1e-8).abs() < 1e-12, "{load:?}");
        assert!((load.computing - 2.0).abs() < 1e-9 && (load.share_out - 0.8).abs() < 1e-9, "{load:?}");
        assert_eq!(load.bytes, 575.0 * 1.25 * 16.0);
    }

    #[test]
    fn messages_of_one_size_are_compared_with_answers() {
        let mut meter = LoadMeter::new(3);
        meter.begin_iteration(0.0, 2, 1.0);
        for (index, delay) in [1.1e-3, 5e-3, 1.1e-3].into_iter().enumerate() {
            let begin = index as f64;
            meter.chunk_sent(1, begin, 1e6);
            meter.chunk_begins(1, begin + delay, 1e6);
            meter.chunk_ends(1, begin + delay + 0.5);
            meter.chunk_received(0.0);
            meter.answer_arrived(0.0, if index == 1 { 1e-4 } else { 1e-2 });
        }
        meter.set_workers(2);
        meter.end_iteration(3.0);
        let load = meter.load().expect("an iteration");
        assert!((load.per_byte - 1e-9).abs() < 1e-12 && (load.latency - 1e-4).abs() < 1e-9, "{load:?}");
    }

    #[test]
    fn lost_events_give_no_message() {
        let mut meter = LoadMeter::new(3);
        meter.begin_iteration(0.0, 1, 16.0);
        meter.chunk_sent(1, 0.0, 10.0);
        meter.chunk_sent(1, 1.0, 20.0);
        meter.chunk_begins(1, 1.1, 20.0);
        assert!(meter.messages.is_empty());
        meter.chunk_sent(1, 2.0, 10.0);
        meter.chunk_begins(1, 2.5, 10.0);
        assert_eq!(meter.messages, [(10.0, 0.5)]);
    }

    #[test]
    fn another_number_of_workers_resets_the_history() {
        let mut meter = LoadMeter::new(3);
        for (index, workers) in [4, 4, 2].into_iter().enumerate() {
            meter.begin_iteration(index as f64, workers, 1.0);
            meter.chunk_sent(1, index as f64, 10.0);
            meter.chunk_begins(1, index as f64, 10.0);
            meter.chunk_ends(1, index as f64 + 0.5);
            meter.end_iteration(index as f64 + 0.6);
        }
        assert_eq!(meter.latest().len(), 1);
    }
}
