//! Paints the activities of a thread and reads its calls: from bins if columns are wide, otherwise from the recording.

use std::ops::Range;

use sintonia_recording::Recording;
use sintonia_recording::call_table::CallDescriptor;
use sintonia_recording::random_access::{CallInterval, RowOffset, RowReader};

use super::activity::{ActivityKind, KIND_COUNT};
use super::canvas::ActivityCanvas;
use super::directory::{BlockIndex, CALLS_PER_CHUNK, ThreadIndex};
use super::{Error, TimelineIndex, levels};
use crate::cache_file::FileStamp;

/// Minimum number of chunks per column for painting sums, because the position inside a chunk is unknown.
const MIN_CHUNKS_PER_COLUMN: i64 = 4;

/// How a thread was painted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DrawSummary {
    /// Whether everything was painted from single calls.
    pub exact: bool,
    /// Approximate number of calls that begin in the window.
    pub calls: f64,
}

/// Paints threads; reuses its buffers.
pub(crate) struct ThreadPainter<'a> {
    pub(super) index: &'a TimelineIndex,
    recording: &'a Recording,
    record_buffer: Vec<u8>,
    buffer: Vec<u8>,
    /// Reader of the rank used last.
    reader: Option<(u32, RowReader)>,
}

impl<'a> ThreadPainter<'a> {
    pub(crate) fn new(index: &'a TimelineIndex, recording: &'a Recording) -> ThreadPainter<'a> {
        ThreadPainter { index, recording, record_buffer: Vec::new(), buffer: Vec::new(), reader: None }
    }

    /// Adds the activities of a thread in the window of a canvas, except computing.
    pub(crate) fn draw(&mut self, thread: &ThreadIndex, canvas: &mut ActivityCanvas<KIND_COUNT>) -> Result<DrawSummary, Error> {
        let (from, to) = (canvas.window().from(), canvas.window().to());
        canvas.clip(from, to);
        canvas.paint(from, thread.active.0, ActivityKind::Absent as usize);
        canvas.paint(thread.active.1.max(thread.active.0), to, ActivityKind::Absent as usize);
        canvas.clip(thread.active.0, thread.active.1);
        match levels::coarsest_fitting(&thread.levels, canvas.window()) {
            Some(level) => {
                let (first, at, length) = level.bins_to_paint(thread.lanes.len(), canvas);
                self.index.store.read_at(at, length, &mut self.record_buffer)?;
                level.paint(first, &self.record_buffer, &thread.lanes, canvas);
                Ok(DrawSummary {
                    exact: false,
                    calls: thread.blocks_between(from, to).iter().map(|block| estimate_calls(block, from, to)).sum(),
                })
            }
            None => self.draw_blocks(thread, canvas),
        }
    }

    fn draw_blocks(&mut self, thread: &ThreadIndex, canvas: &mut ActivityCanvas<KIND_COUNT>) -> Result<DrawSummary, Error> {
        let (from, to) = (canvas.window().from(), canvas.window().to());
        let (first, last) = block_range(thread, from, to);
        let mut summary = DrawSummary { exact: true, calls: 0.0 };
        // Lost calls precede a block, so the block after the window matters too.
        for index in first..(last + 1).min(thread.blocks.len()) {
            let block = &thread.blocks[index];
            if block.after_loss && index > 0 {
                canvas.paint(thread.blocks[index - 1].end, block.begin, ActivityKind::Absent as usize);
            }
            if index < last {
                let part = self.draw_block(thread, block, canvas)?;
                summary = DrawSummary { exact: summary.exact && part.exact, calls: summary.calls + part.calls };
            }
        }
        Ok(summary)
    }

    fn draw_block(
        &mut self,
        thread: &ThreadIndex,
        block: &BlockIndex,
        canvas: &mut ActivityCanvas<KIND_COUNT>,
    ) -> Result<DrawSummary, Error> {
        let (from, to) = (canvas.window().from(), canvas.window().to());
        let ThreadPainter { index, recording, record_buffer, buffer, reader } = self;
        let reader = open_reader(index, recording, reader, thread.rank)?;
        let Some(reader) = reader else { return Ok(DrawSummary { exact: true, calls: 0.0 }) };
        index.store.read_at(block.at, block.byte_len(thread.record_bytes()) as usize, record_buffer)?;
        let records = BlockRecords::new(thread, block, record_buffer, reader);
        let mut summary = DrawSummary { exact: true, calls: 0.0 };
        let is_wide_chunk = |chunk: &IndexChunk| chunk.duration().saturating_mul(MIN_CHUNKS_PER_COLUMN) > canvas.window().column_ns();
        let chunks: Vec<(bool, IndexChunk)> =
            records.chunks_between(from, to).map(|n| records.chunk(n)).map(|s| (is_wide_chunk(&s), s)).collect();
        for run in chunks.chunk_by(|a, b| a.0 && b.0) {
            let (is_wide, chunk) = &run[0];
            if *is_wide {
                let (rows, mut calls) = (chunk.index..chunk.index + run.len(), 0);
                records.for_each_row(reader, rows, buffer, |_, row| {
                    let kind = records.kind(row.descriptor);
                    if kind != ActivityKind::Absent as u8 {
                        canvas.paint(row.enter, row.leave, kind.into());
                    }
                    calls += u32::from(from <= row.enter && row.enter < to);
                })?;
                summary.calls += f64::from(calls);
            } else {
                let length = chunk.duration().max(1) as f32;
                canvas.paint_shares(chunk.begin, chunk.end, records.lane_sums(chunk.index).map(|(lane, ns)| (lane, ns / length)));
                (summary.exact, summary.calls) = (false, summary.calls + block.calls_in_chunk(chunk.index) as f64);
            }
        }
        Ok(summary)
    }

    /// Visits the calls of a block that overlap a time range, with their index in the thread.
    pub(crate) fn for_each_call(
        &mut self,
        thread: &ThreadIndex,
        block: &BlockIndex,
        from: i64,
        to: i64,
        mut visit: impl FnMut(u64, CallInterval),
    ) -> Result<(), Error> {
        let ThreadPainter { index, recording, record_buffer, buffer, reader } = self;
        let Some(reader) = open_reader(index, recording, reader, thread.rank)? else { return Ok(()) };
        index.store.read_at(block.at, block.byte_len(thread.record_bytes()) as usize, record_buffer)?;
        let records = BlockRecords::new(thread, block, record_buffer, reader);
        records.for_each_row(reader, records.chunks_between(from, to), buffer, |index, row| {
            if row.enter < to && (row.leave > from || row.enter >= from) {
                visit(index, row);
            }
        })
    }

    /// Visits the calls of a block that begin before a time, from a chunk on.
    pub(super) fn for_each_call_before(
        &mut self,
        thread: &ThreadIndex,
        block: &BlockIndex,
        first_chunk: usize,
        time: i64,
        mut visit: impl FnMut(CallInterval),
    ) -> Result<(), Error> {
        let ThreadPainter { index, recording, record_buffer, buffer, reader } = self;
        let Some(reader) = open_reader(index, recording, reader, thread.rank)? else { return Ok(()) };
        index.store.read_at(block.at, block.byte_len(thread.record_bytes()) as usize, record_buffer)?;
        let records = BlockRecords::new(thread, block, record_buffer, reader);
        records.for_each_row(reader, first_chunk..records.chunks_between(time, time).end, buffer, |_, row| {
            if row.enter < time {
                visit(row);
            }
        })
    }

    /// Number of calls of a thread that overlap a time range, accurate to three chunks.
    pub(crate) fn count_calls(&mut self, thread: &ThreadIndex, from: i64, to: i64) -> Result<u64, Error> {
        let (first, last) = block_range(thread, from, to);
        let mut count = 0;
        for block in &thread.blocks[first..last] {
            if from <= block.begin && block.end <= to {
                count += u64::from(block.location.calls);
                continue;
            }
            let ThreadPainter { index, recording, record_buffer, reader, .. } = self;
            let Some(reader) = open_reader(index, recording, reader, thread.rank)? else { return Ok(count) };
            index.store.read_at(block.at, block.byte_len(thread.record_bytes()) as usize, record_buffer)?;
            let records = BlockRecords::new(thread, block, record_buffer, reader);
            count += records.chunks_between(from, to).map(|index| block.calls_in_chunk(index) as u64).sum::<u64>();
        }
        Ok(count)
    }

    /// The call descriptors of a block.
    pub(crate) fn call_descriptors(&mut self, rank: u32, block: &BlockIndex) -> Result<Vec<CallDescriptor>, Error> {
        let Some(reader) = open_reader(self.index, self.recording, &mut self.reader, rank)? else { return Ok(Vec::new()) };
        Ok(reader.read_descriptors(self.recording, &block.location)?)
    }
}

