//! What can be wrong in any TOML file.

use sintonia_text::source_pos::SourcePos;
use sintonia_text::suggestion::did_you_mean;

/// The error type of a reader of files.
pub trait TomlReadError: Sized {
    /// What can be wrong in such a file.
    type Problem: From<TomlProblem>;

    /// The error for a problem at a position.
    fn at(place: SourcePos, problem: Self::Problem) -> Self;
}

/// What is wrong, whatever the file is about.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TomlProblem {
    /// It is not TOML.
    #[error("{0}")]
    Syntax(String),
    /// An unknown key.
    #[error("`{key}` is unknown {table}{}; allowed: {}", did_you_mean(key, known), known.join(", "))]
    UnknownKey {
        /// The key.
        key: String,
        /// The table it is in.
        table: String,
        /// The keys that are allowed there.
        known: Vec<&'static str>,
    },
    /// A key without its unit, or with another.
    #[error("`{key}` has no known unit: write `{known}`, in {unit}")]
    Unit {
        /// The key.
        key: String,
        /// The key with its unit.
        known: String,
        /// Name of the unit.
        unit: &'static str,
    },
    /// A required key is missing.
    #[error("`{key}` is missing {table}")]
    Missing {
        /// The key, or several of which one is needed.
        key: String,
        /// The table it belongs to.
        table: String,
    },
    /// A value of the wrong type.
    #[error("`{key}` must be {expected}, not {found}")]
    WrongType {
        /// The key.
        key: String,
        /// The expected type.
        expected: String,
        /// The actual type.
        found: &'static str,
        /// The value, if it is short, else its type.
        value: String,
    },
    /// A word that is not one of the allowed ones.
    #[error("`{key}` cannot be \"{word}\"; allowed: {known}")]
    UnknownWord {
        /// The key.
        key: String,
        /// The word.
        word: String,
        /// The allowed words.
        known: String,
    },
}

impl From<TomlProblem> for String {
    fn from(problem: TomlProblem) -> String {
        problem.to_string()
    }
}
