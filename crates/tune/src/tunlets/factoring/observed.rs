//! What was seen of the latest iterations: how long tasks take, where among them the long ones are, how fast each worker is, and what a
//! chunk costs beside its tasks.
//!
//! Events of different processes come a little out of order, and some may be lost: what is not complete is left out.

use std::collections::{HashMap, VecDeque};

use super::speeds::{Sample, slowness};
use crate::schedule::{Costs, Known, Situation, Worker};
use crate::statistics::{Window, median};

/// Costs are known for so many equal parts of the tasks.
const PARTS: usize = 1024;
/// How many pauses between chunks are remembered.
const PAUSES: usize = 128;

/// A chunk that was done.
#[derive(Debug, Clone, PartialEq)]
struct Chunk {
    rank: u32,
    /// Its first task, where the master's sending was seen.
    first: Option<u64>,
    tasks: u64,
    seconds: f64,
}

/// An iteration as far as it was seen.
#[derive(Debug, Clone, PartialEq, Default)]
struct Iteration {
    number: u64,
    total: Option<u64>,
    chunks: Vec<Chunk>,
    /// Seconds between chunks, of all workers.
    pauses: f64,
    /// The first tasks of the chunks that were sent, by rank, in order.
    sent: HashMap<u32, VecDeque<u64>>,
}

impl Iteration {
    fn done(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.tasks).sum()
    }

    fn is_complete(&self) -> bool {
        self.total.is_some_and(|total| total > 0 && self.done() == total)
    }

    /// Puts the places of chunks beside them: the master sends to a worker in the order in which that works.
    fn place_chunks(&mut self) {
        for chunk in &mut self.chunks {
            chunk.first = self.sent.get_mut(&chunk.rank).and_then(VecDeque::pop_front);
        }
    }

    /// Its chunks whose places among the tasks are known.
    fn samples(&self) -> impl Iterator<Item = Sample> {
        self.chunks.iter().filter_map(|chunk| {
            let (total, first) = (self.total? as f64, chunk.first? as f64);
            Some(Sample { rank: chunk.rank, from: first / total, to: (first + chunk.tasks as f64) / total, seconds: chunk.seconds })
        })
    }

    /// The seconds of equal parts of the tasks, if the places of all chunks are known.
    fn parts(&self, slowness: &HashMap<u32, f64>) -> Option<Vec<f64>> {
        let total = self.total? as f64;
        let mut parts = vec![0.0; PARTS];
        for chunk in &self.chunks {
            let seconds = chunk.seconds / slowness.get(&chunk.rank).copied().unwrap_or(1.0);
            let (from, to) = (chunk.first? as f64 / total * PARTS as f64, (chunk.first? + chunk.tasks) as f64 / total * PARTS as f64);
            for (place, part) in parts.iter_mut().enumerate().take(to.ceil() as usize).skip(from as usize) {
                let inside = (to.min(place as f64 + 1.0) - from.max(place as f64)).max(0.0);
                *part += seconds * inside / (to - from);
            }
        }
        Some(parts)
    }
}

/// What was seen of the iteration that runs, or ran last.
#[derive(Debug, Clone, PartialEq)]
pub struct Latest {
    /// How many chunks were done.
    pub chunks: usize,
    /// Of how many tasks.
    pub tasks: u64,
    /// Seconds between chunks, of all workers.
    pub pauses: f64,
    /// Seconds of computing of each worker.
    pub computing: HashMap<u32, f64>,
}

/// What was seen of the latest iterations.
#[derive(Debug)]
pub struct Observed {
    history: usize,
    /// Times of tasks, of all workers and of each.
    times: Window,
    times_of: HashMap<u32, Window>,
    /// Complete ones, the latest last.
    complete: VecDeque<Iteration>,
    /// One that is over, but whose last chunks have not been told yet.
    late: Option<Iteration>,
    now: Iteration,
    /// Chunks under way: of which iteration, since when, and how many tasks, by rank.
    under_way: HashMap<u32, (u64, f64, u64)>,
    /// When a worker ended its latest chunk, of which iteration.
    ended: HashMap<u32, (u64, f64)>,
    pauses: VecDeque<f64>,
    /// How many times as long as others each worker takes for the same tasks, where that could be told from what the tasks cost.
    slowness: HashMap<u32, f64>,
}

impl Observed {
    /// Nothing yet; so many iterations will count.
    pub fn new(history: usize) -> Observed {
        Observed {
            history: history.max(1),
            times: Window::new(history),
            times_of: HashMap::new(),
            complete: VecDeque::new(),
            late: None,
            now: Iteration::default(),
            under_way: HashMap::new(),
            ended: HashMap::new(),
            pauses: VecDeque::new(),
            slowness: HashMap::new(),
        }
    }

