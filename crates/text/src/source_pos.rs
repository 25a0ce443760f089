//! A position in a file for error messages: file, line and column, and the marked line.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::line_col::{LineCol, LineTable};

/// A position in a file; lines and columns count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePos {
    /// The file.
    pub path: PathBuf,
    /// The line.
    pub line: usize,
    /// The column in characters.
    pub column: usize,
    /// The line with a mark below, to be appended to a message.
    pub excerpt: String,
}

impl SourcePos {
    /// The position of a byte range of the text.
    pub fn from_span(path: &Path, text: &str, span: Range<usize>) -> SourcePos {
        let LineCol { line, column, excerpt, .. } = LineTable::new(text).line_col(&span);
        SourcePos { path: path.to_owned(), line, column, excerpt }
    }
}

impl fmt::Display for SourcePos {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{}:{}:{}", self.path.display(), self.line, self.column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_told_as_compilers_do_with_the_line_behind() {
        let place = SourcePos::from_span(Path::new("a.toml"), "one\ntwo = x\n", 10..11);
        assert_eq!(place.to_string(), "a.toml:2:7");
        assert_eq!(place.excerpt, "\n    two = x\n          ^");
    }
}
