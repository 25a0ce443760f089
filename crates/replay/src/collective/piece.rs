//! Which bytes of an operation's data a message holds. The replay needs to know how many; which ones they are decides whether an algorithm
//! is right, so the algorithms say both, and a [`Sheet`] keeps what it needs.

use super::{Part, Round};

/// Consecutive bytes of an operation's data; after the last byte follows the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub start: u64,
    pub bytes: u64,
}

impl Piece {
    /// A message without data: only that it comes is of interest.
    pub const NOTHING: Piece = Piece { start: 0, bytes: 0 };

    /// All the data there is.
    pub const fn whole(bytes: u64) -> Piece {
        Piece { start: 0, bytes }
    }

    /// A piece of this one, which is given as if this one were all there is.
    pub const fn within(self, piece: Piece) -> Piece {
        Piece { start: self.start.saturating_add(piece.start), bytes: piece.bytes }
    }
}

/// Data cut into numbered parts that follow each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    each: u64,
    /// The first ones have a byte more.
    longer: u64,
    total: u64,
}

impl Parts {
    /// As equal as whole bytes allow.
    pub fn even(bytes: u64, count: u32) -> Parts {
        let count = u64::from(count.max(1));
        Parts { each: bytes / count, longer: bytes % count, total: bytes }
    }

    /// Parts of this size; the last ones have what is left, perhaps nothing.
    pub const fn sized(bytes: u64, each: u64) -> Parts {
        Parts { each, longer: 0, total: bytes }
    }

    /// One block for each member.
    pub fn blocks(block: u64, members: u32) -> Parts {
        Parts::sized(block.saturating_mul(u64::from(members)), block)
    }

    pub const fn total(self) -> u64 {
        self.total
    }

    fn start(self, part: u64) -> u64 {
        part.saturating_mul(self.each).saturating_add(part.min(self.longer)).min(self.total)
    }

    /// One part.
    pub fn part(self, part: impl Into<u64>) -> Piece {
        let part = part.into();
        let start = self.start(part);
        Piece { start, bytes: self.start(part + 1) - start }
    }

    /// The parts from one up to another, that one not included.
    pub fn range(self, first: u32, end: u32) -> Piece {
        let start = self.start(first.into());
        Piece { start, bytes: self.start(end.into()).saturating_sub(start) }
    }

    /// So many parts of equal size; after the last part follows the first.
    pub fn run(self, first: u32, count: u32) -> Piece {
        Piece { start: self.start(first.into()), bytes: self.each.saturating_mul(count.into()) }
    }
}

/// Where an algorithm writes down what a member does in a round.
pub(super) trait Sheet {
    /// It sends data that it has.
    fn send(&mut self, to: u32, piece: Piece);

    /// It sends on data as it received it last, not combined with its own.
    fn forward(&mut self, to: u32, piece: Piece);

    /// It receives data that takes the place of its own.
    fn receive(&mut self, from: u32, piece: Piece);

    /// It receives data and combines it with its own.
    fn combine(&mut self, from: u32, piece: Piece);

    /// It combines so many bytes once more.
    fn compute(&mut self, bytes: u64);
}

impl Sheet for Round {
    fn send(&mut self, to: u32, piece: Piece) {
        self.sends.push(Part { peer: to, bytes: piece.bytes });
    }

    fn forward(&mut self, to: u32, piece: Piece) {
        self.send(to, piece);
    }

    fn receive(&mut self, from: u32, piece: Piece) {
        self.receives.push(Part { peer: from, bytes: piece.bytes });
    }

    fn combine(&mut self, from: u32, piece: Piece) {
        self.receive(from, piece);
        self.compute(piece.bytes);
    }

    fn compute(&mut self, bytes: u64) {
        self.combines = self.combines.saturating_add(bytes);
    }
}
