//! Reads GOAL schedules: text, or the binary form made by LogGOPSim's `txt2bin`.

mod binary;
mod labels;
mod text;

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

use super::graph::GoalSchedule;
use crate::error::PathContext;
use crate::{Error, FilePosition};

const READ_BUFFER_BYTES: usize = 1 << 20;

/// Reads a schedule; its first bytes determine the form.
pub fn read(path: &Path) -> Result<GoalSchedule, Error> {
    let mut file = open(path)?;
    let bytes = file.get_ref().metadata().with_path(path)?.len();
    let is_binary = is_binary(&mut file);
    file.rewind().with_path(path)?;
    let goal = if is_binary { binary::read(file, bytes, path) } else { text::read(file, bytes, path) }?;
    Ok(GoalSchedule { path: Some(path.to_owned()), ..goal })
}

/// The source line of an operation. Reads the file again, so that nothing needs to be kept.
pub(super) fn find_source_line(path: &Path, rank: usize, operation: usize) -> Option<SourceLine> {
    let mut file = open(path).ok()?;
    let bytes = file.get_ref().metadata().ok()?.len();
    let is_binary = is_binary(&mut file);
    file.rewind().ok()?;
    if is_binary { None } else { text::find_source_line(file, bytes, rank, operation) }
}

/// A line of a schedule file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// Line number, from 1.
    pub line: u64,
    /// The text.
    pub text: String,
}

fn open(path: &Path) -> Result<BufReader<File>, Error> {
    Ok(BufReader::with_capacity(READ_BUFFER_BYTES, File::open(path).with_path(path)?))
}

fn is_binary(file: &mut impl Read) -> bool {
    let mut first = [0; 8];
    file.read_exact(&mut first).is_ok() && binary::is_magic(first)
}

fn malformed(path: &Path, position: FilePosition, what: impl Into<String>) -> Error {
    Error::Malformed { path: path.to_owned(), position, what: what.into() }
}

#[cfg(test)]
mod tests;
