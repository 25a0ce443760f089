//! Chooses the best rule by simulating all of them on the latest iterations.

use std::collections::VecDeque;

use crate::schedule::{ChunkingParameters, SchedulingRule, SchedulingScenario, SimulatedIteration, TaskStatistics, simulate};

/// Least relative improvement that is not noise, however well simulations fit.
const MIN_NOISE: f64 = 0.01;
/// Assumed noise while it is unknown how well they fit.
const UNKNOWN_NOISE: f64 = 0.05;
/// Iterations that the noise is estimated from.
const MAX_RATIOS: usize = 5;
/// Rules with more chunks are not simulated, since that would take too long.
const MAX_CHUNKS: u64 = 20_000;

/// The best rule.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BestRule {
    /// The rule.
    pub rule: SchedulingRule,
    /// Its chunking.
    pub chunking: ChunkingParameters,
    /// Its simulated result.
    pub outcome: SimulatedIteration,
    /// The reason, for the log.
    pub why: String,
}

/// How well simulations of the current rule fit.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct SimulationFit {
    /// Simulated time of the next iteration.
    expected: Option<f64>,
    /// Measured over simulated times.
    ratios: VecDeque<f64>,
}

impl SimulationFit {
    /// Adds the time of an iteration.
    pub(super) fn add_measurement(&mut self, seconds: f64) {
        if let Some(expected) = self.expected.filter(|expected| *expected > 0.0) {
            if self.ratios.len() == MAX_RATIOS {
                self.ratios.pop_front();
            }
            self.ratios.push_back(seconds / expected);
        }
    }

    /// Sets the expected time of the next iteration; after a change of rule the history is dropped, since one iteration uses both rules.
    pub(super) fn set_expectation(&mut self, choice: &BestRule, current: SchedulingRule) {
        if choice.rule == current {
            self.expected = Some(choice.outcome.seconds);
        } else {
            *self = SimulationFit::default();
        }
    }

    /// Relative uncertainty of a simulation: the spread of the ratios, not their bias.
    pub(super) fn noise(&self) -> f64 {
        let (least, most) = self.ratios.iter().fold((f64::INFINITY, 0.0f64), |(least, most), ratio| (least.min(*ratio), most.max(*ratio)));
        if self.ratios.len() < 2 { UNKNOWN_NOISE } else { ((most - least) / (most + least)).max(MIN_NOISE) }
    }
}

/// The best rule for these scenarios among those that the program can follow; the current one is kept if none is better by more than the
/// noise.
pub(super) fn choose_rule(
    current: SchedulingRule,
    statistics: &TaskStatistics,
    scenarios: &[SchedulingScenario],
    noise: f64,
    is_possible: impl Fn(SchedulingRule) -> bool,
) -> Option<BestRule> {
    let ideal = scenarios.iter().map(SchedulingScenario::ideal_time).sum::<f64>() / scenarios.len() as f64;
    let tried: Vec<(SchedulingRule, ChunkingParameters, SimulatedIteration)> = SchedulingRule::ALL
        .into_iter()
        .filter(|rule| *rule == current || is_distinct(*rule))
        .filter(|rule| is_possible(*rule))
        .filter_map(|rule| {
            let chunking = rule.chunking(statistics);
            let outcome = mean_outcome(scenarios.iter().map(|scenario| simulate(&chunking, scenario, MAX_CHUNKS)))?;
            Some((rule, chunking, outcome))
        })
        .collect();
    let best = tried.iter().min_by(|one, other| one.2.seconds.total_cmp(&other.2.seconds))?;
    let now = tried.iter().find(|(rule, ..)| *rule == current);
    let chosen = now.filter(|now| best.2.seconds >= now.2.seconds * (1.0 - noise)).unwrap_or(best);
    let (rule, chunking, outcome) = chosen.clone();
    let others = [SchedulingRule::Static, SchedulingRule::Factoring2, SchedulingRule::DynamicFactoring, current, best.0];
    let mut others: Vec<&(SchedulingRule, ChunkingParameters, SimulatedIteration)> =
        tried.iter().filter(|(one, ..)| *one != rule && others.contains(one)).collect();
    others.sort_by(|one, other| one.2.seconds.total_cmp(&other.2.seconds));
    let others: Vec<String> = others.iter().map(|(rule, _, outcome)| format!("{} {:.2} ms", rule.name(), 1e3 * outcome.seconds)).collect();
    let why = format!(
        "{} would take {:.2} ms in {} chunks ({}; ideal {:.2} ms), where a task takes {:.3} ms with a deviation of {:.0} % and a chunk costs {:.0} µs; noise is {:.0} %",
        rule.name(),
        1e3 * outcome.seconds,
        outcome.chunks,
        others.join(", "),
        1e3 * ideal,
        1e3 * statistics.mean,
        100.0 * statistics.deviation / statistics.mean,
        1e6 * statistics.overhead,
        100.0 * noise
    );
    Some(BestRule { rule, chunking, outcome, why })
}

