//! The calls of one process one by one, in the order in which they ended, whichever thread made them.
//!
//! A request can be made by one thread and completed by another; in this order whoever completes it comes after whoever made it.

use crate::recording::Parts;
use crate::table::{Call, Cursor};

/// The calls of a process; only some ten thousand of each thread are in memory at a time.
pub struct Calls<'a> {
    pub(crate) lanes: Vec<Lane<'a>>,
}

impl Calls<'_> {
    /// The next call.
    pub fn next_call(&mut self) -> Option<Call<'_>> {
        let ends = self.lanes.iter_mut().enumerate().filter_map(|(place, lane)| Some((lane.leave()?, place)));
        let (_, first) = ends.min()?;
        self.lanes[first].next()
    }
}

/// The calls of one thread.
pub(crate) struct Lane<'a> {
    parts: Parts<'a>,
    cursor: Cursor,
}

impl<'a> Lane<'a> {
    pub fn new(parts: Parts<'a>) -> Lane<'a> {
        Lane { parts, cursor: Cursor::default() }
    }

    /// When the next call was left.
    fn leave(&mut self) -> Option<i64> {
        while self.cursor.row >= self.parts.table().len() {
            if !self.parts.advance() {
                return None;
            }
            // Each part says itself from where on its requests are numbered.
            self.cursor = Cursor::default();
        }
        Some(self.parts.table().leave[self.cursor.row])
    }

    fn next(&mut self) -> Option<Call<'_>> {
        self.cursor.next(self.parts.table())
    }
}
