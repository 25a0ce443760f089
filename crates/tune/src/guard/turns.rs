//! The order of turns: beginning, change, beginning, and so on, until the trial is decided.

use super::paired::{ComparisonOutcome, PairedTrial};
use crate::statistics::median;

/// Fewest iterations of a turn at the beginning; a turn with the change has twice as many, so that both get the same time.
const MIN_ITERATIONS: usize = 3;
/// Shortest turn at the beginning: a switch takes about a millisecond.
const MIN_TURN_S: f64 = 0.01;
/// A change is left early if its first iteration takes this many times the beginning,
const HOPELESS_AT_ONCE: f64 = 10.0;
/// or both of its first two take this many times the beginning.
const HOPELESS: f64 = 1.5;

/// Whose values the program has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// Those that it began with.
    Beginning,
    /// Those of the tunlet.
    Changed,
}

/// Part of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockPart {
    /// The change is in effect, and the beginning was not measured.
    Lead,
    Before,
    Changed,
    After,
}

/// What follows an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnStep {
    /// The turn continues.
    Stay,
    /// The next turn begins, with other values.
    Switch(Setting),
    /// The trial is decided; the program has its initial values.
    Decided(ComparisonOutcome),
}

/// A trial in turns.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnSequence {
    trial: PairedTrial,
    part: BlockPart,
    /// Seconds of the iterations of this turn.
    times: Vec<f64>,
    /// Time per iteration in the earlier turns of this block.
    before: f64,
    changed: f64,
    iterations: u64,
}

/// Whether a turn is long enough.
fn is_enough(times: &[f64], turns: usize) -> bool {
    times.len() >= turns * MIN_ITERATIONS && times.iter().sum::<f64>() >= turns as f64 * MIN_TURN_S
}

impl TurnSequence {
    /// A trial of a change that is being made; `baseline` are the times of the iterations just before it.
    pub fn new(baseline: &[f64]) -> TurnSequence {
        let needed = (1..=baseline.len()).find(|count| is_enough(&baseline[baseline.len() - count..], 1));
        let before = needed.and_then(|count| median(baseline[baseline.len() - count..].iter().copied()));
        let part = if before.is_some() { BlockPart::Changed } else { BlockPart::Lead };
        let iterations = needed.unwrap_or(0) as u64;
        TurnSequence { trial: PairedTrial::default(), part, times: Vec::new(), before: before.unwrap_or(0.0), changed: 0.0, iterations }
    }

    /// The values of the current turn.
    pub fn setting(&self) -> Setting {
        match self.part {
            BlockPart::Lead | BlockPart::Changed => Setting::Changed,
            BlockPart::Before | BlockPart::After => Setting::Beginning,
        }
    }

    /// The comparison so far.
    pub fn trial(&self) -> &PairedTrial {
        &self.trial
    }

    /// Number of iterations that counted.
    pub fn iterations(&self) -> u64 {
        self.iterations
    }

    /// Handles an iteration that ran entirely in this turn.
    pub fn iteration(&mut self, seconds: f64) -> TurnStep {
        if !(seconds.is_finite() && seconds > 0.0) {
            return TurnStep::Stay;
        }
        self.times.push(seconds);
        self.iterations += 1;
        let is_over = match self.part {
            BlockPart::Changed => is_enough(&self.times, 2) || self.is_hopeless(),
            BlockPart::Lead | BlockPart::Before | BlockPart::After => is_enough(&self.times, 1),
        };
        if is_over { self.end_turn() } else { TurnStep::Stay }
    }

    fn is_hopeless(&self) -> bool {
        let least = self.times.iter().copied().fold(f64::INFINITY, f64::min);
        let limit = if self.times.len() == 1 { HOPELESS_AT_ONCE } else { HOPELESS };
        least > limit * self.before
    }

