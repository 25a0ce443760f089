//! Rules of self-scheduling, each as parameters of a master's chunking.
//! Sources: FSC Kruskal and Weiss 1985; GSS Polychronopoulos and Kuck 1987; TSS Tzeng and Ni 1993; FAC, FAC2 and WF Hummel, Schonberg,
//! Flynn and others 1992 and 1996; AF Banicescu and Liu 2000; AWF Banicescu and others 2003; mFSC Banicescu, Ciorba and Srivastava 2013;
//! DAF is the rule of the paper on MATE.

use sintonia_link::chunking::{ChunkScheduler, ChunkingParameters};

/// A rule of self-scheduling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SchedulingRule {
    /// All tasks at once, in equal parts.
    Static,
    /// One task at a time.
    SelfScheduling,
    /// Chunks of one size that balances overhead against imbalance.
    FixedSize,
    /// Chunks of one size, as many as FAC2 has.
    ModifiedFixedSize,
    /// One worker's share of the remaining tasks.
    Guided,
    /// From half of one worker's share down to one task, linearly.
    Trapezoid,
    /// Batches of half of the remaining tasks.
    Factoring2,
    /// Batches by mean and deviation of the task times.
    Factoring,
    /// As FAC2, with a fixed weight for each worker.
    Weighted,
    /// As WF, with weights measured in the previous iterations.
    AdaptiveWeighted,
    /// As AWF, with weights updated after each batch.
    AdaptiveWeightedByBatch,
    /// As AWF, with weights updated after each chunk.
    AdaptiveWeightedByChunk,
    /// By mean and deviation of each worker's tasks.
    Adaptive,
    /// The paper's rule: batches by mean and deviation, dynamically adjusted.
    DynamicFactoring,
}

/// Statistics of a worker.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorkerStats {
    /// Given relative speed, for WF; 1 is average.
    pub weight: f64,
    /// Mean task time in seconds; 0 if unknown.
    pub mean: f64,
    /// Deviation of the task time.
    pub deviation: f64,
}

/// Statistics of the tasks of an iteration.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskStatistics {
    /// Number of tasks.
    pub tasks: u64,
    /// Mean task time in seconds; 0 if unknown.
    pub mean: f64,
    /// Its deviation.
    pub deviation: f64,
    /// Overhead of a chunk in seconds.
    pub overhead: f64,
    /// Fewest tasks of a chunk in a batch.
    pub min_chunk: u64,
    /// The workers.
    pub workers: Vec<WorkerStats>,
}

impl SchedulingRule {
    /// All rules.
    pub const ALL: [SchedulingRule; 14] = [
        SchedulingRule::Static,
        SchedulingRule::SelfScheduling,
        SchedulingRule::FixedSize,
        SchedulingRule::ModifiedFixedSize,
        SchedulingRule::Guided,
        SchedulingRule::Trapezoid,
        SchedulingRule::Factoring2,
        SchedulingRule::Factoring,
        SchedulingRule::Weighted,
        SchedulingRule::AdaptiveWeighted,
        SchedulingRule::AdaptiveWeightedByBatch,
        SchedulingRule::AdaptiveWeightedByChunk,
        SchedulingRule::Adaptive,
        SchedulingRule::DynamicFactoring,
    ];

