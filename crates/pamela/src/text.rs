//! Models as text; what is printed parses as the same model. `docs/pamela.md` describes the language.

mod block;
mod comment;
mod declarations;
mod deferred_checks;
mod error;
mod formula;
mod lexer;
pub(crate) mod name;
mod outline;
mod parser;
mod print;
mod term;

use std::fs;
use std::path::Path;
use std::str::FromStr;

pub use error::{Error, ModelDiagnostic, ModelProblem};
use sintonia_text::line_col::LineTable;

use crate::model::PamelaModel;

impl PamelaModel {
    /// Parses a model; diagnostics name the text by the path.
    pub fn parse(text: &str, path: impl AsRef<Path>) -> Result<PamelaModel, Error> {
        let (model, mistakes) = declarations::parse(text);
        mistakes.into_result(path.as_ref(), text).map(|()| model)
    }

    /// Reads and parses a file.
    pub fn read(path: impl AsRef<Path>) -> Result<PamelaModel, Error> {
        let path = path.as_ref();
        let bytes = fs::read(path).map_err(|source| Error::Unreadable { path: path.to_owned(), source })?;
        match std::str::from_utf8(&bytes) {
            Ok(text) => PamelaModel::parse(text, path),
            Err(error) => Err(not_utf8(path, &bytes, error.valid_up_to())),
        }
    }

    /// The model as text.
    pub fn to_text(&self) -> String {
        self.to_string()
    }
}

impl FromStr for PamelaModel {
    type Err = Error;

    fn from_str(text: &str) -> Result<PamelaModel, Error> {
        PamelaModel::parse(text, "model")
    }
}

/// The error for a file that is valid UTF-8 only up to some offset.
fn not_utf8(path: &Path, bytes: &[u8], up_to: usize) -> Error {
    // The valid prefix is unchanged, so the offset is the same; the invalid part becomes one character.
    let text = String::from_utf8_lossy(bytes);
    let place = up_to..up_to + char::REPLACEMENT_CHARACTER.len_utf8();
    Error::Invalid(vec![ModelDiagnostic::new(path, &LineTable::new(&text), place, ModelProblem::NotUtf8, None)])
}
