//! Slow workers told from long tasks: a chunk takes what its tasks cost times what its worker is slower than others, and of both only the
//! product is measured. Chunks of several iterations, in which different workers had the same tasks, tell them apart.

use std::collections::HashMap;

/// A chunk that was done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// By whom.
    pub rank: u32,
    /// Where its tasks begin, as a share of all.
    pub from: f64,
    /// Where they end.
    pub to: f64,
    /// How long it took.
    pub seconds: f64,
}

/// Costs are told for so many equal parts of the tasks: fewer than there are chunks, so that workers are not hidden in them.
const PARTS: usize = 12;
/// How often costs and slowness are corrected by each other.
const ROUNDS: usize = 40;

impl Sample {
    /// How much of each part it has.
    fn parts(&self) -> impl Iterator<Item = (usize, f64)> {
        let (from, to) = (self.from * PARTS as f64, self.to * PARTS as f64);
        let last = (to.ceil() as usize).min(PARTS);
        (from as usize..last).map(move |part| (part, (to.min(part as f64 + 1.0) - from.max(part as f64)).max(0.0)))
    }

    fn cost(&self, costs: &[f64; PARTS]) -> f64 {
        self.parts().map(|(part, share)| share * costs[part]).sum()
    }
}

/// How many times as long as the mean each worker takes for the same tasks.
///
/// What costs can explain is not laid to workers: they are corrected first. Each correction is that of expectation and maximisation, which
/// never makes the product fit less.
pub fn slowness(samples: &[Sample]) -> HashMap<u32, f64> {
    let mut costs = [1.0; PARTS];
    let mut slow: HashMap<u32, f64> = samples.iter().map(|sample| (sample.rank, 1.0)).collect();
    for _ in 0..ROUNDS {
        let (mut over, mut under) = ([0.0; PARTS], [0.0; PARTS]);
        for sample in samples {
            let slow = slow[&sample.rank];
            let expected = slow * sample.cost(&costs);
            for (part, share) in sample.parts().filter(|_| expected > 0.0) {
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

    /// Iterations in batches of halves of what is left; whoever is idle gets the next chunk.
    fn run(workers: u32, iterations: u32, cost: impl Fn(f64) -> f64, slow: impl Fn(u32) -> f64) -> Vec<Sample> {
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
                    samples.push(Sample { rank: worker as u32 + 1, from, to: from + size, seconds });
                    clock[worker] += seconds;
                    from += size;
                }
                left = 1.0 - from;
            }
        }
        samples
    }

    #[test]
    fn slow_workers_are_seen_as_such() {
        let slow = |rank| if rank > 3 { 2.0 } else { 1.0 };
        let found = slowness(&run(6, 3, |_| 1.0, slow));
        for rank in 1..=6 {
            assert!((found[&rank] - slow(rank) / 1.5).abs() < 0.15, "{found:?}");
        }
    }

    #[test]
    fn long_tasks_are_not_laid_to_workers() {
        let found = slowness(&run(6, 3, |place| if place > 0.5 { 2.0 } else { 1.0 }, |_| 1.0));
        assert!(found.values().all(|slow| (slow - 1.0).abs() < 0.15), "{found:?}");
    }

    #[test]
    fn both_at_once_are_told_apart() {
        let found = slowness(&run(6, 3, |place| if place > 0.5 { 2.0 } else { 1.0 }, |rank| if rank > 3 { 2.0 } else { 1.0 }));
        let (quick, slow) = ((1..=3).map(|rank| found[&rank]).sum::<f64>(), (4..=6).map(|rank| found[&rank]).sum::<f64>());
        assert!((slow / quick - 2.0).abs() < 0.4, "{found:?}");
    }
}
