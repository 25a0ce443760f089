//! Why an application does not run to its end.

use std::io;
use std::path::PathBuf;

use crate::Value;

/// Why an application did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The application cannot be understood.
    #[error(transparent)]
    Source(#[from] sintonia_source::Error),
    /// What is wrong with what was asked for, in words.
    #[error("{0}")]
    Other(String),
    /// There is no Java compiler.
    #[error(
        "no Java compiler was found: `{0}` is neither in the folders of PATH nor in JAVA_HOME. Install a JDK, on Debian the package \
         default-jdk-headless"
    )]
    NoJdk(&'static str),
    /// Java does not compile.
    #[error("the Java compiler refuses the program:\n{0}")]
    Compile(String),
    /// The source of a class is missing.
    #[error("{}: there is no such file, and {routine} of the application needs it", path.display())]
    NoClass {
        /// The file that should be there.
        path: PathBuf,
        /// What needs it.
        routine: String,
    },
    /// Nobody is left to do the work.
    #[error("all workers are lost{}", reasons(.0))]
    NoWorkers(Vec<String>),
    /// A task raised an exception, or cannot be called.
    #[error("task {number} of {batch}: {reason}")]
    Failed {
        /// The batch.
        batch: String,
        /// The number of the task, from 1.
        number: usize,
        /// The exception with its stack, or why the method cannot be called.
        reason: String,
    },
    /// The same task gave different results.
    #[error("task {number} of {batch} gave {} on {} and {} on {}: a task must not depend on anything but what it is given", first.0, first.1, second.0, second.1)]
    Disagreement {
        /// The batch.
        batch: String,
        /// The number of the task, from 1.
        number: usize,
        /// What came first, and from whom.
        first: Box<(Value, String)>,
        /// What came second, and from whom.
        second: Box<(Value, String)>,
    },
    /// The user ended it.
    #[error("interrupted")]
    Interrupted,
    /// The system refused something.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system said.
        source: io::Error,
    },
}

impl Error {
    /// For `map_err`: the system refused something.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let what = what.into();
        move |source| Error::Io { what, source }
    }
}

fn reasons(reasons: &[String]) -> String {
    reasons.iter().map(|reason| format!("\n  {reason}")).collect()
}
