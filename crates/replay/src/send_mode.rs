//! Communication modes of sends, for schedules and for the costs of messages.

/// Communication mode of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SendMode {
    /// Eager or rendezvous, depending on the size.
    Standard,
    /// Completes when the receive has started.
    Synchronous,
    /// Completes locally.
    Buffered,
    /// The receive is already posted.
    Ready,
    /// Not a message, but a local event: lets another location of the same rank continue, and costs nothing.
    Signal,
}
