//! Questions that the page asks, and answers to them: one shape for both homes of the page.

use std::collections::BTreeMap;

/// A question of the page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// Which recording it is about, counted from 0 in the order of the command line.
    pub recording: usize,
    /// What is asked about: `report`, `timeline`, `calls`.
    pub subject: String,
    /// What is asked in particular: `from=1000`; nothing for all of it.
    pub query: BTreeMap<String, String>,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// A JSON text.
    Json(String),
    /// A header in JSON and bytes that it describes.
    Binary {
        /// The header.
        header: String,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// There is none yet: it is being worked on.
    Working {
        /// What is being done, for people.
        doing: String,
        /// How much of it is done, from 0 to 1.
        done: f64,
    },
}

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such recording or subject.
    #[error("there is no {0}")]
    Unknown(String),
    /// The query does not say what it should.
    #[error("{parameter}: {reason}")]
    Query {
        /// Which part of it.
        parameter: String,
        /// What is wrong with it, and what would be right.
        reason: String,
    },
    /// The recording cannot tell; the sentence says why.
    #[error("{0}")]
    NotThere(String),
}

/// Whoever answers questions.
pub trait Answers: Sync {
    /// Answers a question.
    fn answer(&self, question: &Question) -> Result<Answer, Refusal>;
}

impl Answer {
    /// A value as JSON.
    pub fn json(value: &impl serde::Serialize) -> Answer {
        Answer::Json(serde_json::to_string(value).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}")))
    }

    /// It as it is sent: a binary one begins with the length of its header in four bytes. What is not there yet has no bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            Answer::Json(text) => text.into_bytes(),
            Answer::Binary { header, bytes } => [&(header.len() as u32).to_le_bytes()[..], header.as_bytes(), &bytes].concat(),
            Answer::Working { .. } => Vec::new(),
        }
    }
}

impl Question {
    /// The value of a part of the query, if it is there.
    pub fn get(&self, parameter: &str) -> Option<&str> {
        self.query.get(parameter).map(String::as_str)
    }

    /// The same as a number; what is no number is refused.
    pub fn number<T: std::str::FromStr>(&self, parameter: &str) -> Result<Option<T>, Refusal> {
        let read = |text: &str| {
            let refusal = || Refusal::Query { parameter: parameter.to_owned(), reason: format!("`{text}` is no number that fits here") };
            text.parse().map_err(|_| refusal())
        };
        self.get(parameter).map(read).transpose()
    }
}
