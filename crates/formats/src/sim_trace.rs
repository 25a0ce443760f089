//! Traces for simulators: the computations and calls of each rank in order, without timestamps.
//!
//! They are text, one action per line, and too large for memory. Opening a trace indexes the lines of each rank ([`ThreadLineIndex`]); they
//! are read on demand. A recording is converted one call at a time.

mod deferred;
mod from_recording;
mod line_fields;
mod omissions;
mod thread_lines;
mod thread_merge;

pub(crate) use from_recording::{ActionEmitter, FormatFeatures};
pub(crate) use line_fields::{LineError, LineFields};
pub(crate) use omissions::TraceOmission;
pub use sintonia_mpi::CollectiveOp;
pub use thread_lines::{IndexedLines, ThreadLineIndex};

/// One action of a rank. Ranks are world ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TraceAction {
    /// Computes.
    Compute {
        /// Duration.
        seconds: f64,
    },
    /// Sends a message.
    Send {
        /// Destination.
        to: TraceEnvelope,
        /// Size.
        bytes: u64,
        /// Whether it completes only after the receive has started.
        synchronous: bool,
        /// Who waits for it.
        completion: Completion,
    },
    /// Receives a message.
    Receive {
        /// Source.
        from: TraceEnvelope,
        /// Size.
        bytes: u64,
        /// Who waits for it.
        completion: Completion,
    },
    /// Waits for the oldest [`Completion::Nonblocking`] message of this envelope.
    Wait {
        /// Whether it is a send.
        is_send: bool,
        /// Its envelope.
        message: TraceEnvelope,
    },
    /// Waits for all nonblocking messages.
    WaitAll {
        /// Whether sends are included.
        include_sends: bool,
    },
    /// Tests for completion.
    Test,
    /// Takes part in a collective.
    Collective {
        /// Which one.
        operation: CollectiveOp,
        /// The communicator.
        communicator: u32,
        /// The root, if there is one.
        root: Option<u32>,
        /// Bytes sent by this rank.
        sent: u64,
        /// Bytes received by this rank.
        received: u64,
    },
    /// `MPI_Init`.
    Init,
    /// `MPI_Finalize`.
    Finalize,
}

/// Message envelope without wildcards: these traces do not say what a wildcard receive matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceEnvelope {
    /// The peer rank.
    pub peer: u32,
    /// The tag.
    pub tag: i32,
    /// The communicator.
    pub communicator: u32,
}

/// Who waits until a message is sent or received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Completion {
    /// The action itself.
    Blocking,
    /// A later wait.
    Nonblocking,
    /// Nobody.
    Detached,
}