    /// Its usual abbreviation.
    pub fn name(self) -> &'static str {
        match self {
            SchedulingRule::Static => "static",
            SchedulingRule::SelfScheduling => "SS",
            SchedulingRule::FixedSize => "FSC",
            SchedulingRule::ModifiedFixedSize => "mFSC",
            SchedulingRule::Guided => "GSS",
            SchedulingRule::Trapezoid => "TSS",
            SchedulingRule::Factoring2 => "FAC2",
            SchedulingRule::Factoring => "FAC",
            SchedulingRule::Weighted => "WF",
            SchedulingRule::AdaptiveWeighted => "AWF",
            SchedulingRule::AdaptiveWeightedByBatch => "AWF-B",
            SchedulingRule::AdaptiveWeightedByChunk => "AWF-C",
            SchedulingRule::Adaptive => "AF",
            SchedulingRule::DynamicFactoring => "DAF",
        }
    }

    /// The rule with this abbreviation, in any case.
    pub fn from_name(name: &str) -> Option<SchedulingRule> {
        SchedulingRule::ALL.into_iter().find(|rule| rule.name().eq_ignore_ascii_case(name))
    }

    /// Whether it needs only the three shares of batches.
    pub fn uses_only_factors(self) -> bool {
        matches!(self, SchedulingRule::Static | SchedulingRule::Factoring2 | SchedulingRule::DynamicFactoring)
    }

    /// Whether it weights the workers.
    pub fn has_weights(self) -> bool {
        use SchedulingRule::{Adaptive, AdaptiveWeighted, AdaptiveWeightedByBatch, AdaptiveWeightedByChunk, Weighted};
        matches!(self, Weighted | AdaptiveWeighted | AdaptiveWeightedByBatch | AdaptiveWeightedByChunk | Adaptive)
    }

    /// Whether it holds tasks back by a margin.
    pub fn has_margin(self) -> bool {
        matches!(self, SchedulingRule::Factoring | SchedulingRule::Adaptive)
    }

    /// Whether its batches have another number of chunks than there are workers.
    pub fn sets_chunk_count(self) -> bool {
        matches!(self, SchedulingRule::Guided | SchedulingRule::Adaptive)
    }

    /// Whether it sets the size of a chunk instead of shares.
    pub fn sets_chunk_size(self) -> bool {
        use SchedulingRule::{FixedSize, ModifiedFixedSize, SelfScheduling, Trapezoid};
        matches!(self, SelfScheduling | FixedSize | ModifiedFixedSize | Trapezoid)
    }

    /// The chunking parameters of the rule. Unknown statistics give halves.
    pub fn chunking(self, statistics: &TaskStatistics) -> ChunkingParameters {
        let halves = || ChunkingParameters::with_factors([0.5; 3]);
        let workers = statistics.workers.len().max(1) as f64;
        match self {
            SchedulingRule::Static => ChunkingParameters::with_factors([1.0; 3]),
            SchedulingRule::SelfScheduling => ChunkingParameters::with_fixed_chunk(1.0),
            SchedulingRule::FixedSize => fixed_chunk_size(statistics).map_or_else(halves, ChunkingParameters::with_fixed_chunk),
            SchedulingRule::ModifiedFixedSize => {
                ChunkingParameters::with_fixed_chunk((statistics.tasks as f64 / chunks_of_halves(statistics)).ceil())
            }
            SchedulingRule::Guided => ChunkingParameters { chunks: 1, ..ChunkingParameters::with_factors([1.0 / workers; 3]) },
            SchedulingRule::Trapezoid => trapezoid(statistics.tasks as f64, workers),
            SchedulingRule::Factoring2 => halves(),
            SchedulingRule::Factoring => factoring(statistics).unwrap_or_else(halves),
            SchedulingRule::Weighted => {
                ChunkingParameters { weights: normalized_weights(&statistics.workers, |worker| worker.weight), ..halves() }
            }
            SchedulingRule::AdaptiveWeighted | SchedulingRule::AdaptiveWeightedByBatch | SchedulingRule::AdaptiveWeightedByChunk => {
                ChunkingParameters { weights: normalized_weights(&statistics.workers, |worker| 1.0 / worker.mean), ..halves() }
            }
            SchedulingRule::Adaptive => adaptive(&statistics.workers).unwrap_or_else(halves),
            SchedulingRule::DynamicFactoring => match dynamic_factors(statistics.mean, statistics.deviation, statistics.workers.len()) {
                Some((first, later)) => ChunkingParameters::with_factors([1.0 / first, 1.0 / later, 1.0 / later]),
                None => halves(),
            },
        }
    }
}

/// Inverse shares of the first and of later batches: equations 4.3 and 4.4 of the paper.
pub fn dynamic_factors(mean: f64, deviation: f64, workers: usize) -> Option<(f64, f64)> {
    let spread = relative_deviation(mean, deviation)? * (workers as f64 / 2.0).sqrt();
    Some((1.0 + spread, 2.0 + spread))
}

fn relative_deviation(mean: f64, deviation: f64) -> Option<f64> {
    (mean > 0.0 && deviation >= 0.0 && mean.is_finite() && deviation.is_finite()).then_some(deviation / mean)
}

fn fixed_chunk_size(statistics: &TaskStatistics) -> Option<f64> {
    let (tasks, workers) = (statistics.tasks as f64, statistics.workers.len() as f64);
    relative_deviation(statistics.mean, statistics.deviation)?;
    let size = (2f64.sqrt() * tasks * statistics.overhead / (statistics.deviation * workers * workers.ln().sqrt())).powf(2.0 / 3.0);
    // Equal tasks, or a single worker, need no balancing.
    Some(if size.is_nan() { tasks / workers } else { size.clamp(1.0, (tasks / workers).max(1.0)) }.ceil())
}

fn chunks_of_halves(statistics: &TaskStatistics) -> f64 {
    let halves = ChunkingParameters::with_factors([0.5; 3]);
    let workers = statistics.workers.len().max(1);
    let mut scheduler = ChunkScheduler::new(statistics.tasks, workers, statistics.min_chunk);
    (0..).map_while(|turn| scheduler.next_chunk(&halves, turn % workers)).count().max(1) as f64
}

