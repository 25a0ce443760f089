//! The rules of self-scheduling, each as the numbers that a master cuts by.
//!
//! Sources: FSC Kruskal and Weiss 1985; GSS Polychronopoulos and Kuck 1987; TSS Tzeng and Ni 1993; FAC, FAC2 and WF Hummel, Schonberg,
//! Flynn and others 1992 and 1996; AF Banicescu and Liu 2000; AWF Banicescu and others 2003; mFSC Banicescu, Ciorba and Srivastava 2013;
//! DAF is the rule of the paper on MATE.

use super::cutting::{Cutter, Cutting};

/// A rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Everything at once, in equal parts.
    Static,
    /// One task at a time.
    One,
    /// Chunks of one size that weighs overhead against imbalance.
    FixedSize,
    /// Chunks of one size, as many as FAC2 has.
    ModifiedFixedSize,
    /// One worker's share of what is left.
    Guided,
    /// From half of one worker's share down to one task, evenly.
    Trapezoid,
    /// Batches of half of what is left.
    Factoring2,
    /// Batches by mean and deviation of the tasks' times.
    Factoring,
    /// As FAC2, with a weight for each worker that stays.
    Weighted,
    /// As WF, with weights measured in the iterations before.
    AdaptiveWeighted,
    /// As AWF, with weights measured again after each batch.
    AdaptiveWeightedByBatch,
    /// As AWF, with weights measured again after each chunk.
    AdaptiveWeightedByChunk,
    /// By mean and deviation of each worker's own tasks.
    Adaptive,
    /// The paper's: batches by mean and deviation, dynamically adjusted.
    DynamicFactoring,
}

/// What is known of a worker.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worker {
    /// How fast it is said to be, for WF; 1 is usual.
    pub weight: f64,
    /// Mean time of its tasks, in seconds; 0 if unknown.
    pub mean: f64,
    /// Their deviation.
    pub deviation: f64,
}

/// What is known when tasks are cut.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    /// How many tasks.
    pub tasks: u64,
    /// Mean time of a task, in seconds; 0 if unknown.
    pub mean: f64,
    /// Its deviation.
    pub deviation: f64,
    /// Seconds that handing out a chunk takes.
    pub overhead: f64,
    /// The fewest tasks that a chunk of a batch has.
    pub least: u64,
    /// The workers.
    pub workers: Vec<Worker>,
}

impl Rule {
    /// All of them.
    pub const ALL: [Rule; 14] = [
        Rule::Static,
        Rule::One,
        Rule::FixedSize,
        Rule::ModifiedFixedSize,
        Rule::Guided,
        Rule::Trapezoid,
        Rule::Factoring2,
        Rule::Factoring,
        Rule::Weighted,
        Rule::AdaptiveWeighted,
        Rule::AdaptiveWeightedByBatch,
        Rule::AdaptiveWeightedByChunk,
        Rule::Adaptive,
        Rule::DynamicFactoring,
    ];