    fn end_turn(&mut self) -> TurnStep {
        let times = std::mem::take(&mut self.times);
        let of = |times: &[f64]| median(times.iter().copied()).unwrap_or(f64::NAN);
        // The median of more iterations would be smaller where some are disturbed: the long turn counts as two short ones.
        let (time, halves) = (of(&times), (of(&times[..times.len().div_ceil(2)]) * of(&times[times.len() / 2..])).sqrt());
        match self.part {
            BlockPart::Lead => {
                self.part = BlockPart::Before;
                TurnStep::Switch(Setting::Beginning)
            }
            BlockPart::Before => {
                (self.part, self.before) = (BlockPart::Changed, time);
                TurnStep::Switch(Setting::Changed)
            }
            BlockPart::Changed => {
                (self.part, self.changed) = (BlockPart::After, halves);
                TurnStep::Switch(Setting::Beginning)
            }
            BlockPart::After => {
                self.trial.add_block(self.before, self.changed, time);
                self.part = BlockPart::Before;
                self.trial.outcome().map_or(TurnStep::Stay, TurnStep::Decided)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a program until the trial is decided: the outcome, and the iterations with each setting.
    fn run(mut turns: TurnSequence, time: impl Fn(Setting, u64) -> f64) -> (ComparisonOutcome, [u64; 2]) {
        let mut counts = [0; 2];
        loop {
            let setting = turns.setting();
            counts[setting as usize] += 1;
            if let TurnStep::Decided(outcome) = turns.iteration(time(setting, counts[0] + counts[1])) {
                return (outcome, counts);
            }
            assert!(counts[0] + counts[1] < 10_000);
        }
    }

    /// A few percent that differ from iteration to iteration.
    fn wobble(index: u64) -> f64 {
        1.0 + 0.02 * ((index * 7919 % 13) as f64 / 6.0 - 1.0)
    }

    #[test]
    fn a_gain_is_found_and_both_settings_get_the_same_time() {
        let time = |setting, index| wobble(index) * if setting == Setting::Changed { 0.5 } else { 1.0 };
        let (outcome, counts) = run(TurnSequence::new(&[1.0; 8]), time);
        assert_eq!((outcome, counts), (ComparisonOutcome::Pays, [15, 18]));
    }

    #[test]
    fn a_harmful_change_is_left_early() {
        let time = |setting, index| wobble(index) * if setting == Setting::Changed { 3.0 } else { 1.0 };
        let (outcome, counts) = run(TurnSequence::new(&[1.0; 8]), time);
        assert_eq!((outcome, counts[Setting::Changed as usize]), (ComparisonOutcome::Harms, 4));
    }

    #[test]
    fn a_program_that_gets_slower_or_faster_by_itself_has_no_gain() {
        for drift in [0.98f64, 1.02] {
            let time = |_, index| wobble(index) * drift.powi(index as i32);
            assert_eq!(run(TurnSequence::new(&[1.0; 8]), time).0, ComparisonOutcome::NoGain, "{drift}");
        }
    }

    #[test]
    fn disturbances_that_only_add_time_are_no_gain() {
        let mut state = 1u64;
        let mut uniform = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut gains = 0;
        for _ in 0..400 {
            let mut turns = TurnSequence::new(&[]);
            let outcome = loop {
                // An exponential tail, as on a machine with more processes than cores.
                let seconds = 1.0 - 2.0 * (1.0 - uniform()).ln();
                if let TurnStep::Decided(outcome) = turns.iteration(seconds) {
                    break outcome;
                }
            };
            gains += u32::from(outcome == ComparisonOutcome::Pays);
        }
        assert!(gains < 14, "{gains} of 400");
    }

    #[test]
    fn without_a_baseline_the_beginning_is_measured_first() {
        let mut turns = TurnSequence::new(&[0.001; 4]);
        assert_eq!(turns.setting(), Setting::Changed);
        let steps = [1.0; 3].map(|seconds| turns.iteration(seconds));
        assert_eq!(steps, [TurnStep::Stay, TurnStep::Stay, TurnStep::Switch(Setting::Beginning)]);
        assert_eq!(turns.trial().blocks(), 0);
    }

    #[test]
    fn turns_of_short_iterations_last_some_milliseconds() {
        let mut turns = TurnSequence::new(&[0.0001; 200]);
        let count = (1..).find(|_| turns.iteration(0.0001) != TurnStep::Stay).expect("an end");
        assert!((200..=201).contains(&count), "{count}");
    }
}
