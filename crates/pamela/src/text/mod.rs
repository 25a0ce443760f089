//! Models as text, and back: what is printed reads as the same model. The language is described in `docs/pamela.md`.

mod block;
mod error;
mod facts;
mod formula;
pub(crate) mod name;
mod note;
mod outline;
mod parse;
mod print;
mod reader;
mod term;
mod token;

use std::fs;
use std::path::Path;
use std::str::FromStr;

pub use error::{Error, Mistake, Problem};
use sintonia_text::spot::Lines;

use crate::model::Model;

impl Model {
    /// Reads a model; the path is what errors call the text.
    pub fn parse(text: &str, path: impl AsRef<Path>) -> Result<Model, Error> {
        let (model, mistakes) = parse::parse(text);
        mistakes.into_result(path.as_ref(), text).map(|()| model)
    }

    /// Reads a file.
    pub fn read(path: impl AsRef<Path>) -> Result<Model, Error> {
        let path = path.as_ref();
        let bytes = fs::read(path).map_err(|source| Error::Unreadable { path: path.to_owned(), source })?;
        match std::str::from_utf8(&bytes) {
            Ok(text) => Model::parse(text, path),
            Err(error) => Err(not_text(path, &bytes, error.valid_up_to())),
        }
    }

    /// The model as text.
    pub fn to_text(&self) -> String {
        self.to_string()
    }
}

impl FromStr for Model {
    type Err = Error;

    fn from_str(text: &str) -> Result<Model, Error> {
        Model::parse(text, "model")
    }
}

/// The error of a file whose bytes are text only up to some place.
fn not_text(path: &Path, bytes: &[u8], up_to: usize) -> Error {
    // What is text before stays as it is, so the place is the same; what is none there becomes one character.
    let text = String::from_utf8_lossy(bytes);
    let place = up_to..up_to + char::REPLACEMENT_CHARACTER.len_utf8();
    Error::Wrong(vec![Mistake::at(path, &Lines::of(&text), place, Problem::NotText, None)])
}
