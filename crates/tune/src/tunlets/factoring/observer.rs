//! Observes the latest iterations: task times, where among the tasks the long ones are, speed of each worker, and overhead of a
//! chunk.
//!
//! Events of different processes arrive slightly out of order, and some may be lost: incomplete iterations are left out.

use std::collections::{HashMap, VecDeque};

use super::slowness::{ChunkSample, estimate_slowness};
use crate::schedule::{SchedulingScenario, TaskCosts, TaskStatistics, WorkerStats};
use crate::statistics::{SlidingWindow, median};

/// Resolution of the task costs.
const PARTS: usize = 1024;
/// Pauses between chunks that are kept.
const MAX_PAUSES: usize = 128;

#[derive(Debug, Clone, PartialEq)]
struct FinishedChunk {
    rank: u32,
    /// Its first task, if the master's send was seen.
    first: Option<u64>,
    tasks: u64,
    seconds: f64,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct ObservedIteration {
    number: u64,
    total: Option<u64>,
    chunks: Vec<FinishedChunk>,
    /// Seconds between chunks, of all workers.
    pauses: f64,
    /// First tasks of the sent chunks, by rank, in order.
    sent: HashMap<u32, VecDeque<u64>>,
}

impl ObservedIteration {
    fn done_tasks(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.tasks).sum()
    }

    fn is_complete(&self) -> bool {
        self.total.is_some_and(|total| total > 0 && self.done_tasks() == total)
    }

    /// Assigns first tasks to chunks: a worker computes chunks in the order they are sent.
    fn assign_first_tasks(&mut self) {
        for chunk in &mut self.chunks {
            chunk.first = self.sent.get_mut(&chunk.rank).and_then(VecDeque::pop_front);
        }
    }

    /// Chunks with a known first task.
    fn samples(&self) -> impl Iterator<Item = ChunkSample> {
        self.chunks.iter().filter_map(|chunk| {
            let (total, first) = (self.total? as f64, chunk.first? as f64);
            Some(ChunkSample { rank: chunk.rank, from: first / total, to: (first + chunk.tasks as f64) / total, seconds: chunk.seconds })
        })
    }

    /// Seconds of equal parts of the tasks, if the first tasks of all chunks are known.
    fn part_costs(&self, slowness: &HashMap<u32, f64>) -> Option<Vec<f64>> {
        let total = self.total? as f64;
        let mut parts = vec![0.0; PARTS];
        for chunk in &self.chunks {
            let seconds = chunk.seconds / slowness.get(&chunk.rank).copied().unwrap_or(1.0);
            let (from, to) = (chunk.first? as f64 / total * PARTS as f64, (chunk.first? + chunk.tasks) as f64 / total * PARTS as f64);
            for (index, part) in parts.iter_mut().enumerate().take(to.ceil() as usize).skip(from as usize) {
                let inside = (to.min(index as f64 + 1.0) - from.max(index as f64)).max(0.0);
                *part += seconds * inside / (to - from);
            }
        }
        Some(parts)
    }
}

/// Summary of the current or last iteration.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct IterationSummary {
    /// Number of finished chunks.
    pub chunks: usize,
    /// Number of finished tasks.
    pub tasks: u64,
    /// Seconds between chunks, of all workers.
    pub pauses: f64,
    /// Seconds of computation, by worker.
    pub computing: HashMap<u32, f64>,
}

/// Observations of the latest iterations.
#[derive(Debug)]
pub(super) struct IterationObserver {
    history: usize,
    /// Task times, of all workers and by rank.
    times: SlidingWindow,
    times_by_rank: HashMap<u32, SlidingWindow>,
    /// Complete iterations, the latest last.
    complete: VecDeque<ObservedIteration>,
    /// The previous iteration, if its last chunks are still missing.
    late: Option<ObservedIteration>,
    current: ObservedIteration,
    /// Running chunks by rank: iteration, start, tasks.
    running: HashMap<u32, (u64, f64, u64)>,
    /// End of the latest chunk by rank, and its iteration.
    ended: HashMap<u32, (u64, f64)>,
    pauses: VecDeque<f64>,
    /// Relative slowness of the workers, where it can be separated from the task costs.
    slowness: HashMap<u32, f64>,
}

impl IterationObserver {
    /// Keeps `history` iterations.
    pub(super) fn new(history: usize) -> IterationObserver {
        IterationObserver {
            history: history.max(1),
            times: SlidingWindow::new(history),
            times_by_rank: HashMap::new(),
            complete: VecDeque::new(),
            late: None,
            current: ObservedIteration::default(),
            running: HashMap::new(),
            ended: HashMap::new(),
            pauses: VecDeque::new(),
            slowness: HashMap::new(),
        }
    }

