//! The result of the compiler, which every stage adds notes to.

use std::fmt;

use sintonia_pamela::model::PamelaModel;

use crate::file_pos::FilePos;

/// A model and the notes of its compilation.
#[derive(Debug, Clone, PartialEq)]
pub struct CompiledModel {
    /// The model.
    pub model: PamelaModel,
    /// What could not be derived, and what was assumed.
    pub notes: Vec<CompileNote>,
}

/// A note for the user.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CompileNote {
    /// Its position.
    pub pos: FilePos,
    /// Its text.
    pub text: String,
}

impl fmt::Display for CompileNote {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.pos, self.text)
    }
}
