//! A place in a file, as an error shows it: the file, the line and the column in front of a message, and the line itself behind it.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::spot::{Lines, Spot};

/// A place in a file; lines and columns count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: PathBuf,
    /// The line.
    pub line: usize,
    /// The character in it.
    pub column: usize,
    /// The line itself with a mark below, ready to be put behind a message.
    pub excerpt: String,
}

impl Place {
    /// Where these bytes of the text are.
    pub fn of(path: &Path, text: &str, span: Range<usize>) -> Place {
        let Spot { line, column, excerpt, .. } = Lines::of(text).spot(&span);
        Place { path: path.to_owned(), line, column, excerpt }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{}:{}:{}", self.path.display(), self.line, self.column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_told_as_compilers_do_with_the_line_behind() {
        let place = Place::of(Path::new("a.toml"), "one\ntwo = x\n", 10..11);
        assert_eq!(place.to_string(), "a.toml:2:7");
        assert_eq!(place.excerpt, "\n    two = x\n          ^");
    }
}
