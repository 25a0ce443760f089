//! Model files that people can read and edit.
//!
//! What a person wants to know comes first: parameters, formulas, shares, errors. The alternative formulas behind the intervals are at the end,
//! one line per formula. They belong to the formula as it was fitted: a formula edited by hand gets its interval from `error_percent`.

mod error;
mod read;
mod write;

use std::path::Path;

pub use error::ModelFileError;

use crate::model::PerformanceModel;

/// The format version that is written and read.
const FORMAT: u64 = 1;

impl PerformanceModel {
    /// Reads a model file.
    pub fn read(path: &Path) -> Result<PerformanceModel, ModelFileError> {
        let bytes = std::fs::read(path).map_err(|source| ModelFileError::Unreadable { path: path.to_owned(), source })?;
        let text = String::from_utf8(bytes)
            .map_err(|error| ModelFileError::NotUtf8 { path: path.to_owned(), at: error.utf8_error().valid_up_to() })?;
        PerformanceModel::parse(&text, path)
    }

    /// Parses a model; `path` is used in errors.
    pub fn parse(text: &str, path: &Path) -> Result<PerformanceModel, ModelFileError> {
        read::parse_model(text, path)
    }

    /// The model as text.
    pub fn to_text(&self) -> String {
        write::model_to_text(self)
    }
}

#[cfg(test)]
mod tests;
