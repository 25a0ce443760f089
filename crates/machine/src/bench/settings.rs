//! Settings of a launch, as one word that any launcher passes on unchanged.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What a launch measures, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BenchSettings {
    /// Seed of the random order of measurements.
    pub seed: u64,
    /// Largest message.
    pub max_bytes: u64,
    /// Time budget of the launch, with the start and the end of the launcher.
    pub budget: Duration,
    /// When it ends, since 1970.
    pub ends: Duration,
    /// Whether to measure fewer sizes.
    pub quick: bool,
}

impl fmt::Display for BenchSettings {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let BenchSettings { seed, max_bytes, budget, ends, quick } = self;
        let how = if *quick { "quick" } else { "thorough" };
        write!(out, "{seed}:{max_bytes}:{}:{}:{how}", budget.as_millis(), ends.as_millis())
    }
}

impl BenchSettings {
    /// The time for measuring that is left: the launcher has taken some, and needs some to end.
    pub(super) fn time_left(&self) -> Duration {
        self.time_left_at(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
    }

    fn time_left_at(&self, now: Duration) -> Duration {
        const LONGEST_END: Duration = Duration::from_secs(2);
        let reserve = (self.budget / 10).min(LONGEST_END);
        // On another host the clock may be wrong, and starting processes does not take most of the budget.
        let left = self.ends.saturating_sub(now).clamp(self.budget / 4, self.budget);
        left - reserve
    }
}

/// A word that Sintonia did not write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a setting that `sintonia bench` passes to its processes")]
pub struct BenchSettingsError(String);

impl FromStr for BenchSettings {
    type Err = BenchSettingsError;

    fn from_str(word: &str) -> Result<BenchSettings, BenchSettingsError> {
        let parse = || {
            let [seed, max_bytes, budget, ends, how] = word.split(':').collect::<Vec<_>>()[..] else { return None };
            let quick = ["thorough", "quick"].iter().position(|known| *known == how)? == 1;
            let [budget, ends] = [Duration::from_millis(budget.parse().ok()?), Duration::from_millis(ends.parse().ok()?)];
            Some(BenchSettings { seed: seed.parse().ok()?, max_bytes: max_bytes.parse().ok()?, budget, ends, quick })
        };
        parse().ok_or_else(|| BenchSettingsError(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_survive_being_a_word() {
        let settings = settings(1500, 9000);
        assert_eq!(settings.to_string(), "7:4096:1500:9000:quick");
        assert_eq!("7:4096:1500:9000:quick".parse(), Ok(settings));
        assert!("7:4096".parse::<BenchSettings>().is_err() && "7:4096:1:2:slow".parse::<BenchSettings>().is_err());
    }

    fn settings(budget: u64, ends: u64) -> BenchSettings {
        let [budget, ends] = [budget, ends].map(Duration::from_millis);
        BenchSettings { seed: 7, max_bytes: 4096, budget, ends, quick: true }
    }

    #[test]
    fn the_start_of_the_launcher_is_part_of_the_budget() {
        let left = |now: u64| settings(10_000, 100_000).time_left_at(Duration::from_millis(now)).as_millis();
        assert_eq!(left(90_000), 9000, "it began at once, and the launcher has a second to end");
        assert_eq!(left(93_000), 6000);
        assert_eq!([left(1000), left(200_000)], [9000, 1500], "the clock of another host is wrong");
    }
}
