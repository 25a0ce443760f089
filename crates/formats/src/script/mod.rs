//! What the traces of simulators say: each rank's computation and calls in order, without times of their own.
//!
//! Such traces are text, a step a line, and too large for memory. Opening one finds out where the lines of each rank are ([`Extents`]); they
//! are read when they are needed. A recording becomes such a trace one call at a time.

mod extents;
mod fields;
mod held;
mod left_out;
mod recorded;
mod woven;

pub use extents::{Extents, Lines};
pub(crate) use fields::{Fields, Wrong};
pub(crate) use left_out::LeftOut;
pub(crate) use recorded::{Recorded, Vocabulary};
pub use sintonia_mpi::Pattern;

/// One step of a rank. Ranks are those of the whole program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Computes.
    Compute {
        /// Seconds.
        seconds: f64,
    },
    /// Sends a message.
    Send {
        /// To whom.
        to: Envelope,
        /// How large it is.
        bytes: u64,
        /// Whether it is done only when its receive has begun.
        synchronous: bool,
        /// Who waits for it.
        end: End,
    },
    /// Receives a message.
    Receive {
        /// From whom.
        from: Envelope,
        /// How large it is.
        bytes: u64,
        /// Who waits for it.
        end: End,
    },
    /// Waits for a message that was sent or received with [`End::Later`], the oldest of its kind.
    Wait {
        /// Whether it was sent.
        sent: bool,
        /// To or from whom.
        message: Envelope,
    },
    /// Waits for all messages that nobody has waited for yet.
    WaitAll {
        /// Whether also for those that were sent.
        sent: bool,
    },
    /// Looks whether something has happened.
    Poll,
    /// Takes part in an operation of all members of a communicator.
    Collective {
        /// Which one.
        pattern: Pattern,
        /// The communicator.
        communicator: u32,
        /// The rank whose data it is, where there is one.
        root: Option<u32>,
        /// Bytes that this rank gives.
        sent: u64,
        /// Bytes that it gets.
        received: u64,
    },
    /// Starts MPI.
    Init,
    /// Ends MPI.
    Finalize,
}

/// What a message is matched by. These traces do not say what a receive from anyone got, so there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Envelope {
    /// The rank at the other end.
    pub peer: u32,
    /// The tag.
    pub tag: i32,
    /// The communicator.
    pub communicator: u32,
}

/// Who waits until a message has been sent or received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// The step itself.
    Here,
    /// A later step.
    Later,
    /// Nobody.
    Nowhere,
}
