//! Model files that people can read and edit.
//!
//! What a person wants to know comes first: parameters, formulas, shares, errors. The alternative formulas behind the intervals are at the end,
//! one line per formula. They belong to the formula as it was fitted: a formula edited by hand gets its interval from `error_percent`.

mod error;
mod read;
mod write;

use std::path::Path;

pub use error::ModelFileError;

use sintonia_insight::program_part::PartKind;

use crate::model::{PerformanceModel, PredictionBasis};

/// The words for the kinds of parts.
const PART_KINDS: [(&str, PartKind); 3] =
    [("computation", PartKind::Computation), ("communication", PartKind::Communication), ("other", PartKind::Other)];
/// The words for what predictions use.
const BASES: [(&str, PredictionBasis); 2] = [("parts", PredictionBasis::Parts), ("whole", PredictionBasis::Whole)];

/// The word for a value in such a list.
fn word_for<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> &'static str {
    words.iter().find(|(_, known)| known == value).map_or("", |(word, _)| word)
}

/// The format version that is written and read.
const FORMAT: u64 = 1;

impl PerformanceModel {
    /// Reads a file with one model.
    pub fn read(path: &Path) -> Result<PerformanceModel, ModelFileError> {
        PerformanceModel::parse(&read_text(path)?, path)
    }

    /// Parses one model; `path` is used in errors.
    pub fn parse(text: &str, path: &Path) -> Result<PerformanceModel, ModelFileError> {
        let mut models = read::parse_models(text, path)?;
        match (models.pop(), models.len()) {
            (Some(model), 0) => Ok(model),
            (_, others) => Err(ModelFileError::SeveralModels { path: path.to_owned(), count: others + 1 }),
        }
    }

    /// Reads all models of a file: one, or one for each series.
    pub fn read_all(path: &Path) -> Result<Vec<PerformanceModel>, ModelFileError> {
        PerformanceModel::parse_all(&read_text(path)?, path)
    }

    /// Parses all models of a file; `path` is used in errors.
    pub fn parse_all(text: &str, path: &Path) -> Result<Vec<PerformanceModel>, ModelFileError> {
        read::parse_models(text, path)
    }

    /// Models as the text of one file.
    pub fn all_to_text(models: &[PerformanceModel]) -> String {
        match models {
            [model] => model.to_text(),
            several => write::models_to_text(several),
        }
    }

    /// The model as text.
    pub fn to_text(&self) -> String {
        write::model_to_text(self)
    }
}

fn read_text(path: &Path) -> Result<String, ModelFileError> {
    let bytes = std::fs::read(path).map_err(|source| ModelFileError::Unreadable { path: path.to_owned(), source })?;
    String::from_utf8(bytes).map_err(|error| ModelFileError::NotUtf8 { path: path.to_owned(), at: error.utf8_error().valid_up_to() })
}

#[cfg(test)]
mod tests;
