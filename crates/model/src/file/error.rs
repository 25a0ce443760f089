//! What can be wrong with a model file, said with the place.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

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
        let start = boundary(text, problem.span.start);
        let end = boundary(text, problem.span.end.max(start));
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let (line, column) = (text[..start].matches('\n').count() + 1, text[line_start..start].chars().count() + 1);
        let shown = text[line_start..].lines().next().unwrap_or_default();
        let marked = text[start..end].lines().next().unwrap_or_default().chars().count().max(1);
        FileError::Wrong { path: path.to_owned(), line, column, what: problem.what, excerpt: excerpt(shown, column, marked) }
    }
}

/// The beginning of the character that byte `at` belongs to, or the end of the text.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// A line with a mark below, unless it is too long to be shown, or there is nothing on it.
fn excerpt(line: &str, column: usize, marked: usize) -> String {
    const WIDEST: usize = 120;
    if line.chars().count() > WIDEST || line.contains('\t') || line.trim().is_empty() {
        return String::new();
    }
    format!("\n    {line}\n    {}{}", " ".repeat(column - 1), "^".repeat(marked.min(WIDEST)))
}
