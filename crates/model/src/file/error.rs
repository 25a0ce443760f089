//! What can be wrong with a model file, said with the place.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use sintonia_text::spot::{Lines, Spot};

/// Why there is no model.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is no text.
    #[error("{} is no model file: byte {at} is not of a text", path.display())]
    NoText {
        /// The file.
        path: PathBuf,
        /// The first byte that is not.
        at: usize,
    },
    /// Something in the file is wrong.
    #[error("{}:{line}:{column}: {what}{excerpt}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The character in it, from 1.
        column: usize,
        /// What is wrong.
        what: String,
        /// The line itself with a mark below, ready to be shown.
        excerpt: String,
    },
}

/// What is wrong, and in which bytes of the text.
#[derive(Debug)]
pub struct Problem {
    pub what: String,
    pub span: Range<usize>,
}

impl Problem {
    pub fn new(span: Range<usize>, what: impl Into<String>) -> Problem {
        Problem { what: what.into(), span }
    }
}

impl FileError {
    /// The problem, at its place in the text.
    pub(super) fn wrong(path: &Path, text: &str, problem: Problem) -> FileError {
        let Spot { line, column, excerpt, .. } = Lines::of(text).spot(&problem.span);
        FileError::Wrong { path: path.to_owned(), line, column, what: problem.what, excerpt }
    }
}
