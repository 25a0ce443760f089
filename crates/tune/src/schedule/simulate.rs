//! Simulates a master with its workers: the time of an iteration with other chunking.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use sintonia_link::chunking::{ChunkScheduler, ChunkingParameters};

/// Costs of the tasks, from first to last.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskCosts {
    tasks: u64,
    /// Seconds of all tasks before each of the equidistant borders.
    prefix_sums: Vec<f64>,
}

impl TaskCosts {
    /// From the seconds of equal parts of the tasks, in order.
    pub fn from_parts(tasks: u64, parts: &[f64]) -> TaskCosts {
        let sums = parts.iter().scan(0.0, |sum, part| {
            *sum += part.max(0.0);
            Some(*sum)
        });
        TaskCosts { tasks, prefix_sums: std::iter::once(0.0).chain(sums).collect() }
    }

    /// Seconds of a chunk.
    pub fn chunk_time(&self, first: u64, tasks: u64) -> f64 {
        (self.time_before(first + tasks) - self.time_before(first)).max(0.0)
    }

    /// Seconds of all tasks.
    pub fn total_time(&self) -> f64 {
        self.prefix_sums.last().copied().unwrap_or(0.0)
    }

    /// Number of tasks.
    pub fn task_count(&self) -> u64 {
        self.tasks
    }

    fn time_before(&self, task: u64) -> f64 {
        let position = task as f64 / self.tasks.max(1) as f64 * (self.prefix_sums.len() - 1) as f64;
        let below = position as usize;
        match (self.prefix_sums.get(below), self.prefix_sums.get(below + 1)) {
            (Some(low), Some(high)) => low + (high - low) * position.fract(),
            _ => self.total_time(),
        }
    }
}

/// Tasks and workers of a simulated iteration.
#[derive(Debug, Clone, PartialEq)]
pub struct SchedulingScenario {
    /// Costs of the tasks.
    pub costs: TaskCosts,
    /// Relative slowness of each worker.
    pub slowness: Vec<f64>,
    /// Seconds from a worker's answer to its next chunk, if the master is idle.
    pub latency: f64,
    /// Seconds of the master for each chunk.
    pub service: f64,
    /// Fewest tasks in a chunk of a batch.
    pub min_chunk: u64,
}

impl SchedulingScenario {
    /// The time if all workers were busy until the end without overhead.
    pub fn ideal_time(&self) -> f64 {
        self.costs.total_time() / self.slowness.iter().map(|slowness| 1.0 / slowness).sum::<f64>()
    }
}

/// Result of a simulation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimulatedIteration {
    /// Duration.
    pub seconds: f64,
    /// Number of chunks.
    pub chunks: u64,
}

/// A worker that requests a chunk; ordered by time, then by index.
#[derive(PartialEq)]
struct ChunkRequest {
    time: f64,
    worker: usize,
}

impl Eq for ChunkRequest {}

impl PartialOrd for ChunkRequest {
    fn partial_cmp(&self, other: &ChunkRequest) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ChunkRequest {
    fn cmp(&self, other: &ChunkRequest) -> Ordering {
        self.time.total_cmp(&other.time).then(self.worker.cmp(&other.worker))
    }
}

/// Simulates an iteration; `None` if it takes more than `most` chunks.
pub fn simulate(parameters: &ChunkingParameters, scenario: &SchedulingScenario, most: u64) -> Option<SimulatedIteration> {
    let SchedulingScenario { costs, slowness, latency, service, min_chunk: least } = scenario;
    let mut scheduler = ChunkScheduler::new(costs.tasks, slowness.len(), *least);
    let mut requests: BinaryHeap<Reverse<ChunkRequest>> =
        (0..slowness.len()).map(|worker| Reverse(ChunkRequest { time: 0.0, worker })).collect();
    let mut outcome = SimulatedIteration { seconds: 0.0, chunks: 0 };
    let mut master_idle_at = 0.0f64;
    while let Some(Reverse(ChunkRequest { time, worker })) = requests.pop() {
        let Some((first, tasks)) = scheduler.next_chunk(parameters, worker) else { break };
        outcome.chunks += 1;
        if outcome.chunks > most {
            return None;
        }
        master_idle_at = master_idle_at.max(time) + service;
        let end = master_idle_at + latency + costs.chunk_time(first, tasks) * slowness[worker];
        outcome.seconds = outcome.seconds.max(end);
        requests.push(Reverse(ChunkRequest { time: end, worker }));
    }
    Some(outcome)
}

#[cfg(test)]
mod tests {
    use sintonia_fit::SplitMix64;

    use super::*;
    use crate::schedule::{SchedulingRule, TaskStatistics, WorkerStats};

    const TASKS: u64 = 10_000;
    const WORKERS: usize = 64;
    const SEEDS: u64 = 20;

    #[test]
    fn costs_are_interpolated_within_parts() {
        let costs = TaskCosts::from_parts(8, &[1.0, 3.0]);
        assert_eq!((costs.chunk_time(0, 4), costs.chunk_time(4, 4), costs.chunk_time(2, 4), costs.total_time()), (1.0, 3.0, 2.0, 4.0));
    }

    #[test]
    fn equal_parts_take_the_ideal_time_plus_overhead() {
        let scenario = SchedulingScenario {
            costs: TaskCosts::from_parts(100, &[100.0]),
            slowness: vec![1.0; 4],
            latency: 0.5,
            service: 0.1,
            min_chunk: 1,
        };
        assert_eq!(scenario.ideal_time(), 25.0);
        let outcome = simulate(&ChunkingParameters::with_factors([1.0; 3]), &scenario, 1000).expect("few chunks");
        assert!((outcome.seconds - 25.9).abs() < 1e-9 && outcome.chunks == 4, "{outcome:?}");
        assert_eq!(simulate(&ChunkingParameters::with_fixed_chunk(1.0), &scenario, 99), None);
    }

