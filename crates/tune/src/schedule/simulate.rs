//! A master and its workers, simulated: how long an iteration would take if it were cut in another way.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::cutting::{Cutter, Cutting};

/// What the tasks cost, from the first to the last.
#[derive(Debug, Clone, PartialEq)]
pub struct Costs {
    tasks: u64,
    /// Seconds of all tasks before each of so many borders, evenly apart.
    before: Vec<f64>,
}

impl Costs {
    /// Of so many tasks, from the seconds of equal parts of them, in order.
    pub fn of_parts(tasks: u64, parts: &[f64]) -> Costs {
        let sums = parts.iter().scan(0.0, |sum, part| {
            *sum += part.max(0.0);
            Some(*sum)
        });
        Costs { tasks, before: std::iter::once(0.0).chain(sums).collect() }
    }

    /// Seconds of a chunk.
    pub fn chunk(&self, first: u64, tasks: u64) -> f64 {
        (self.until(first + tasks) - self.until(first)).max(0.0)
    }

    /// Seconds of all.
    pub fn all(&self) -> f64 {
        self.before.last().copied().unwrap_or(0.0)
    }

    /// How many tasks.
    pub fn tasks(&self) -> u64 {
        self.tasks
    }

    fn until(&self, task: u64) -> f64 {
        let place = task as f64 / self.tasks.max(1) as f64 * (self.before.len() - 1) as f64;
        let below = place as usize;
        match (self.before.get(below), self.before.get(below + 1)) {
            (Some(low), Some(high)) => low + (high - low) * place.fract(),
            _ => self.all(),
        }
    }
}

/// Where the tasks are done.
#[derive(Debug, Clone, PartialEq)]
pub struct Situation {
    /// What the tasks cost.
    pub costs: Costs,
    /// How many times that each worker takes.
    pub slowness: Vec<f64>,
    /// Seconds from a worker's answer to its next chunk, if the master is idle.
    pub latency: f64,
    /// Seconds of the master for each chunk.
    pub service: f64,
    /// The fewest tasks in a chunk of a batch.
    pub least: u64,
}

impl Situation {
    /// The time if all workers were busy until the end, and nothing were lost.
    pub fn ideal(&self) -> f64 {
        self.costs.all() / self.slowness.iter().map(|slowness| 1.0 / slowness).sum::<f64>()
    }
}

/// What a simulation came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// How long it took.
    pub seconds: f64,
    /// How many chunks were handed out.
    pub chunks: u64,
}

/// A worker that asks for a chunk; the earliest first, and of several at once the one with the lowest number.
#[derive(PartialEq)]
struct Asks {
    time: f64,
    worker: usize,
}

impl Eq for Asks {}

impl PartialOrd for Asks {
    fn partial_cmp(&self, other: &Asks) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Asks {
    fn cmp(&self, other: &Asks) -> Ordering {
        self.time.total_cmp(&other.time).then(self.worker.cmp(&other.worker))
    }
}

/// How long all tasks take if they are cut so; `None` if more than `most` chunks would come of it.
pub fn simulate(cutting: &Cutting, situation: &Situation, most: u64) -> Option<Outcome> {
    let Situation { costs, slowness, latency, service, least } = situation;
    let mut cutter = Cutter::new(cutting, costs.tasks, slowness.len(), *least);
    let mut asking: BinaryHeap<Reverse<Asks>> = (0..slowness.len()).map(|worker| Reverse(Asks { time: 0.0, worker })).collect();
    let mut outcome = Outcome { seconds: 0.0, chunks: 0 };
    let mut master_is_free = 0.0f64;
    while let Some(Reverse(Asks { time, worker })) = asking.pop() {
        let Some((first, tasks)) = cutter.give(worker) else { break };
        outcome.chunks += 1;
        if outcome.chunks > most {
            return None;
        }
        master_is_free = master_is_free.max(time) + service;
        let end = master_is_free + latency + costs.chunk(first, tasks) * slowness[worker];
        outcome.seconds = outcome.seconds.max(end);
        asking.push(Reverse(Asks { time: end, worker }));
    }
    Some(outcome)
}

#[cfg(test)]
mod tests {
    use sintonia_fit::Random;

    use super::*;
    use crate::schedule::{Known, Rule, Worker};

    const TASKS: u64 = 10_000;
    const WORKERS: usize = 64;
    const SEEDS: u64 = 20;

    #[test]
    fn costs_are_those_of_the_parts_in_between_too() {
        let costs = Costs::of_parts(8, &[1.0, 3.0]);
        assert_eq!((costs.chunk(0, 4), costs.chunk(4, 4), costs.chunk(2, 4), costs.all()), (1.0, 3.0, 2.0, 4.0));
    }

