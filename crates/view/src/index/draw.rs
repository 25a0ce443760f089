//! Draws what a thread did in a window, and reads its calls there: from bins where columns are wide, else from the recording.

use std::ops::Range;

use sintonia_recording::Recording;
use sintonia_recording::excerpt::{Excerpts, Row, Spot};
use sintonia_recording::table::Shape;

use super::canvas::Canvas;
use super::directory::{Block, STRETCH, Thread};
use super::kind::{KINDS, Kind};
use super::{Error, Index, levels};
use crate::store::Stamp;

/// So many stretches are in a column at least: what a stretch adds up to lies somewhere in it.
const PER_COLUMN: i64 = 4;

/// How a thread was drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drawn {
    /// Whether all of it comes from the calls themselves.
    pub exact: bool,
    /// How many calls begin in the window, about.
    pub calls: f64,
}

/// Draws threads, one after the other: it keeps the room that this takes.
pub struct Drawer<'a> {
    index: &'a Index,
    recording: &'a Recording,
    figures: Vec<u8>,
    buffer: Vec<u8>,
    /// The file of the rank that was read last.
    excerpts: Option<(u32, Excerpts)>,
}

impl<'a> Drawer<'a> {
    /// Draws from an index and the recording that it is of.
    pub fn new(index: &'a Index, recording: &'a Recording) -> Drawer<'a> {
        Drawer { index, recording, figures: Vec::new(), buffer: Vec::new(), excerpts: None }
    }

    /// Adds what a thread did in the window of a canvas, all but computing.
    pub fn draw(&mut self, thread: &Thread, canvas: &mut Canvas<KINDS>) -> Result<Drawn, Error> {
        let (from, to) = (canvas.window().from(), canvas.window().to());
        canvas.clip(from, to);
        canvas.paint(from, thread.active.0, Kind::Absent as usize);
        canvas.paint(thread.active.1.max(thread.active.0), to, Kind::Absent as usize);
        canvas.clip(thread.active.0, thread.active.1);
        match levels::fitting(&thread.levels, canvas.window()) {
            Some(level) => {
                let (first, at, length) = level.part(thread.lanes.len(), canvas);
                self.index.store.read(at, length, &mut self.figures)?;
                level.paint(first, &self.figures, &thread.lanes, canvas);
                Ok(Drawn { exact: false, calls: thread.blocks_between(from, to).iter().map(|block| part(block, from, to)).sum() })
            }
            None => self.draw_blocks(thread, canvas),
        }
    }

    fn draw_blocks(&mut self, thread: &Thread, canvas: &mut Canvas<KINDS>) -> Result<Drawn, Error> {
        let (from, to) = (canvas.window().from(), canvas.window().to());
        let (first, last) = blocks(thread, from, to);
        let mut drawn = Drawn { exact: true, calls: 0.0 };
        // What is lost lies in front of a block, so the one behind the window counts too.
        for number in first..(last + 1).min(thread.blocks.len()) {
            let block = &thread.blocks[number];
            if block.after_loss && number > 0 {
                canvas.paint(thread.blocks[number - 1].end, block.begin, Kind::Absent as usize);
            }
            if number < last {
                let part = self.draw_block(thread, block, canvas)?;
                drawn = Drawn { exact: drawn.exact && part.exact, calls: drawn.calls + part.calls };
            }
        }
        Ok(drawn)
    }

    fn draw_block(&mut self, thread: &Thread, block: &Block, canvas: &mut Canvas<KINDS>) -> Result<Drawn, Error> {
        let (from, to) = (canvas.window().from(), canvas.window().to());
        let Drawer { index, recording, figures, buffer, excerpts } = self;
        let excerpts = opened(index, recording, excerpts, thread.rank)?;
        let Some(excerpts) = excerpts else { return Ok(Drawn { exact: true, calls: 0.0 }) };
        index.store.read(block.at, block.bytes(thread.record()) as usize, figures)?;
        let figures = Figures::new(thread, block, figures, excerpts);
        let mut drawn = Drawn { exact: true, calls: 0.0 };
        let wide = |stretch: &Stretch| stretch.length().saturating_mul(PER_COLUMN) > canvas.window().column_ns();
        let stretches: Vec<(bool, Stretch)> = figures.between(from, to).map(|n| figures.stretch(n)).map(|s| (wide(&s), s)).collect();
        for same in stretches.chunk_by(|a, b| a.0 && b.0) {
            let (is_wide, stretch) = &same[0];
            if *is_wide {
                let (rows, mut calls) = (stretch.number..stretch.number + same.len(), 0);
                figures.rows(excerpts, rows, buffer, |_, row| {
                    let kind = figures.kind(row.shape);
                    if kind != Kind::Absent as u8 {
                        canvas.paint(row.enter, row.leave, kind.into());
                    }
                    calls += u32::from(from <= row.enter && row.enter < to);
                })?;
                drawn.calls += f64::from(calls);
            } else {
                let length = stretch.length().max(1) as f32;
                canvas.paint_shares(stretch.begin, stretch.end, figures.sums(stretch.number).map(|(lane, ns)| (lane, ns / length)));
                (drawn.exact, drawn.calls) = (false, drawn.calls + block.calls_of(stretch.number) as f64);
            }
        }
        Ok(drawn)
    }

    /// Hands out the calls of a thread's block that touch a stretch of time, each with its number in the thread.
    pub fn calls(&mut self, thread: &Thread, block: &Block, from: i64, to: i64, mut use_call: impl FnMut(u64, Row)) -> Result<(), Error> {
        let Drawer { index, recording, figures, buffer, excerpts } = self;
        let Some(excerpts) = opened(index, recording, excerpts, thread.rank)? else { return Ok(()) };
        index.store.read(block.at, block.bytes(thread.record()) as usize, figures)?;
        let figures = Figures::new(thread, block, figures, excerpts);
        figures.rows(excerpts, figures.between(from, to), buffer, |number, row| {
            if row.enter < to && (row.leave > from || row.enter >= from) {
                use_call(number, row);
            }
        })
    }

    /// How many calls of a thread touch a stretch of time, to within three stretches.
    pub fn count(&mut self, thread: &Thread, from: i64, to: i64) -> Result<u64, Error> {
        let (first, last) = blocks(thread, from, to);
        let mut count = 0;
        for block in &thread.blocks[first..last] {
            if from <= block.begin && block.end <= to {
                count += u64::from(block.place.calls);
                continue;
            }
            let Drawer { index, recording, figures, excerpts, .. } = self;
            let Some(excerpts) = opened(index, recording, excerpts, thread.rank)? else { return Ok(count) };
            index.store.read(block.at, block.bytes(thread.record()) as usize, figures)?;
            let figures = Figures::new(thread, block, figures, excerpts);
            count += figures.between(from, to).map(|number| block.calls_of(number) as u64).sum::<u64>();
        }
        Ok(count)
    }

    /// The shapes of a block of a rank.
    pub fn shapes(&mut self, rank: u32, block: &Block) -> Result<Vec<Shape>, Error> {
        let Some(excerpts) = opened(self.index, self.recording, &mut self.excerpts, rank)? else { return Ok(Vec::new()) };
        Ok(excerpts.shapes(self.recording, &block.place)?)
    }
}