    /// Its usual abbreviation.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Static => "static",
            Rule::One => "SS",
            Rule::FixedSize => "FSC",
            Rule::ModifiedFixedSize => "mFSC",
            Rule::Guided => "GSS",
            Rule::Trapezoid => "TSS",
            Rule::Factoring2 => "FAC2",
            Rule::Factoring => "FAC",
            Rule::Weighted => "WF",
            Rule::AdaptiveWeighted => "AWF",
            Rule::AdaptiveWeightedByBatch => "AWF-B",
            Rule::AdaptiveWeightedByChunk => "AWF-C",
            Rule::Adaptive => "AF",
            Rule::DynamicFactoring => "DAF",
        }
    }

    /// The rule with this abbreviation, however it is written.
    pub fn named(name: &str) -> Option<Rule> {
        Rule::ALL.into_iter().find(|rule| rule.name().eq_ignore_ascii_case(name))
    }

    /// Whether the three shares of batches are all it needs.
    pub fn is_shares_only(self) -> bool {
        matches!(self, Rule::Static | Rule::Factoring2 | Rule::DynamicFactoring)
    }

    /// Whether it gives each worker a weight.
    pub fn has_weights(self) -> bool {
        use Rule::{Adaptive, AdaptiveWeighted, AdaptiveWeightedByBatch, AdaptiveWeightedByChunk, Weighted};
        matches!(self, Weighted | AdaptiveWeighted | AdaptiveWeightedByBatch | AdaptiveWeightedByChunk | Adaptive)
    }

    /// The numbers that the rule says to cut by. What it needs and is not known yet gives halves.
    pub fn cutting(self, known: &Known) -> Cutting {
        let halves = || Cutting::batches([0.5; 3]);
        let workers = known.workers.len().max(1) as f64;
        match self {
            Rule::Static => Cutting::batches([1.0; 3]),
            Rule::One => Cutting::fixed(1.0),
            Rule::FixedSize => fixed_size(known).map_or_else(halves, Cutting::fixed),
            Rule::ModifiedFixedSize => Cutting::fixed((known.tasks as f64 / chunks_of_halves(known)).ceil()),
            Rule::Guided => Cutting { chunks: 1, ..Cutting::batches([1.0 / workers; 3]) },
            Rule::Trapezoid => trapezoid(known.tasks as f64, workers),
            Rule::Factoring2 => halves(),
            Rule::Factoring => factoring(known).unwrap_or_else(halves),
            Rule::Weighted => Cutting { weights: relative(&known.workers, |worker| worker.weight), ..halves() },
            Rule::AdaptiveWeighted | Rule::AdaptiveWeightedByBatch | Rule::AdaptiveWeightedByChunk => {
                Cutting { weights: relative(&known.workers, |worker| 1.0 / worker.mean), ..halves() }
            }
            Rule::Adaptive => adaptive(&known.workers).unwrap_or_else(halves),
            Rule::DynamicFactoring => match dynamic_factors(known.mean, known.deviation, known.workers.len()) {
                Some((first, later)) => Cutting::batches([1.0 / first, 1.0 / later, 1.0 / later]),
                None => halves(),
            },
        }
    }
}

/// The inverse of the share that the first batch gets, and of that of later ones: equations 4.3 and 4.4 of the paper.
pub fn dynamic_factors(mean: f64, deviation: f64, workers: usize) -> Option<(f64, f64)> {
    let spread = relative_deviation(mean, deviation)? * (workers as f64 / 2.0).sqrt();
    Some((1.0 + spread, 2.0 + spread))
}

fn relative_deviation(mean: f64, deviation: f64) -> Option<f64> {
    (mean > 0.0 && deviation >= 0.0 && mean.is_finite() && deviation.is_finite()).then_some(deviation / mean)
}

fn fixed_size(known: &Known) -> Option<f64> {
    let (tasks, workers) = (known.tasks as f64, known.workers.len() as f64);
    relative_deviation(known.mean, known.deviation)?;
    let size = (2f64.sqrt() * tasks * known.overhead / (known.deviation * workers * workers.ln().sqrt())).powf(2.0 / 3.0);
    // Tasks that are all alike, or a single worker, need no balance.
    Some(if size.is_nan() { tasks / workers } else { size.clamp(1.0, (tasks / workers).max(1.0)) }.ceil())
}

fn chunks_of_halves(known: &Known) -> f64 {
    let halves = Cutting::batches([0.5; 3]);
    let workers = known.workers.len().max(1);
    let mut cutter = Cutter::new(&halves, known.tasks, workers, known.least);
    (0..).map_while(|turn| cutter.give(turn % workers)).count().max(1) as f64
}

fn trapezoid(tasks: f64, workers: f64) -> Cutting {
    let first = (tasks / (2.0 * workers)).ceil().max(1.0);
    let chunks = (2.0 * tasks / (first + 1.0)).ceil().max(2.0);
    Cutting { less: (first - 1.0) / (chunks - 1.0), ..Cutting::fixed(first) }
}

