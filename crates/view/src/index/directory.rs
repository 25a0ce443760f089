//! What an index holds, and where in its file it stands.

use serde::{Deserialize, Serialize};
use sintonia_recording::excerpt::BlockPlace;

use super::canvas::MOMENTS;
use super::kind::KINDS;
use super::levels::Level;
use crate::store::{Contents, Section, is_inside};

/// No thread makes so many calls.
const MOST_ROWS: u64 = 1 << 48;

/// Calls of a stretch: the index knows where each begins, and what its calls add up to.
pub const STRETCH: usize = 128;

/// Everything about an index but its figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Directory {
    /// Which recording it is of, and in which state.
    pub identity: u64,
    /// The first and the last moment of the run.
    pub span: (i64, i64),
    /// The parts of the file, one for each rank.
    pub sections: Vec<Section>,
    /// The threads that called MPI, by rank and number.
    pub threads: Vec<Thread>,
}

/// What is known of one thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Thread {
    /// The rank.
    pub rank: u32,
    /// Its number in the process.
    pub thread: u16,
    /// How many calls it made.
    pub calls: u64,
    /// From when on it is computing where it is not in MPI, and until when.
    pub active: (i64, i64),
    /// The kinds of activity that occur, other than computing.
    pub lanes: Vec<u8>,
    /// Shares of time in bins, the narrowest first.
    pub levels: Vec<Level>,
    /// Its blocks in the order of time.
    pub blocks: Vec<Block>,
}

/// A block of calls: a record for each stretch, and one byte with the kind of each shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Where its calls are.
    pub place: BlockPlace,
    /// The first byte in the file.
    pub at: u64,
    /// How many shapes there are.
    pub shapes: u32,
    /// The number of its first call in the thread.
    pub first_row: u64,
    /// When its first call was entered.
    pub begin: i64,
    /// When its last call was left.
    pub end: i64,
    /// Whether calls before it are lost.
    pub after_loss: bool,
}

impl Thread {
    /// Bytes of a stretch's record: ticks and place of its first call, and for each lane the nanoseconds.
    pub fn record(&self) -> usize {
        12 + 4 * self.lanes.len()
    }

    /// The blocks that touch a stretch of time.
    pub fn blocks_between(&self, from: i64, to: i64) -> &[Block] {
        let first = self.blocks.partition_point(|block| block.end < from);
        let last = self.blocks.partition_point(|block| block.begin <= to);
        self.blocks.get(first..last).unwrap_or_default()
    }
}

impl Block {
    /// How many stretches there are.
    pub fn stretches(&self) -> usize {
        (self.place.calls as usize).div_ceil(STRETCH)
    }

    /// How many calls a stretch has: the last one may have fewer than the others.
    pub fn calls_of(&self, stretch: usize) -> usize {
        (self.place.calls as usize).saturating_sub(stretch * STRETCH).min(STRETCH)
    }

    /// Its length in the file.
    pub fn bytes(&self, record: usize) -> u64 {
        self.stretches() as u64 * record as u64 + u64::from(self.shapes)
    }
}

impl Contents for Directory {
    const NAME: &'static str = "view.index";
    const MAGIC: &'static [u8; 8] = b"SININDEX";
    const FORMAT: u32 = 2;

    fn identity(&self) -> u64 {
        self.identity
    }

    fn sections(&self) -> &[Section] {
        &self.sections
    }

    fn fits(&self, length: u64) -> bool {
        let fits = |thread: &Thread| {
            thread.lanes.iter().all(|lane| usize::from(*lane) < KINDS)
                && thread.levels.iter().all(|level| level.fits(thread.lanes.len(), length))
                && thread
                    .blocks
                    .iter()
                    .all(|block| is_inside(block.at, block.bytes(thread.record()), length) && block.first_row < MOST_ROWS)
        };
        let is_moment = |moment: &i64| MOMENTS.contains(moment);
        let is_span = self.span.0 < self.span.1 && is_moment(&self.span.0) && is_moment(&self.span.1);
        is_span && self.threads.iter().all(fits) && self.threads.is_sorted_by_key(|thread| (thread.rank, thread.thread))
    }
}

impl Directory {
    /// The threads of a rank.
    pub fn threads_of(&self, rank: u32) -> &[Thread] {
        let first = self.threads.partition_point(|thread| thread.rank < rank);
        let last = self.threads.partition_point(|thread| thread.rank <= rank);
        &self.threads[first..last]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_recording_can_tell_does_not_fit() {
        let sound = Directory { span: (0, 10), threads: vec![Thread::default()], ..Directory::default() };
        assert!(sound.fits(0));
        for span in [(10, 0), (5, 5), (i64::MIN, 0), (0, i64::MAX)] {
            assert!(!Directory { span, ..sound.clone() }.fits(0), "{span:?}");
        }
    }
}
