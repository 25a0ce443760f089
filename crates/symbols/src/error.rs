//! Why a name cannot be resolved.

use std::io;
use std::path::PathBuf;

use crate::inline_site::{self, InlineSite};

/// Why a function or variable cannot be resolved.
#[derive(Debug, thiserror::Error)]
pub enum SymbolError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file is not an executable file.
    #[error("{} is not an executable file: {what}", path.display())]
    NotAnObjectFile {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// Unknown name.
    #[error("there is no {what} `{name}`{}", hint(near))]
    Unknown {
        /// "function" or "variable".
        what: &'static str,
        /// The name.
        name: String,
        /// A similar name.
        near: Option<String>,
    },
    /// Unknown name, in a program without symbols.
    #[error(
        "there is no {what} `{name}` to be found: {} is stripped, it has neither symbols nor debug information; take the program as it was before `strip`, or build it with -g and without -s",
        path.display()
    )]
    Stripped {
        /// "function" or "variable".
        what: &'static str,
        /// The name.
        name: String,
        /// The main program.
        path: PathBuf,
    },
    /// The name is one of the other kind.
    #[error("`{name}` is a {kind}, not a {what}")]
    OtherKind {
        /// "function" or "variable".
        what: &'static str,
        /// The name.
        name: String,
        /// The other of the two.
        kind: &'static str,
    },
    /// Several functions have the name.
    #[error("`{name}` is the name of {} functions: {}; write more of the name, as in `{}`", candidates.len(), listed(candidates), candidates.first().map_or("", String::as_str))]
    AmbiguousFunction {
        /// The name.
        name: String,
        /// Their full names.
        candidates: Vec<String>,
    },
    /// The function was inlined everywhere.
    #[error(
        "the function `{name}` was inlined into its callers ({}): there is nothing left to hook; build it with __attribute__((noinline)), or hook a caller",
        inline_site::display_sites(sites)
    )]
    Inlined {
        /// The name.
        name: String,
        /// Where its calls were.
        sites: Vec<InlineSite>,
    },
    /// Only a part of the function is left.
    #[error("of the function `{name}` only a part is left, `{part}`: the rest was inlined into its callers")]
    OnlyPartialClone {
        /// The name.
        name: String,
        /// The remaining symbol.
        part: String,
    },
    /// The function depends on its caller.
    #[error("the function `{0}` returns twice or looks at its caller, and cannot be hooked")]
    DependsOnCaller(String),
    /// No debug information.
    #[error("{} was built without debug information, so the type of `{name}` is not known; build it with -g, or declare the type", path.display())]
    NoDebugInfo {
        /// The file.
        path: PathBuf,
        /// The requested name.
        name: String,
    },
    /// Several variables have the name.
    #[error("`{name}` is the name of {} variables: {}; write the file before it, as in `{}:{name}`", files.len(), files.join(", "), files.first().map_or("file.c", String::as_str))]
    Ambiguous {
        /// The name.
        name: String,
        /// Their source files.
        files: Vec<String>,
    },
    /// The variable has no address.
    #[error("the variable `{0}` was optimised away: it has no place in memory")]
    OptimisedAway(String),
    /// The variable is a constant of the compiler.
    #[error("`{0}` is a constant: the compiler has put its value into the code, and it has no place in memory")]
    Constant(String),
    /// The debug information describes it in a way that is not supported.
    #[error("where the variable `{0}` is cannot be told from the debug information: it may be in registers, or split into parts")]
    UnsupportedLocation(String),
    /// The variable is thread-local, in a library.
    #[error("every thread has a variable `{0}` of its own; only those of the main program can be read, not those of a library")]
    ThreadLocal(String),
    /// The path does not fit the type.
    #[error("`{part}` of `{path}`: {what}")]
    InvalidPath {
        /// The whole path.
        path: String,
        /// The offending part.
        part: String,
        /// What is wrong with it.
        what: String,
    },
}

/// The first of several names.
fn listed(names: &[String]) -> String {
    const MOST: usize = 8;
    let more = if names.len() > MOST { format!(", and {} more", names.len() - MOST) } else { String::new() };
    let shown: Vec<String> = names.iter().take(MOST).map(|name| format!("`{name}`")).collect();
    shown.join(", ") + &more
}

fn hint(near: &Option<String>) -> String {
    near.as_ref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}
