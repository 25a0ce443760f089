//! Errors of running an application.

use std::io;
use std::path::PathBuf;

use crate::TaskValue;

/// Why an application did not complete.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The application cannot be parsed.
    #[error(transparent)]
    Source(#[from] sintonia_source::Error),
    /// Anything else, as text.
    #[error("{0}")]
    Other(String),
    /// No Java compiler was found.
    #[error(
        "no Java compiler was found: `{0}` is neither in the folders of PATH nor in JAVA_HOME. Install a JDK, on Debian the package \
         default-jdk-headless"
    )]
    NoJdk(&'static str),
    /// The Java code does not compile.
    #[error("the Java compiler refuses the program:\n{0}")]
    Compile(String),
    /// The source file of a class is missing.
    #[error("{}: there is no such file, and {routine} of the application needs it", path.display())]
    MissingClass {
        /// The expected file.
        path: PathBuf,
        /// The routine that needs it.
        routine: String,
    },
    /// No worker is left.
    #[error("all workers are lost{}", reasons(.0))]
    NoWorkers(Vec<String>),
    /// A task threw an exception or cannot be called.
    #[error("task {number} of {batch}: {reason}")]
    TaskFailed {
        /// Name of the batch.
        batch: String,
        /// Task number within the batch, from 1.
        number: usize,
        /// The exception with its stack trace, or why the method cannot be called.
        reason: String,
    },
    /// Two runs of the same task gave different results.
    #[error("task {number} of {batch} gave {} on {} and {} on {}: a task must not depend on anything but what it is given", first.0, first.1, second.0, second.1)]
    ResultMismatch {
        /// Name of the batch.
        batch: String,
        /// Task number within the batch, from 1.
        number: usize,
        /// The first result, and its worker.
        first: Box<(TaskValue, String)>,
        /// The second result, and its worker.
        second: Box<(TaskValue, String)>,
    },
    /// The user stopped the run.
    #[error("interrupted")]
    Interrupted,
    /// A system call failed.
    #[error("{what}: {source}")]
    Io {
        /// What was attempted.
        what: String,
        /// The cause.
        source: io::Error,
    },
}

impl Error {
    /// For `map_err`.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let what = what.into();
        move |source| Error::Io { what, source }
    }
}

fn reasons(reasons: &[String]) -> String {
    reasons.iter().map(|reason| format!("\n  {reason}")).collect()
}
