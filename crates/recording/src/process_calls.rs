//! The calls of one process in order of their return, merged over its threads.
//!
//! A request may be created by one thread and completed by another; in this order, creation always comes before completion, even if the
//! clocks of two cores disagree.

use crate::call_table::{CallTable, RecordedCall, TableCursor};
use crate::error::Error;
use crate::header::RecordedRank;
use crate::recording::Recording;
use crate::sealed::{BlockReader, TableBuilder};

/// The calls of a process. Only one block per thread is in memory.
pub struct ProcessCalls<'a> {
    cursors: Vec<ThreadCursor<'a>>,
}

impl Recording {
    /// The calls of a rank in order of their return, in constant memory. Empty for a rank without data and for a profile.
    pub fn calls(&self, rank: u32) -> Result<ProcessCalls<'_>, Error> {
        if let Some(threads) = self.excerpt_threads(rank) {
            let cursors = threads.iter().map(|thread| ThreadCursor::new(ThreadBlocks::Memory(&thread.calls))).collect();
            return Ok(ProcessCalls { cursors });
        }
        let mut cursors = Vec::new();
        for thread in self.threads(rank)? {
            if let Some((rank, blocks)) = self.open_blocks(rank)? {
                cursors.push(ThreadCursor::new(ThreadBlocks::File {
                    recording: self,
                    rank,
                    blocks: blocks.for_thread(thread),
                    builder: TableBuilder::new(thread, 0),
                }));
            }
        }
        Ok(ProcessCalls { cursors })
    }
}

impl ProcessCalls<'_> {
    /// The next call, in order of return.
    pub fn next_call(&mut self) -> Option<RecordedCall<'_>> {
        let leaves = self.cursors.iter_mut().enumerate().filter_map(|(index, lane)| Some((lane.next_leave()?, index)));
        let (_, mut first) = leaves.min()?;
        for _ in 1..self.cursors.len() {
            let Some(creator) = self.creator(first) else { break };
            first = creator;
        }
        self.cursors[first].next()
    }

    /// The thread whose next call creates a request that the next call of this thread lists.
    fn creator(&self, thread: usize) -> Option<usize> {
        let call = self.cursors[thread].peek()?;
        let mut others = call.requests().map(|(request, _)| request).filter(|request| request.thread != call.thread);
        others.find_map(|request| self.cursors.iter().position(|other| other.peek().is_some_and(|call| call.request == Some(request))))
    }
}

/// The calls of one thread.
struct ThreadCursor<'a> {
    blocks: ThreadBlocks<'a>,
    cursor: TableCursor,
}

impl<'a> ThreadCursor<'a> {
    fn new(blocks: ThreadBlocks<'a>) -> ThreadCursor<'a> {
        ThreadCursor { blocks, cursor: TableCursor::default() }
    }

    /// Return time of the next call.
    fn next_leave(&mut self) -> Option<i64> {
        while self.cursor.row >= self.blocks.table().len() {
            if !self.blocks.advance() {
                return None;
            }
            // Request numbering restarts in each block.
            self.cursor = TableCursor::default();
        }
        Some(self.blocks.table().leave[self.cursor.row])
    }

    fn next(&mut self) -> Option<RecordedCall<'_>> {
        self.cursor.next(self.blocks.table())
    }

    /// The next call of the current block.
    fn peek(&self) -> Option<RecordedCall<'_>> {
        let mut cursor = self.cursor;
        cursor.next(self.blocks.table())
    }
}

/// The calls of one thread.
#[expect(clippy::large_enum_variant, reason = "there is one for each thread of a rank")]
enum ThreadBlocks<'a> {
    /// Of a file, one block at a time.
    File { recording: &'a Recording, rank: &'a RecordedRank, blocks: BlockReader, builder: TableBuilder },
    /// Of a part of a recording.
    Memory(&'a CallTable),
}

impl ThreadBlocks<'_> {
    /// Loads the next block; `false` at the end.
    fn advance(&mut self) -> bool {
        let ThreadBlocks::File { recording, rank, blocks, builder: part } = self else { return false };
        part.clear();
        recording.next_block(rank, blocks, |block| part.add(block, recording.functions(), &rank.clock))
    }

    /// The current block.
    fn table(&self) -> &CallTable {
        match self {
            ThreadBlocks::File { builder, .. } => &builder.table,
            ThreadBlocks::Memory(table) => table,
        }
    }
}
