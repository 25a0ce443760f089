//! C: its files become routines, and programs that call MPI become models of all their processes.

mod constant;
mod declaration;
mod directive;
mod expression;
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
use reader::Reader;

/// The routines of a C program in one text; nothing that it includes is read.
pub fn read_text(name: &str, text: &str) -> Result<Program, Error> {
    let mut reader = Reader::default();
    reader.text(name, text)?;
    Ok(reader.program)
}

/// The routines of a C program in one or more files.
pub fn read<P: AsRef<Path>>(paths: &[P]) -> Result<Program, Error> {
    Ok(read_all(paths)?.program)
}

fn read_all<P: AsRef<Path>>(paths: &[P]) -> Result<Reader, Error> {
    let mut reader = Reader::default();
    for path in paths {
        reader.file(path.as_ref())?;
    }
    Ok(reader)
}

/// The model of a C program in one or more files.
pub fn compile<P: AsRef<Path>>(paths: &[P]) -> Result<Compiled, Error> {
    let reader = read_all(paths)?;
    crate::mpi::compile(&reader.program, reader.structures.names())
}

/// The model of a C program in one text.
pub fn compile_text(name: &str, text: &str) -> Result<Compiled, Error> {
    let mut reader = Reader::default();
    reader.text(name, text)?;
    crate::mpi::compile(&reader.program, reader.structures.names())
}
