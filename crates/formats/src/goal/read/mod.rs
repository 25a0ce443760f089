//! GOAL schedules from files: the text that people and generators write, or what LogGOPSim's `txt2bin` made of it.

mod binary;
mod labels;
mod text;

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

use super::graph::Goal;
use crate::error::At;
use crate::{Error, Place};

/// So much is read from the disk at once.
const AT_ONCE: usize = 1 << 20;

/// Reads a schedule; its first bytes tell in which form it is.
pub fn read(path: &Path) -> Result<Goal, Error> {
    let mut file = open(path)?;
    let bytes = file.get_ref().metadata().at(path)?.len();
    let is_binary = is_binary(&mut file);
    file.rewind().at(path)?;
    let goal = if is_binary { binary::read(file, bytes, path) } else { text::read(file, bytes, path) }?;
    Ok(Goal { path: Some(path.to_owned()), ..goal })
}

/// Where in its file an operation of a rank is told. It reads the file again, so that nothing need be kept of it.
pub(super) fn place(path: &Path, rank: usize, operation: usize) -> Option<Told> {
    let mut file = open(path).ok()?;
    let bytes = file.get_ref().metadata().ok()?.len();
    let is_binary = is_binary(&mut file);
    file.rewind().ok()?;
    if is_binary { None } else { text::place(file, bytes, rank, operation) }
}

/// Where an operation is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The line, from 1.
    pub line: u64,
    /// What stands there.
    pub text: String,
}

fn open(path: &Path) -> Result<BufReader<File>, Error> {
    Ok(BufReader::with_capacity(AT_ONCE, File::open(path).at(path)?))
}

fn is_binary(file: &mut impl Read) -> bool {
    let mut first = [0; 8];
    file.read_exact(&mut first).is_ok() && binary::is_magic(first)
}

fn malformed(path: &Path, place: Place, what: impl Into<String>) -> Error {
    Error::Malformed { path: path.to_owned(), place, what: what.into() }
}

#[cfg(test)]
mod tests;
