//! `run.json`: what `sintonia record` knows of a run before it starts it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::definitions::{FORMAT, LIVE_FOLDER};
use crate::error::{At, Error};
use crate::json;

/// The name of the file, inside the folder where processes write.
const FILE: &str = "run.json";

/// A run, as it was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The format of the files that its processes write.
    pub format: u32,
    /// The command.
    #[serde(default)]
    pub command: Vec<String>,
    /// When it was started, in seconds since 1970.
    #[serde(default)]
    pub started_s: f64,
    /// Parameters given by the user with `--param`.
    #[serde(default)]
    pub parameters: BTreeMap<String, f64>,
    /// Whether only sums are kept.
    #[serde(default)]
    pub profile: bool,
}

impl Default for Run {
    fn default() -> Run {
        Run { format: FORMAT, command: Vec::new(), started_s: 0.0, parameters: BTreeMap::new(), profile: false }
    }
}

impl Run {
    /// Writes it into a recording, whose folder for processes is made if need be.
    pub fn write(&self, recording: &Path) -> Result<(), Error> {
        let live = recording.join(LIVE_FOLDER);
        fs::create_dir_all(&live).at(&live)?;
        json::write(&live.join(FILE), self)
    }

    /// Reads it from a recording that is not sealed yet; `None` if it is not there.
    pub fn read(recording: &Path) -> Result<Option<Run>, Error> {
        let path = recording.join(LIVE_FOLDER).join(FILE);
        if path.exists() { json::read(&path).map(Some) } else { Ok(None) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Run::read(folder.path()).unwrap(), None);
        let run = Run { command: vec!["mpirun".into(), "./a b".into()], parameters: [("n".into(), 4096.0)].into(), ..Run::default() };
        run.write(folder.path()).unwrap();
        assert_eq!(Run::read(folder.path()).unwrap(), Some(run));
    }

    #[test]
    fn a_newer_run_is_refused_by_name_of_both_formats() {
        let folder = tempfile::tempdir().unwrap();
        Run { format: FORMAT + 1, ..Run::default() }.write(folder.path()).unwrap();
        let error = Run::read(folder.path()).unwrap_err().to_string();
        assert!(error.contains(&format!("format {}", FORMAT + 1)) && error.contains(&format!("up to {FORMAT}")), "{error}");
    }
}
