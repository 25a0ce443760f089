//! What a launch is told, as one word that any launcher passes on unharmed.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// What a launch measures, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// What the order of the measurements is drawn from.
    pub seed: u64,
    /// The largest message.
    pub max_bytes: u64,
    /// How long the launch may take.
    pub budget: Duration,
    /// Whether fewer sizes are measured.
    pub quick: bool,
}

impl fmt::Display for Settings {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let Settings { seed, max_bytes, budget, quick } = self;
        write!(out, "{seed}:{max_bytes}:{}:{}", budget.as_millis(), if *quick { "quick" } else { "thorough" })
    }
}

/// A word that Sintonia did not write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not what `sintonia bench` tells the processes it starts")]
pub struct BadSettings(String);

impl FromStr for Settings {
    type Err = BadSettings;

    fn from_str(word: &str) -> Result<Settings, BadSettings> {
        let parse = || {
            let [seed, max_bytes, budget, how] = word.split(':').collect::<Vec<_>>()[..] else { return None };
            let quick = ["thorough", "quick"].iter().position(|known| *known == how)? == 1;
            let budget = Duration::from_millis(budget.parse().ok()?);
            Some(Settings { seed: seed.parse().ok()?, max_bytes: max_bytes.parse().ok()?, budget, quick })
        };
        parse().ok_or_else(|| BadSettings(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_survive_being_a_word() {
        let settings = Settings { seed: 7, max_bytes: 4096, budget: Duration::from_millis(1500), quick: true };
        assert_eq!(settings.to_string(), "7:4096:1500:quick");
        assert_eq!("7:4096:1500:quick".parse(), Ok(settings));
        assert!("7:4096".parse::<Settings>().is_err() && "7:4096:1:slow".parse::<Settings>().is_err());
    }
}
