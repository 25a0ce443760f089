//! Branch probabilities from a recorded run of the compiled program.

use std::path::{Path, PathBuf};

use sintonia_recording::Recording;
use sintonia_source::CompiledModel;
use sintonia_source::c::MacroDefinition;
use sintonia_source::recorded_shares::{self, LineCallCounts};

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
    let calls = calls_by_line(path)?;
    if calls.is_empty() {
        let problem = "the recording has no source lines: compile the program with -g and record it again";
        return Err(Error::Other(format!("{}: {problem}", path.display())));
    }
    let notes = recorded_shares::apply_recorded_shares(&mut compiled.model, &program, &calls);
    compiled.notes.extend(notes);
    Ok(())
}

/// The number of MPI calls of each rank on each line.
fn calls_by_line(path: &Path) -> Result<LineCallCounts, Error> {
    let recording = Recording::open(path)?;
    let ranks: Vec<u32> = recording.header.ranks.iter().map(|rank| rank.rank).collect();
    let mut calls = LineCallCounts::new();
    for (place, rank) in ranks.iter().enumerate() {
        for (shape, totals) in recording.totals(*rank)? {
            let Some(frame) = recording.site(shape.site).frames.first() else { continue };
            let (Some(file), Some(line)) = (&frame.file, frame.line) else { continue };
            let file = file.rsplit('/').next().unwrap_or(file).to_owned();
            calls.entry((file, line as usize)).or_insert_with(|| vec![0; ranks.len()])[place] += totals.calls;
        }
    }
    Ok(calls)
}
