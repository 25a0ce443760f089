//! Errors in model files, with their position.

use std::io;
use std::path::PathBuf;

use sintonia_text::source_pos::SourcePos;
use sintonia_toml_file::TomlReadError;

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
    /// It has several models where one is needed.
    #[error("{} has {count} models, but one is needed here: fit a single series (--y, --where)", path.display())]
    SeveralModels {
        /// The file.
        path: PathBuf,
        /// How many.
        count: usize,
    },
    /// The file has an error.
    #[error("{place}: {what}{}", place.excerpt)]
    Invalid {
        /// Position in the file.
        place: SourcePos,
        /// What is wrong.
        what: String,
    },
}

impl TomlReadError for ModelFileError {
    type Problem = String;

    fn at(place: SourcePos, what: String) -> ModelFileError {
        ModelFileError::Invalid { place, what }
    }
}