    /// An iteration begins; `total` is its number of tasks, if known.
    pub(super) fn begin_iteration(&mut self, total: Option<u64>) {
        // A worker's first chunk may be reported before the master's iteration.
        if self.current.total.is_some() || self.current.number == 0 || total.is_none() {
            self.next_iteration();
        }
        self.current.total = total;
    }

    fn next_iteration(&mut self) {
        let number = self.current.number + 1;
        let over = std::mem::replace(&mut self.current, ObservedIteration { number, ..ObservedIteration::default() });
        self.late = (!over.chunks.is_empty() && !over.is_complete()).then_some(over);
        self.times.begin_period();
        self.times_by_rank.values_mut().for_each(SlidingWindow::begin_period);
    }

    /// The master sends a chunk.
    pub(super) fn chunk_sent(&mut self, rank: u32, first: u64) {
        self.current.sent.entry(rank).or_default().push_back(first);
    }

    /// A worker begins a chunk.
    pub(super) fn chunk_begins(&mut self, rank: u32, time: f64, tasks: u64) {
        if self.current.is_complete() {
            self.next_iteration();
        }
        if let Some((_, ended)) = self.ended.get(&rank).filter(|(iteration, _)| *iteration == self.current.number) {
            if self.pauses.len() == MAX_PAUSES {
                self.pauses.pop_front();
            }
            let pause = (time - ended).max(0.0);
            self.pauses.push_back(pause);
            self.current.pauses += pause;
        }
        self.running.insert(rank, (self.current.number, time, tasks));
    }

    /// A worker has finished its chunk.
    pub(super) fn chunk_ends(&mut self, rank: u32, time: f64) {
        let Some((number, begin, tasks)) = self.running.remove(&rank).filter(|(.., tasks)| *tasks > 0) else { return };
        let seconds = (time - begin).max(0.0);
        self.ended.insert(rank, (number, time));
        self.times.add(seconds / tasks as f64, tasks);
        self.times_by_rank.entry(rank).or_insert_with(|| SlidingWindow::new(self.history)).add(seconds / tasks as f64, tasks);
        let chunk = FinishedChunk { rank, first: None, tasks, seconds };
        if number == self.current.number {
            self.current.chunks.push(chunk);
            if self.current.is_complete() {
                let iteration = self.current.clone();
                self.store_complete(iteration);
            }
        } else if let Some(mut late) = self.late.take().filter(|late| late.number == number) {
            late.chunks.push(chunk);
            if late.is_complete() { self.store_complete(late) } else { self.late = Some(late) }
        }
    }

    /// The current iteration is over, with the tasks that are done.
    pub(super) fn complete_iteration(&mut self) {
        if !self.current.is_complete() && self.current.done_tasks() > 0 {
            self.current.total = Some(self.current.done_tasks());
            let iteration = self.current.clone();
            self.store_complete(iteration);
        }
    }

    fn store_complete(&mut self, mut iteration: ObservedIteration) {
        iteration.assign_first_tasks();
        if self.complete.len() == self.history {
            self.complete.pop_front();
        }
        self.complete.push_back(iteration);
        self.update_slowness();
    }

    /// Separates slow workers from long tasks again, including the current iteration.
    pub(super) fn update_slowness(&mut self) {
        let mut now = self.current.clone();
        now.assign_first_tasks();
        let is_new = self.complete.back().is_none_or(|last| last.number != now.number);
        let samples: Vec<ChunkSample> = self.complete.iter().chain(is_new.then_some(&now)).flat_map(ObservedIteration::samples).collect();
        // A single iteration is not enough.
        self.slowness = if self.complete.len() > 1 { estimate_slowness(&samples) } else { HashMap::new() };
    }

    /// The current or last iteration.
    pub(super) fn latest(&self) -> IterationSummary {
        let mut computing = HashMap::new();
        self.current.chunks.iter().for_each(|chunk| *computing.entry(chunk.rank).or_default() += chunk.seconds);
        IterationSummary { chunks: self.current.chunks.len(), tasks: self.current.done_tasks(), pauses: self.current.pauses, computing }
    }

    /// Overhead of a chunk in seconds; 0 if unknown.
    pub(super) fn overhead(&self) -> f64 {
        median(self.pauses.iter().copied()).unwrap_or(0.0)
    }

    /// Statistics for the rules; `weights` default to 1.
    pub(super) fn task_statistics(&self, workers: usize, weights: &[f64], least: u64) -> TaskStatistics {
        let times = self.times.stats();
        let worker = |index: usize| {
            let rank = index as u32 + 1;
            let own = self.times_by_rank.get(&rank).map(SlidingWindow::stats).unwrap_or_default();
            // Where its tasks are known, use the worker's speed rather than its mean, which depends on them.
            let mean = self.slowness.get(&rank).map_or(own.mean(), |slowness| times.mean() * slowness);
            WorkerStats { weight: weights.get(index).copied().unwrap_or(1.0), mean, deviation: own.deviation() }
        };
        let tasks = self.current.total.or_else(|| self.complete.back().and_then(|iteration| iteration.total)).unwrap_or(0);
        let (mean, deviation) = (times.mean(), times.deviation());
        TaskStatistics {
            tasks,
            mean,
            deviation,
            overhead: self.overhead(),
            min_chunk: least,
            workers: (0..workers.max(1)).map(worker).collect(),
        }
    }

