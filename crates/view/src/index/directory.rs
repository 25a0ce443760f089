//! Contents of the index file.

use serde::{Deserialize, Serialize};
use sintonia_program::TrafficKey;
use sintonia_recording::random_access::BlockLocation;

use super::activity::KIND_COUNT;
use super::canvas::TIME_RANGE;
use super::levels::BinLevel;
use super::prefix_sums::PrefixSums;
use super::site_function::SiteFunction;
use crate::cache_file::{CacheContents, is_in_bounds};

/// Upper bound for the calls of a thread, to reject corrupt files.
const MAX_ROWS: u64 = 1 << 48;

/// Calls per chunk. The index has the offset of each chunk, and the time per kind of activity in it.
pub(crate) const CALLS_PER_CHUNK: usize = 128;

/// Contents of the index file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct IndexDirectory {
    /// Start and end time of the run.
    pub span: (i64, i64),
    /// Threads that called MPI, sorted by rank and thread.
    pub threads: Vec<ThreadIndex>,
}

/// Index of one thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ThreadIndex {
    pub rank: u32,
    /// Number of the thread in its process.
    pub thread: u16,
    /// Number of calls.
    pub calls: u64,
    /// Time range in which the thread is computing when not in MPI.
    pub active: (i64, i64),
    /// Kinds of activity that occur, other than computing.
    pub lanes: Vec<u8>,
    /// Bins with shares of time, narrowest first.
    pub levels: Vec<BinLevel>,
    /// Blocks in order of time.
    pub blocks: Vec<BlockIndex>,
    /// Sums over the calls by call site; positions are blocks and chunks.
    pub sums: PrefixSums<SiteFunction>,
    /// Sums over the calls that send messages; `None` if they differ in too many ways.
    pub traffic: Option<PrefixSums<TrafficKey>>,
}

/// Index of a block of calls: one record per chunk, and one byte with the kind of each call descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BlockIndex {
    /// Location of the calls in the recording.
    pub location: BlockLocation,
    /// Offset in the index file.
    pub at: u64,
    /// Number of call descriptors.
    pub descriptors: u32,
    /// Index of its first call in the thread.
    pub first_row: u64,
    /// Enter time of its first call.
    pub begin: i64,
    /// Leave time of its last call.
    pub end: i64,
    /// Whether calls before it are lost.
    pub after_loss: bool,
}

impl ThreadIndex {
    /// Size of a chunk's record: ticks and offset of its first call, and the nanoseconds per lane.
    pub(crate) fn record_bytes(&self) -> usize {
        12 + 4 * self.lanes.len()
    }

    /// The part of a time range in which it is unknown what the thread did, because calls are lost.
    pub(crate) fn lost_ns(&self, from: i64, to: i64) -> u64 {
        let gaps =
            self.blocks.windows(2).filter(|blocks| blocks[1].after_loss).map(|blocks| (blocks[0].end.max(from), blocks[1].begin.min(to)));
        gaps.filter(|(begin, end)| begin < end).map(|(begin, end)| begin.abs_diff(end)).sum()
    }

    /// The blocks that overlap a time range.
    pub(crate) fn blocks_between(&self, from: i64, to: i64) -> &[BlockIndex] {
        let first = self.blocks.partition_point(|block| block.end < from);
        let last = self.blocks.partition_point(|block| block.begin <= to);
        self.blocks.get(first..last).unwrap_or_default()
    }
}

impl BlockIndex {
    /// Number of chunks.
    pub(crate) fn chunk_count(&self) -> usize {
        (self.location.calls as usize).div_ceil(CALLS_PER_CHUNK)
    }

    /// Number of calls in a chunk; the last chunk may be shorter.
    pub(crate) fn calls_in_chunk(&self, chunk: usize) -> usize {
        (self.location.calls as usize).saturating_sub(chunk * CALLS_PER_CHUNK).min(CALLS_PER_CHUNK)
    }

    /// Length in the index file.
    pub(crate) fn byte_len(&self, record: usize) -> u64 {
        self.chunk_count() as u64 * record as u64 + u64::from(self.descriptors)
    }
}

impl CacheContents for IndexDirectory {
    const FILE_NAME: &'static str = "view.index";
    const MAGIC: &'static [u8; 8] = b"SININDEX";
    const FORMAT_VERSION: u32 = 5;

    fn is_valid(&self, length: u64) -> bool {
        let is_thread_valid = |thread: &ThreadIndex| {
            thread.lanes.iter().all(|lane| usize::from(*lane) < KIND_COUNT)
                && thread.levels.iter().all(|level| level.is_valid(thread.lanes.len(), length))
                && thread.sums.is_valid(length)
                && thread.traffic.as_ref().is_none_or(|traffic| traffic.is_valid(length))
                && thread
                    .blocks
                    .iter()
                    .all(|block| is_in_bounds(block.at, block.byte_len(thread.record_bytes()), length) && block.first_row < MAX_ROWS)
        };
        let is_valid_time = |time: &i64| TIME_RANGE.contains(time);
        let is_span = self.span.0 < self.span.1 && is_valid_time(&self.span.0) && is_valid_time(&self.span.1);
        is_span && self.threads.iter().all(is_thread_valid) && self.threads.is_sorted_by_key(|thread| (thread.rank, thread.thread))
    }
}

impl IndexDirectory {
    /// The threads of a rank.
    pub(super) fn threads_of(&self, rank: u32) -> &[ThreadIndex] {
        let first = self.threads.partition_point(|thread| thread.rank < rank);
        let last = self.threads.partition_point(|thread| thread.rank <= rank);
        &self.threads[first..last]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_spans_are_rejected() {
        let sound = IndexDirectory { span: (0, 10), threads: vec![ThreadIndex::default()] };
        assert!(sound.is_valid(0));
        for span in [(10, 0), (5, 5), (i64::MIN, 0), (0, i64::MAX)] {
            assert!(!IndexDirectory { span, ..sound.clone() }.is_valid(0), "{span:?}");
        }
    }
}