/// The blocks of a thread that touch a stretch of time, by number.
fn blocks(thread: &Thread, from: i64, to: i64) -> (usize, usize) {
    let first = thread.blocks.partition_point(|block| block.end < from);
    let last = thread.blocks.partition_point(|block| block.begin <= to);
    (first, last.max(first))
}

/// How many of a block's calls are in a stretch of time, if they are spread evenly.
fn part(block: &Block, from: i64, to: i64) -> f64 {
    let inside = block.end.min(to).saturating_sub(block.begin.max(from)).max(0) as f64;
    f64::from(block.place.calls) * inside / block.end.saturating_sub(block.begin).max(1) as f64
}

/// The file of a rank, which is opened if it was another one's. It must still be the one that the index was made from.
fn opened<'b>(
    index: &Index,
    recording: &Recording,
    excerpts: &'b mut Option<(u32, Excerpts)>,
    rank: u32,
) -> Result<Option<&'b Excerpts>, Error> {
    if excerpts.as_ref().is_none_or(|(opened, _)| *opened != rank) {
        *excerpts = recording.excerpts(rank)?.map(|excerpts| (rank, excerpts));
        if let Some((_, opened)) = excerpts
            && index.stamps.get(&rank) != Some(&Stamp::of(opened.metadata()))
        {
            return Err(Error::Changed);
        }
    }
    Ok(excerpts.as_ref().map(|(_, excerpts)| excerpts))
}

