//! PASL, the language in which the structure of a parallel application is written down.
//!
//! The grammar is in `docs/pasl.md`. What a task does is Java; here is only which tasks there are and who waits for whom.

mod application;
mod graph;
mod parse;
mod token;

use std::path::Path;

pub use application::{Application, Argument, Batch, Flow, Parameter, TASK};

use crate::error::Error;
use crate::file::Text;

/// The application that a file describes.
pub fn read(path: &Path) -> Result<Application, Error> {
    parse(&Text::read(path)?)
}

/// The application that a text describes.
pub fn parse(text: &Text) -> Result<Application, Error> {
    Ok(graph::ordered(parse::declarations(text)?, text)?)
}