    /// An iteration begins; how many tasks it has, if that is known.
    pub fn begins(&mut self, total: Option<u64>) {
        // A worker's first chunk may have been told before the master's beginning.
        if self.now.total.is_some() || self.now.number == 0 || total.is_none() {
            self.next_iteration();
        }
        self.now.total = total;
    }

    fn next_iteration(&mut self) {
        let number = self.now.number + 1;
        let over = std::mem::replace(&mut self.now, Iteration { number, ..Iteration::default() });
        self.late = (!over.chunks.is_empty() && !over.is_complete()).then_some(over);
        self.times.begin();
        self.times_of.values_mut().for_each(Window::begin);
    }

    /// The master sends a chunk.
    pub fn sent(&mut self, rank: u32, first: u64) {
        self.now.sent.entry(rank).or_default().push_back(first);
    }

    /// A worker begins a chunk.
    pub fn chunk_begins(&mut self, rank: u32, time: f64, tasks: u64) {
        if self.now.is_complete() {
            self.next_iteration();
        }
        if let Some((_, ended)) = self.ended.get(&rank).filter(|(iteration, _)| *iteration == self.now.number) {
            if self.pauses.len() == PAUSES {
                self.pauses.pop_front();
            }
            let pause = (time - ended).max(0.0);
            self.pauses.push_back(pause);
            self.now.pauses += pause;
        }
        self.under_way.insert(rank, (self.now.number, time, tasks));
    }

    /// A worker has ended its chunk.
    pub fn chunk_ends(&mut self, rank: u32, time: f64) {
        let Some((number, begin, tasks)) = self.under_way.remove(&rank).filter(|(.., tasks)| *tasks > 0) else { return };
        let seconds = (time - begin).max(0.0);
        self.ended.insert(rank, (number, time));
        self.times.add(seconds / tasks as f64, tasks);
        self.times_of.entry(rank).or_insert_with(|| Window::new(self.history)).add(seconds / tasks as f64, tasks);
        let chunk = Chunk { rank, first: None, tasks, seconds };
        if number == self.now.number {
            self.now.chunks.push(chunk);
            if self.now.is_complete() {
                let iteration = self.now.clone();
                self.keep(iteration);
            }
        } else if let Some(mut late) = self.late.take().filter(|late| late.number == number) {
            late.chunks.push(chunk);
            if late.is_complete() { self.keep(late) } else { self.late = Some(late) }
        }
    }

    fn keep(&mut self, mut iteration: Iteration) {
        iteration.place_chunks();
        if self.complete.len() == self.history {
            self.complete.pop_front();
        }
        self.complete.push_back(iteration);
        self.compare_workers();
    }

    /// Tells slow workers from long tasks anew, with what is known of the iteration that runs.
    pub fn compare_workers(&mut self) {
        let mut now = self.now.clone();
        now.place_chunks();
        let is_new = self.complete.back().is_none_or(|last| last.number != now.number);
        let samples: Vec<Sample> = self.complete.iter().chain(is_new.then_some(&now)).flat_map(Iteration::samples).collect();
        // One iteration alone cannot do that.
        self.slowness = if self.complete.len() > 1 { slowness(&samples) } else { HashMap::new() };
    }

    /// The iteration that runs, or ran last.
    pub fn latest(&self) -> Latest {
        let mut computing = HashMap::new();
        self.now.chunks.iter().for_each(|chunk| *computing.entry(chunk.rank).or_default() += chunk.seconds);
        Latest { chunks: self.now.chunks.len(), tasks: self.now.done(), pauses: self.now.pauses, computing }
    }

    /// Seconds that a chunk costs beside its tasks; 0 while that is unknown.
    pub fn overhead(&self) -> f64 {
        median(self.pauses.iter().copied()).unwrap_or(0.0)
    }

    /// What rules go by, for so many workers; their weights were given, or are 1.
    pub fn known(&self, workers: usize, weights: &[f64], least: u64) -> Known {
        let times = self.times.sums();
        let worker = |place: usize| {
            let rank = place as u32 + 1;
            let own = self.times_of.get(&rank).map(Window::sums).unwrap_or_default();
            // Where it is known which tasks a worker had, its speed counts, and not its luck.
            let mean = self.slowness.get(&rank).map_or(own.mean(), |slowness| times.mean() * slowness);
            Worker { weight: weights.get(place).copied().unwrap_or(1.0), mean, deviation: own.deviation() }
        };
        let tasks = self.now.total.or_else(|| self.complete.back().and_then(|iteration| iteration.total)).unwrap_or(0);
        let (mean, deviation) = (times.mean(), times.deviation());
        Known { tasks, mean, deviation, overhead: self.overhead(), least, workers: (0..workers.max(1)).map(worker).collect() }
    }

