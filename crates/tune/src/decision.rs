//! The log of a tuning: what was changed, when, from what to what, and why; what was found; and the figures on the way. Kept as lines of
//! JSON beside the recording.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::tunlet::Figure;

/// The name of the log in the folder of a recording.
pub const FILE: &str = "tuning.jsonl";

/// Why a log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line of it.
    #[error("{}:{line}: no line of a tuning's log: {why}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Which line, counted from 1.
        line: usize,
        /// Why.
        why: String,
    },
}

/// The log in a file; none if there is no such file. It may still be growing.
pub fn read(path: &Path) -> Result<Option<Vec<Entry>>, LogError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(LogError::Unreadable { path: path.into(), source }),
    };
    let entry = |(place, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| LogError::Line { path: path.into(), line: place + 1, why: error.to_string() })
    };
    let (lines, rest) = text.split_at(text.rfind('\n').map_or(0, |end| end + 1));
    let mut entries = lines.lines().enumerate().map(entry).collect::<Result<Vec<Entry>, _>>()?;
    // A line without an end is still being written, unless all of it is there.
    entries.extend(serde_json::from_str::<Entry>(rest).ok());
    Ok(Some(entries))
}

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Entry {
    /// The tuning began.
    Began {
        /// Seconds since the beginning of the tuning: 0.
        time_s: f64,
        /// When that was, by the clock of the host that tunes.
        since_1970_s: f64,
    },
    /// A change.
    Change(Decision),
    /// What a tunlet has found out.
    Finding {
        /// Seconds since the beginning of the tuning.
        time_s: f64,
        /// Who found it.
        tunlet: String,
        /// What.
        what: String,
    },
    /// What a tunlet knew at a moment.
    Figures {
        /// Seconds since the beginning of the tuning.
        time_s: f64,
        /// Which tunlet.
        tunlet: String,
        /// The figures.
        figures: Vec<Figure>,
    },
    /// Something is not as it was asked for.
    Problem {
        /// Seconds since the beginning of the tuning.
        time_s: f64,
        /// What.
        what: String,
    },
}

impl Entry {
    /// The change, if it is one.
    pub fn decision(&self) -> Option<&Decision> {
        match self {
            Entry::Change(decision) => Some(decision),
            _ => None,
        }
    }
}

/// A change that was made, or would have been.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Seconds since the beginning of the tuning.
    pub time_s: f64,
    /// Who decided.
    pub tunlet: String,
    /// What was done: a variable's name, mostly.
    pub action: String,
    /// The process; none if it was decided against in all of them.
    pub rank: Option<u32>,
    /// The value before; not known while the program has not answered.
    pub old: Option<f64>,
    /// The value after.
    pub new: f64,
    /// Why.
    pub why: String,
    /// Why it was not done, if it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(text: &str) -> Result<Option<Vec<Entry>>, LogError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        std::fs::write(&path, text).unwrap();
        read(&path)
    }

    const LINE: &str = r#"{"kind":"problem","time_s":1.0,"what":"late"}"#;

    #[test]
    fn a_last_line_that_is_still_being_written_is_left_for_later() {
        assert_eq!(log(&format!("{LINE}\n{}", &LINE[..20])).unwrap().unwrap().len(), 1);
        assert_eq!(log(&format!("{LINE}\n{LINE}")).unwrap().unwrap().len(), 2);
        assert_eq!(log("").unwrap().unwrap(), []);
    }

    #[test]
    fn a_wrong_line_is_told_with_its_number() {
        let error = log(&format!("{LINE}\n{}\n{LINE}\n", &LINE[..20])).unwrap_err().to_string();
        assert!(error.contains(&format!("{FILE}:2:")), "{error}");
    }
}
