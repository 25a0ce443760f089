//! The parameters of a master's chunking, and the resulting chunks: few enough to be variables of a program, and sufficient for every rule.
//!
//! The analyzer simulates them, and the probe cuts a program's work by them: both need the same arithmetic.

use std::collections::VecDeque;

/// The parameters of a master's chunking.
#[derive(Debug, Clone, PartialEq)]
pub struct ChunkingParameters {
    /// Share of the remaining tasks in the first, the second and all later batches.
    pub factors: [f64; 3],
    /// Chunks per batch; 0 for one per worker.
    pub chunks: u64,
    /// Of `r` remaining tasks, `r + m - sqrt(m (m + 2 r))` are scheduled and the rest is held back against variation. 0 holds nothing back.
    pub margin: f64,
    /// Tasks of the first chunk, instead of batches; 0 for batches.
    pub chunk: f64,
    /// Each following chunk has this many tasks less, down to one.
    pub decrement: f64,
    /// Relative chunk size of each worker; 1 beyond the last.
    pub weights: Vec<f64>,
}

impl ChunkingParameters {
    /// Batches with these shares.
    pub fn with_factors(factors: [f64; 3]) -> ChunkingParameters {
        ChunkingParameters { factors, chunks: 0, margin: 0.0, chunk: 0.0, decrement: 0.0, weights: Vec::new() }
    }

    /// Chunks of one size.
    pub fn with_fixed_chunk(chunk: f64) -> ChunkingParameters {
        ChunkingParameters { chunk: chunk.max(1.0), ..ChunkingParameters::with_factors([1.0; 3]) }
    }

    /// The weight of a worker, from 0.
    pub fn weight(&self, worker: usize) -> f64 {
        self.weights.get(worker).copied().filter(|weight| *weight > 0.0).unwrap_or(1.0)
    }
}

/// Divides tasks into chunks as a master does. The parameters may change between two chunks.
#[derive(Debug, Clone)]
pub struct ChunkScheduler {
    total: u64,
    workers: u64,
    /// Fewest tasks in a chunk of a batch.
    min_chunk: u64,
    /// Whether a batch is cut only when the last one is handed out.
    in_turn: bool,
    /// Chunks that are cut but not handed out, and their tasks in total.
    queue: VecDeque<u64>,
    queued: u64,
    /// The first task that is not handed out.
    next: u64,
    batches: u64,
    chunks: u64,
}

impl ChunkScheduler {
    /// For `total` tasks and this many workers; no chunk of a batch but the last has fewer than `min_chunk` tasks. A batch is cut when few
    /// chunks of the last are left, as the program of the paper on MATE does.
    pub fn new(total: u64, workers: usize, least: u64) -> ChunkScheduler {
        let workers = workers.max(1) as u64;
        ChunkScheduler {
            total,
            workers,
            min_chunk: least.max(1),
            in_turn: false,
            queue: VecDeque::new(),
            queued: 0,
            next: 0,
            batches: 0,
            chunks: 0,
        }
    }

    /// A batch is cut when the last one is handed out, and all its chunks are equal and rounded up, as the published rules say.
    pub fn with_batches_in_turn(self) -> ChunkScheduler {
        ChunkScheduler { in_turn: true, ..self }
    }

    /// The next chunk for an idle worker, as first task and number of tasks; `None` if all are handed out.
    pub fn next_chunk(&mut self, parameters: &ChunkingParameters, worker: usize) -> Option<(u64, u64)> {
        let tasks = self.peek(parameters, worker)?;
        let first = self.next;
        self.take(tasks);
        Some((first, tasks))
    }

    /// The size of the next chunk if this worker gets it; `None` if all tasks are handed out.
    pub fn peek(&mut self, parameters: &ChunkingParameters, worker: usize) -> Option<u64> {
        let most = self.total.saturating_sub(self.next);
        let enough = if self.in_turn { 1 } else { self.workers.div_ceil(2) };
        while self.unscheduled() > 0 && (self.queue.len() as u64) < enough {
            self.cut_batch(parameters);
        }
        let chunk = self.queue.front().copied().filter(|_| most > 0)?;
        Some(((chunk as f64 * parameters.weight(worker)).round() as u64).clamp(1, most))
    }

    /// Hands the next chunk out, with this many tasks.
    pub fn take(&mut self, tasks: u64) {
        self.queued -= self.queue.pop_front().unwrap_or(0);
        self.next += tasks;
    }

    /// Number of tasks handed out.
    pub fn handed_out(&self) -> u64 {
        self.next
    }

    /// Number of tasks.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Corrects the number of tasks.
    pub fn set_total(&mut self, total: u64) {
        if total != self.total {
            self.total = total;
            // What was cut for another number is cut again.
            self.chunks -= self.queue.len() as u64;
            self.batches = if self.next == 0 { 0 } else { self.batches };
            self.queue.clear();
            self.queued = 0;
        }
    }

    fn unscheduled(&self) -> u64 {
        self.total.saturating_sub(self.next + self.queued)
    }