    /// Every complete iteration as a scenario; none if first tasks are unknown.
    pub(super) fn scenarios(&self, workers: usize, least: u64) -> Vec<SchedulingScenario> {
        let worker_slowness = |index: usize| self.slowness.get(&(index as u32 + 1)).copied().unwrap_or(1.0);
        let scenario = |iteration: &ObservedIteration| {
            Some(SchedulingScenario {
                costs: TaskCosts::from_parts(iteration.total?, &iteration.part_costs(&self.slowness)?),
                slowness: (0..workers.max(1)).map(worker_slowness).collect(),
                latency: self.overhead(),
                service: 0.0,
                min_chunk: least,
            })
        };
        self.complete.iter().filter_map(scenario).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An iteration of chunks: rank, tasks, seconds.
    fn iteration(observer: &mut IterationObserver, begin: f64, chunks: &[(u32, u64, f64)]) {
        observer.begin_iteration(Some(chunks.iter().map(|(_, tasks, _)| tasks).sum()));
        let mut clock: HashMap<u32, f64> = HashMap::new();
        let mut first = 0;
        for (rank, tasks, seconds) in chunks {
            let now = clock.entry(*rank).or_insert(begin);
            observer.chunk_sent(*rank, first);
            observer.chunk_begins(*rank, *now, *tasks);
            observer.chunk_ends(*rank, *now + seconds);
            *now += seconds + 0.25;
            first += tasks;
        }
    }

    #[test]
    fn task_costs_are_located() {
        let mut observer = IterationObserver::new(3);
        iteration(&mut observer, 0.0, &[(1, 10, 1.0), (2, 10, 3.0), (1, 20, 2.0)]);
        let scenarios = observer.scenarios(2, 1);
        let costs = &scenarios[0].costs;
        let near = |one: f64, other: f64| (one - other).abs() < 0.02;
        assert!(
            near(costs.chunk_time(0, 10), 1.0) && near(costs.chunk_time(10, 10), 3.0) && near(costs.chunk_time(20, 20), 2.0),
            "{costs:?}"
        );
        assert_eq!(observer.overhead(), 0.25);
        assert_eq!(observer.task_statistics(2, &[], 1).tasks, 40);
    }

    #[test]
    fn slow_workers_are_separated_from_long_tasks() {
        let mut observer = IterationObserver::new(4);
        // The second half of the tasks is long, and worker 2 is slow, whichever half it has.
        for round in 0..4 {
            let (one, two) = if round % 2 == 0 { ((1, 10, 1.0), (2, 10, 6.0)) } else { ((2, 10, 2.0), (1, 10, 3.0)) };
            iteration(&mut observer, 10.0 * f64::from(round), &[one, two]);
        }
        let workers = observer.task_statistics(2, &[], 1).workers;
        assert!((workers[1].mean / workers[0].mean - 2.0).abs() < 0.1, "{workers:?}");
    }

    #[test]
    fn events_may_arrive_out_of_order() {
        let mut observer = IterationObserver::new(3);
        observer.begin_iteration(Some(20));
        observer.chunk_sent(1, 0);
        observer.chunk_begins(1, 0.0, 10);
        observer.chunk_begins(2, 0.0, 10);
        observer.chunk_ends(1, 1.0);
        observer.chunk_sent(2, 10);
        // The next iteration begins before the last chunk is reported.
        observer.begin_iteration(Some(10));
        observer.chunk_ends(2, 1.0);
        assert_eq!(observer.scenarios(2, 1).len(), 1);
        // This chunk is the whole iteration, and the next one is reported before its iteration.
        observer.chunk_sent(1, 0);
        observer.chunk_begins(1, 2.0, 10);
        observer.chunk_ends(1, 3.0);
        observer.chunk_begins(1, 4.0, 10);
        observer.begin_iteration(Some(10));
        observer.chunk_sent(1, 0);
        observer.chunk_ends(1, 5.0);
        assert_eq!(observer.scenarios(2, 1).len(), 3);
        assert_eq!(observer.overhead(), 0.0, "no pause is within an iteration");
    }

    #[test]
    fn lost_events_affect_one_iteration_only() {
        let mut observer = IterationObserver::new(3);
        observer.begin_iteration(Some(20));
        observer.chunk_begins(1, 0.0, 10);
        observer.chunk_ends(2, 1.0);
        observer.chunk_ends(1, 1.0);
        iteration(&mut observer, 2.0, &[(1, 10, 1.0), (2, 10, 1.0)]);
        assert_eq!(observer.scenarios(2, 1).len(), 1);
    }
}
