//! Queries of the page and their answers, the same for the server and the standalone file.

use std::collections::BTreeMap;

/// A query of the page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageQuery {
    /// Index of the recording, in the order of the command line.
    pub recording: usize,
    /// The subject: `report`, `timeline`, `calls`.
    pub subject: String,
    /// Parameters, such as `from=1000`.
    pub params: BTreeMap<String, String>,
}

/// The answer to a query.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryAnswer {
    /// JSON text.
    Json(String),
    /// A JSON header and the bytes it describes.
    Binary {
        /// The header as JSON text.
        header: String,
        /// The payload.
        bytes: Vec<u8>,
    },
    /// The answer is still being computed.
    Pending {
        /// The current activity, for display.
        activity: String,
        /// Progress from 0 to 1.
        progress: f64,
    },
}

/// Why a query has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// Unknown recording or subject.
    #[error("there is no {0}")]
    Unknown(String),
    /// An invalid query parameter.
    #[error("{parameter}: {reason}")]
    InvalidParameter {
        /// Name of the parameter.
        parameter: String,
        /// What is wrong with its value, and what would be valid.
        reason: String,
    },
    /// The data is not available; the sentence is the reason.
    #[error("{0}")]
    Unavailable(String),
}

/// Answers queries.
pub trait QueryHandler: Sync {
    /// Answers a query.
    fn handle(&self, query: &PageQuery) -> Result<QueryAnswer, QueryError>;
}

impl QueryAnswer {
    /// Serializes a value as a JSON answer.
    pub fn json(value: &impl serde::Serialize) -> QueryAnswer {
        QueryAnswer::Json(serde_json::to_string(value).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}")))
    }

    /// The answer as it is sent. A binary answer starts with the length of its header in four bytes; a pending one is empty.
    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            QueryAnswer::Json(text) => text.into_bytes(),
            QueryAnswer::Binary { header, bytes } => [&(header.len() as u32).to_le_bytes()[..], header.as_bytes(), &bytes].concat(),
            QueryAnswer::Pending { .. } => Vec::new(),
        }
    }
}

impl PageQuery {
    /// The value of a parameter, if present.
    pub fn param(&self, parameter: &str) -> Option<&str> {
        self.params.get(parameter).map(String::as_str)
    }

    /// Parses a numeric parameter, if present.
    pub fn parse_param<T: std::str::FromStr>(&self, parameter: &str) -> Result<Option<T>, QueryError> {
        let parse = |text: &str| {
            let error =
                || QueryError::InvalidParameter { parameter: parameter.to_owned(), reason: format!("`{text}` is not a valid number here") };
            text.parse().map_err(|_| error())
        };
        self.param(parameter).map(parse).transpose()
    }
}