/// Hummel's factoring: with `k = (p s / 2 m)²`, the first batch is `r + k - sqrt(k (k + 2 r))`, and later ones are half of that with `k /
/// 2` in the place of `k`; the same as `r / x` with the `x` that is published.
fn factoring(known: &Known) -> Option<Cutting> {
    let spread = relative_deviation(known.mean, known.deviation)?;
    let (left, hold) = (known.tasks as f64, (known.workers.len() as f64 * spread / 2.0).powi(2));
    let shared = |margin: f64| left + margin - (margin * (margin + 2.0 * left)).sqrt();
    let margin = hold / 2.0;
    Some(Cutting { margin, ..Cutting::batches([shared(hold) / shared(margin).max(f64::MIN_POSITIVE), 0.5, 0.5]) })
}

/// The weights of workers, where all together weigh as many as there are; none while one is unknown.
fn relative(workers: &[Worker], weight: impl Fn(&Worker) -> f64) -> Vec<f64> {
    let weights: Vec<f64> = workers.iter().map(weight).collect();
    let all: f64 = weights.iter().sum();
    if !(all.is_finite() && all > 0.0) {
        return Vec::new();
    }
    weights.iter().map(|weight| weight * weights.len() as f64 / all).collect()
}

/// The published chunk of a worker with mean `m`, `(d + 2 t r - sqrt(d² + 4 d t r)) / 2 m`, is its weight of a share of what is left,
/// with a margin of `d / 2 t`.
fn adaptive(workers: &[Worker]) -> Option<Cutting> {
    if workers.is_empty() || workers.iter().any(|worker| relative_deviation(worker.mean, worker.deviation).is_none()) {
        return None;
    }
    let spread: f64 = workers.iter().map(|worker| worker.deviation.powi(2) / worker.mean).sum();
    let together: f64 = workers.iter().map(|worker| 1.0 / worker.mean).sum();
    Some(Cutting {
        chunks: 1,
        margin: spread * together / 2.0,
        weights: relative(workers, |worker| 1.0 / worker.mean),
        ..Cutting::batches([1.0 / workers.len() as f64; 3])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(tasks: u64, workers: usize) -> Known {
        let worker = Worker { weight: 1.0, mean: 1.0, deviation: 0.3 };
        Known { tasks, mean: 1.0, deviation: 0.3, overhead: 0.02, least: 1, workers: vec![worker; workers] }
    }

    fn chunks(rule: Rule, known: &Known) -> Vec<u64> {
        let cutting = rule.cutting(known);
        let workers = known.workers.len();
        let mut cutter = Cutter::new(&cutting, known.tasks, workers, known.least);
        (0..).map_while(|turn| cutter.give(turn % workers)).map(|(_, tasks)| tasks).collect()
    }

    #[test]
    fn every_rule_gives_every_task_once() {
        for rule in Rule::ALL {
            for (count, workers) in [(1, 1), (1, 7), (1000, 4), (9_999, 64)] {
                assert_eq!(chunks(rule, &known(count, workers)).iter().sum::<u64>(), count, "{}", rule.name());
            }
        }
    }

    #[test]
    fn the_rules_without_statistics_are_those_of_the_books() {
        let known = known(100, 4);
        assert_eq!(chunks(Rule::Static, &known), [25, 25, 25, 25]);
        assert_eq!(chunks(Rule::One, &known), [1; 100]);
        assert_eq!(chunks(Rule::Guided, &known)[..5], [25, 19, 14, 11, 8]);
        assert_eq!(chunks(Rule::Factoring2, &known)[..9], [13, 13, 13, 11, 7, 7, 7, 4, 4]);
        // 100 / (2 * 4) = 13 down to 1 in 15 chunks: less by 12 / 14 each time.
        assert_eq!(chunks(Rule::Trapezoid, &known)[..4], [13, 12, 11, 10]);
        let halves = chunks(Rule::Factoring2, &known).len();
        assert!(chunks(Rule::ModifiedFixedSize, &known).len().abs_diff(halves) <= 1);
    }

    #[test]
    fn fixed_size_chunks_weigh_overhead_against_deviation() {
        // (sqrt(2) * 10000 * 0.02 / (0.3 * 64 * sqrt(ln 64)))^(2/3) = 3.74.
        assert_eq!(chunks(Rule::FixedSize, &known(10_000, 64))[0], 4);
        let alike = Known { deviation: 0.0, ..known(100, 4) };
        assert_eq!(chunks(Rule::FixedSize, &alike), [25; 4]);
    }

    #[test]
    fn factoring_is_as_hummel_published_it() {
        let known = Known { mean: 2.0, deviation: 1.5, ..known(10_000, 16) };
        let cutting = Rule::Factoring.cutting(&known);
        let mut left = known.tasks as f64;
        for batch in 0..6 {
            let b = 16.0 * 1.5 / (2.0 * 2.0 * left.sqrt());
            let x = if batch == 0 { 1.0 + b * b + b * (b * b + 2.0).sqrt() } else { 2.0 + b * b + b * (b * b + 4.0).sqrt() };
            let margin = cutting.margin;
            let shared = (left + margin - (margin * (margin + 2.0 * left)).sqrt()) * cutting.factors[batch.min(2)];
            assert!((shared - left / x).abs() < 1e-6 * left, "batch {batch}: {shared} and {}", left / x);
            left -= shared;
        }
    }

    #[test]
    fn adaptive_factoring_is_as_published() {
        let mut known = known(1000, 2);
        known.workers[0] = Worker { weight: 1.0, mean: 0.5, deviation: 0.1 };
        known.workers[1] = Worker { weight: 1.0, mean: 1.5, deviation: 0.3 };
        let cutting = Rule::Adaptive.cutting(&known);
        let d: f64 = 0.01 / 0.5 + 0.09 / 1.5;
        let t = 1.0 / (1.0 / 0.5 + 1.0 / 1.5);
        let shared = 1000.0 + cutting.margin - (cutting.margin * (cutting.margin + 2000.0)).sqrt();
        for (worker, mean) in [(0, 0.5), (1, 1.5)] {
            let published = (d + 2.0 * t * 1000.0 - (d * d + 4.0 * d * t * 1000.0).sqrt()) / (2.0 * mean);
            assert!((shared / 2.0 * cutting.weight(worker) - published).abs() < 1e-9 * published);
        }
    }

    #[test]
    fn the_factors_of_the_paper_are_those_of_equations_4_3_and_4_4() {
        assert_eq!(dynamic_factors(1.0, 0.0, 8), Some((1.0, 2.0)));
        assert_eq!(dynamic_factors(2.0, 1.0, 8), Some((2.0, 3.0)));
        assert_eq!(dynamic_factors(0.0, 1.0, 8), None);
        let known = Known { mean: 2.0, deviation: 1.0, ..known(1000, 8) };
        assert_eq!(Rule::DynamicFactoring.cutting(&known).factors, [0.5, 1.0 / 3.0, 1.0 / 3.0]);
    }

    #[test]
    fn a_faster_worker_gets_more() {
        let mut known = known(1000, 2);
        known.workers[0].weight = 3.0;
        assert_eq!(chunks(Rule::Weighted, &known)[..2], [375, 125]);
        (known.workers[0].mean, known.workers[1].mean) = (0.5, 1.5);
        assert_eq!(chunks(Rule::AdaptiveWeighted, &known)[..2], [375, 125]);
    }

    #[test]
    fn what_is_not_known_yet_does_no_harm() {
        let nothing = Worker { weight: 0.0, mean: 0.0, deviation: 0.0 };
        let known = Known { tasks: 100, mean: 0.0, deviation: 0.0, overhead: 0.0, least: 1, workers: vec![nothing; 3] };
        for rule in Rule::ALL {
            assert_eq!(chunks(rule, &known).iter().sum::<u64>(), 100, "{}", rule.name());
        }
    }
}
