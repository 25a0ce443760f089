//! The repetitions of one point, in the rounds in which they were made: which of them count, and how disturbed they were.

use serde::{Deserialize, Serialize};
use sintonia_fit::sample::{SampleSummary, median};

/// Seconds or shares, for each timed quantity.
pub(super) type TimingValues = Vec<Vec<f64>>;

/// Repetitions that were made in a row.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct TimedRound {
    /// Values of each timed quantity.
    pub values: TimingValues,
    /// The share of the round that one of its processes waited for a core.
    pub core_wait: f64,
}

/// All rounds of a point.
#[derive(Debug, Default)]
pub(super) struct Repetitions(Vec<TimedRound>);

/// What counts of one quantity.
#[derive(Debug, PartialEq)]
pub(super) struct CountedValues {
    pub values: Vec<f64>,
    /// How much longer the typical value is than one without disturbance, as far as that is known.
    pub disturbance: f64,
}

/// Rounds in which a process waited longer for a core, as a share, are repeated.
const DISTURBED_SHARE: f64 = 0.1;
/// Rounds whose medians differ by this factor were disturbed by something else.
const REPEATABLE: f64 = 1.5;
/// Shorter times differ because the clock ticks.
const CLOCK_NOISE: f64 = 1e-6;

impl Repetitions {
    pub(super) fn add(&mut self, round: TimedRound) {
        self.0.push(round);
    }

    /// Whether the medians of all quantities are known precisely enough, from undisturbed rounds.
    pub(super) fn is_precise(&self) -> bool {
        /// Relative width of a median's interval that is precise enough.
        const SHARP: f64 = 0.02;
        /// More repetitions than this do not help.
        const MOST: usize = 1000;
        let known = |counted: &CountedValues| {
            counted.values.len() >= MOST || SampleSummary::from_values(&counted.values).is_ok_and(|summary| summary.is_precise(SHARP))
        };
        let counted = self.counted();
        self.undisturbed().next().is_some() && !counted.is_empty() && counted.iter().all(known)
    }

    fn undisturbed(&self) -> impl Iterator<Item = &TimedRound> {
        self.0.iter().filter(|round| round.core_wait <= DISTURBED_SHARE)
    }

    /// The values that count, for each quantity: those of undisturbed rounds, or all if there is no such round.
    pub(super) fn counted(&self) -> Vec<CountedValues> {
        let undisturbed: Vec<&TimedRound> = self.undisturbed().collect();
        let rounds = if undisturbed.is_empty() { self.0.iter().collect() } else { undisturbed.clone() };
        let quantities = rounds.iter().map(|round| round.values.len()).max().unwrap_or(0);
        let of = |index: usize| {
            let rounds: Vec<&Vec<f64>> = rounds.iter().filter_map(|round| round.values.get(index)).collect();
            let values: Vec<f64> = rounds.iter().flat_map(|values| values.iter().copied()).collect();
            let disturbance = if undisturbed.is_empty() { excess_over_least(&values) } else { disagreement(&rounds) };
            CountedValues { values, disturbance }
        };
        (0..quantities).map(of).collect()
    }
}

/// How much longer the median is than the least value: each value was disturbed, the least of them the least.
fn excess_over_least(values: &[f64]) -> f64 {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    excess(median(values).unwrap_or(0.0), least)
}

/// How much longer the typical round took than the quickest, if that is more than rounds usually differ.
fn disagreement(rounds: &[&Vec<f64>]) -> f64 {
    let medians: Vec<f64> = rounds.iter().filter_map(|values| median(values).ok()).collect();
    let excess = excess_over_least(&medians);
    if excess > REPEATABLE - 1.0 { excess } else { 0.0 }
}

fn excess(typical: f64, least: f64) -> f64 {
    if typical > CLOCK_NOISE { (typical / least.max(CLOCK_NOISE / 10.0) - 1.0).max(0.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repetitions(rounds: &[(&[f64], f64)]) -> Repetitions {
        Repetitions(rounds.iter().map(|(values, core_wait)| TimedRound { values: vec![values.to_vec()], core_wait: *core_wait }).collect())
    }

    #[test]
    fn rounds_without_a_core_do_not_count_if_there_are_others() {
        let counted = repetitions(&[(&[9e-3, 4e-6], 0.9), (&[4e-6, 5e-6], 0.0)]).counted();
        assert_eq!(counted, [CountedValues { values: vec![4e-6, 5e-6], disturbance: 0.0 }]);
    }

    #[test]
    fn without_an_undisturbed_round_the_least_says_how_disturbed_the_median_is() {
        let counted = repetitions(&[(&[8e-3, 4e-3], 0.9), (&[4e-3, 2e-3], 0.5)]).counted();
        assert_eq!((counted[0].values.len(), counted[0].disturbance), (4, 1.0));
    }

    #[test]
    fn rounds_that_differ_were_disturbed() {
        assert_eq!(repetitions(&[(&[1e-3], 0.0), (&[4e-3], 0.0), (&[5e-3], 0.0)]).counted()[0].disturbance, 3.0);
        assert_eq!(repetitions(&[(&[1e-3], 0.0), (&[1.1e-3], 0.0), (&[1.2e-3], 0.0)]).counted()[0].disturbance, 0.0);
        assert_eq!(repetitions(&[(&[1e-8], 0.0), (&[4e-8], 0.0)]).counted()[0].disturbance, 0.0, "the clock");
    }

    #[test]
    fn a_point_is_precise_if_undisturbed_rounds_agree() {
        let same = [1e-3; 8];
        assert!(repetitions(&[(&same, 0.0)]).is_precise());
        assert!(!repetitions(&[(&same, 0.5)]).is_precise(), "it is measured again");
        assert!(!Repetitions::default().is_precise());
    }
}
