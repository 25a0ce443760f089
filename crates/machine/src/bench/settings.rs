//! Settings of a launch, as one word that any launcher passes on unchanged.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// What a launch measures, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BenchSettings {
    /// Seed of the random order of measurements.
    pub seed: u64,
    /// Largest message.
    pub max_bytes: u64,
    /// Time budget of the launch.
    pub budget: Duration,
    /// Whether to measure fewer sizes.
    pub quick: bool,
}

impl fmt::Display for BenchSettings {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let BenchSettings { seed, max_bytes, budget, quick } = self;
        write!(out, "{seed}:{max_bytes}:{}:{}", budget.as_millis(), if *quick { "quick" } else { "thorough" })
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
            let [seed, max_bytes, budget, how] = word.split(':').collect::<Vec<_>>()[..] else { return None };
            let quick = ["thorough", "quick"].iter().position(|known| *known == how)? == 1;
            let budget = Duration::from_millis(budget.parse().ok()?);
            Some(BenchSettings { seed: seed.parse().ok()?, max_bytes: max_bytes.parse().ok()?, budget, quick })
        };
        parse().ok_or_else(|| BenchSettingsError(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_survive_being_a_word() {
        let settings = BenchSettings { seed: 7, max_bytes: 4096, budget: Duration::from_millis(1500), quick: true };
        assert_eq!(settings.to_string(), "7:4096:1500:quick");
        assert_eq!("7:4096:1500:quick".parse(), Ok(settings));
        assert!("7:4096".parse::<BenchSettings>().is_err() && "7:4096:1:slow".parse::<BenchSettings>().is_err());
    }
}