/// Range of the blocks of a thread that overlap a time range.
fn block_range(thread: &ThreadIndex, from: i64, to: i64) -> (usize, usize) {
    let first = thread.blocks.partition_point(|block| block.end < from);
    let last = thread.blocks.partition_point(|block| block.begin <= to);
    (first, last.max(first))
}

/// Number of calls of a block in a time range, assuming they are spread evenly.
fn estimate_calls(block: &BlockIndex, from: i64, to: i64) -> f64 {
    let inside = block.end.min(to).saturating_sub(block.begin.max(from)).max(0) as f64;
    f64::from(block.location.calls) * inside / block.end.saturating_sub(block.begin).max(1) as f64
}

/// Reader of a rank's file, opened on demand. The file must still be the one that was indexed.
fn open_reader<'b>(
    index: &TimelineIndex,
    recording: &Recording,
    reader: &'b mut Option<(u32, RowReader)>,
    rank: u32,
) -> Result<Option<&'b RowReader>, Error> {
    if reader.as_ref().is_none_or(|(opened, _)| *opened != rank) {
        *reader = recording.row_reader(rank)?.map(|reader| (rank, reader));
        if let Some((_, opened)) = reader
            && index.stamps.get(&rank) != Some(&FileStamp::from_metadata(opened.metadata()))
        {
            return Err(Error::Changed);
        }
    }
    Ok(reader.as_ref().map(|(_, reader)| reader))
}