    /// Every complete iteration as something that can be simulated with so many workers; none if the places of chunks are unknown.
    pub fn situations(&self, workers: usize, least: u64) -> Vec<Situation> {
        let of_rank = |place: usize| self.slowness.get(&(place as u32 + 1)).copied().unwrap_or(1.0);
        let situation = |iteration: &Iteration| {
            Some(Situation {
                costs: Costs::of_parts(iteration.total?, &iteration.parts(&self.slowness)?),
                slowness: (0..workers.max(1)).map(of_rank).collect(),
                latency: self.overhead(),
                service: 0.0,
                least,
            })
        };
        self.complete.iter().filter_map(situation).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An iteration of chunks, each by a worker, of so many tasks, in so many seconds.
    fn iteration(observed: &mut Observed, begin: f64, chunks: &[(u32, u64, f64)]) {
        observed.begins(Some(chunks.iter().map(|(_, tasks, _)| tasks).sum()));
        let mut clock: HashMap<u32, f64> = HashMap::new();
        let mut first = 0;
        for (rank, tasks, seconds) in chunks {
            let now = clock.entry(*rank).or_insert(begin);
            observed.sent(*rank, first);
            observed.chunk_begins(*rank, *now, *tasks);
            observed.chunk_ends(*rank, *now + seconds);
            *now += seconds + 0.25;
            first += tasks;
        }
    }

    #[test]
    fn where_the_long_tasks_are_is_seen() {
        let mut observed = Observed::new(3);
        iteration(&mut observed, 0.0, &[(1, 10, 1.0), (2, 10, 3.0), (1, 20, 2.0)]);
        let situations = observed.situations(2, 1);
        let costs = &situations[0].costs;
        let near = |one: f64, other: f64| (one - other).abs() < 0.02;
        assert!(near(costs.chunk(0, 10), 1.0) && near(costs.chunk(10, 10), 3.0) && near(costs.chunk(20, 20), 2.0), "{costs:?}");
        assert_eq!(observed.overhead(), 0.25);
        assert_eq!(observed.known(2, &[], 1).tasks, 40);
    }

    #[test]
    fn a_slow_worker_is_told_from_long_tasks() {
        let mut observed = Observed::new(4);
        // The second half of the tasks is long, and worker 2 is slow, whichever half it has.
        for round in 0..4 {
            let (one, two) = if round % 2 == 0 { ((1, 10, 1.0), (2, 10, 6.0)) } else { ((2, 10, 2.0), (1, 10, 3.0)) };
            iteration(&mut observed, 10.0 * f64::from(round), &[one, two]);
        }
        let workers = observed.known(2, &[], 1).workers;
        assert!((workers[1].mean / workers[0].mean - 2.0).abs() < 0.1, "{workers:?}");
    }

    #[test]
    fn events_of_workers_may_come_before_and_after_those_of_the_master() {
        let mut observed = Observed::new(3);
        observed.begins(Some(20));
        observed.sent(1, 0);
        observed.chunk_begins(1, 0.0, 10);
        observed.chunk_begins(2, 0.0, 10);
        observed.chunk_ends(1, 1.0);
        observed.sent(2, 10);
        // The next iteration begins before the last chunk is told of.
        observed.begins(Some(10));
        observed.chunk_ends(2, 1.0);
        assert_eq!(observed.situations(2, 1).len(), 1);
        // This chunk is all there is, and the next is told before its iteration.
        observed.sent(1, 0);
        observed.chunk_begins(1, 2.0, 10);
        observed.chunk_ends(1, 3.0);
        observed.chunk_begins(1, 4.0, 10);
        observed.begins(Some(10));
        observed.sent(1, 0);
        observed.chunk_ends(1, 5.0);
        assert_eq!(observed.situations(2, 1).len(), 3);
        assert_eq!(observed.overhead(), 0.0, "no pause is within an iteration");
    }

    #[test]
    fn what_was_lost_spoils_one_iteration_only() {
        let mut observed = Observed::new(3);
        observed.begins(Some(20));
        observed.chunk_begins(1, 0.0, 10);
        observed.chunk_ends(2, 1.0);
        observed.chunk_ends(1, 1.0);
        iteration(&mut observed, 2.0, &[(1, 10, 1.0), (2, 10, 1.0)]);
        assert_eq!(observed.situations(2, 1).len(), 1);
    }
}
