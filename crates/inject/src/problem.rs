//! Why the probe cannot be brought into a process, in words for the person who asked for it.

use std::io;

/// Why the probe cannot be brought into a process.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// Nobody there.
    #[error("there is no process {0}")]
    NoProcess(u32),
    /// It has ended meanwhile.
    #[error("process {0} has ended")]
    Ended(u32),
    /// Not allowed.
    #[error("process {process} cannot be attached to: {why}")]
    NotAllowed {
        /// Which.
        process: u32,
        /// What stands in the way, and what to do.
        why: String,
    },
    /// A debugger, most likely.
    #[error("process {process} is being traced already, by process {tracer} ({name}); end that first")]
    Traced {
        /// Which.
        process: u32,
        /// By whom.
        tracer: u32,
        /// What the tracer is called.
        name: String,
    },
    /// Stopped by a signal.
    #[error("process {0} is stopped; let it go on first: kill -CONT {0}")]
    Stopped(u32),
    /// Nothing can be loaded.
    #[error(
        "process {0} is linked statically: there is no dynamic linker in it that could load the probe. Start it with `sintonia tune`, or link it dynamically"
    )]
    Static(u32),
    /// Another machine.
    #[error("process {0} is no 64-bit program for x86-64, and the probe is")]
    OtherMachine(u32),
    /// Not the C library that the probe is built for.
    #[error("process {process} does not use the GNU C library as the probe does: {why}")]
    OtherLibrary {
        /// Which.
        process: u32,
        /// What is missing.
        why: String,
    },
    /// No thread could be borrowed.
    #[error(
        "process {process}: in {seconds} seconds no thread came by at a place where it could be interrupted safely ({last}); nothing was changed. Try again"
    )]
    NoMoment {
        /// Which.
        process: u32,
        /// How long it was tried.
        seconds: u64,
        /// What was in the way the last time.
        last: String,
    },
    /// The system does not give memory or a thread.
    #[error("process {process}: the system refuses {what}: {source}")]
    Refused {
        /// Which.
        process: u32,
        /// What.
        what: &'static str,
        /// Its words.
        source: io::Error,
    },
    /// The dynamic linker in the process does not take the probe.
    #[error("process {process} cannot load the probe: {why}")]
    NotLoaded {
        /// Which.
        process: u32,
        /// The dynamic linker's words.
        why: String,
    },
    /// The probe is there, and does not want.
    #[error("process {process}: {why}")]
    Unwilling {
        /// Which.
        process: u32,
        /// The probe's words.
        why: String,
    },
    /// No answer.
    #[error("process {0}: the probe was brought in, and did not answer in time")]
    Silent(u32),
}