fn trapezoid(tasks: f64, workers: f64) -> ChunkingParameters {
    let first = (tasks / (2.0 * workers)).ceil().max(1.0);
    let chunks = (2.0 * tasks / (first + 1.0)).ceil().max(2.0);
    ChunkingParameters { decrement: (first - 1.0) / (chunks - 1.0), ..ChunkingParameters::with_fixed_chunk(first) }
}

/// Hummel's factoring: with `k = (p s / 2 m)²`, the first batch is `r + k - sqrt(k (k + 2 r))`, and later ones are half of that with `k /
/// 2` for `k`; equivalent to `r / x` with the published `x`.
fn factoring(statistics: &TaskStatistics) -> Option<ChunkingParameters> {
    let spread = relative_deviation(statistics.mean, statistics.deviation)?;
    let (remaining, hold) = (statistics.tasks as f64, (statistics.workers.len() as f64 * spread / 2.0).powi(2));
    let shared = |margin: f64| remaining + margin - (margin * (margin + 2.0 * remaining)).sqrt();
    let margin = hold / 2.0;
    Some(ChunkingParameters {
        margin,
        ..ChunkingParameters::with_factors([shared(hold) / shared(margin).max(f64::MIN_POSITIVE), 0.5, 0.5])
    })
}

/// Weights normalised to a mean of 1; empty while one is unknown.
fn normalized_weights(workers: &[WorkerStats], weight: impl Fn(&WorkerStats) -> f64) -> Vec<f64> {
    let weights: Vec<f64> = workers.iter().map(weight).collect();
    let all: f64 = weights.iter().sum();
    if !(all.is_finite() && all > 0.0) {
        return Vec::new();
    }
    weights.iter().map(|weight| weight * weights.len() as f64 / all).collect()
}

