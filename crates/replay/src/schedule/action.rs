//! What a call does to other ranks, whichever tool wrote it down.

use sintonia_recording::deed::{Group, Purpose};
pub use sintonia_recording::raw::RequestRef as Request;

/// What a call does. Ranks are those of the schedule. A call with [`How::Request`] or [`How::Persistent`] makes the next request of its
/// line; requests are numbered from 0, and others name them by that number or by how many were made since.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Nothing to others: it takes as long as it took.
    Local,
    /// Nothing, and no time: it only looked whether something had happened.
    Poll,
    /// Starts MPI.
    Init,
    /// Ends MPI.
    Finalize,
    /// Sends a message.
    Send(Send),
    /// Receives a message.
    Receive(Receive),
    /// Sends one message and receives another at the same time.
    SendReceive(Send, Receive),
    /// Waits until there is a message, and leaves it there.
    Probe {
        /// The message.
        message: Envelope,
    },
    /// Waits until these requests are complete; where others could have been, the recorded ones.
    Complete(Vec<Request>),
    /// Starts persistent requests.
    Start(Vec<Request>),
    /// Gives requests up: nobody waits for them any more.
    Forget(Vec<Request>),
    /// Takes part in an operation of a group.
    Join(Join),
    /// Moves data between this rank and a window of another, by itself.
    Access {
        /// The window, by number.
        window: u32,
        /// The rank whose window it is.
        target: u32,
        /// Bytes that go there.
        put: u64,
        /// Bytes that come from there.
        get: u64,
        /// Whether a request completes it.
        how: How,
    },
    /// Begins or ends a time in which windows are accessed.
    Sync {
        /// The window, by number.
        window: u32,
        /// How.
        sync: Sync,
    },
}

/// Who sends what to whom: what a receive is matched by. The peer is the rank at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Envelope {
    /// The rank at the other end.
    pub peer: u32,
    /// The communicator, by number.
    pub communicator: u32,
    /// The tag.
    pub tag: i32,
}

/// A message that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Send {
    /// To whom.
    pub to: Envelope,
    /// How large it is.
    pub bytes: u64,
    /// When the send may complete.
    pub mode: SendMode,
    /// What completes it.
    pub how: How,
}

/// A message that is received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receive {
    /// From whom. `None` if the receive named no source or no tag and a later call shows what it got: [`super::Stretches::outcome`] says.
    pub from: Option<Envelope>,
    /// Whether the program asked for a message from anyone; then another one may come first on another machine.
    pub anyone: bool,
    /// What completes it.
    pub how: How,
}

/// What became of a receive that named no source or no tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It got this message.
    Received(Envelope),
    /// It got none: it was given up, or is not complete when the schedule ends.
    Never,
}

/// When a send may complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SendMode {
    /// As the library likes: small messages at once, large ones when they are received.
    Standard,
    /// When the receive has begun.
    Synchronous,
    /// At once.
    Buffered,
    /// The receive has begun already.
    Ready,
}

/// What completes an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// The call itself.
    Blocking,
    /// A later call.
    Request,
    /// A later call, after another one has started it.
    Persistent,
}

/// A rank's part in an operation of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Join {
    /// Who takes part. Operations of a group meet in the order in which each member joins them; those of `Group::Persistent` by their starts.
    pub group: Group,
    /// What they do.
    pub purpose: Purpose,
    /// The rank whose data it is, where there is one; between two groups [`Join::HERE`] if it is this one, and none for the others of its group.
    pub root: Option<u32>,
    /// Bytes that this rank gives.
    pub sent: u64,
    /// Bytes that this rank gets.
    pub received: u64,
    /// What completes it.
    pub how: How,
}

impl Join {
    /// The root of an operation between two groups calls itself so.
    pub const HERE: u32 = u32::MAX;
}

/// How a time in which windows are accessed begins or ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sync {
    /// `MPI_Win_post`: these ranks may access my window.
    Post(Vec<u32>),
    /// `MPI_Win_start`: I shall access the windows of these ranks.
    Start(Vec<u32>),
    /// `MPI_Win_complete`: I have.
    Complete,
    /// `MPI_Win_wait`: until all have.
    Wait,
    /// `MPI_Win_lock` of one rank's window, or of all.
    Lock {
        /// Whose window; `None` for all.
        target: Option<u32>,
        /// Whether nobody else may have it.
        exclusive: bool,
    },
    /// `MPI_Win_unlock`: what was asked for is done, and others may have it.
    Unlock {
        /// Whose window; `None` for all.
        target: Option<u32>,
    },
    /// `MPI_Win_flush`: what was asked for is done.
    Flush {
        /// Whose window; `None` for all.
        target: Option<u32>,
    },
}
