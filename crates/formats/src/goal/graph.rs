//! A GOAL schedule in memory: what each rank does, and what must be done before what.
//!
//! Schedules have many millions of operations, so an operation is 24 bytes and a dependency four. Sender, receiver and tag of a message are
//! looked up once, when the file is read: an operation names its [`Channel`] by number.

use std::path::PathBuf;

use super::read::{self, Told};

/// A schedule: operations of all ranks one after the other, those of a rank in the order of its file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Goal {
    pub(super) operations: Vec<Operation>,
    /// Operations that wait for others: those of operation `i` from its [`Operation::first`] to that of the next one.
    pub(super) dependents: Vec<Dependent>,
    pub(super) channels: Vec<Channel>,
    /// For each rank its first operation, and the one behind its last.
    pub(super) ranks: Vec<[u32; 2]>,
    pub(super) cpus: u16,
    pub(super) nics: u16,
    /// Where it was read.
    pub(super) path: Option<PathBuf>,
}

/// What a rank does at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Bytes of a message, nanoseconds of a computation.
    pub size: u64,
    /// The channel of a message; of a computation, its rank.
    place: u32,
    pub(super) first: u32,
    /// How many operations it waits for.
    pub needs: u32,
    /// What it is.
    pub kind: Kind,
    /// The processor of the rank that does it.
    pub cpu: u8,
    /// The network interface of the rank that it goes through.
    pub nic: u8,
}

/// What an operation is, in the order in which LogGOPSim begins what it may begin at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Sends a message.
    Send,
    /// Receives one.
    Receive,
    /// Computes.
    Compute,
}

/// Messages of one sender to one receiver with one tag. A receive from anyone, or of any tag, has a channel of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Channel {
    /// Who sends; [`ANY`] for anyone.
    pub source: u32,
    /// Who receives.
    pub destination: u32,
    /// The tag; [`ANY`] for any.
    pub tag: u32,
}

/// Any source, any tag.
pub const ANY: u32 = u32::MAX;

impl Channel {
    /// Whether a message on the one and a receive on the other can meet.
    #[inline]
    pub fn meets(self, other: Channel) -> bool {
        let fits = |a: u32, b: u32| a == b || a == ANY || b == ANY;
        self.destination == other.destination && fits(self.source, other.source) && fits(self.tag, other.tag)
    }

    /// Whether it stands for more than one sender or tag.
    pub fn is_open(self) -> bool {
        self.source == ANY || self.tag == ANY
    }
}

/// An operation that waits for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependent(u32);

impl Dependent {
    const BEGUN: u32 = 1 << 31;

    pub(super) fn new(operation: u32, begun: bool) -> Dependent {
        Dependent(operation | if begun { Dependent::BEGUN } else { 0 })
    }

    /// The one that waits, by number.
    #[inline]
    pub fn operation(self) -> usize {
        (self.0 & !Dependent::BEGUN) as usize
    }

    /// Whether it waits only until the other one has begun (`irequires`), not until it is done.
    #[inline]
    pub fn waits_for_begin(self) -> bool {
        self.0 & Dependent::BEGUN != 0
    }
}

/// So many operations have a number.
pub const MOST_OPERATIONS: usize = 1 << 30;

impl Operation {
    pub(super) fn new(kind: Kind, size: u64, place: u32, cpu: u8, nic: u8) -> Operation {
        Operation { size, place, first: 0, needs: 0, kind, cpu, nic }
    }

    pub(super) fn renumber_channel(&mut self, places: &[u32]) {
        if self.kind != Kind::Compute {
            self.place = places[self.place as usize];
        }
    }

    /// The channel of a message, by number.
    #[inline]
    pub fn channel(&self) -> Option<usize> {
        (self.kind != Kind::Compute).then_some(self.place as usize)
    }
}

impl Goal {
    /// How many ranks there are.
    pub fn rank_count(&self) -> usize {
        self.ranks.len()
    }

    /// How many processors a rank uses.
    #[inline]
    pub fn cpus(&self) -> usize {
        usize::from(self.cpus)
    }

    /// How many network interfaces a rank uses.
    pub fn nics(&self) -> usize {
        usize::from(self.nics)
    }

    /// All operations; a rank's are those of [`Goal::of_rank`].
    #[inline]
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// The channels.
    #[inline]
    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }

    /// The numbers of a rank's operations.
    #[inline]
    pub fn of_rank(&self, rank: usize) -> std::ops::Range<usize> {
        self.ranks.get(rank).map_or(0..0, |[first, end]| *first as usize..*end as usize)
    }

    /// The rank of an operation.
    #[inline]
    pub fn rank(&self, operation: &Operation) -> usize {
        let channel = |place: u32| self.channels[place as usize];
        match operation.kind {
            Kind::Send => channel(operation.place).source as usize,
            Kind::Receive => channel(operation.place).destination as usize,
            Kind::Compute => operation.place as usize,
        }
    }

    /// Where an operation of a rank, counted from 0, is told, for messages; none if it does not come from a text that is still there.
    pub fn told(&self, rank: usize, number: usize) -> Option<Told> {
        read::place(self.path.as_deref()?, rank, number)
    }

    /// What waits for an operation: first what waits for its begin, then what waits for its end.
    #[inline]
    pub fn dependents(&self, operation: usize) -> &[Dependent] {
        let end = self.operations.get(operation + 1).map_or(self.dependents.len(), |next| next.first as usize);
        &self.dependents[self.operations[operation].first as usize..end]
    }
}
