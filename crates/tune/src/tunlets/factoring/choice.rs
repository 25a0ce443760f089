//! Which rule is best for what was seen: each is tried on the latest iterations, in simulation, before one is followed.

use std::collections::VecDeque;

use crate::schedule::{Cutting, Known, Outcome, Rule, Situation, simulate};

/// A rule must be better than the one that is followed by more than this share: less is noise, however well simulations have fitted.
const LEAST_NOISE: f64 = 0.01;
/// What is taken for noise as long as it is unknown how well they fit.
const UNKNOWN_NOISE: f64 = 0.05;
/// So many iterations tell that.
const RATIOS: usize = 5;
/// A rule that cuts more chunks than this is not tried: the answer would come too late.
const MOST_CHUNKS: u64 = 20_000;

/// What is best.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The rule.
    pub rule: Rule,
    /// What it says to cut by.
    pub cutting: Cutting,
    /// What it comes to.
    pub outcome: Outcome,
    /// Why, for people.
    pub why: String,
}

/// How well simulations of the rule that is followed have fitted.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fit {
    /// What the next iteration should take.
    expected: Option<f64>,
    /// What iterations took, as a multiple of that.
    ratios: VecDeque<f64>,
}

impl Fit {
    /// An iteration took so long.
    pub fn measured(&mut self, seconds: f64) {
        if let Some(expected) = self.expected.filter(|expected| *expected > 0.0) {
            if self.ratios.len() == RATIOS {
                self.ratios.pop_front();
            }
            self.ratios.push_back(seconds / expected);
        }
    }

    /// The next should take as long as this rule says; is it another, nothing is known, and both are in use for an iteration.
    pub fn expect(&mut self, choice: &Choice, followed: Rule) {
        if choice.rule == followed {
            self.expected = Some(choice.outcome.seconds);
        } else {
            *self = Fit::default();
        }
    }

    /// The share by which a simulation may be wrong: not how far off they all are, but by how much they differ in that.
    pub fn noise(&self) -> f64 {
        let (least, most) = self.ratios.iter().fold((f64::INFINITY, 0.0f64), |(least, most), ratio| (least.min(*ratio), most.max(*ratio)));
        if self.ratios.len() < 2 { UNKNOWN_NOISE } else { ((most - least) / (most + least)).max(LEAST_NOISE) }
    }
}

/// The best rule for what happened in some iterations; the one that is followed now stays if none is better by more than noise.
pub fn choose(followed: Rule, known: &Known, situations: &[Situation], noise: f64) -> Option<Choice> {
    let ideal = situations.iter().map(Situation::ideal).sum::<f64>() / situations.len() as f64;
    let tried: Vec<(Rule, Cutting, Outcome)> = Rule::ALL
        .into_iter()
        .filter(|rule| *rule == followed || is_distinct(*rule))
        .filter_map(|rule| {
            let cutting = rule.cutting(known);
            let outcome = mean(situations.iter().map(|situation| simulate(&cutting, situation, MOST_CHUNKS)))?;
            Some((rule, cutting, outcome))
        })
        .collect();
    let best = tried.iter().min_by(|one, other| one.2.seconds.total_cmp(&other.2.seconds))?;
    let now = tried.iter().find(|(rule, ..)| *rule == followed);
    let chosen = now.filter(|now| best.2.seconds >= now.2.seconds * (1.0 - noise)).unwrap_or(best);
    let (rule, cutting, outcome) = chosen.clone();
    let others = [Rule::Static, Rule::Factoring2, Rule::DynamicFactoring, followed, best.0];
    let mut others: Vec<&(Rule, Cutting, Outcome)> = tried.iter().filter(|(one, ..)| *one != rule && others.contains(one)).collect();
    others.sort_by(|one, other| one.2.seconds.total_cmp(&other.2.seconds));
    let others: Vec<String> = others.iter().map(|(rule, _, outcome)| format!("{} {:.2} ms", rule.name(), 1e3 * outcome.seconds)).collect();
    let why = format!(
        "{} would take {:.2} ms in {} chunks ({}; all busy to the end: {:.2} ms), where a task takes {:.3} ms with a deviation of {:.0} % and a chunk costs {:.0} µs; noise is {:.0} %",
        rule.name(),
        1e3 * outcome.seconds,
        outcome.chunks,
        others.join(", "),
        1e3 * ideal,
        1e3 * known.mean,
        100.0 * known.deviation / known.mean,
        1e6 * known.overhead,
        100.0 * noise
    );
    Some(Choice { rule, cutting, outcome, why })
}

