//! How often conditions held in a recorded run of the program that is compiled.

use std::path::{Path, PathBuf};

use sintonia_recording::Recording;
use sintonia_source::Compiled;
use sintonia_source::c::Definition;
use sintonia_source::recorded::{self, Calls};

use crate::Error;

/// Gives the model the shares that the recording tells, with a note for each.
pub fn give_shares(path: &Path, files: &[PathBuf], definitions: &[Definition], compiled: &mut Compiled) -> Result<(), Error> {
    if files.iter().any(|file| file.extension().is_none_or(|ending| ending != "c")) {
        return Err(Error::Other("--recording tells of conditions around calls of MPI, so the program must be in C".to_owned()));
    }
    let program = sintonia_source::c::read(files, definitions).map_err(|error| Error::Other(error.to_string()))?;
    let calls = calls(path)?;
    if calls.is_empty() {
        let problem = "the recording does not know the lines of its calls: compile the program with -g and record it again";
        return Err(Error::Other(format!("{}: {problem}", path.display())));
    }
    let told = recorded::give_shares(&mut compiled.model, &program, &calls);
    compiled.notes.extend(told);
    Ok(())
}

/// How often each rank called MPI on each line.
fn calls(path: &Path) -> Result<Calls, Error> {
    let recording = Recording::open(path)?;
    let ranks: Vec<u32> = recording.header.ranks.iter().map(|rank| rank.rank).collect();
    let mut calls = Calls::new();
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
