//! Compiler diagnostics in the format that editors and other tools read.

use std::fmt;

use serde::Serialize;
use sintonia_pamela::model::PamelaModel;
use sintonia_pamela::text::Error as TextError;
use sintonia_source::Error as SourceError;
use sintonia_source::file_pos::FilePos;

use super::input::CompileInput;
use crate::Error;

/// A diagnostic at a source position.
#[derive(Debug, Clone, Serialize)]
pub(super) struct FileDiagnostic {
    file: String,
    line: usize,
    column: usize,
    /// The column after the end.
    end_column: usize,
    severity: DiagnosticSeverity,
    message: String,
    hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum DiagnosticSeverity {
    Error,
    Note,
}

impl FileDiagnostic {
    /// Whether it is a note, not an error.
    pub(super) fn is_note(&self) -> bool {
        self.severity == DiagnosticSeverity::Note
    }

    fn new(pos: &FilePos, severity: DiagnosticSeverity, message: &str, hint: Option<&str>) -> FileDiagnostic {
        FileDiagnostic {
            file: pos.file.to_string(),
            line: pos.line,
            column: pos.column,
            end_column: pos.column + 1,
            severity,
            message: message.to_owned(),
            hint: hint.map(str::to_owned),
        }
    }
}

impl From<&sintonia_pamela::text::ModelDiagnostic> for FileDiagnostic {
    fn from(diagnostic: &sintonia_pamela::text::ModelDiagnostic) -> FileDiagnostic {
        FileDiagnostic {
            file: diagnostic.file.display().to_string(),
            line: diagnostic.line,
            column: diagnostic.column,
            end_column: diagnostic.end_column,
            severity: DiagnosticSeverity::Error,
            message: diagnostic.problem.to_string(),
            hint: diagnostic.hint.clone(),
        }
    }
}

impl fmt::Display for FileDiagnostic {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FileDiagnostic { file, line, column, message, .. } = self;
        let kind = if self.is_note() { "note" } else { "error" };
        // One line each, whatever the message contains.
        write!(out, "{file}:{line}:{column}: {kind}: {}", message.replace('\n', " "))?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(out, " ({})", hint.replace('\n', " ")))
    }
}

/// All diagnostics of one input; an error if it cannot be read.
pub(super) fn check_input(input: &CompileInput) -> Result<Vec<FileDiagnostic>, Error> {
    match input {
        CompileInput::Model(path) => match PamelaModel::read(path) {
            Ok(_) => Ok(Vec::new()),
            Err(TextError::Invalid(diagnostics)) => Ok(diagnostics.iter().map(FileDiagnostic::from).collect()),
            Err(other) => Err(Error::Other(other.to_string())),
        },
        CompileInput::Program(files, options) => match sintonia_source::compile_with(files, options) {
            Ok(compiled) => {
                Ok(compiled.notes.iter().map(|note| FileDiagnostic::new(&note.pos, DiagnosticSeverity::Note, &note.text, None)).collect())
            }
            Err(SourceError::Invalid(wrong)) => {
                Ok(vec![FileDiagnostic::new(&wrong.place, DiagnosticSeverity::Error, &wrong.problem, wrong.hint.as_deref())])
            }
            Err(other) => Err(Error::Other(other.to_string())),
        },
    }
}
