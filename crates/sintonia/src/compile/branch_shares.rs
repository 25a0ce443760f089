//! Branch probabilities from a recorded run of the compiled program.

use std::path::{Path, PathBuf};

use sintonia_recording::Recording;
use sintonia_source::CompiledModel;
use sintonia_source::c::MacroDefinition;
use sintonia_source::recorded_shares;

use crate::Error;

/// Sets branch probabilities of the model from a recording, and adds a note for each.
pub(super) fn apply_recorded_shares(
    path: &Path,
    files: &[PathBuf],
    definitions: &[MacroDefinition],
    compiled: &mut CompiledModel,
) -> Result<(), Error> {
    if files.iter().any(|file| file.extension().is_none_or(|ending| ending != "c")) {
        return Err(Error::Other("--recording gives branch probabilities around MPI calls, so the program must be in C".to_owned()));
    }
    let program = sintonia_source::c::read(files, definitions).map_err(|error| Error::Other(error.to_string()))?;
    let calls = recorded_shares::calls_by_line(&Recording::open(path)?)?;
    if calls.is_empty() {
        let problem = "the recording has no source lines: compile the program with -g and record it again";
        return Err(Error::Other(format!("{}: {problem}", path.display())));
    }
    let notes = recorded_shares::apply_recorded_shares(&mut compiled.model, &program, &calls);
    compiled.notes.extend(notes);
    Ok(())
}
