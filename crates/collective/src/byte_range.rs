//! Which bytes a message of a collective carries. A replay only needs the size, but the correctness tests need to know which bytes; so
//! algorithms state both, and each [`RoundBuilder`] keeps what it needs.

use crate::{CollectiveRound, RoundMessage};

/// Consecutive bytes of the data of a collective; wraps around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteRange {
    pub start: u64,
    pub bytes: u64,
}

impl ByteRange {
    /// A message without data, for synchronisation only.
    pub(crate) const EMPTY: ByteRange = ByteRange { start: 0, bytes: 0 };

    /// All data.
    pub(crate) const fn whole(bytes: u64) -> ByteRange {
        ByteRange { start: 0, bytes }
    }

    /// A range inside this one, relative to its start.
    pub(crate) const fn subrange(self, range: ByteRange) -> ByteRange {
        ByteRange { start: self.start.saturating_add(range.start), bytes: range.bytes }
    }
}

/// Data divided into consecutive numbered parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataPartition {
    part_bytes: u64,
    /// How many of the first parts have one byte more.
    longer_parts: u64,
    total: u64,
}

impl DataPartition {
    /// Parts as equal as possible.
    pub(crate) fn even(bytes: u64, count: u32) -> DataPartition {
        let count = u64::from(count.max(1));
        DataPartition { part_bytes: bytes / count, longer_parts: bytes % count, total: bytes }
    }

    /// Parts of this size; the last ones are shorter or empty.
    pub(crate) const fn with_part_bytes(bytes: u64, part_bytes: u64) -> DataPartition {
        DataPartition { part_bytes, longer_parts: 0, total: bytes }
    }

    /// One block per rank.
    pub(crate) fn blocks(block: u64, members: u32) -> DataPartition {
        DataPartition::with_part_bytes(block.saturating_mul(u64::from(members)), block)
    }

    pub(crate) const fn total(self) -> u64 {
        self.total
    }

    fn start(self, part: u64) -> u64 {
        part.saturating_mul(self.part_bytes).saturating_add(part.min(self.longer_parts)).min(self.total)
    }

    /// One part.
    pub(crate) fn part(self, part: impl Into<u64>) -> ByteRange {
        let part = part.into();
        let start = self.start(part);
        ByteRange { start, bytes: self.start(part + 1) - start }
    }

    /// Parts `first..end`.
    pub(crate) fn range(self, first: u32, end: u32) -> ByteRange {
        let start = self.start(first.into());
        ByteRange { start, bytes: self.start(end.into()).saturating_sub(start) }
    }

    /// `count` equal parts from `first` on; wraps around.
    pub(crate) fn wrapping_range(self, first: u32, count: u32) -> ByteRange {
        ByteRange { start: self.start(first.into()), bytes: self.part_bytes.saturating_mul(count.into()) }
    }
}

/// Receives the operations of one rank in a round.
pub(crate) trait RoundBuilder {
    /// Sends data it holds.
    fn send(&mut self, to: u32, range: ByteRange);

    /// Forwards data as last received, without its own contribution.
    fn forward(&mut self, to: u32, range: ByteRange);

    /// Receives data that replaces its own.
    fn receive(&mut self, from: u32, range: ByteRange);

    /// Receives data and reduces it into its own.
    fn combine(&mut self, from: u32, range: ByteRange);

    /// Reduces `bytes` once more.
    fn compute(&mut self, bytes: u64);
}

impl RoundBuilder for CollectiveRound {
    fn send(&mut self, to: u32, range: ByteRange) {
        self.sends.push(RoundMessage { peer: to, bytes: range.bytes });
    }

    fn forward(&mut self, to: u32, range: ByteRange) {
        self.send(to, range);
    }

    fn receive(&mut self, from: u32, range: ByteRange) {
        self.receives.push(RoundMessage { peer: from, bytes: range.bytes });
    }

    fn combine(&mut self, from: u32, range: ByteRange) {
        self.receive(from, range);
        self.compute(range.bytes);
    }

    fn compute(&mut self, bytes: u64) {
        self.reduced_bytes = self.reduced_bytes.saturating_add(bytes);
    }
}
