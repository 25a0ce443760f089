//! The tuning log: changes with time, old and new value and reason; findings; metrics. Stored as JSON lines in the recording.

use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::tunlet::TunletMetric;

/// Name of the log in the folder of a recording.
pub const LOG_FILE: &str = "tuning.jsonl";

/// Why a log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A line is invalid.
    #[error("{}:{line}: not a line of a tuning log: {why}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// The cause.
        why: String,
    },
}

/// Reads the log of a recorded run; none if it was not tuned.
pub fn read_run_log(recording: &Path) -> Result<Option<Vec<TuningLogEntry>>, LogError> {
    read_log(&recording.join(LOG_FILE))
}

/// Reads a log, which may still be growing; none if there is no such file.
pub fn read_log(path: &Path) -> Result<Option<Vec<TuningLogEntry>>, LogError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(LogError::Unreadable { path: path.into(), source }),
    };
    let entry = |(index, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| LogError::Line { path: path.into(), line: index + 1, why: error.to_string() })
    };
    let (lines, rest) = text.split_at(text.rfind('\n').map_or(0, |end| end + 1));
    let mut entries = lines.lines().enumerate().map(entry).collect::<Result<Vec<TuningLogEntry>, _>>()?;
    // A line without a newline may be incomplete; it counts only if it parses.
    entries.extend(serde_json::from_str::<TuningLogEntry>(rest).ok());
    Ok(Some(entries))
}

/// When the tuning began, in seconds since 1970; `None` if the log does not tell.
pub fn start_time(log: &[TuningLogEntry]) -> Option<f64> {
    log.iter().find_map(|entry| match entry {
        TuningLogEntry::Began { since_1970_s, .. } => Some(*since_1970_s),
        _ => None,
    })
}

/// The entries of a log between two points in time, in seconds since 1970; all if the log does not tell when the tuning began.
pub fn entries_between(log: Vec<TuningLogEntry>, times: RangeInclusive<f64>) -> Vec<TuningLogEntry> {
    let Some(start) = start_time(&log) else { return log };
    log.into_iter().filter(|entry| times.contains(&(start + entry.time_s()))).collect()
}

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum TuningLogEntry {
    /// Start of the tuning.
    Began {
        /// Seconds since the start of the tuning: 0.
        time_s: f64,
        /// Unix time of the start, by the clock of the analyzer's host.
        since_1970_s: f64,
    },
    /// A change.
    Change(TuningDecision),
    /// Result of a comparison in turns.
    Verdict(TuningVerdict),
    /// A finding of a tunlet.
    Finding {
        /// Seconds since the start of the tuning.
        time_s: f64,
        /// The tunlet.
        tunlet: String,
        /// The finding.
        what: String,
    },
    /// Metrics of a tunlet at a time.
    Figures {
        /// Seconds since the start of the tuning.
        time_s: f64,
        /// The tunlet.
        tunlet: String,
        /// The metrics.
        figures: Vec<TunletMetric>,
    },
    /// A problem.
    Problem {
        /// Seconds since the start of the tuning.
        time_s: f64,
        /// The problem.
        what: String,
    },
}

impl TuningLogEntry {
    /// Seconds since the start of the tuning.
    pub fn time_s(&self) -> f64 {
        match self {
            TuningLogEntry::Began { time_s, .. }
            | TuningLogEntry::Finding { time_s, .. }
            | TuningLogEntry::Figures { time_s, .. }
            | TuningLogEntry::Problem { time_s, .. } => *time_s,
            TuningLogEntry::Change(decision) => decision.time_s,
            TuningLogEntry::Verdict(verdict) => verdict.time_s,
        }
    }

    /// The change, if it is one that was decided: not a turn of a comparison.
    pub fn decision(&self) -> Option<&TuningDecision> {
        match self {
            TuningLogEntry::Change(decision) if !decision.turn => Some(decision),
            _ => None,
        }
    }

    /// The result of a comparison, if it is one.
    pub fn verdict(&self) -> Option<&TuningVerdict> {
        match self {
            TuningLogEntry::Verdict(verdict) => Some(verdict),
            _ => None,
        }
    }
}