/// The published chunk of a worker with mean `m`, `(d + 2 t r - sqrt(d² + 4 d t r)) / 2 m`, equals its weight of a share of the remaining tasks,
/// with a margin of `d / 2 t`.
fn adaptive(workers: &[WorkerStats]) -> Option<ChunkingParameters> {
    if workers.is_empty() || workers.iter().any(|worker| relative_deviation(worker.mean, worker.deviation).is_none()) {
        return None;
    }
    let spread: f64 = workers.iter().map(|worker| worker.deviation.powi(2) / worker.mean).sum();
    let together: f64 = workers.iter().map(|worker| 1.0 / worker.mean).sum();
    Some(ChunkingParameters {
        chunks: 1,
        margin: spread * together / 2.0,
        weights: normalized_weights(workers, |worker| 1.0 / worker.mean),
        ..ChunkingParameters::with_factors([1.0 / workers.len() as f64; 3])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task_statistics(tasks: u64, workers: usize) -> TaskStatistics {
        let worker = WorkerStats { weight: 1.0, mean: 1.0, deviation: 0.3 };
        TaskStatistics { tasks, mean: 1.0, deviation: 0.3, overhead: 0.02, min_chunk: 1, workers: vec![worker; workers] }
    }

    fn chunks(rule: SchedulingRule, statistics: &TaskStatistics) -> Vec<u64> {
        let parameters = rule.chunking(statistics);
        let workers = statistics.workers.len();
        let mut scheduler = ChunkScheduler::new(statistics.tasks, workers, statistics.min_chunk);
        (0..).map_while(|turn| scheduler.next_chunk(&parameters, turn % workers)).map(|(_, tasks)| tasks).collect()
    }

    #[test]
    fn every_rule_schedules_every_task_once() {
        for rule in SchedulingRule::ALL {
            for (count, workers) in [(1, 1), (1, 7), (1000, 4), (9_999, 64)] {
                assert_eq!(chunks(rule, &task_statistics(count, workers)).iter().sum::<u64>(), count, "{}", rule.name());
            }
        }
    }

    #[test]
    fn rules_without_statistics_match_the_literature() {
        let statistics = task_statistics(100, 4);
        assert_eq!(chunks(SchedulingRule::Static, &statistics), [25, 25, 25, 25]);
        assert_eq!(chunks(SchedulingRule::SelfScheduling, &statistics), [1; 100]);
        assert_eq!(chunks(SchedulingRule::Guided, &statistics)[..5], [25, 19, 14, 11, 8]);
        assert_eq!(chunks(SchedulingRule::Factoring2, &statistics)[..9], [13, 13, 13, 11, 7, 7, 7, 4, 4]);
        // 100 / (2 * 4) = 13 down to 1 in 15 chunks: less by 12 / 14 each time.
        assert_eq!(chunks(SchedulingRule::Trapezoid, &statistics)[..4], [13, 12, 11, 10]);
        let halves = chunks(SchedulingRule::Factoring2, &statistics).len();
        assert!(chunks(SchedulingRule::ModifiedFixedSize, &statistics).len().abs_diff(halves) <= 1);
    }

    #[test]
    fn fixed_size_chunks_balance_overhead_and_deviation() {
        // (sqrt(2) * 10000 * 0.02 / (0.3 * 64 * sqrt(ln 64)))^(2/3) = 3.74.
        assert_eq!(chunks(SchedulingRule::FixedSize, &task_statistics(10_000, 64))[0], 4);
        let alike = TaskStatistics { deviation: 0.0, ..task_statistics(100, 4) };
        assert_eq!(chunks(SchedulingRule::FixedSize, &alike), [25; 4]);
    }

    #[test]
    fn factoring_matches_hummel() {
        let statistics = TaskStatistics { mean: 2.0, deviation: 1.5, ..task_statistics(10_000, 16) };
        let parameters = SchedulingRule::Factoring.chunking(&statistics);
        let mut remaining = statistics.tasks as f64;
        for batch in 0..6 {
            let b = 16.0 * 1.5 / (2.0 * 2.0 * remaining.sqrt());
            let x = if batch == 0 { 1.0 + b * b + b * (b * b + 2.0).sqrt() } else { 2.0 + b * b + b * (b * b + 4.0).sqrt() };
            let margin = parameters.margin;
            let shared = (remaining + margin - (margin * (margin + 2.0 * remaining)).sqrt()) * parameters.factors[batch.min(2)];
            assert!((shared - remaining / x).abs() < 1e-6 * remaining, "batch {batch}: {shared} and {}", remaining / x);
            remaining -= shared;
        }
    }

    #[test]
    fn adaptive_factoring_matches_the_publication() {
        let mut statistics = task_statistics(1000, 2);
        statistics.workers[0] = WorkerStats { weight: 1.0, mean: 0.5, deviation: 0.1 };
        statistics.workers[1] = WorkerStats { weight: 1.0, mean: 1.5, deviation: 0.3 };
        let parameters = SchedulingRule::Adaptive.chunking(&statistics);
        let d: f64 = 0.01 / 0.5 + 0.09 / 1.5;
        let t = 1.0 / (1.0 / 0.5 + 1.0 / 1.5);
        let shared = 1000.0 + parameters.margin - (parameters.margin * (parameters.margin + 2000.0)).sqrt();
        for (worker, mean) in [(0, 0.5), (1, 1.5)] {
            let published = (d + 2.0 * t * 1000.0 - (d * d + 4.0 * d * t * 1000.0).sqrt()) / (2.0 * mean);
            assert!((shared / 2.0 * parameters.weight(worker) - published).abs() < 1e-9 * published);
        }
    }

    #[test]
    fn dynamic_factors_match_equations_4_3_and_4_4() {
        assert_eq!(dynamic_factors(1.0, 0.0, 8), Some((1.0, 2.0)));
        assert_eq!(dynamic_factors(2.0, 1.0, 8), Some((2.0, 3.0)));
        assert_eq!(dynamic_factors(0.0, 1.0, 8), None);
        let statistics = TaskStatistics { mean: 2.0, deviation: 1.0, ..task_statistics(1000, 8) };
        assert_eq!(SchedulingRule::DynamicFactoring.chunking(&statistics).factors, [0.5, 1.0 / 3.0, 1.0 / 3.0]);
    }

    #[test]
    fn a_faster_worker_gets_more() {
        let mut statistics = task_statistics(1000, 2);
        statistics.workers[0].weight = 3.0;
        assert_eq!(chunks(SchedulingRule::Weighted, &statistics)[..2], [375, 125]);
        (statistics.workers[0].mean, statistics.workers[1].mean) = (0.5, 1.5);
        assert_eq!(chunks(SchedulingRule::AdaptiveWeighted, &statistics)[..2], [375, 125]);
    }

    #[test]
    fn unknown_statistics_are_tolerated() {
        let nothing = WorkerStats { weight: 0.0, mean: 0.0, deviation: 0.0 };
        let statistics = TaskStatistics { tasks: 100, mean: 0.0, deviation: 0.0, overhead: 0.0, min_chunk: 1, workers: vec![nothing; 3] };
        for rule in SchedulingRule::ALL {
            assert_eq!(chunks(rule, &statistics).iter().sum::<u64>(), 100, "{}", rule.name());
        }
    }
}
