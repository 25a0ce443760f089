//! What is compiled: models that were written, or programs.

use std::path::PathBuf;

use sintonia_pamela::model::Model;
use sintonia_source::{Compiled, Options};

use crate::Error;

/// One thing to compile.
pub enum Input {
    /// The text of a model.
    Model(PathBuf),
    /// The files of a program.
    Program(Vec<PathBuf>, Options),
}

impl Input {
    /// What some files are: each model by itself, or one program.
    pub fn of(files: &[PathBuf], options: Options) -> Result<Vec<Input>, Error> {
        const KNOWN: [&str; 4] = ["pam", "pasl", "java", "c"];
        let ending = |path: &PathBuf| path.extension().and_then(|ending| ending.to_str()).map(str::to_owned);
        let is_known = |path: &PathBuf| ending(path).is_some_and(|ending| KNOWN.contains(&ending.as_str()));
        if let Some(other) = files.iter().find(|path| !is_known(path)) {
            let problem = "cannot be compiled: its name must end in .pam (a model), .pasl, .java or .c (a program)";
            return Err(Error::Other(format!("{} {problem}", other.display())));
        }
        let (models, program): (Vec<PathBuf>, Vec<PathBuf>) =
            files.iter().cloned().partition(|path| ending(path).as_deref() == Some("pam"));
        match (models.first(), program.first()) {
            (Some(model), Some(file)) => {
                let problem = "are a model and a part of a program; compile one of them";
                Err(Error::Other(format!("{} and {} {problem}", model.display(), file.display())))
            }
            (None, _) => Ok(vec![Input::Program(program, options)]),
            (Some(model), None) if !options.definitions.is_empty() => {
                Err(Error::Other(format!("{} is a model, and -D defines macros of C", model.display())))
            }
            _ => Ok(models.into_iter().map(Input::Model).collect()),
        }
    }

    /// The model, with what is worth knowing of it.
    pub fn compile(&self) -> Result<Compiled, Error> {
        let other = |error: &dyn std::error::Error| Error::Other(error.to_string());
        match self {
            Input::Model(path) => Model::read(path).map(|model| Compiled { model, notes: Vec::new() }).map_err(|error| other(&error)),
            Input::Program(files, options) => {
                let compiled = sintonia_source::compile_with(files, options).map_err(|error| other(&error))?;
                compiled.model.check().map_err(|error| Error::Other(format!("the program became a model that is wrong: {error}")))?;
                Ok(compiled)
            }
        }
    }
}
