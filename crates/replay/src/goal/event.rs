//! Simulation events, packed into 16 bytes: they are moved often.

use std::cmp::Ordering;

/// An event. Events at equal times are processed in the order of their unique sequence numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct GoalEvent {
    sequence: u32,
    operation: u32,
    /// The rank.
    pub rank: u32,
    kind: GoalEventKind,
}

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GoalEventKind {
    /// A computation is ready.
    Compute,
    /// A send is ready.
    Send,
    /// A receive is posted.
    Receive,
    /// A message has arrived and can be received.
    Arrive,
    /// An operation is complete; only if a dependent can start elsewhere before its CPU is free.
    End,
}

impl GoalEvent {
    #[inline]
    pub(super) fn new(sequence: u32, kind: GoalEventKind, operation: u32, rank: u32) -> GoalEvent {
        GoalEvent { sequence, operation, rank, kind }
    }

    #[inline]
    pub(super) fn kind(self) -> GoalEventKind {
        self.kind
    }

    /// The operation; for an arrival, its send.
    #[inline]
    pub(super) fn operation(self) -> u32 {
        self.operation
    }
}

impl PartialEq for GoalEvent {
    fn eq(&self, other: &GoalEvent) -> bool {
        self.sequence == other.sequence
    }
}

impl Eq for GoalEvent {}

impl PartialOrd for GoalEvent {
    fn partial_cmp(&self, other: &GoalEvent) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for GoalEvent {
    fn cmp(&self, other: &GoalEvent) -> Ordering {
        self.sequence.cmp(&other.sequence)
    }
}
