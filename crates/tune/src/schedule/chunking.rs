//! The parameters of a master's chunking, and the resulting chunks: few enough to be variables of a program, and sufficient for every rule.

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

/// Divides tasks into chunks as a master does.
#[derive(Debug, Clone)]
pub struct ChunkScheduler<'parameters> {
    parameters: &'parameters ChunkingParameters,
    total: u64,
    workers: u64,
    /// Fewest tasks in a chunk of a batch.
    min_chunk: u64,
    /// Chunks that are cut but not handed out, and their tasks in total.
    queue: VecDeque<u64>,
    queued: u64,
    /// The first task that is not handed out.
    next: u64,
    batches: u64,
    chunks: u64,
}

impl<'parameters> ChunkScheduler<'parameters> {
    /// For `total` tasks and this many workers; no chunk of a batch but the last has fewer than `min_chunk` tasks.
    pub fn new(parameters: &'parameters ChunkingParameters, total: u64, workers: usize, least: u64) -> Self {
        let workers = workers.max(1) as u64;
        ChunkScheduler {
            parameters,
            total,
            workers,
            min_chunk: least.max(1),
            queue: VecDeque::new(),
            queued: 0,
            next: 0,
            batches: 0,
            chunks: 0,
        }
    }

    /// The next chunk for an idle worker, as first task and number of tasks; `None` if all are handed out.
    pub fn next_chunk(&mut self, worker: usize) -> Option<(u64, u64)> {
        // The next batch is cut when few chunks of the last are left.
        while self.unscheduled() > 0 && (self.queue.len() as u64) < self.workers.div_ceil(2) {
            self.cut_batch();
        }
        let most = self.total - self.next;
        let chunk = self.queue.pop_front().filter(|_| most > 0)?;
        let tasks = ((chunk as f64 * self.parameters.weight(worker)).round() as u64).clamp(1, most);
        let first = self.next;
        self.queued -= chunk;
        self.next += tasks;
        Some((first, tasks))
    }

    fn unscheduled(&self) -> u64 {
        self.total.saturating_sub(self.next + self.queued)
    }

    fn cut_batch(&mut self) {
        let count = match self.parameters {
            ChunkingParameters { chunk, .. } if *chunk > 0.0 => 1,
            ChunkingParameters { chunks: 0, .. } => self.workers,
            ChunkingParameters { chunks, .. } => *chunks,
        };
        let tasks = self.batch_size(count);
        let chunk = tasks.div_ceil(count);
        let mut cut = 0;
        while cut < tasks {
            self.queue.push_back(chunk.min(tasks - cut));
            self.chunks += 1;
            cut += chunk;
        }
        self.queued += tasks;
        self.batches += 1;
    }

    fn batch_size(&self, chunks: u64) -> u64 {
        let ChunkingParameters { factors, margin, chunk, decrement: less, .. } = self.parameters;
        let unscheduled = self.unscheduled();
        let remaining = unscheduled as f64;
        if *chunk > 0.0 {
            return ((chunk - less * self.chunks as f64).max(1.0).round() as u64).min(unscheduled);
        }
        let shared = remaining + margin - (margin * (margin + 2.0 * remaining)).sqrt();
        let least = chunks.saturating_mul(self.min_chunk);
        let tasks = ((shared * factors[self.batches.min(2) as usize].clamp(0.0, 1.0)).ceil() as u64).max(least);
        if unscheduled.saturating_sub(tasks) < least { unscheduled } else { tasks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(parameters: &ChunkingParameters, total: u64, workers: usize, least: u64) -> Vec<u64> {
        let mut scheduler = ChunkScheduler::new(parameters, total, workers, least);
        (0..).map_while(|turn| scheduler.next_chunk(turn % workers)).map(|(_, tasks)| tasks).collect()
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
