//! A GOAL schedule in memory: the operations of each rank and their dependencies.
//!
//! Schedules have many millions of operations, so an operation takes 24 bytes and a dependency four. Sender, receiver and tag of a message
//! are interned when the file is read: an operation refers to its [`GoalChannel`] by number.

use std::path::PathBuf;

use super::read::{self, SourceLine};

/// The operations of all ranks in rank order, those of a rank in file order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GoalSchedule {
    pub(super) operations: Vec<GoalOp>,
    /// Operations that depend on others: those of operation `i` start at its `first_dependent` and end at that of the next one.
    pub(super) dependents: Vec<DependentOp>,
    pub(super) channels: Vec<GoalChannel>,
    /// First operation of each rank, and one past its last.
    pub(super) ranks: Vec<[u32; 2]>,
    pub(super) cpus: u16,
    pub(super) nics: u16,
    /// The file it was read from.
    pub(super) path: Option<PathBuf>,
}

/// A send, receive or computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GoalOp {
    /// Bytes of a message, nanoseconds of a computation.
    pub size: u64,
    /// The channel of a message, or the rank of a computation.
    channel_or_rank: u32,
    pub(super) first_dependent: u32,
    /// Number of operations it depends on.
    pub dependency_count: u32,
    /// Send, receive or computation.
    pub kind: GoalOpKind,
    /// The CPU that executes it.
    pub cpu: u8,
    /// The NIC it uses.
    pub nic: u8,
}

/// The kinds of operations, in the order in which LogGOPSim starts them at equal times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GoalOpKind {
    /// `send`.
    Send,
    /// `recv`.
    Receive,
    /// `calc`.
    Compute,
}

/// Messages from one sender to one receiver with one tag. A wildcard receive has a channel of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GoalChannel {
    /// The sender; [`ANY`] for any source.
    pub source: u32,
    /// The receiver.
    pub destination: u32,
    /// The tag; [`ANY`] for any tag.
    pub tag: u32,
}

/// Any source, any tag.
pub const ANY: u32 = u32::MAX;

impl GoalChannel {
    /// Whether a message on one channel can match a receive on the other.
    #[inline]
    pub fn matches(self, other: GoalChannel) -> bool {
        let fits = |a: u32, b: u32| a == b || a == ANY || b == ANY;
        self.destination == other.destination && fits(self.source, other.source) && fits(self.tag, other.tag)
    }

    /// Whether it has a wildcard source or tag.
    pub fn is_wildcard(self) -> bool {
        self.source == ANY || self.tag == ANY
    }
}

/// An operation that depends on another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DependentOp(u32);

impl DependentOp {
    const START_ONLY: u32 = 1 << 31;

    pub(super) fn new(operation: u32, begun: bool) -> DependentOp {
        DependentOp(operation | if begun { DependentOp::START_ONLY } else { 0 })
    }

    /// Its number.
    #[inline]
    pub fn operation(self) -> usize {
        (self.0 & !DependentOp::START_ONLY) as usize
    }

    /// Whether it waits only for the start of the other one (`irequires`), not for its end.
    #[inline]
    pub fn waits_for_start(self) -> bool {
        self.0 & DependentOp::START_ONLY != 0
    }
}

/// The highest number of operations that can be numbered.
pub const MAX_OPERATIONS: usize = 1 << 30;

impl GoalOp {
    /// An operation of a rank; a message gets its channel later.
    pub(super) fn new(kind: GoalOpKind, size: u64, rank: u32, cpu: u8, nic: u8) -> GoalOp {
        GoalOp { size, channel_or_rank: rank, first_dependent: 0, dependency_count: 0, kind, cpu, nic }
    }

    /// The rank of an operation that has no channel yet.
    pub(super) fn own_rank(&self) -> u32 {
        self.channel_or_rank
    }

    /// Sets the channel of a message.
    pub(super) fn set_channel(&mut self, channel: u32) {
        self.channel_or_rank = channel;
    }

    /// The channel of a message.
    #[inline]
    pub fn channel(&self) -> Option<usize> {
        (self.kind != GoalOpKind::Compute).then_some(self.channel_or_rank as usize)
    }
}

impl GoalSchedule {
    /// Number of ranks.
    pub fn rank_count(&self) -> usize {
        self.ranks.len()
    }

    /// Number of CPUs per rank.
    #[inline]
    pub fn cpus(&self) -> usize {
        usize::from(self.cpus)
    }

    /// Number of NICs per rank.
    pub fn nics(&self) -> usize {
        usize::from(self.nics)
    }

    /// All operations; those of a rank are at [`GoalSchedule::rank_operations`].
    #[inline]
    pub fn operations(&self) -> &[GoalOp] {
        &self.operations
    }

    /// The channels, by index.
    #[inline]
    pub fn channels(&self) -> &[GoalChannel] {
        &self.channels
    }

    /// The indices of a rank's operations.
    #[inline]
    pub fn rank_operations(&self, rank: usize) -> std::ops::Range<usize> {
        self.ranks.get(rank).map_or(0..0, |[first, end]| *first as usize..*end as usize)
    }

    /// The rank of an operation.
    #[inline]
    pub fn rank_of(&self, operation: &GoalOp) -> usize {
        let channel = |index: u32| self.channels[index as usize];
        match operation.kind {
            GoalOpKind::Send => channel(operation.channel_or_rank).source as usize,
            GoalOpKind::Receive => channel(operation.channel_or_rank).destination as usize,
            GoalOpKind::Compute => operation.channel_or_rank as usize,
        }
    }

    /// The source line of an operation of a rank, for messages; `None` if it was not read from a text file that still exists.
    pub fn source_line(&self, rank: usize, number: usize) -> Option<SourceLine> {
        read::find_source_line(self.path.as_deref()?, rank, number)
    }

    /// The dependents of an operation: first those on its start, then those on its end.
    #[inline]
    pub fn dependents(&self, operation: usize) -> &[DependentOp] {
        let end = self.operations.get(operation + 1).map_or(self.dependents.len(), |next| next.first_dependent as usize);
        &self.dependents[self.operations[operation].first_dependent as usize..end]
    }
}