/// Some calls that follow each other.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// Its number in the block.
    number: usize,
    /// When the call before it was left.
    begin: i64,
    /// When its last call was left.
    end: i64,
}

impl Stretch {
    fn length(&self) -> i64 {
        self.end.saturating_sub(self.begin).max(0)
    }
}

/// What the index holds of a block.
struct Figures<'a> {
    thread: &'a Thread,
    block: &'a Block,
    records: &'a [u8],
    kinds: &'a [u8],
    excerpts: &'a Excerpts,
}

impl<'a> Figures<'a> {
    fn new(thread: &'a Thread, block: &'a Block, bytes: &'a [u8], excerpts: &'a Excerpts) -> Figures<'a> {
        let (records, kinds) = bytes.split_at(block.stretches() * thread.record());
        Figures { thread, block, records, kinds, excerpts }
    }

    fn kind(&self, shape: u16) -> u8 {
        self.kinds.get(usize::from(shape)).copied().unwrap_or(Kind::Absent as u8).min(Kind::Other as u8)
    }

    fn record(&self, number: usize) -> &'a [u8] {
        &self.records[number * self.thread.record()..(number + 1) * self.thread.record()]
    }

    /// Where a stretch begins; `None` behind the last.
    fn spot(&self, number: usize) -> Option<Spot> {
        (number < self.block.stretches()).then(|| {
            let (ticks, rest) = self.record(number).split_at(8);
            let ticks = u64::from_le_bytes(ticks.try_into().unwrap_or_default());
            let times = u32::from_le_bytes([rest[0], rest[1], rest[2], rest[3]]);
            Spot { row: (number * STRETCH) as u32, times, ticks }
        })
    }

    fn begin(&self, number: usize) -> i64 {
        self.spot(number).map_or(self.block.end, |spot| self.excerpts.moment(&spot))
    }

    fn stretch(&self, number: usize) -> Stretch {
        Stretch { number, begin: self.begin(number), end: self.begin(number + 1) }
    }

    /// The stretches that touch a stretch of time.
    fn between(&self, from: i64, to: i64) -> Range<usize> {
        let behind = |moment: i64| partition_point(self.block.stretches(), |number| self.begin(number) <= moment);
        behind(from).saturating_sub(1)..behind(to)
    }

    /// For each lane the nanoseconds of a stretch.
    fn sums(&self, number: usize) -> impl Iterator<Item = (usize, f32)> + Clone + use<'a> {
        let ns = |bytes: &[u8]| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        self.thread.lanes.iter().zip(self.record(number)[12..].chunks_exact(4)).map(move |(lane, bytes)| (usize::from(*lane), ns(bytes)))
    }

    /// Hands out the calls of some stretches with their numbers in the thread.
    fn rows(
        &self,
        excerpts: &Excerpts,
        stretches: Range<usize>,
        buffer: &mut Vec<u8>,
        mut use_row: impl FnMut(u64, Row),
    ) -> Result<(), Error> {
        let Some(first) = self.spot(stretches.start).filter(|_| !stretches.is_empty()) else { return Ok(()) };
        let mut number = self.block.first_row + u64::from(first.row);
        excerpts.rows(&self.block.place, &first, self.spot(stretches.end).as_ref(), buffer, |row| {
            use_row(number, row);
            number += 1;
        })?;
        Ok(())
    }
}

/// The first number below a limit for which something does not hold any more.
fn partition_point(limit: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, limit);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
