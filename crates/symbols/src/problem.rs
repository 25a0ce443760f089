//! Why a name leads nowhere.

use std::io;
use std::path::PathBuf;

/// Why there is no such function or variable.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The files of code cannot be looked at.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is not what the system loads.
    #[error("{} is no file of code: {what}", path.display())]
    NoCode {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// No name like that.
    #[error("there is no {what} `{name}`{}", hint(near))]
    Unknown {
        /// Function or variable.
        what: &'static str,
        /// The name.
        name: String,
        /// One that may have been meant.
        near: Option<String>,
    },
    /// Only copies of its body are there.
    #[error(
        "the function `{name}` was inlined into its callers ({places} places): there is nothing left to hook; build it with __attribute__((noinline)), or hook a caller"
    )]
    Inlined {
        /// The name.
        name: String,
        /// How many callers have a copy.
        places: usize,
    },
    /// Only parts of it are there.
    #[error("of the function `{name}` only a part is left, `{part}`: the rest was inlined into its callers")]
    OnlyPart {
        /// The name.
        name: String,
        /// What there is.
        part: String,
    },
    /// It depends on who called it.
    #[error("the function `{0}` returns twice or looks at its caller, and cannot be hooked")]
    DependsOnCaller(String),
    /// Types cannot be told.
    #[error("{} was built without debug information, so the type of `{name}` is not known; build it with -g, or declare the type", path.display())]
    NoDebug {
        /// The file.
        path: PathBuf,
        /// What was asked for.
        name: String,
    },
    /// Several have the name.
    #[error("`{name}` is the name of {} variables: {}; write the file before it, as in `{}:{name}`", files.len(), files.join(", "), files.first().map_or("file.c", String::as_str))]
    Ambiguous {
        /// The name.
        name: String,
        /// Where they are.
        files: Vec<String>,
    },
    /// It has no place in memory.
    #[error("the variable `{0}` was optimised away: it has no place in memory")]
    OptimisedAway(String),
    /// Every thread has one.
    #[error("every thread has a variable `{0}` of its own; only those that threads share can be read or set")]
    ThreadLocal(String),
    /// The path asks for something the type does not have.
    #[error("`{part}` of `{path}`: {what}")]
    WrongPath {
        /// The whole.
        path: String,
        /// The part.
        part: String,
        /// What is wrong with it.
        what: String,
    },
}

fn hint(near: &Option<String>) -> String {
    near.as_ref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}
