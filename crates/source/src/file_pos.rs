//! Positions in source files.

use std::fmt;
use std::sync::Arc;

/// A position in a source file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePos {
    /// The path, as the user gave it.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: usize,
    /// The column, in characters from 1.
    pub column: usize,
}

impl FilePos {
    /// The form used by shares and parameters: the file name without directories, and the line.
    pub fn file_and_line(&self) -> String {
        let name = self.file.rsplit('/').next().unwrap_or(&self.file);
        format!("{name}:{}", self.line)
    }
}

impl fmt::Display for FilePos {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}:{}", self.file, self.line, self.column)
    }
}
