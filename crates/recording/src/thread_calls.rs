//! The calls of one thread with durations instead of absolute times, read incrementally.
//!
//! Thousands of threads may be read concurrently, so a reader keeps no file open and holds only the bytes of one block.

use std::path::PathBuf;

use crate::call_table::CallDescriptor;
use crate::error::Error;
use crate::header::RecordedRank;
use crate::recording::Recording;
use crate::sealed::{BlockHeader, BlockReader, BlockRows, RowPosition};
use crate::table_blocks::{TableBlocks, TimedCall};

/// Reads the calls of one thread in order.
pub struct ThreadCallReader<'a> {
    recording: &'a Recording,
    rank: &'a RecordedRank,
    thread: u16,
    path: PathBuf,
    /// File offset of the next block; 0 before the first.
    at: u64,
    block: Option<(BlockHeader, Vec<u8>)>,
    position: RowPosition,
    descriptors: Vec<CallDescriptor>,
    /// Return time of the last call, in ticks.
    last_leave: u64,
    started: bool,
    /// Enter time of the first call of the last chunk.
    first_enter_ns: i64,
    /// Nanoseconds between the last call of the previous block and the first of this one.
    gap_ns: i64,
    /// The calls in memory, of a part of a recording.
    in_memory: Option<TableBlocks<'a>>,
}

impl Recording {
    /// The calls of one thread; `None` for a rank without data.
    pub fn thread(&self, rank: u32, thread: u16) -> Option<ThreadCallReader<'_>> {
        let path = self.rank_path(rank);
        self.header.rank(rank).map(|rank| ThreadCallReader::new(self, rank, thread, path))
    }
}

impl<'a> ThreadCallReader<'a> {
    fn new(recording: &'a Recording, rank: &'a RecordedRank, thread: u16, path: PathBuf) -> ThreadCallReader<'a> {
        ThreadCallReader {
            recording,
            rank,
            thread,
            path,
            at: 0,
            block: None,
            position: RowPosition::default(),
            descriptors: Vec::new(),
            last_leave: 0,
            started: false,
            first_enter_ns: 0,
            gap_ns: 0,
            in_memory: recording.excerpt_threads(rank.rank).and_then(|threads| {
                let own = threads.iter().find(|own| own.calls.thread == thread)?;
                Some(TableBlocks::new(&own.calls))
            }),
        }
    }

    /// The descriptors of the current block.
    pub fn descriptors(&self) -> &[CallDescriptor] {
        &self.descriptors
    }

    /// Enter time of the first call of the last chunk, in nanoseconds since the start of the recording.
    pub fn first_enter_ns(&self) -> i64 {
        if let Some(calls) = &self.in_memory {
            return calls.first_enter_ns();
        }
        self.first_enter_ns
    }

    /// Number of the thread's next request at the start of the current block.
    pub fn first_request(&self) -> u64 {
        if let Some(calls) = &self.in_memory {
            return calls.first_request();
        }
        self.block.as_ref().map_or(0, |(header, _)| header.first_request)
    }

    /// Replaces `calls` by up to `max_calls` next calls of the current block; by none at its end.
    pub fn read_calls(&mut self, max_calls: usize, calls: &mut Vec<TimedCall>) {
        if let Some(in_memory) = &mut self.in_memory {
            return in_memory.read_calls(max_calls, calls);
        }
        calls.clear();
        let Some(rows) = self.block.as_ref().and_then(|(header, bytes)| BlockRows::from_block(header, bytes)) else { return };
        let clock = self.rank.clock.to_fixed_point();
        let mut last_leave = self.last_leave;
        let mut first_enter = None;
        calls.extend(rows.next_rows(&mut self.position, max_calls).map(|(gap, duration, descriptor)| {
            let enter = last_leave.wrapping_add(gap);
            first_enter.get_or_insert(enter);
            last_leave = enter.wrapping_add(duration);
            TimedCall { computation_ns: clock.duration_ns(gap), duration_ns: clock.duration_ns(duration), descriptor }
        }));
        self.last_leave = last_leave;
        self.first_enter_ns = first_enter.map_or(0, |ticks| clock.ticks_to_ns(ticks));
        if let Some(first) = calls.first_mut() {
            first.computation_ns += std::mem::take(&mut self.gap_ns);
        }
    }

    /// Moves to the next readable block; `false` at the end. Unreadable blocks are noted in the recording.
    pub fn next_block(&mut self) -> Result<bool, Error> {
        if let Some(calls) = &mut self.in_memory {
            return Ok(calls.next_block(&mut self.descriptors));
        }
        let mut buffer = self.block.take().map(|(_, bytes)| bytes).unwrap_or_default();
        let mut blocks = if self.at == 0 { BlockReader::open(&self.path)? } else { BlockReader::open_at(&self.path, self.at)? };
        blocks = blocks.for_thread(self.thread).with_buffer(std::mem::take(&mut buffer));
        self.position = RowPosition::default();
        let mut found = None;
        let descriptors = &mut self.descriptors;
        self.recording.next_block(self.rank, &mut blocks, |block| {
            descriptors.clear();
            block.rows()?;
            block.read_descriptors(self.recording.functions(), descriptors)?;
            found = Some(*block.header());
            Some(())
        });
        self.at = blocks.position();
        let Some(header) = found else { return Ok(false) };
        self.gap_ns =
            if self.started { self.rank.clock.to_fixed_point().duration_ns(header.base.wrapping_sub(self.last_leave)) } else { 0 };
        (self.last_leave, self.started) = (header.base, true);
        self.block = Some((header, blocks.into_buffer()));
        Ok(true)
    }
}