/// Rules that differ only in how often weights are measured are the same in simulation.
fn is_distinct(rule: SchedulingRule) -> bool {
    !matches!(rule, SchedulingRule::Weighted | SchedulingRule::AdaptiveWeightedByBatch | SchedulingRule::AdaptiveWeightedByChunk)
}

fn mean_outcome(outcomes: impl Iterator<Item = Option<SimulatedIteration>>) -> Option<SimulatedIteration> {
    let outcomes: Vec<SimulatedIteration> = outcomes.collect::<Option<_>>()?;
    let count = outcomes.len() as f64;
    let seconds = outcomes.iter().map(|outcome| outcome.seconds).sum::<f64>() / count;
    let chunks = (outcomes.iter().map(|outcome| outcome.chunks).sum::<u64>() as f64 / count).round() as u64;
    (count > 0.0).then_some(SimulatedIteration { seconds, chunks })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{TaskCosts, WorkerStats};

    fn task_statistics(workers: usize, deviation: f64, overhead: f64) -> TaskStatistics {
        let worker = WorkerStats { weight: 1.0, mean: 1e-3, deviation };
        TaskStatistics { tasks: 1000, mean: 1e-3, deviation, overhead, min_chunk: 1, workers: vec![worker; workers] }
    }

    fn scenario(parts: &[f64], workers: usize, latency: f64) -> SchedulingScenario {
        SchedulingScenario { costs: TaskCosts::from_parts(1000, parts), slowness: vec![1.0; workers], latency, service: 0.0, min_chunk: 1 }
    }

    #[test]
    fn equal_tasks_with_overhead_get_few_chunks() {
        let choice = choose_rule(SchedulingRule::Factoring2, &task_statistics(4, 0.0, 0.01), &[scenario(&[1.0], 4, 0.01)], 0.01, |_| true)
            .expect("a choice");
        assert_eq!((choice.outcome.chunks, choice.chunking.weights.len()), (4, 0), "{}", choice.why);
        assert!(choice.why.contains("FAC2"), "{}", choice.why);
    }

    #[test]
    fn long_first_tasks_are_not_divided_equally() {
        let current = SchedulingRule::Static;
        let choice =
            choose_rule(current, &task_statistics(4, 0.6e-3, 1e-5), &[scenario(&[0.9, 0.05, 0.03, 0.02], 4, 1e-5)], 0.01, |_| true)
                .expect("a choice");
        assert_ne!(choice.rule, current);
        assert!(choice.outcome.seconds < 0.3, "{}", choice.why);
    }

    #[test]
    fn a_rule_as_good_as_the_best_is_kept() {
        for current in [
            SchedulingRule::Factoring2,
            SchedulingRule::Trapezoid,
            SchedulingRule::DynamicFactoring,
            SchedulingRule::AdaptiveWeightedByChunk,
        ] {
            let choice = choose_rule(current, &task_statistics(4, 0.1e-3, 1e-7), &[scenario(&[0.5, 0.5], 4, 1e-7)], 0.01, |_| true)
                .expect("a choice");
            assert_eq!(choice.rule, current, "{}", choice.why);
        }
    }

    #[test]
    fn without_scenarios_there_is_no_choice() {
        assert_eq!(choose_rule(SchedulingRule::Static, &task_statistics(4, 0.0, 0.0), &[], 0.01, |_| true), None);
    }

    #[test]
    fn noise_is_the_spread_of_the_ratios() {
        let choice = choose_rule(SchedulingRule::Static, &task_statistics(4, 0.0, 0.0), &[scenario(&[1.0], 4, 0.0)], 0.01, |_| true)
            .expect("a choice");
        let mut fit = SimulationFit::default();
        assert_eq!(fit.noise(), UNKNOWN_NOISE);
        fit.set_expectation(&choice, choice.rule);
        (0..3).for_each(|_| fit.add_measurement(0.5));
        assert_eq!(fit.noise(), MIN_NOISE, "twice what was expected, always");
        fit.add_measurement(0.6);
        assert!((fit.noise() - 0.1 / 1.1).abs() < 1e-9);
        fit.set_expectation(&choice, SchedulingRule::SelfScheduling);
        assert_eq!(fit.noise(), UNKNOWN_NOISE);
    }
}
