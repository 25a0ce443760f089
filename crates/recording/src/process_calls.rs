//! The calls of one process in order of their return, merged over its threads.
//!
//! A request may be created by one thread and completed by another; in this order, creation always comes before completion.

use crate::call_table::{RecordedCall, TableCursor};
use crate::recording::ThreadBlocks;

/// The calls of a process. Only one block per thread is in memory.
pub struct ProcessCalls<'a> {
    pub(crate) cursors: Vec<ThreadCursor<'a>>,
}

impl ProcessCalls<'_> {
    /// The next call, in order of return.
    pub fn next_call(&mut self) -> Option<RecordedCall<'_>> {
        let leaves = self.cursors.iter_mut().enumerate().filter_map(|(index, lane)| Some((lane.next_leave()?, index)));
        let (_, first) = leaves.min()?;
        self.cursors[first].next()
    }
}

/// The calls of one thread.
pub(crate) struct ThreadCursor<'a> {
    blocks: ThreadBlocks<'a>,
    cursor: TableCursor,
}

impl<'a> ThreadCursor<'a> {
    pub(crate) fn new(blocks: ThreadBlocks<'a>) -> ThreadCursor<'a> {
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
}
