//! What can be wrong with a tunlet's file, said with the place.

use std::io;
use std::path::PathBuf;

use sintonia_text::near::nearest;
use sintonia_text::place::Place;

/// Why a file gives no tunlet.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something in the file is wrong.
    #[error("{place}: {problem}{}", place.excerpt)]
    Wrong {
        /// Where.
        place: Place,
        /// What.
        problem: Box<Problem>,
    },
}

/// What is wrong in a file.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Problem {
    /// It is not even a file of that format.
    #[error("{0}")]
    Syntax(String),
    /// A name that means nothing where it stands.
    #[error("{what} `{name}` means nothing {place}{}; what can be there: {known}", meant(near))]
    Unknown {
        /// What kind of name.
        what: &'static str,
        /// The name.
        name: String,
        /// Where it stands.
        place: String,
        /// The one that was probably meant.
        near: Option<String>,
        /// Those that mean something there.
        known: String,
    },
    /// A key that must be there.
    #[error("`{key}` is missing {table}")]
    Missing {
        /// The key, or several of which one is needed.
        key: String,
        /// The table it belongs in.
        table: String,
    },
    /// A value of another kind.
    #[error("`{key}` must be {expected}, not {found}")]
    Kind {
        /// The key.
        key: String,
        /// What it must be.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A formula or condition that cannot be understood.
    #[error("`{key}` is no {what}: {reason}")]
    Formula {
        /// The key.
        key: String,
        /// A formula or a condition.
        what: &'static str,
        /// Why not.
        reason: String,
    },
    /// A name that is there twice.
    #[error("there is a `{0}` already: names must differ")]
    Twice(String),
    /// Parts that do not go together.
    #[error("{0}")]
    Unfit(String),
}

fn meant(near: &Option<String>) -> String {
    near.as_ref().map_or(String::new(), |near| format!(" (did you mean `{near}`?)"))
}

impl Problem {
    /// A name that is none of those that are known.
    pub fn unknown<'a>(what: &'static str, name: &str, place: &str, known: impl IntoIterator<Item = &'a str>) -> Problem {
        let known: Vec<&str> = known.into_iter().collect();
        let near = nearest(name, known.iter().copied()).map(str::to_owned);
        let known = if known.is_empty() { "nothing".into() } else { known.join(", ") };
        Problem::Unknown { what, name: name.into(), place: place.into(), near, known }
    }
}
