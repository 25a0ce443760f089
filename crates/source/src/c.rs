//! C front end: files are lowered to the IR, and programs that call MPI become models of all their processes.

mod constant;
mod declaration;
mod directive;
mod expression;
mod hoist;
mod inline;
mod library;
mod literal;
mod lowering;
mod macro_definition;
mod macros;
mod statement;
mod syntax;
mod types;

use std::path::Path;

use crate::compiled_model::CompiledModel;
use crate::error::Error;
use crate::ir::IrProgram;
use lowering::CLowering;
pub use macro_definition::{MacroDefinition, MacroDefinitionError};

/// The routines of a C program in one text; includes are ignored.
pub fn read_text(name: &str, text: &str) -> Result<IrProgram, Error> {
    let mut reader = CLowering::default();
    reader.text(name, text)?;
    Ok(reader.program)
}

/// The routines of a C program in one or more files, with macro definitions from the command line.
pub fn read<P: AsRef<Path>>(paths: &[P], definitions: &[MacroDefinition]) -> Result<IrProgram, Error> {
    let mut reader = CLowering::default();
    reader.files(paths, definitions)?;
    Ok(reader.program)
}

/// The model of a C program in one or more files, with macro definitions from the command line.
pub fn compile<P: AsRef<Path>>(paths: &[P], definitions: &[MacroDefinition]) -> Result<CompiledModel, Error> {
    let mut reader = CLowering::default();
    reader.files(paths, definitions)?;
    compile_program(reader)
}

/// The model of a C program in one text.
pub fn compile_text(name: &str, text: &str) -> Result<CompiledModel, Error> {
    let mut reader = CLowering::default();
    reader.text(name, text)?;
    compile_program(reader)
}

fn compile_program(mut reader: CLowering) -> Result<CompiledModel, Error> {
    inline::inline_functions(&mut reader.program);
    hoist::hoist_invariants(&mut reader.program);
    crate::mpi::compile(&reader.program, reader.structures.field_names()).map_err(|error| error.with_source_line(&reader.texts))
}
