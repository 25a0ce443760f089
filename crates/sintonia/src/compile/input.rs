//! Inputs of the compiler: models, or programs.

use std::path::PathBuf;

use sintonia_pamela::model::PamelaModel;
use sintonia_source::{CompileOptions, CompiledModel};

use crate::Error;

/// One input.
pub(super) enum CompileInput {
    /// A model file.
    Model(PathBuf),
    /// The source files of a program.
    Program(Vec<PathBuf>, CompileOptions),
}

impl CompileInput {
    /// Groups files: each model by itself, or one program.
    pub(super) fn from_files(files: &[PathBuf], options: CompileOptions) -> Result<Vec<CompileInput>, Error> {
        const KNOWN: [&str; 4] = ["pam", "pasl", "java", "c"];
        let ending = |path: &PathBuf| path.extension().and_then(|ending| ending.to_str()).map(str::to_owned);
        let is_known = |path: &PathBuf| ending(path).is_some_and(|ending| KNOWN.contains(&ending.as_str()));
        if let Some(other) = files.iter().find(|path| !is_known(path)) {
            let problem = "has an unknown extension: expected .pam (a model), .pasl, .java or .c (a program)";
            return Err(Error::Other(format!("{} {problem}", other.display())));
        }
        let (models, program): (Vec<PathBuf>, Vec<PathBuf>) =
            files.iter().cloned().partition(|path| ending(path).as_deref() == Some("pam"));
        match (models.first(), program.first()) {
            (Some(model), Some(file)) => {
                let problem = "are a model and a program source; compile only one of them";
                Err(Error::Other(format!("{} and {} {problem}", model.display(), file.display())))
            }
            (None, _) => Ok(vec![CompileInput::Program(program, options)]),
            (Some(model), None) if !options.definitions.is_empty() => {
                Err(Error::Other(format!("{} is a model, but -D defines C macros", model.display())))
            }
            _ => Ok(models.into_iter().map(CompileInput::Model).collect()),
        }
    }

    /// The compiled model with its notes.
    pub(super) fn compile(&self) -> Result<CompiledModel, Error> {
        let other = |error: &dyn std::error::Error| Error::Other(error.to_string());
        match self {
            CompileInput::Model(path) => {
                PamelaModel::read(path).map(|model| CompiledModel { model, notes: Vec::new() }).map_err(|error| other(&error))
            }
            CompileInput::Program(files, options) => {
                let compiled = sintonia_source::compile_with(files, options).map_err(|error| other(&error))?;
                compiled
                    .model
                    .check()
                    .map_err(|error| Error::Other(format!("internal error: the program was compiled to an invalid model: {error}")))?;
                Ok(compiled)
            }
        }
    }
}