/// In simulation, where what is known stays, weights that are measured more often are the same.
fn is_distinct(rule: Rule) -> bool {
    !matches!(rule, Rule::Weighted | Rule::AdaptiveWeightedByBatch | Rule::AdaptiveWeightedByChunk)
}

fn mean(outcomes: impl Iterator<Item = Option<Outcome>>) -> Option<Outcome> {
    let outcomes: Vec<Outcome> = outcomes.collect::<Option<_>>()?;
    let count = outcomes.len() as f64;
    let seconds = outcomes.iter().map(|outcome| outcome.seconds).sum::<f64>() / count;
    let chunks = (outcomes.iter().map(|outcome| outcome.chunks).sum::<u64>() as f64 / count).round() as u64;
    (count > 0.0).then_some(Outcome { seconds, chunks })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Costs, Worker};

    fn known(workers: usize, deviation: f64, overhead: f64) -> Known {
        let worker = Worker { weight: 1.0, mean: 1e-3, deviation };
        Known { tasks: 1000, mean: 1e-3, deviation, overhead, least: 1, workers: vec![worker; workers] }
    }

    fn situation(parts: &[f64], workers: usize, latency: f64) -> Situation {
        Situation { costs: Costs::of_parts(1000, parts), slowness: vec![1.0; workers], latency, service: 0.0, least: 1 }
    }

    #[test]
    fn equal_tasks_and_costly_chunks_are_cut_as_few_times_as_possible() {
        let choice = choose(Rule::Factoring2, &known(4, 0.0, 0.01), &[situation(&[1.0], 4, 0.01)], 0.01).expect("a choice");
        assert_eq!((choice.outcome.chunks, choice.cutting.weights.len()), (4, 0), "{}", choice.why);
        assert!(choice.why.contains("FAC2"), "{}", choice.why);
    }

    #[test]
    fn tasks_that_are_long_at_first_are_not_cut_in_equal_parts() {
        let followed = Rule::Static;
        let choice = choose(followed, &known(4, 0.6e-3, 1e-5), &[situation(&[0.9, 0.05, 0.03, 0.02], 4, 1e-5)], 0.01).expect("a choice");
        assert_ne!(choice.rule, followed);
        assert!(choice.outcome.seconds < 0.3, "{}", choice.why);
    }

    #[test]
    fn a_rule_that_is_as_good_as_the_best_stays() {
        for followed in [Rule::Factoring2, Rule::Trapezoid, Rule::DynamicFactoring, Rule::AdaptiveWeightedByChunk] {
            let choice = choose(followed, &known(4, 0.1e-3, 1e-7), &[situation(&[0.5, 0.5], 4, 1e-7)], 0.01).expect("a choice");
            assert_eq!(choice.rule, followed, "{}", choice.why);
        }
    }

    #[test]
    fn without_anything_seen_there_is_no_choice() {
        assert_eq!(choose(Rule::Static, &known(4, 0.0, 0.0), &[], 0.01), None);
    }

    #[test]
    fn noise_is_how_much_simulations_differ_in_being_wrong() {
        let choice = choose(Rule::Static, &known(4, 0.0, 0.0), &[situation(&[1.0], 4, 0.0)], 0.01).expect("a choice");
        let mut fit = Fit::default();
        assert_eq!(fit.noise(), UNKNOWN_NOISE);
        fit.expect(&choice, choice.rule);
        (0..3).for_each(|_| fit.measured(0.5));
        assert_eq!(fit.noise(), LEAST_NOISE, "twice what was expected, always");
        fit.measured(0.6);
        assert!((fit.noise() - 0.1 / 1.1).abs() < 1e-9);
        fit.expect(&choice, Rule::One);
        assert_eq!(fit.noise(), UNKNOWN_NOISE);
    }
}
