//! Separates slow workers from long tasks. The time of a chunk is the cost of its tasks times the slowness of its worker, and only the product
//! is measured. Several iterations, in which different workers had the same tasks, separate the two.

use std::collections::HashMap;

/// A finished chunk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ChunkSample {
    /// Its worker.
    pub rank: u32,
    /// Start of its tasks, as a share of all.
    pub from: f64,
    /// End of its tasks.
    pub to: f64,
    /// Its duration.
    pub seconds: f64,
}

/// Resolution of the task costs: coarser than chunks, so that they cannot absorb the workers' slowness.
const PARTS: usize = 12;
/// Iterations of the estimation.
const ROUNDS: usize = 40;

impl ChunkSample {
    /// Its overlap with each part.
    fn part_shares(&self) -> impl Iterator<Item = (usize, f64)> {
        let (from, to) = (self.from * PARTS as f64, self.to * PARTS as f64);
        let last = (to.ceil() as usize).min(PARTS);
        (from as usize..last).map(move |part| (part, (to.min(part as f64 + 1.0) - from.max(part as f64)).max(0.0)))
    }

    fn cost(&self, costs: &[f64; PARTS]) -> f64 {
        self.part_shares().map(|(part, share)| share * costs[part]).sum()
    }
}

/// Slowness of each worker relative to the mean.
///
/// Costs are updated first, so that what they explain is not attributed to workers. Each update is an expectation-maximisation step, which
/// never makes the fit worse.
pub(super) fn estimate_slowness(samples: &[ChunkSample]) -> HashMap<u32, f64> {
    let mut costs = [1.0; PARTS];
    let mut slow: HashMap<u32, f64> = samples.iter().map(|sample| (sample.rank, 1.0)).collect();
    for _ in 0..ROUNDS {
        let (mut over, mut under) = ([0.0; PARTS], [0.0; PARTS]);
        for sample in samples {
            let slow = slow[&sample.rank];
            let expected = slow * sample.cost(&costs);
            for (part, share) in sample.part_shares().filter(|_| expected > 0.0) {
                over[part] += share * slow * sample.seconds / expected;
                under[part] += share * slow;
            }
        }
        for ((cost, over), under) in costs.iter_mut().zip(over).zip(under) {
            *cost *= if under > 0.0 { over / under } else { 1.0 };
        }
        let mut sums: HashMap<u32, (f64, f64)> = HashMap::new();
        for sample in samples {
            let (took, expected) = sums.entry(sample.rank).or_default();
            *took += sample.seconds;
            *expected += sample.cost(&costs);
        }
        slow = sums.into_iter().map(|(rank, (took, expected))| (rank, if expected > 0.0 { took / expected } else { 1.0 })).collect();
    }
    let mean = slow.values().sum::<f64>() / slow.len().max(1) as f64;
    slow.into_iter().map(|(rank, slow)| (rank, slow / mean)).filter(|(_, slow)| slow.is_finite() && *slow > 0.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Iterations in batches of halves; the next chunk goes to the first idle worker.
    fn run(workers: u32, iterations: u32, cost: impl Fn(f64) -> f64, slow: impl Fn(u32) -> f64) -> Vec<ChunkSample> {
        let mut samples = Vec::new();
        for iteration in 0..iterations {
            let mut clock: Vec<f64> = (0..workers).map(|rank| 1e-3 * f64::from((rank * 7 + iteration * 3) % 5)).collect();
            let (mut from, mut left) = (0.0, 1.0f64);
            while left > 1e-9 {
                let size = (left / 2.0).max(0.05).min(left) / f64::from(workers);
                for _ in 0..workers {
                    let worker = (0..clock.len()).min_by(|one, other| clock[*one].total_cmp(&clock[*other])).expect("workers");
                    let seconds = size * (0..20).map(|step| cost(from + size * (f64::from(step) + 0.5) / 20.0)).sum::<f64>() / 20.0;
                    let seconds = seconds * slow(worker as u32 + 1);
                    samples.push(ChunkSample { rank: worker as u32 + 1, from, to: from + size, seconds });
                    clock[worker] += seconds;
                    from += size;
                }
                left = 1.0 - from;
            }
        }
        samples
    }

    #[test]
    fn slow_workers_are_found() {
        let slow = |rank| if rank > 3 { 2.0 } else { 1.0 };
        let found = estimate_slowness(&run(6, 3, |_| 1.0, slow));
        for rank in 1..=6 {
            assert!((found[&rank] - slow(rank) / 1.5).abs() < 0.15, "{found:?}");
        }
    }

    #[test]
    fn long_tasks_are_not_attributed_to_workers() {
        let found = estimate_slowness(&run(6, 3, |position| if position > 0.5 { 2.0 } else { 1.0 }, |_| 1.0));
        assert!(found.values().all(|slow| (slow - 1.0).abs() < 0.15), "{found:?}");
    }

    #[test]
    fn both_effects_are_separated() {
        let found =
            estimate_slowness(&run(6, 3, |position| if position > 0.5 { 2.0 } else { 1.0 }, |rank| if rank > 3 { 2.0 } else { 1.0 }));
        let (quick, slow) = ((1..=3).map(|rank| found[&rank]).sum::<f64>(), (4..=6).map(|rank| found[&rank]).sum::<f64>());
        assert!((slow / quick - 2.0).abs() < 0.4, "{found:?}");
    }
}
