//! The calls of one thread, a few at a time, without their moments: for whoever gives them others.
//!
//! Thousands of threads may be read side by side, so none of them keeps its file open, and of a block only the bytes are kept.

use std::path::PathBuf;

use crate::error::Error;
use crate::header::Rank;
use crate::recording::Recording;
use crate::sealed::{BlockHeader, Blocks, Place, Rows};
use crate::table::Shape;

/// One call: how long the thread computed before it, how long it took, and what it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stroke {
    /// Nanoseconds since the call before was left; 0 for the first.
    pub computed_ns: i64,
    /// Nanoseconds from entering it to leaving it.
    pub took_ns: i64,
    /// Its shape, by place in [`ThreadCalls::shapes`].
    pub shape: u16,
}

/// The calls of one thread, read from the first to the last.
pub struct ThreadCalls<'a> {
    recording: &'a Recording,
    rank: &'a Rank,
    thread: u16,
    path: PathBuf,
    /// The byte at which the next block begins; 0 before the first.
    at: u64,
    block: Option<(BlockHeader, Vec<u8>)>,
    place: Place,
    shapes: Vec<Shape>,
    /// Ticks at which the last call was left.
    left: u64,
    began: bool,
    /// When the first of the calls that were read last was entered.
    first_enter_ns: i64,
    /// Nanoseconds between the last call of the block before and the first of this one.
    between_ns: i64,
}

impl<'a> ThreadCalls<'a> {
    pub(crate) fn new(recording: &'a Recording, rank: &'a Rank, thread: u16, path: PathBuf) -> ThreadCalls<'a> {
        ThreadCalls {
            recording,
            rank,
            thread,
            path,
            at: 0,
            block: None,
            place: Place::default(),
            shapes: Vec::new(),
            left: 0,
            began: false,
            first_enter_ns: 0,
            between_ns: 0,
        }
    }

    /// The shapes of the calls that were read last.
    pub fn shapes(&self) -> &[Shape] {
        &self.shapes
    }

    /// When the first of the calls that were read last was entered, in nanoseconds since the recording began.
    pub fn first_enter_ns(&self) -> i64 {
        self.first_enter_ns
    }

    /// The number that the next request of this thread has, where a block that was just begun says so.
    pub fn first_request(&self) -> u64 {
        self.block.as_ref().map_or(0, |(header, _)| header.first_request)
    }

    /// Replaces `strokes` by at most so many next calls of the block that is being read; by none where it ends.
    pub fn some(&mut self, most: usize, strokes: &mut Vec<Stroke>) {
        strokes.clear();
        let Some(rows) = self.block.as_ref().and_then(|(header, bytes)| Rows::at(header, bytes)) else { return };
        let line = self.rank.clock.line();
        let mut left = self.left;
        let mut first_enter = None;
        strokes.extend(rows.some(&mut self.place, most).map(|(gap, duration, shape)| {
            let enter = left.wrapping_add(gap);
            first_enter.get_or_insert(enter);
            left = enter.wrapping_add(duration);
            Stroke { computed_ns: line.length(gap), took_ns: line.length(duration), shape }
        }));
        self.left = left;
        self.first_enter_ns = first_enter.map_or(0, |ticks| line.nanoseconds(ticks));
        if let Some(first) = strokes.first_mut() {
            first.computed_ns += std::mem::take(&mut self.between_ns);
        }
    }

    /// Goes on to the next block that can be read, and says whether there is one; those that cannot are noted in the recording.
    pub fn next_block(&mut self) -> Result<bool, Error> {
        let mut buffer = self.block.take().map(|(_, bytes)| bytes).unwrap_or_default();
        let mut blocks = if self.at == 0 { Blocks::open(&self.path)? } else { Blocks::open_at(&self.path, self.at)? };
        blocks = blocks.only(self.thread).with_buffer(std::mem::take(&mut buffer));
        self.place = Place::default();
        let mut found = None;
        let shapes = &mut self.shapes;
        self.recording.next_block(self.rank, &mut blocks, |block| {
            shapes.clear();
            block.rows()?;
            block.shapes(self.recording.operations(), shapes)?;
            found = Some(*block.header());
            Some(())
        });
        self.at = blocks.position();
        let Some(header) = found else { return Ok(false) };
        self.between_ns = if self.began { self.rank.clock.line().length(header.base.wrapping_sub(self.left)) } else { 0 };
        (self.left, self.began) = (header.base, true);
        self.block = Some((header, blocks.into_buffer()));
        Ok(true)
    }
}