/// A change that was made or refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TuningDecision {
    /// Seconds since the start of the tuning.
    pub time_s: f64,
    /// The tunlet.
    pub tunlet: String,
    /// What was changed, usually a variable.
    pub action: String,
    /// The process; none if refused for all of them.
    pub rank: Option<u32>,
    /// The old value; none before the process has answered.
    pub old: Option<f64>,
    /// The new value.
    pub new: f64,
    /// The reason.
    pub why: String,
    /// Why it was refused, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Whether it is one turn of a comparison, and not a decision.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub turn: bool,
}

/// Whether changes pay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictResult {
    /// They save time beyond noise, and stay.
    Pays,
    /// They do not, and are taken back.
    NoGain,
    /// They cost time beyond noise, and are taken back.
    Harms,
    /// The program, or its iterations, ended before it was decided.
    Undecided,
}

/// Result of a comparison of changes with the initial values, in turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TuningVerdict {
    /// Seconds since the start of the tuning.
    pub time_s: f64,
    /// The tunlet.
    pub tunlet: String,
    /// The result.
    pub result: VerdictResult,
    /// Share of an iteration's time that is saved, if it is known; negative if time is lost.
    pub gain: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<(f64, f64)>,
    /// Number of comparisons with the beginning.
    pub comparisons: usize,
    /// Number of iterations that counted.
    pub iterations: u64,
    /// What was compared.
    pub values: Vec<ComparedValue>,
    /// All of it as a sentence.
    pub what: String,
}

/// A value that was compared with the initial one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparedValue {
    /// The variable.
    pub action: String,
    /// Its initial value.
    pub initial: f64,
    /// The changed value.
    pub changed: f64,
}

impl TuningVerdict {
    /// Writes the sentence.
    pub(crate) fn with_sentence(self) -> TuningVerdict {
        let value = |one: &ComparedValue| format!("{} = {}", one.action, one.changed);
        let values = self.values.iter().map(value).collect::<Vec<_>>().join(", ");
        let amount = |gain: f64| format!("{:.1} % {}", 100.0 * gain.abs(), if gain < 0.0 { "more" } else { "less" });
        let known = match (self.gain, self.interval) {
            (Some(_), Some((low, high))) if matches!(self.result, VerdictResult::NoGain | VerdictResult::Undecided) => {
                format!("between {} and {} time per iteration (95 %)", amount(low), amount(high))
            }
            (Some(gain), Some((low, high))) => {
                format!("{} time per iteration (95 %: {} to {})", amount(gain), amount(low), amount(high))
            }
            _ => "too few iterations".into(),
        };
        let basis = format!("{} comparisons in turn with the initial values, {} iterations", self.comparisons, self.iterations);
        let outcome = match self.result {
            VerdictResult::Pays => "pays and is kept",
            VerdictResult::NoGain => "has no gain and is taken back",
            VerdictResult::Harms => "harms and is taken back",
            VerdictResult::Undecided => "is undecided, there are no more iterations",
        };
        TuningVerdict { what: format!("{values} {outcome}: {known}; {basis}"), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(text: &str) -> Result<Option<Vec<TuningLogEntry>>, LogError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOG_FILE);
        std::fs::write(&path, text).unwrap();
        read_log(&path)
    }

    const LINE: &str = r#"{"kind":"problem","time_s":1.0,"what":"late"}"#;

    #[test]
    fn entries_are_found_by_the_time_of_day() {
        let at = |time_s: f64| TuningLogEntry::Problem { time_s, what: String::new() };
        let log = vec![TuningLogEntry::Began { time_s: 0.0, since_1970_s: 100.0 }, at(1.0), at(2.0), at(3.0)];
        assert_eq!(entries_between(log.clone(), 101.5..=102.5), [at(2.0)]);
        assert_eq!(entries_between(log[1..].to_vec(), 101.5..=102.5).len(), 3, "without a beginning, all");
    }

    #[test]
    fn an_incomplete_last_line_is_ignored() {
        assert_eq!(log(&format!("{LINE}\n{}", &LINE[..20])).unwrap().unwrap().len(), 1);
        assert_eq!(log(&format!("{LINE}\n{LINE}")).unwrap().unwrap().len(), 2);
        assert_eq!(log("").unwrap().unwrap(), []);
    }

    #[test]
    fn an_invalid_line_is_reported_with_its_number() {
        let error = log(&format!("{LINE}\n{}\n{LINE}\n", &LINE[..20])).unwrap_err().to_string();
        assert!(error.contains(&format!("{LOG_FILE}:2:")), "{error}");
    }
}
