//! A model as a file that people read and change.
//!
//! Everything a person wants to know comes first: parameters, formulas, shares, errors. What the intervals come from, the other formulas
//! that explain the measurements, stands at the end, one line per formula, and belongs to the formula as it was found: a formula that is
//! changed by hand has the interval that its `error_percent` gives it.

mod error;
mod read;
mod write;

use std::path::Path;

pub use error::FileError;

use crate::model::Model;

/// The version of the format that is written and read.
const FORMAT: u64 = 1;

impl Model {
    /// Reads a model.
    pub fn read(path: &Path) -> Result<Model, FileError> {
        let bytes = std::fs::read(path).map_err(|source| FileError::Unreadable { path: path.to_owned(), source })?;
        let text =
            String::from_utf8(bytes).map_err(|error| FileError::NoText { path: path.to_owned(), at: error.utf8_error().valid_up_to() })?;
        Model::parse(&text, path)
    }

    /// The model of a text; `path` is the file it is from.
    pub fn parse(text: &str, path: &Path) -> Result<Model, FileError> {
        read::model(text).map_err(|problem| FileError::wrong(path, text, problem))
    }

    /// The text of a model.
    pub fn to_text(&self) -> String {
        write::text(self)
    }
}

#[cfg(test)]
mod tests;