    fn cut_batch(&mut self, parameters: &ChunkingParameters) {
        let count = match parameters {
            ChunkingParameters { chunk, .. } if *chunk > 0.0 => 1,
            ChunkingParameters { chunks: 0, .. } => self.workers,
            ChunkingParameters { chunks, .. } => *chunks,
        };
        let tasks = self.batch_size(parameters, count);
        let chunk = tasks.div_ceil(count);
        let tasks = if self.in_turn { chunk.saturating_mul(count).min(self.unscheduled()) } else { tasks };
        let mut cut = 0;
        while cut < tasks {
            self.queue.push_back(chunk.min(tasks - cut));
            self.chunks += 1;
            cut += chunk;
        }
        self.queued += tasks;
        self.batches += 1;
    }

    fn batch_size(&self, parameters: &ChunkingParameters, chunks: u64) -> u64 {
        let ChunkingParameters { factors, margin, chunk, decrement: less, .. } = parameters;
        let unscheduled = self.unscheduled();
        let remaining = unscheduled as f64;
        if *chunk > 0.0 {
            return ((chunk - less * self.chunks as f64).max(1.0).round() as u64).min(unscheduled);
        }
        let shared = remaining + margin - (margin * (margin + 2.0 * remaining)).sqrt();
        let least = chunks.saturating_mul(self.min_chunk);
        // A share such as 1/5 is not exact: 5 of them may be a little more than the whole.
        let share = shared * factors[self.batches.min(2) as usize].clamp(0.0, 1.0) * (1.0 - 1e-12);
        let tasks = (share.ceil() as u64).max(least);
        if !self.in_turn && unscheduled.saturating_sub(tasks) < least { unscheduled } else { tasks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(parameters: &ChunkingParameters, total: u64, workers: usize, least: u64) -> Vec<u64> {
        let mut scheduler = ChunkScheduler::new(total, workers, least);
        (0..).map_while(|turn| scheduler.next_chunk(parameters, turn % workers)).map(|(_, tasks)| tasks).collect()
    }

    #[test]
    fn a_factor_of_one_gives_one_equal_chunk_per_worker() {
        assert_eq!(chunks(&ChunkingParameters::with_factors([1.0; 3]), 100, 4, 1), [25; 4]);
        assert_eq!(chunks(&ChunkingParameters::with_factors([1.0; 3]), 10, 4, 1), [3, 3, 3, 1]);
    }

    #[test]
    fn halves_stop_at_the_minimum_chunk() {
        assert_eq!(chunks(&ChunkingParameters::with_factors([0.5; 3]), 100, 2, 4), [25, 25, 13, 12, 7, 6, 6, 6]);
    }

    #[test]
    fn a_fixed_chunk_may_shrink_to_one() {
        assert_eq!(chunks(&ChunkingParameters::with_fixed_chunk(30.0), 100, 2, 1), [30, 30, 30, 10]);
        assert_eq!(
            chunks(&ChunkingParameters { decrement: 2.0, ..ChunkingParameters::with_fixed_chunk(5.0) }, 12, 2, 1),
            [5, 3, 1, 1, 1, 1]
        );
    }

    #[test]
    fn margin_and_weights_change_chunks() {
        // Of 100 tasks with a margin of 50: 100 + 50 - sqrt(50 * 250) = 38.2.
        assert_eq!(chunks(&ChunkingParameters { margin: 50.0, ..ChunkingParameters::with_factors([1.0; 3]) }, 100, 1, 1)[0], 39);
        let weighted = ChunkingParameters { weights: vec![1.5, 0.5], ..ChunkingParameters::with_factors([0.5; 3]) };
        assert_eq!(chunks(&weighted, 1000, 2, 1)[..2], [375, 125]);
    }

    #[test]
    fn batches_in_turn_follow_what_was_handed_out() {
        let guided = ChunkingParameters { chunks: 1, ..ChunkingParameters::with_factors([0.25; 3]) };
        let mut scheduler = ChunkScheduler::new(100, 4, 1).with_batches_in_turn();
        assert_eq!((scheduler.peek(&guided, 0), scheduler.peek(&guided, 3)), (Some(25), Some(25)));
        // The program took fewer.
        scheduler.take(20);
        assert_eq!((scheduler.peek(&guided, 0), scheduler.handed_out()), (Some(20), 20));
        scheduler.set_total(60);
        assert_eq!(scheduler.peek(&guided, 0), Some(10));
        scheduler.take(40);
        assert_eq!(scheduler.peek(&guided, 0), None);
        let mut halves = ChunkScheduler::new(100, 4, 1).with_batches_in_turn();
        let parameters = ChunkingParameters::with_factors([0.5; 3]);
        let sizes: Vec<u64> = (0..).map_while(|turn| halves.next_chunk(&parameters, turn % 4)).map(|(_, tasks)| tasks).collect();
        assert_eq!(sizes, [13, 13, 13, 13, 6, 6, 6, 6, 3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1]);
    }

    #[test]
    fn every_task_is_scheduled_once_with_any_parameters() {
        for factor in [f64::NAN, -1.0, 0.0, 0.3, 7.0] {
            for count in [0, 1, 1000] {
                for weights in [vec![], vec![0.01, 100.0], vec![f64::NAN, -3.0]] {
                    let parameters =
                        ChunkingParameters { chunks: count, weights, margin: 10.0, ..ChunkingParameters::with_factors([factor; 3]) };
                    assert_eq!(chunks(&parameters, 1234, 3, 2).iter().sum::<u64>(), 1234, "{parameters:?}");
                }
            }
        }
    }
}
