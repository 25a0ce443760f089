//! Compares two settings that are measured in turns: the ratio of their times with an interval, and the verdict.
//!
//! A *block* is one turn at the beginning, one with the change, one at the beginning again. The logarithm of its ratio is the time with the
//! change against the geometric mean of both others, so a steady drift cancels. Blocks are independent of each other: Student's t gives the
//! interval. The trial is looked at several times and ends as soon as it is decided; the level of each look is Pocock's, so that all looks
//! together hold at 95 %. All three times must come from equally many iterations in the same way, or noise alone makes a difference.

use sintonia_fit::student_quantile;

/// Numbers of blocks after which the trial is looked at.
const LOOKS: [usize; 5] = [3, 5, 8, 12, 17];
/// Two-sided error of one look, such that all together have 5 % (Pocock 1977, five looks).
const ERROR_PER_LOOK: f64 = 0.0158;
/// A smaller gain does not pay: it is less than what a machine varies by from day to day.
pub const MIN_GAIN: f64 = 0.01;
/// Two blocks with at least this ratio are harm, without waiting for a third.
const CLEAR_HARM: f64 = 1.25;

/// A ratio of times, changed to beginning, with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeRatio {
    /// The estimate: below 1 the change is faster.
    pub ratio: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
}

/// Result of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparisonOutcome {
    /// Faster, beyond noise.
    Pays,
    /// Not faster beyond noise.
    NoGain,
    /// Slower, beyond noise.
    Harms,
}

/// A comparison in progress.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PairedTrial {
    /// Logarithms of the ratios of all blocks.
    blocks: Vec<f64>,
}

impl PairedTrial {
    /// Adds a block: the time per iteration at the beginning, with the change, and at the beginning again. Times that are not positive are
    /// ignored.
    pub fn add_block(&mut self, before: f64, changed: f64, after: f64) {
        let log_ratio = changed.ln() - (before.ln() + after.ln()) / 2.0;
        if log_ratio.is_finite() {
            self.blocks.push(log_ratio);
        }
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The ratio, from two blocks on.
    pub fn ratio(&self) -> Option<TimeRatio> {
        let count = self.blocks.len() as f64;
        if count < 2.0 {
            return None;
        }
        let mean = self.blocks.iter().sum::<f64>() / count;
        let variance = self.blocks.iter().map(|block| (block - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let half = student_quantile(1.0 - ERROR_PER_LOOK / 2.0, count - 1.0) * (variance / count).sqrt();
        Some(TimeRatio { ratio: mean.exp(), low: (mean - half).exp(), high: (mean + half).exp() })
    }

    /// The outcome, once there is one: `None` if another block is needed.
    pub fn outcome(&self) -> Option<ComparisonOutcome> {
        let TimeRatio { ratio, low, high } = self.ratio()?;
        let is_clear = |block: &f64| *block >= CLEAR_HARM.ln();
        if self.blocks.len() == 2 && self.blocks.iter().all(is_clear) {
            return Some(ComparisonOutcome::Harms);
        }
        let is_last = self.blocks.len() >= LOOKS[LOOKS.len() - 1];
        if !LOOKS.contains(&self.blocks.len()) && !is_last {
            return None;
        }
        match () {
            () if high < 1.0 && ratio <= 1.0 - MIN_GAIN => Some(ComparisonOutcome::Pays),
            () if low > 1.0 => Some(ComparisonOutcome::Harms),
            // No gain that pays is possible any more.
            () if is_last || low > 1.0 - MIN_GAIN => Some(ComparisonOutcome::NoGain),
            () => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times with relative noise, occasional long iterations and a drift per turn.
    struct Machine {
        state: u64,
        noise: f64,
        drift: f64,
        turns: f64,
    }

    impl Machine {
        fn new(seed: u64, noise: f64, drift: f64) -> Machine {
            Machine { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, noise, drift, turns: 0.0 }
        }

        fn uniform(&mut self) -> f64 {
            self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.state >> 11) as f64 / (1u64 << 53) as f64
        }

        /// A turn of a program that takes this time.
        fn turn(&mut self, time: f64) -> f64 {
            self.turns += 1.0;
            let spike = if self.noise > 0.0 && self.uniform() < 0.02 { 1.5 } else { 1.0 };
            let normal = (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0;
            time * spike * (1.0 + self.noise * normal).max(0.1) * (1.0 + self.drift).powf(self.turns)
        }

        fn trial(&mut self, changed: f64) -> (ComparisonOutcome, PairedTrial) {
            let mut trial = PairedTrial::default();
            loop {
                let (before, with, after) = (self.turn(1.0), self.turn(changed), self.turn(1.0));
                trial.add_block(before, with, after);
                if let Some(outcome) = trial.outcome() {
                    return (outcome, trial);
                }
            }
        }
    }

    /// Share of an outcome over many trials.
    fn share(wanted: ComparisonOutcome, changed: f64, noise: f64, drift: f64) -> f64 {
        let is_wanted = |seed: &u64| Machine::new(*seed, noise, drift).trial(changed).0 == wanted;
        (1..=500).filter(is_wanted).count() as f64 / 500.0
    }

    #[test]
    fn a_change_without_effect_seldom_pays() {
        for noise in [0.005, 0.03, 0.2] {
            let false_gains = share(ComparisonOutcome::Pays, 1.0, noise, 0.0);
            assert!(false_gains < 0.035, "{noise}: {false_gains}");
        }
    }

    #[test]
    fn a_drift_is_no_gain() {
        for drift in [-0.05, -0.01, 0.01, 0.05] {
            assert!(share(ComparisonOutcome::Pays, 1.0, 0.03, drift) < 0.035, "{drift}");
            assert!(share(ComparisonOutcome::Harms, 1.0, 0.03, drift) < 0.035, "{drift}");
        }
    }

    #[test]
    fn gain_and_harm_are_found() {
        assert!(share(ComparisonOutcome::Pays, 0.8, 0.03, 0.02) > 0.98);
        assert!(share(ComparisonOutcome::Pays, 0.95, 0.02, 0.0) > 0.8);
        // A look with a disturbed block may end as no gain, which is taken back as well.
        assert!(share(ComparisonOutcome::Harms, 1.2, 0.03, -0.02) > 0.9);
    }

    #[test]
    fn clear_harm_ends_after_two_blocks_and_clear_gain_after_three() {
        assert_eq!(Machine::new(1, 0.01, 0.0).trial(2.0).1.blocks(), 2);
        assert_eq!(Machine::new(1, 0.01, 0.0).trial(0.5).1.blocks(), 3);
    }

    #[test]
    fn the_interval_holds_the_truth() {
        let holds = |seed: &u64| {
            let ratio = Machine::new(*seed, 0.03, 0.01).trial(0.7).1.ratio().expect("a ratio");
            ratio.low <= 0.7 && 0.7 <= ratio.high
        };
        let share = (1..=500).filter(holds).count() as f64 / 500.0;
        assert!(share > 0.94, "{share}");
    }

    #[test]
    fn times_that_are_none_are_ignored() {
        let mut trial = PairedTrial::default();
        trial.add_block(0.0, 1.0, 1.0);
        trial.add_block(1.0, f64::NAN, 1.0);
        assert_eq!((trial.blocks(), trial.ratio(), trial.outcome()), (0, None, None));
    }
}
