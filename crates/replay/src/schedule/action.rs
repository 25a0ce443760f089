//! Actions of calls, independent of the trace format.

use sintonia_recording::comm_event::{CollectiveGroup, GroupOp};

use crate::send_mode::SendMode;
pub use sintonia_recording::raw::RequestRef as Request;

/// Action of a call. A call with [`CallCompletion::Nonblocking`] or [`CallCompletion::Persistent`] creates the next request of its
/// location; requests are numbered from 0 and named by number or by age.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplayAction {
    /// No communication: takes its recorded duration.
    Local,
    /// An unsuccessful poll: takes no time.
    Poll,
    /// `MPI_Init`.
    Init,
    /// `MPI_Finalize`.
    Finalize,
    /// Sends a message.
    Send(SendAction),
    /// Receives a message.
    Receive(ReceiveAction),
    /// Sends a message and receives another one.
    SendReceive(SendAction, ReceiveAction),
    /// Blocks until there is a message, without receiving it.
    Probe {
        /// The message.
        message: PeerEnvelope,
    },
    /// Blocks until these requests are complete; if it had a choice, the recorded ones.
    Complete(Vec<Request>),
    /// Starts persistent requests.
    Start(Vec<Request>),
    /// Frees requests.
    FreeRequests(Vec<Request>),
    /// Takes part in a collective.
    Collective(CollectiveAction),
    /// RMA access to the window of another rank.
    RmaAccess {
        /// Window id.
        window: u32,
        /// Target rank.
        target: u32,
        /// Bytes put.
        put: u64,
        /// Bytes got.
        get: u64,
        /// What completes it.
        completion: CallCompletion,
    },
    /// RMA synchronisation.
    WindowSync {
        /// Window id.
        window: u32,
        /// The synchronisation.
        sync: WindowSync,
    },
}

/// Message envelope: peer, communicator and tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PeerEnvelope {
    /// The rank at the other end.
    pub peer: u32,
    /// Communicator id.
    pub communicator: u32,
    /// The tag.
    pub tag: i32,
}

/// A message that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendAction {
    /// Destination.
    pub to: PeerEnvelope,
    /// Message size.
    pub bytes: u64,
    /// Send mode.
    pub mode: SendMode,
    /// What completes it.
    pub completion: CallCompletion,
}

/// A message that is received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveAction {
    /// Source. `None` if a wildcard match is only known later: see [`super::CallReader::next_wildcard_match`].
    pub from: Option<PeerEnvelope>,
    /// Whether it is a wildcard receive, which may match another message on another machine.
    pub any_source: bool,
    /// What completes it.
    pub completion: CallCompletion,
}

/// Match of a wildcard receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WildcardMatch {
    /// It matched this message.
    Received(PeerEnvelope),
    /// It matched none: it was cancelled, or never completed.
    Never,
}

/// What completes an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallCompletion {
    /// The call itself.
    Blocking,
    /// A later call.
    Nonblocking,
    /// A later call, after yet another one has started it.
    Persistent,
}

/// A rank's call of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveAction {
    /// The group. Collectives match in the order in which each member calls them; those of `Group::Persistent` in the order of their
    /// starts.
    pub group: CollectiveGroup,
    /// The operation.
    pub op: GroupOp,
    /// The root, if any. On an intercommunicator, [`CollectiveAction::SELF_ROOT`] in the root itself and `None` in the others of its group.
    pub root: Option<u32>,
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
    /// What completes it.
    pub completion: CallCompletion,
}

impl CollectiveAction {
    /// `MPI_ROOT`: this rank is the root on an intercommunicator.
    pub const SELF_ROOT: u32 = u32::MAX;
}

/// RMA synchronisation call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WindowSync {
    /// `MPI_Win_post`: exposes the window to these ranks.
    Post(Vec<u32>),
    /// `MPI_Win_start`: opens an access epoch to these ranks.
    Start(Vec<u32>),
    /// `MPI_Win_complete`: closes the access epoch.
    Complete,
    /// `MPI_Win_wait`: waits until all origins have completed.
    Wait,
    /// `MPI_Win_lock` or `MPI_Win_lock_all`.
    Lock {
        /// Target rank; `None` for all.
        target: Option<u32>,
        /// Whether the lock is exclusive.
        exclusive: bool,
    },
    /// `MPI_Win_unlock`: completes accesses and releases the lock.
    Unlock {
        /// Target rank; `None` for all.
        target: Option<u32>,
    },
    /// `MPI_Win_flush`: completes accesses.
    Flush {
        /// Target rank; `None` for all.
        target: Option<u32>,
    },
}
