//! Errors with their position and source line.

use std::io;
use std::path::PathBuf;

use sintonia_text::line_col::excerpt;

use crate::file_pos::FilePos;

/// Why there is no model.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error from the system.
        source: io::Error,
    },
    /// A file is not UTF-8.
    #[error("{}: invalid UTF-8 at byte {at}", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// The offset of the first invalid byte.
        at: usize,
    },
    /// The given files are not a program.
    #[error("{0}")]
    InvalidInput(String),
    /// An error in a file.
    #[error(transparent)]
    Invalid(Box<SourceDiagnostic>),
}

/// An error in a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}{}{}", shown(.line, place), hint.as_ref().map(|hint| format!("\n    hint: {hint}")).unwrap_or_default())]
pub struct SourceDiagnostic {
    /// Its position.
    pub place: FilePos,
    /// What is wrong.
    pub problem: String,
    /// The source line, if known.
    pub line: Option<String>,
    /// A suggestion.
    pub hint: Option<String>,
}

impl SourceDiagnostic {
    /// An error at a position, without its source line.
    pub fn new(place: FilePos, problem: impl Into<String>) -> SourceDiagnostic {
        SourceDiagnostic { place, problem: problem.into(), line: None, hint: None }
    }

    /// Adds the source line from the whole text.
    pub fn with_source_line(mut self, text: &str) -> SourceDiagnostic {
        self.line = text.lines().nth(self.place.line.saturating_sub(1)).map(str::to_owned);
        self
    }

    /// Adds a suggestion.
    pub fn with_hint(mut self, hint: impl Into<String>) -> SourceDiagnostic {
        self.hint = Some(hint.into());
        self
    }
}

impl From<SourceDiagnostic> for Error {
    fn from(wrong: SourceDiagnostic) -> Error {
        Error::Invalid(Box::new(wrong))
    }
}

fn shown(line: &Option<String>, place: &FilePos) -> String {
    line.as_ref().map(|line| excerpt(line, place.column, 1)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_shows_its_line_with_a_mark_below_the_place() {
        let place = FilePos { file: "a.pasl".into(), line: 2, column: 3 };
        let wrong = SourceDiagnostic::new(place, "expected `;`").with_source_line("one\ntwo\nthree").with_hint("end it");
        assert_eq!(wrong.to_string(), "a.pasl:2:3: expected `;`\n    two\n      ^\n    hint: end it");
    }
}
