//! Errors of tunlet files, with their position.

use std::io;
use std::path::PathBuf;

use sintonia_text::source_pos::SourcePos;
use sintonia_text::suggestion::did_you_mean;
use sintonia_toml_file::{TomlProblem, TomlReadError};

/// Why a tunlet file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is invalid.
    #[error("{place}: {problem}{}", place.excerpt)]
    Invalid {
        /// Position in the file.
        place: SourcePos,
        /// What is wrong.
        problem: Box<TunletFileProblem>,
    },
}

impl TomlReadError for Error {
    type Problem = TunletFileProblem;

    fn at(place: SourcePos, problem: TunletFileProblem) -> Error {
        Error::Invalid { place, problem: Box::new(problem) }
    }
}

/// What is wrong in a file.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TunletFileProblem {
    /// A key is missing, or has no unit.
    #[error(transparent)]
    Toml(TomlProblem),
    /// A syntax error.
    #[error("{0}")]
    Syntax(String),
    /// An unknown name.
    #[error("{what} `{name}` is unknown {place}{near}; known: {known}")]
    Unknown {
        /// Kind of name.
        what: &'static str,
        /// The name.
        name: String,
        /// Where it was used.
        place: String,
        /// The suggestion of a similar known name.
        near: String,
        /// The known names.
        known: String,
    },
    /// A value of the wrong type.
    #[error("`{key}` must be {expected}, not {found}")]
    WrongType {
        /// The key.
        key: String,
        /// The expected type.
        expected: String,
        /// The actual value.
        found: String,
    },
    /// A formula or condition that cannot be parsed.
    #[error("`{key}` is not a {what}: {reason}")]
    Formula {
        /// The key.
        key: String,
        /// A formula or a condition.
        what: &'static str,
        /// The cause.
        reason: String,
    },
    /// A name that is used twice.
    #[error("`{0}` is already defined: names must differ")]
    Duplicate(String),
    /// Parts that cannot be combined.
    #[error("{0}")]
    Incompatible(String),
}

impl TunletFileProblem {
    /// An unknown name, with the nearest known one.
    pub fn unknown<'a>(what: &'static str, name: &str, place: &str, known: impl IntoIterator<Item = &'a str>) -> TunletFileProblem {
        let known: Vec<&str> = known.into_iter().collect();
        let near = did_you_mean(name, &known);
        let known = if known.is_empty() { "nothing".into() } else { known.join(", ") };
        TunletFileProblem::Unknown { what, name: name.into(), place: place.into(), near, known }
    }
}

impl From<TomlProblem> for TunletFileProblem {
    fn from(problem: TomlProblem) -> TunletFileProblem {
        match problem {
            TomlProblem::UnknownKey { key, table, known } => TunletFileProblem::unknown("the key", &key, &table, known),
            TomlProblem::WrongType { key, expected, value, .. } => TunletFileProblem::WrongType { key, expected, found: value },
            other => TunletFileProblem::Toml(other),
        }
    }
}
