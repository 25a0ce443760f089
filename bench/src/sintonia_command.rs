//! Asks Sintonia, as a user does: a command in a folder, and what it says.

use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;

use crate::error::Error;
use crate::mpi::{AS_ROOT, CROWDED};
use crate::paths;

/// Sintonia in a folder of its own, which is removed in the end.
pub(crate) struct SintoniaCommand {
    program: PathBuf,
    pub folder: PathBuf,
}

impl SintoniaCommand {
    /// Makes the folder, empty.
    pub(crate) fn in_folder(name: &str) -> Result<SintoniaCommand, Error> {
        let folder = paths::folder()?.join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).map_err(Error::at(&folder))?;
        Ok(SintoniaCommand { program: paths::sintonia()?, folder })
    }

    /// Runs a command, and gives what it writes to standard output.
    pub(crate) fn run(&self, command: &[String]) -> Result<Vec<u8>, Error> {
        let failed = |why: String| Error::Failed { command: format!("sintonia {}", command.join(" ")), why };
        let ended = Command::new(&self.program).args(command).current_dir(&self.folder).envs(AS_ROOT).envs(CROWDED).output();
        let ended = ended.map_err(|error| failed(error.to_string()))?;
        if ended.status.success() { Ok(ended.stdout) } else { Err(failed(String::from_utf8_lossy(&ended.stderr).trim().to_owned())) }
    }

    /// Runs a command with `--json`, and gives what it says.
    pub(crate) fn ask<T: for<'d> Deserialize<'d>>(&self, command: &[String]) -> Result<T, Error> {
        let said = self.run(&[command, &["--json".into()]].concat())?;
        let unclear = |error: serde_json::Error| Error::Failed { command: command.join(" "), why: error.to_string() };
        serde_json::from_slice(&said).map_err(unclear)
    }

    /// Removes what was made.
    pub(crate) fn clear(self) -> Result<(), Error> {
        std::fs::remove_dir_all(&self.folder).map_err(Error::at(&self.folder))
    }
}
