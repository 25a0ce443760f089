//! Errors in model files, with their position.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use sintonia_text::line_col::{LineCol, LineTable};

/// Why a model file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ModelFileError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// It is not a text file.
    #[error("{} is not a model file: invalid UTF-8 at byte {at}", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// The offset of the first invalid byte.
        at: usize,
    },
    /// The file has an error.
    #[error("{}:{line}:{column}: {what}{excerpt}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// What is wrong.
        what: String,
        /// The line with a marker below, ready to print.
        excerpt: String,
    },
}

/// An error and its byte range.
#[derive(Debug)]
pub(super) struct ModelFileProblem {
    pub what: String,
    pub span: Range<usize>,
}

impl ModelFileProblem {
    pub(super) fn new(span: Range<usize>, what: impl Into<String>) -> ModelFileProblem {
        ModelFileProblem { what: what.into(), span }
    }
}

impl ModelFileError {
    /// The error at its position in the text.
    pub(super) fn at_position(path: &Path, text: &str, problem: ModelFileProblem) -> ModelFileError {
        let LineCol { line, column, excerpt, .. } = LineTable::new(text).line_col(&problem.span);
        ModelFileError::Invalid { path: path.to_owned(), line, column, what: problem.what, excerpt }
    }
}
