//! What can be wrong with a program, said with the place and the line.

use std::io;
use std::path::PathBuf;

use sintonia_text::spot::excerpt;

use crate::file::Text;
use crate::place::Place;

/// Why there is no model.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is not text.
    #[error("{}: byte {at} is not part of any text in UTF-8", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// The offset of the first byte that is wrong.
        at: usize,
    },
    /// What was given is no program.
    #[error("{0}")]
    Files(String),
    /// Something in a file is wrong.
    #[error(transparent)]
    Wrong(Box<Wrong>),
}

/// Something wrong in a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}{}{}", shown(.line, place), hint.as_ref().map(|hint| format!("\n    hint: {hint}")).unwrap_or_default())]
pub struct Wrong {
    /// Where it is.
    pub place: Place,
    /// What is wrong.
    pub problem: String,
    /// The line it is on, if the text is at hand.
    pub line: Option<String>,
    /// What may help.
    pub hint: Option<String>,
}

impl Wrong {
    /// Something wrong at a place whose text is not at hand.
    pub fn at(place: Place, problem: impl Into<String>) -> Wrong {
        Wrong { place, problem: problem.into(), line: None, hint: None }
    }

    /// The same with the line that it is on, out of the whole text.
    pub fn in_text(mut self, text: &str) -> Wrong {
        self.line = text.lines().nth(self.place.line.saturating_sub(1)).map(str::to_owned);
        self
    }

    /// The same with something that may help.
    pub fn hint(mut self, hint: impl Into<String>) -> Wrong {
        self.hint = Some(hint.into());
        self
    }
}

impl Error {
    /// The same with the line it is about, out of one of these texts.
    pub(crate) fn in_texts(self, texts: &[Text]) -> Error {
        match self {
            Error::Wrong(wrong) if wrong.line.is_none() => match texts.iter().find(|text| text.file == wrong.place.file) {
                Some(text) => wrong.in_text(&text.text).into(),
                None => Error::Wrong(wrong),
            },
            other => other,
        }
    }
}

impl From<Wrong> for Error {
    fn from(wrong: Wrong) -> Error {
        Error::Wrong(Box::new(wrong))
    }
}

fn shown(line: &Option<String>, place: &Place) -> String {
    line.as_ref().map(|line| excerpt(line, place.column, 1)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_shows_its_line_with_a_mark_below_the_place() {
        let place = Place { file: "a.pasl".into(), line: 2, column: 3 };
        let wrong = Wrong::at(place, "expected `;`").in_text("one\ntwo\nthree").hint("end it");
        assert_eq!(wrong.to_string(), "a.pasl:2:3: expected `;`\n    two\n      ^\n    hint: end it");
    }
}
