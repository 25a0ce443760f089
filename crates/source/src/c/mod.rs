//! C: its files become routines, and programs that call MPI become models of all their processes.

mod constant;
mod declaration;
mod definition;
mod directive;
mod expression;
mod hoist;
mod inline;
mod library;
mod literal;
mod macros;
mod reader;
mod statement;
mod syntax;
mod types;

use std::path::Path;

use crate::compile::Compiled;
use crate::error::Error;
use crate::routine::Program;
pub use definition::{Definition, NotDefinition};
use reader::Reader;

/// The routines of a C program in one text; nothing that it includes is read.
pub fn read_text(name: &str, text: &str) -> Result<Program, Error> {
    let mut reader = Reader::default();
    reader.text(name, text)?;
    Ok(reader.program)
}

/// The routines of a C program in one or more files, with macros that are defined from outside.
pub fn read<P: AsRef<Path>>(paths: &[P], definitions: &[Definition]) -> Result<Program, Error> {
    let mut reader = Reader::default();
    reader.files(paths, definitions)?;
    Ok(reader.program)
}

/// The model of a C program in one or more files, with macros that are defined from outside.
pub fn compile<P: AsRef<Path>>(paths: &[P], definitions: &[Definition]) -> Result<Compiled, Error> {
    let mut reader = Reader::default();
    reader.files(paths, definitions)?;
    modelled(reader)
}

/// The model of a C program in one text.
pub fn compile_text(name: &str, text: &str) -> Result<Compiled, Error> {
    let mut reader = Reader::default();
    reader.text(name, text)?;
    modelled(reader)
}

fn modelled(mut reader: Reader) -> Result<Compiled, Error> {
    inline::inline(&mut reader.program);
    hoist::hoist(&mut reader.program);
    crate::mpi::compile(&reader.program, reader.structures.names()).map_err(|error| error.in_texts(&reader.texts))
}
