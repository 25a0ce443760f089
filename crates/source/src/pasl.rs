//! PASL, the language that describes the structure of a parallel application.
//!
//! The grammar is in `docs/pasl.md`. The tasks themselves are written in Java; PASL only defines the batches and their dependencies.

mod application;
mod batch_graph;
mod lexer;
mod parser;

use std::path::Path;

pub use application::{ApplicationParameter, BatchArgument, BatchFlow, PaslApplication, TASK, TaskBatch};

use crate::error::Error;
use crate::source_file::SourceFile;

/// Reads and parses a file.
pub fn read(path: &Path) -> Result<PaslApplication, Error> {
    parse(&SourceFile::read(path)?)
}

/// Parses a text.
pub fn parse(text: &SourceFile) -> Result<PaslApplication, Error> {
    Ok(batch_graph::resolve_application(parser::parse_declarations(text)?, text)?)
}
