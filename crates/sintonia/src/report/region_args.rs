//! The options that select a part of the run.

use std::str::FromStr;

use sintonia_insight::region_of_interest::{RegionOfInterest, RegionOfInterestError};
use sintonia_program::region::{RegionSelection, TimeBound};
use sintonia_recording::Recording;

use crate::Error;

/// Part of the run that all figures are about.
#[derive(clap::Args)]
#[command(next_help_heading = "Part of the run [default: the whole run]")]
pub(super) struct RegionArgs {
    /// From this time on: seconds since the run began, or a percentage of it, such as 1.5 or 20%
    #[arg(long, value_name = "TIME")]
    from: Option<TimeArg>,
    /// Up to this time
    #[arg(long, value_name = "TIME")]
    to: Option<TimeArg>,
    /// Iterations of the main loop, numbered from 0: 10..20 (without 20), 10.., ..20, or one
    #[arg(long, value_name = "A..B", conflicts_with_all = ["from", "to"])]
    iterations: Option<IterationsArg>,
    /// A phase of the program, by its name or its number in `--all`
    #[arg(long, value_name = "PHASE", conflicts_with_all = ["from", "to", "iterations"])]
    phase: Option<String>,
    /// MPI calls below a function, and the computation between them
    #[arg(long, value_name = "FUNCTION", conflicts_with_all = ["from", "to", "iterations", "phase"])]
    call_path: Option<String>,
}

#[derive(Clone, Copy)]
struct TimeArg(TimeBound);

impl FromStr for TimeArg {
    type Err = String;

    fn from_str(text: &str) -> Result<TimeArg, String> {
        let wrong = || "give seconds, such as 1.5, or a percentage, such as 20%".to_owned();
        let number =
            |digits: &str| digits.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0).ok_or_else(wrong);
        match text.strip_suffix('%') {
            Some(digits) => Ok(TimeArg(TimeBound::Share(number(digits)? / 100.0))),
            None => Ok(TimeArg(TimeBound::Seconds(number(text.strip_suffix('s').unwrap_or(text))?))),
        }
    }
}

#[derive(Clone, Copy)]
struct IterationsArg {
    first: u64,
    end: Option<u64>,
}

impl FromStr for IterationsArg {
    type Err = String;

    fn from_str(text: &str) -> Result<IterationsArg, String> {
        let number = |digits: &str| digits.parse::<u64>().map_err(|_| "give A..B, such as 10..20, or one number".to_owned());
        let iterations = match text.split_once("..") {
            None => IterationsArg { first: number(text)?, end: Some(number(text)?.saturating_add(1)) },
            Some((first, end)) => IterationsArg {
                first: if first.is_empty() { 0 } else { number(first)? },
                end: if end.is_empty() { None } else { Some(number(end)?) },
            },
        };
        match iterations.end {
            Some(end) if end <= iterations.first => Err("the second number must be greater than the first".into()),
            _ => Ok(iterations),
        }
    }
}

impl RegionArgs {
    /// The selected part; `None` for the whole run.
    pub(super) fn selection(&self) -> Option<RegionSelection> {
        let time = || {
            let [from, to] = [self.from, self.to].map(|bound| bound.map(|TimeArg(bound)| bound));
            (from.is_some() || to.is_some()).then_some(RegionSelection::Time { from, to })
        };
        let iterations = self.iterations.map(|IterationsArg { first, end }| RegionSelection::Iterations { first, end });
        let phase = self.phase.clone().map(RegionSelection::Phase);
        iterations.or(phase).or(self.call_path.clone().map(RegionSelection::CallPath)).or_else(time)
    }
}

/// A part of a recording with this name.
pub(super) fn select(name: &str, recording: Recording, selection: &RegionSelection) -> Result<RegionOfInterest, Error> {
    RegionOfInterest::select(recording, selection).map_err(|error| match error {
        RegionOfInterestError::Region(error) => Error::Other(format!("{name}: {error}")),
        RegionOfInterestError::Analysis(error) => Error::Replay(error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_or_a_percentage() {
        let bound = |text: &str| text.parse::<TimeArg>().map(|TimeArg(bound)| bound);
        assert_eq!(bound("1.5"), Ok(TimeBound::Seconds(1.5)));
        assert_eq!(bound("2s"), Ok(TimeBound::Seconds(2.0)));
        assert_eq!(bound("20%"), Ok(TimeBound::Share(0.2)));
        assert!(["", "x", "-1", "nan", "%", "1h"].iter().all(|text| bound(text).is_err()));
    }

    #[test]
    fn iterations_are_a_range_without_its_end() {
        let range = |text: &str| text.parse::<IterationsArg>().map(|range| (range.first, range.end)).ok();
        assert_eq!(range("10..20"), Some((10, Some(20))));
        assert_eq!(range("10.."), Some((10, None)));
        assert_eq!(range("..20"), Some((0, Some(20))));
        assert_eq!(range("7"), Some((7, Some(8))));
        assert_eq!([range("20..10"), range("5..5"), range("a"), range("1...2")], [None; 4]);
    }
}
