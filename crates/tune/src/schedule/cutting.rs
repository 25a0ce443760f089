//! The numbers that a master cuts by, and what chunks come of them: few enough to be variables of a program, and enough for every rule.

use std::collections::VecDeque;

/// The numbers that a master cuts by.
#[derive(Debug, Clone, PartialEq)]
pub struct Cutting {
    /// The share of what is left that the first, the second and every later batch gets.
    pub factors: [f64; 3],
    /// Chunks in a batch; 0 is one for each worker.
    pub chunks: u64,
    /// Of `r` tasks that are left, `r + m - sqrt(m (m + 2 r))` are shared: what is held back against the unforeseen. 0 holds nothing back.
    pub margin: f64,
    /// Tasks in the first chunk, whatever the shares; 0 for batches.
    pub chunk: f64,
    /// So many fewer in each chunk that follows, down to one.
    pub less: f64,
    /// How many times what a chunk has each worker gets; 1 beyond the last.
    pub weights: Vec<f64>,
}

impl Cutting {
    /// Batches with these shares.
    pub fn batches(factors: [f64; 3]) -> Cutting {
        Cutting { factors, chunks: 0, margin: 0.0, chunk: 0.0, less: 0.0, weights: Vec::new() }
    }

    /// Chunks of one size.
    pub fn fixed(chunk: f64) -> Cutting {
        Cutting { chunk: chunk.max(1.0), ..Cutting::batches([1.0; 3]) }
    }

    /// The weight of a worker, counted from 0.
    pub fn weight(&self, worker: usize) -> f64 {
        self.weights.get(worker).copied().filter(|weight| *weight > 0.0).unwrap_or(1.0)
    }
}

/// Cuts tasks as a master does.
#[derive(Debug, Clone)]
pub struct Cutter<'cutting> {
    cutting: &'cutting Cutting,
    total: u64,
    workers: u64,
    /// The fewest tasks in a chunk of a batch.
    least: u64,
    /// Chunks that are cut and not yet given away, and their tasks together.
    queue: VecDeque<u64>,
    queued: u64,
    /// The first task that nobody has yet.
    next: u64,
    batches: u64,
    chunks: u64,
}

impl<'cutting> Cutter<'cutting> {
    /// Of so many tasks for so many workers; no chunk of a batch has fewer than `least` tasks but the last.
    pub fn new(cutting: &'cutting Cutting, total: u64, workers: usize, least: u64) -> Self {
        let workers = workers.max(1) as u64;
        Cutter { cutting, total, workers, least: least.max(1), queue: VecDeque::new(), queued: 0, next: 0, batches: 0, chunks: 0 }
    }

    /// What a worker that is idle gets: the first of its tasks and how many; `None` if all are given away.
    pub fn give(&mut self, worker: usize) -> Option<(u64, u64)> {
        // The next batch is cut when few chunks of the last are left.
        while self.left() > 0 && (self.queue.len() as u64) < self.workers.div_ceil(2) {
            self.cut();
        }
        let most = self.total - self.next;
        let chunk = self.queue.pop_front().filter(|_| most > 0)?;
        let tasks = ((chunk as f64 * self.cutting.weight(worker)).round() as u64).clamp(1, most);
        let first = self.next;
        self.queued -= chunk;
        self.next += tasks;
        Some((first, tasks))
    }

    fn left(&self) -> u64 {
        self.total.saturating_sub(self.next + self.queued)
    }

    fn cut(&mut self) {
        let count = match self.cutting {
            Cutting { chunk, .. } if *chunk > 0.0 => 1,
            Cutting { chunks: 0, .. } => self.workers,
            Cutting { chunks, .. } => *chunks,
        };
        let tasks = self.batch(count);
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

    fn batch(&self, chunks: u64) -> u64 {
        let Cutting { factors, margin, chunk, less, .. } = self.cutting;
        let whole = self.left();
        let left = whole as f64;
        if *chunk > 0.0 {
            return ((chunk - less * self.chunks as f64).max(1.0).round() as u64).min(whole);
        }
        let shared = left + margin - (margin * (margin + 2.0 * left)).sqrt();
        let least = chunks.saturating_mul(self.least);
        let tasks = ((shared * factors[self.batches.min(2) as usize].clamp(0.0, 1.0)).ceil() as u64).max(least);
        if whole.saturating_sub(tasks) < least { whole } else { tasks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(cutting: &Cutting, total: u64, workers: usize, least: u64) -> Vec<u64> {
        let mut cutter = Cutter::new(cutting, total, workers, least);
        (0..).map_while(|turn| cutter.give(turn % workers)).map(|(_, tasks)| tasks).collect()
    }

    #[test]
    fn everything_at_once_is_one_equal_chunk_for_each_worker() {
        assert_eq!(chunks(&Cutting::batches([1.0; 3]), 100, 4, 1), [25; 4]);
        assert_eq!(chunks(&Cutting::batches([1.0; 3]), 10, 4, 1), [3, 3, 3, 1]);
    }

    #[test]
    fn halves_have_half_of_what_is_left_until_chunks_are_as_small_as_may_be() {
        assert_eq!(chunks(&Cutting::batches([0.5; 3]), 100, 2, 4), [25, 25, 13, 12, 7, 6, 6, 6]);
    }

    #[test]
    fn a_chunk_of_a_set_size_may_shrink_down_to_one() {
        assert_eq!(chunks(&Cutting::fixed(30.0), 100, 2, 1), [30, 30, 30, 10]);
        assert_eq!(chunks(&Cutting { less: 2.0, ..Cutting::fixed(5.0) }, 12, 2, 1), [5, 3, 1, 1, 1, 1]);
    }

    #[test]
    fn a_margin_holds_back_and_weights_give_more_to_some() {
        // Of 100 tasks with a margin of 50: 100 + 50 - sqrt(50 * 250) = 38.2.
        assert_eq!(chunks(&Cutting { margin: 50.0, ..Cutting::batches([1.0; 3]) }, 100, 1, 1)[0], 39);
        let weighted = Cutting { weights: vec![1.5, 0.5], ..Cutting::batches([0.5; 3]) };
        assert_eq!(chunks(&weighted, 1000, 2, 1)[..2], [375, 125]);
    }

    #[test]
    fn every_task_is_given_once_whatever_the_numbers_are() {
        for factor in [f64::NAN, -1.0, 0.0, 0.3, 7.0] {
            for count in [0, 1, 1000] {
                for weights in [vec![], vec![0.01, 100.0], vec![f64::NAN, -3.0]] {
                    let cutting = Cutting { chunks: count, weights, margin: 10.0, ..Cutting::batches([factor; 3]) };
                    assert_eq!(chunks(&cutting, 1234, 3, 2).iter().sum::<u64>(), 1234, "{cutting:?}");
                }
            }
        }
    }
}