    #[test]
    fn equal_tasks_in_equal_parts_take_the_ideal_time_and_what_a_chunk_costs() {
        let situation = Situation { costs: Costs::of_parts(100, &[100.0]), slowness: vec![1.0; 4], latency: 0.5, service: 0.1, least: 1 };
        assert_eq!(situation.ideal(), 25.0);
        let outcome = simulate(&Cutting::batches([1.0; 3]), &situation, 1000).expect("few chunks");
        assert!((outcome.seconds - 25.9).abs() < 1e-9 && outcome.chunks == 4, "{outcome:?}");
        assert_eq!(simulate(&Cutting::fixed(1.0), &situation, 99), None);
    }

    #[derive(Clone, Copy, PartialEq, Debug)]
    enum Kind {
        Normal,
        Exponential,
        HeavyTail,
        Ramp,
        Slow { latency: f64, service: f64 },
    }

    fn costs(kind: Kind, random: &mut Random) -> Vec<f64> {
        let cost = |task: u64, random: &mut Random| match kind {
            Kind::Normal | Kind::Slow { .. } => (1.0 + 0.3 * random.normal()).max(0.01),
            Kind::Exponential => -random.unit().ln(),
            // Pareto with a mean of 1 and no variance.
            Kind::HeavyTail => 0.375 * random.unit().powf(-1.0 / 1.6),
            Kind::Ramp => 2.0 * (1.0 - task as f64 / TASKS as f64),
        };
        (0..TASKS).map(|task| cost(task, random)).collect()
    }

    /// The efficiency of a rule in percent, over some seeds.
    fn efficiency(kind: Kind, rule: Rule) -> f64 {
        let once = |seed: u64| {
            let parts = costs(kind, &mut Random::new(seed));
            let mean = parts.iter().sum::<f64>() / TASKS as f64;
            let deviation = (parts.iter().map(|part| (part - mean).powi(2)).sum::<f64>() / TASKS as f64).sqrt();
            let (latency, service) = if let Kind::Slow { latency, service } = kind { (latency, service) } else { (0.02, 0.0) };
            let slow = |worker| if matches!(kind, Kind::Slow { .. }) && worker % 2 == 1 { 2.0 } else { 1.0 };
            let slowness: Vec<f64> = (0..WORKERS).map(slow).collect();
            let workers =
                slowness.iter().map(|slow| Worker { weight: 1.0 / slow, mean: mean * slow, deviation: deviation * slow }).collect();
            let known = Known { tasks: TASKS, mean, deviation, overhead: latency + service, least: 1, workers };
            let situation = Situation { costs: Costs::of_parts(TASKS, &parts), slowness, latency, service, least: 1 };
            let outcome = simulate(&rule.cutting(&known), &situation, 2 * TASKS).expect("no more chunks than tasks");
            100.0 * situation.ideal() / outcome.seconds
        };
        (0..SEEDS).map(once).sum::<f64>() / SEEDS as f64
    }

    /// Each rule of one list is below each of the next.
    fn is_in_order(kind: Kind, lists: &[&[Rule]]) {
        let figures: Vec<Vec<f64>> = lists.iter().map(|rules| rules.iter().map(|rule| efficiency(kind, *rule)).collect()).collect();
        for pair in figures.windows(2) {
            let (best, worst) = (pair[0].iter().copied().fold(0.0, f64::max), pair[1].iter().copied().fold(100.0, f64::min));
            assert!(best < worst, "{kind:?}: {lists:?} {figures:.1?}");
        }
    }

    use Rule::{DynamicFactoring as Daf, Factoring as Fac, Factoring2 as Fac2, Guided as Gss, One, Static, Trapezoid as Tss};

    #[test]
    fn the_figures_are_those_of_an_independent_simulation_with_other_random_numbers() {
        let rules = [Static, One, Gss, Tss, Fac2, Daf];
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
    fn with_independent_tasks_batches_beat_everything_and_equal_parts_are_the_worst() {
        is_in_order(Kind::Normal, &[&[Static], &[One, Gss, Tss], &[Fac2, Fac, Daf]]);
        is_in_order(Kind::Exponential, &[&[Static], &[Gss], &[Tss], &[Fac2, Fac, Daf]]);
        is_in_order(Kind::HeavyTail, &[&[Static], &[Gss], &[Tss], &[Fac, Daf]]);
    }

    #[test]
    fn guided_chunks_are_as_bad_as_equal_parts_where_the_first_tasks_are_the_longest() {
        is_in_order(Kind::Ramp, &[&[Static, Gss], &[One], &[Fac2, Daf]]);
    }

    #[test]
    fn where_workers_differ_equal_parts_fail_and_one_task_at_a_time_only_with_latency() {
        let weights = Rule::AdaptiveWeighted;
        is_in_order(Kind::Slow { latency: 0.02, service: 0.0 }, &[&[Static, Gss], &[Tss], &[Fac2, Daf, weights]]);
        is_in_order(Kind::Slow { latency: 0.2, service: 0.01 }, &[&[Static, Gss], &[One], &[Tss], &[Daf], &[Fac2, weights]]);
    }
}
