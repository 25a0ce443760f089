//! Why the probe cannot be loaded into a process.

use std::io;

/// Why the probe cannot be loaded into a process.
#[derive(Debug, thiserror::Error)]
pub enum InjectError {
    /// No such process.
    #[error("there is no process {0}")]
    NoProcess(u32),
    /// It has ended meanwhile.
    #[error("process {0} has ended")]
    ProcessEnded(u32),
    /// No permission.
    #[error("process {process} cannot be attached to: {why}")]
    NotAllowed {
        /// The process.
        process: u32,
        /// The obstacle, and how to remove it.
        why: String,
    },
    /// Already traced, most likely by a debugger.
    #[error("process {process} is being traced already, by process {tracer} ({name}); end that first")]
    Traced {
        /// The process.
        process: u32,
        /// The tracer.
        tracer: u32,
        /// Name of the tracer.
        name: String,
    },
    /// Stopped by a signal.
    #[error("process {0} is stopped; resume it first: kill -CONT {0}")]
    Stopped(u32),
    /// Statically linked.
    #[error(
        "process {0} is linked statically: there is no dynamic linker in it that could load the probe. Start it with `sintonia tune`, or link it dynamically"
    )]
    StaticallyLinked(u32),
    /// Wrong architecture.
    #[error("process {0} is not a 64-bit x86-64 program")]
    WrongArchitecture(u32),
    /// Unsupported C library.
    #[error("process {process} does not use the GNU C library as the probe does: {why}")]
    UnsupportedLibc {
        /// The process.
        process: u32,
        /// What is missing.
        why: String,
    },
    /// No thread could be borrowed.
    #[error(
        "process {process}: no thread reached a point where it could be interrupted safely within {seconds} seconds ({last}); nothing was changed. Try again"
    )]
    NoSafePoint {
        /// The process.
        process: u32,
        /// Time spent trying, in seconds.
        seconds: u64,
        /// The last obstacle.
        last: String,
    },
    /// The system provides no memory or thread.
    #[error("process {process}: the system refuses {what}: {source}")]
    SystemRefused {
        /// The process.
        process: u32,
        /// The operation.
        what: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// The dynamic linker in the process rejects the probe.
    #[error("process {process} cannot load the probe: {why}")]
    NotLoaded {
        /// The process.
        process: u32,
        /// Error text of the dynamic linker.
        why: String,
    },
    /// The probe refuses.
    #[error("process {process}: {why}")]
    ProbeRefused {
        /// The process.
        process: u32,
        /// Error text of the probe.
        why: String,
    },
    /// No answer.
    #[error("process {0}: the probe was loaded but did not answer in time")]
    NoResponse(u32),
}
