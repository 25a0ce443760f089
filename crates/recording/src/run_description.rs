//! `run.json`: what `sintonia record` knows about a run before it starts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::definitions::{FORMAT_VERSION, LIVE_DIR};
use crate::error::{Error, WithPath};
use crate::json;

/// File name inside the live directory.
const FILE_NAME: &str = "run.json";

/// A run as requested by the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunDescription {
    /// Format version of the files that its processes write.
    pub format: u32,
    /// The command.
    #[serde(default)]
    pub command: Vec<String>,
    /// Start time in seconds since the Unix epoch.
    #[serde(default)]
    pub started_s: f64,
    /// Parameters given by the user with `--param`.
    #[serde(default)]
    pub parameters: BTreeMap<String, f64>,
    /// Whether only totals are recorded.
    #[serde(default)]
    pub profile: bool,
}

impl Default for RunDescription {
    fn default() -> RunDescription {
        RunDescription { format: FORMAT_VERSION, command: Vec::new(), started_s: 0.0, parameters: BTreeMap::new(), profile: false }
    }
}

impl RunDescription {
    /// Writes it into a recording, creating the live directory if necessary.
    pub fn write(&self, recording: &Path) -> Result<(), Error> {
        let live = recording.join(LIVE_DIR);
        fs::create_dir_all(&live).with_path(&live)?;
        json::write(&live.join(FILE_NAME), self)
    }

    /// Reads it from an unsealed recording; `None` if it does not exist.
    pub fn read(recording: &Path) -> Result<Option<RunDescription>, Error> {
        let path = recording.join(LIVE_DIR).join(FILE_NAME);
        if path.exists() { json::read(&path).map(Some) } else { Ok(None) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(RunDescription::read(folder.path()).unwrap(), None);
        let run = RunDescription {
            command: vec!["mpirun".into(), "./a b".into()],
            parameters: [("n".into(), 4096.0)].into(),
            ..RunDescription::default()
        };
        run.write(folder.path()).unwrap();
        assert_eq!(RunDescription::read(folder.path()).unwrap(), Some(run));
    }

    #[test]
    fn a_newer_run_is_refused_by_name_of_both_formats() {
        let folder = tempfile::tempdir().unwrap();
        RunDescription { format: FORMAT_VERSION + 1, ..RunDescription::default() }.write(folder.path()).unwrap();
        let error = RunDescription::read(folder.path()).unwrap_err().to_string();
        assert!(error.contains(&format!("format {}", FORMAT_VERSION + 1)) && error.contains(&format!("up to {FORMAT_VERSION}")), "{error}");
    }
}