    #[derive(Clone, Copy, PartialEq, Debug)]
    enum Kind {
        Normal,
        Exponential,
        HeavyTail,
        Ramp,
        Slow { latency: f64, service: f64 },
    }

    fn costs(kind: Kind, random: &mut SplitMix64) -> Vec<f64> {
        let cost = |task: u64, random: &mut SplitMix64| match kind {
            Kind::Normal | Kind::Slow { .. } => (1.0 + 0.3 * random.standard_normal()).max(0.01),
            Kind::Exponential => -random.uniform().ln(),
            // Pareto with a mean of 1 and no variance.
            Kind::HeavyTail => 0.375 * random.uniform().powf(-1.0 / 1.6),
            Kind::Ramp => 2.0 * (1.0 - task as f64 / TASKS as f64),
        };
        (0..TASKS).map(|task| cost(task, random)).collect()
    }

    /// The efficiency of a rule in percent, averaged over seeds.
    fn efficiency(kind: Kind, rule: SchedulingRule) -> f64 {
        let once = |seed: u64| {
            let parts = costs(kind, &mut SplitMix64::new(seed));
            let mean = parts.iter().sum::<f64>() / TASKS as f64;
            let deviation = (parts.iter().map(|part| (part - mean).powi(2)).sum::<f64>() / TASKS as f64).sqrt();
            let (latency, service) = if let Kind::Slow { latency, service } = kind { (latency, service) } else { (0.02, 0.0) };
            let slow = |worker| if matches!(kind, Kind::Slow { .. }) && worker % 2 == 1 { 2.0 } else { 1.0 };
            let slowness: Vec<f64> = (0..WORKERS).map(slow).collect();
            let workers =
                slowness.iter().map(|slow| WorkerStats { weight: 1.0 / slow, mean: mean * slow, deviation: deviation * slow }).collect();
            let statistics = TaskStatistics { tasks: TASKS, mean, deviation, overhead: latency + service, min_chunk: 1, workers };
            let scenario = SchedulingScenario { costs: TaskCosts::from_parts(TASKS, &parts), slowness, latency, service, min_chunk: 1 };
            let outcome = simulate(&rule.chunking(&statistics), &scenario, 2 * TASKS).expect("no more chunks than tasks");
            100.0 * scenario.ideal_time() / outcome.seconds
        };
        (0..SEEDS).map(once).sum::<f64>() / SEEDS as f64
    }

    /// Checks that each rule of a list is below each rule of the next.
    fn is_in_order(kind: Kind, lists: &[&[SchedulingRule]]) {
        let figures: Vec<Vec<f64>> = lists.iter().map(|rules| rules.iter().map(|rule| efficiency(kind, *rule)).collect()).collect();
        for pair in figures.windows(2) {
            let (best, worst) = (pair[0].iter().copied().fold(0.0, f64::max), pair[1].iter().copied().fold(100.0, f64::min));
            assert!(best < worst, "{kind:?}: {lists:?} {figures:.1?}");
        }
    }

    use SchedulingRule::{
        DynamicFactoring as Daf, Factoring as Fac, Factoring2 as Fac2, Guided as Gss, SelfScheduling, Static, Trapezoid as Tss,
    };

    #[test]
    fn efficiencies_match_an_independent_simulation() {
        let rules = [Static, SelfScheduling, Gss, Tss, Fac2, Daf];
        let table = [
            (Kind::Normal, [94.5, 97.4, 97.6, 98.1, 99.3, 99.2]),
            (Kind::Exponential, [81.7, 95.7, 91.4, 94.9, 96.7, 97.3]),
            (Kind::Ramp, [50.2, 97.4, 50.2, 98.8, 99.3, 99.3]),
            (Kind::Slow { latency: 0.02, service: 0.0 }, [64.3, 97.6, 66.2, 95.5, 98.6, 99.1]),
            (Kind::Slow { latency: 0.2, service: 0.01 }, [64.2, 84.4, 66.2, 95.2, 97.9, 97.4]),
        ];
        for (kind, figures) in table {
            for (rule, figure) in rules.into_iter().zip(figures) {
                let own = efficiency(kind, rule);
                assert!((own - figure).abs() < 2.5, "{kind:?}, {rule:?}: {own:.1} and {figure}");
            }
        }
    }

    #[test]
    fn for_independent_tasks_batches_are_best_and_equal_parts_worst() {
        is_in_order(Kind::Normal, &[&[Static], &[SelfScheduling, Gss, Tss], &[Fac2, Fac, Daf]]);
        is_in_order(Kind::Exponential, &[&[Static], &[Gss], &[Tss], &[Fac2, Fac, Daf]]);
        is_in_order(Kind::HeavyTail, &[&[Static], &[Gss], &[Tss], &[Fac, Daf]]);
    }

    #[test]
    fn guided_fails_where_the_first_tasks_are_longest() {
        is_in_order(Kind::Ramp, &[&[Static, Gss], &[SelfScheduling], &[Fac2, Daf]]);
    }

    #[test]
    fn equal_parts_fail_where_workers_differ() {
        let weights = SchedulingRule::AdaptiveWeighted;
        is_in_order(Kind::Slow { latency: 0.02, service: 0.0 }, &[&[Static, Gss], &[Tss], &[Fac2, Daf, weights]]);
        is_in_order(Kind::Slow { latency: 0.2, service: 0.01 }, &[&[Static, Gss], &[SelfScheduling], &[Tss], &[Daf], &[Fac2, weights]]);
    }
}