/// Consecutive calls of a block.
#[derive(Clone, Copy, Debug)]
struct IndexChunk {
    /// Index in the block.
    index: usize,
    /// Leave time of the call before it.
    begin: i64,
    /// Leave time of its last call.
    end: i64,
}

impl IndexChunk {
    fn duration(&self) -> i64 {
        self.end.saturating_sub(self.begin).max(0)
    }
}

/// Index records of a block.
struct BlockRecords<'a> {
    thread: &'a ThreadIndex,
    block: &'a BlockIndex,
    records: &'a [u8],
    kinds: &'a [u8],
    reader: &'a RowReader,
}

impl<'a> BlockRecords<'a> {
    fn new(thread: &'a ThreadIndex, block: &'a BlockIndex, bytes: &'a [u8], reader: &'a RowReader) -> BlockRecords<'a> {
        let (records, kinds) = bytes.split_at(block.chunk_count() * thread.record_bytes());
        BlockRecords { thread, block, records, kinds, reader }
    }

    fn kind(&self, descriptor: u16) -> u8 {
        self.kinds.get(usize::from(descriptor)).copied().unwrap_or(ActivityKind::Absent as u8).min(ActivityKind::Other as u8)
    }

    fn record(&self, index: usize) -> &'a [u8] {
        &self.records[index * self.thread.record_bytes()..(index + 1) * self.thread.record_bytes()]
    }

    /// Offset of the first call of a chunk; `None` after the last chunk.
    fn chunk_start(&self, index: usize) -> Option<RowOffset> {
        (index < self.block.chunk_count()).then(|| {
            let (ticks, rest) = self.record(index).split_at(8);
            let ticks = u64::from_le_bytes(ticks.try_into().unwrap_or_default());
            let times = u32::from_le_bytes([rest[0], rest[1], rest[2], rest[3]]);
            RowOffset { row: (index * CALLS_PER_CHUNK) as u32, times, previous_leave: ticks }
        })
    }

    fn begin_time(&self, index: usize) -> i64 {
        self.chunk_start(index).map_or(self.block.end, |offset| self.reader.previous_leave_ns(&offset))
    }

    fn chunk(&self, index: usize) -> IndexChunk {
        IndexChunk { index, begin: self.begin_time(index), end: self.begin_time(index + 1) }
    }

    /// The chunks that overlap a time range.
    fn chunks_between(&self, from: i64, to: i64) -> Range<usize> {
        let chunks_until = |time: i64| partition_point(self.block.chunk_count(), |index| self.begin_time(index) <= time);
        chunks_until(from).saturating_sub(1)..chunks_until(to)
    }

    /// Nanoseconds per lane in a chunk.
    fn lane_sums(&self, index: usize) -> impl Iterator<Item = (usize, f32)> + Clone + use<'a> {
        let ns = |bytes: &[u8]| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        self.thread.lanes.iter().zip(self.record(index)[12..].chunks_exact(4)).map(move |(lane, bytes)| (usize::from(*lane), ns(bytes)))
    }

    /// Visits the calls of some chunks, with their index in the thread.
    fn for_each_row(
        &self,
        reader: &RowReader,
        chunks: Range<usize>,
        buffer: &mut Vec<u8>,
        mut visit: impl FnMut(u64, CallInterval),
    ) -> Result<(), Error> {
        let Some(first) = self.chunk_start(chunks.start).filter(|_| !chunks.is_empty()) else { return Ok(()) };
        let mut index = self.block.first_row + u64::from(first.row);
        reader.read_rows(&self.block.location, &first, self.chunk_start(chunks.end).as_ref(), buffer, |row| {
            visit(index, row);
            index += 1;
        })?;
        Ok(())
    }
}

/// The first index below a limit for which a predicate is false.
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
