//! What is wrong, and what is worth knowing, in the way that editors and other programs read it.

use std::fmt;

use serde::Serialize;
use sintonia_pamela::model::Model;
use sintonia_pamela::text::Error as TextError;
use sintonia_source::Error as SourceError;
use sintonia_source::place::Place;

use super::input::Input;
use crate::Error;

/// Something to tell of a place.
#[derive(Debug, Clone, Serialize)]
pub struct Mistake {
    file: String,
    line: usize,
    column: usize,
    /// The first column behind.
    end_column: usize,
    severity: Severity,
    message: String,
    hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Severity {
    Error,
    Note,
}

impl Mistake {
    /// Whether nothing is wrong there.
    pub fn is_note(&self) -> bool {
        self.severity == Severity::Note
    }

    fn at(place: &Place, severity: Severity, message: &str, hint: Option<&str>) -> Mistake {
        Mistake {
            file: place.file.to_string(),
            line: place.line,
            column: place.column,
            end_column: place.column + 1,
            severity,
            message: message.to_owned(),
            hint: hint.map(str::to_owned),
        }
    }
}

impl From<&sintonia_pamela::text::Mistake> for Mistake {
    fn from(mistake: &sintonia_pamela::text::Mistake) -> Mistake {
        Mistake {
            file: mistake.file.display().to_string(),
            line: mistake.line,
            column: mistake.column,
            end_column: mistake.end_column,
            severity: Severity::Error,
            message: mistake.problem.to_string(),
            hint: mistake.hint.clone(),
        }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mistake { file, line, column, message, .. } = self;
        let kind = if self.is_note() { "note" } else { "error" };
        // One line for each, whatever the message is.
        write!(out, "{file}:{line}:{column}: {kind}: {}", message.replace('\n', " "))?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(out, " ({})", hint.replace('\n', " ")))
    }
}

/// Everything there is to tell of one input; an error if it cannot even be read.
pub fn of(input: &Input) -> Result<Vec<Mistake>, Error> {
    match input {
        Input::Model(path) => match Model::read(path) {
            Ok(_) => Ok(Vec::new()),
            Err(TextError::Wrong(mistakes)) => Ok(mistakes.iter().map(Mistake::from).collect()),
            Err(other) => Err(Error::Other(other.to_string())),
        },
        Input::Program(files, options) => match sintonia_source::compile_with(files, options) {
            Ok(compiled) => Ok(compiled.notes.iter().map(|note| Mistake::at(&note.place, Severity::Note, &note.text, None)).collect()),
            Err(SourceError::Wrong(wrong)) => Ok(vec![Mistake::at(&wrong.place, Severity::Error, &wrong.problem, wrong.hint.as_deref())]),
            Err(other) => Err(Error::Other(other.to_string())),
        },
    }
}
