//! Random access to calls, without reading the file up to them.
//!
//! A caller scans the file of each rank once ([`BlockScan`]) and keeps the locations of its blocks ([`BlockLocation`]) and of selected rows
//! ([`RowOffset`]). From these, rows can be read again ([`RowReader`]).

use std::fs::{File, Metadata};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::call_table::CallDescriptor;
use crate::error::{Error, WithPath};
use crate::header::{FixedPointClock, RecordedRank};
use crate::recording::Recording;
use crate::sealed::{self, BLOCK_HEADER_BYTES, BlockHeader, BlockReader, BlockRows, FileFault, RowPosition, SLACK};

/// Location of a block in the file of its rank, and its dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockLocation {
    /// File offset of its body.
    body: u64,
    /// Length of the body in bytes.
    body_bytes: u32,
    /// The thread.
    pub thread: u16,
    /// Number of calls.
    pub calls: u32,
    descriptors: u32,
    dictionary: u32,
    width: u8,
}

impl BlockLocation {
    /// Location of the block whose header is at this file offset.
    fn from_header(header: &BlockHeader, at: u64) -> BlockLocation {
        BlockLocation {
            body: at + BLOCK_HEADER_BYTES as u64,
            body_bytes: header.body as u32,
            thread: header.thread,
            calls: header.calls as u32,
            descriptors: header.descriptors as u32,
            dictionary: header.dictionary as u32,
            width: header.width as u8,
        }
    }

    /// Offset of the times in the body.
    fn times_offset(&self) -> u64 {
        u64::from(self.dictionary) + u64::from(self.calls) * (u64::from(self.width) + 1)
    }

    /// Offset of the end of the last row.
    fn end_offset(&self) -> RowOffset {
        let times = u64::from(self.body_bytes).saturating_sub(self.times_offset());
        RowOffset { row: self.calls, times: times as u32, previous_leave: 0 }
    }
}

/// Start of a row in its block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowOffset {
    /// Row index in the block.
    pub row: u32,
    /// Offset in the bytes of the times.
    pub times: u32,
    /// Ticks at which the previous call returned.
    pub previous_leave: u64,
}

/// One call: times in nanoseconds since the start of the recording, and descriptor index in the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallInterval {
    /// Enter time.
    pub enter: i64,
    /// Return time.
    pub leave: i64,
    /// Descriptor index.
    pub descriptor: u16,
}

/// Iterates over the blocks of a rank.
pub struct BlockScan<'a> {
    recording: &'a Recording,
    rank: &'a RecordedRank,
    blocks: BlockReader,
    descriptors: Vec<CallDescriptor>,
}

/// The current block of a scan.
pub struct ScannedBlock<'a> {
    /// Its location.
    pub location: BlockLocation,
    /// Its descriptors.
    pub descriptors: &'a [CallDescriptor],
    /// Whether calls before it are lost.
    pub after_loss: bool,
    rows: BlockRows<'a>,
    position: RowPosition,
    ticks: u64,
    clock: FixedPointClock,
}

impl Recording {
    /// Iterates over the blocks of a rank, to build an index for [`Recording::row_reader`]; `None` for a rank without data and for a
    /// profile.
    pub fn scan_blocks(&self, rank: u32) -> Result<Option<BlockScan<'_>>, Error> {
        let found = self.open_blocks(rank)?.filter(|_| !self.header.profile);
        Ok(found.map(|(rank, blocks)| BlockScan::new(self, rank, blocks)))
    }

    /// Random access to the calls of a rank; `None` for a rank without data.
    pub fn row_reader(&self, rank: u32) -> Result<Option<RowReader>, Error> {
        let path = self.rank_path(rank);
        self.header.rank(rank).map(|rank| RowReader::open(rank, path)).transpose()
    }
}

impl<'a> BlockScan<'a> {
    fn new(recording: &'a Recording, rank: &'a RecordedRank, blocks: BlockReader) -> BlockScan<'a> {
        BlockScan { recording, rank, blocks, descriptors: Vec::new() }
    }

    /// Passes the next readable block to `use_block`; `false` at the end. Unreadable blocks are noted in the recording.
    pub fn next_block(&mut self, use_block: impl FnOnce(ScannedBlock)) -> bool {
        let BlockScan { recording, rank, blocks, descriptors } = self;
        let mut after_loss = false;
        loop {
            let at = blocks.position();
            match blocks.next() {
                None => return false,
                Some(Err(fault)) => recording.note_fault(rank.rank, fault),
                Some(Ok(block)) => {
                    descriptors.clear();
                    if let (Some(rows), Some(())) = (block.rows(), block.read_descriptors(recording.functions(), descriptors)) {
                        let (location, ticks) = (BlockLocation::from_header(block.header(), at), block.header().base);
                        use_block(ScannedBlock {
                            location,
                            descriptors,
                            after_loss,
                            rows,
                            position: RowPosition::default(),
                            ticks,
                            clock: rank.clock.to_fixed_point(),
                        });
                        return true;
                    }
                    recording.note_fault(rank.rank, FileFault::Damaged(at));
                }
            }
            after_loss = true;
        }
    }
}

impl ScannedBlock<'_> {
    /// Replaces `rows` by up to `max_rows` next rows, and returns where the first of them starts.
    pub fn read_rows(&mut self, max_rows: usize, rows: &mut Vec<CallInterval>) -> RowOffset {
        let offset = RowOffset { row: self.position.row(), times: self.position.time_bytes(), previous_leave: self.ticks };
        let (clock, mut ticks) = (self.clock, self.ticks);
        rows.clear();
        rows.extend(self.rows.next_rows(&mut self.position, max_rows).map(|(gap, duration, descriptor)| {
            ticks = ticks.wrapping_add(gap);
            let enter = clock.ticks_to_ns(ticks);
            ticks = ticks.wrapping_add(duration);
            CallInterval { enter, leave: clock.ticks_to_ns(ticks), descriptor }
        }));
        self.ticks = ticks;
        offset
    }
}

/// Reads rows of one rank from any location.
pub struct RowReader {
    file: File,
    metadata: Metadata,
    path: PathBuf,
    clock: FixedPointClock,
}

impl RowReader {
    fn open(rank: &RecordedRank, path: PathBuf) -> Result<RowReader, Error> {
        let file = File::open(&path).with_path(&path)?;
        Ok(RowReader { metadata: file.metadata().with_path(&path)?, file, clock: rank.clock.to_fixed_point(), path })
    }

    /// Metadata of the file when it was opened.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Whether the whole block is inside the file.
    fn contains(&self, block: &BlockLocation) -> bool {
        block.body.checked_add(block.body_bytes.into()).is_some_and(|end| end <= self.metadata.len())
    }

    /// Return time of the call before a row, in nanoseconds since the start of the recording.
    pub fn previous_leave_ns(&self, offset: &RowOffset) -> i64 {
        self.clock.ticks_to_ns(offset.previous_leave)
    }

    /// Passes the rows of a block from one offset to another (default: the end) to `use_row`. `buffer` is scratch space. Yields nothing if
    /// the file has changed since the scan.
    pub fn read_rows(
        &self,
        block: &BlockLocation,
        from: &RowOffset,
        to: Option<&RowOffset>,
        buffer: &mut Vec<u8>,
        mut use_row: impl FnMut(CallInterval),
    ) -> Result<(), Error> {
        let end = block.end_offset();
        let to = to.unwrap_or(&end);
        let in_order = from.row <= to.row && to.row <= end.row && from.times <= to.times && to.times <= end.times;
        if !in_order || block.times_offset() > u64::from(block.body_bytes) || !self.contains(block) {
            return Ok(());
        }
        let (count, width) = ((to.row - from.row) as usize, usize::from(block.width));
        let (numbers, times) = (count * width, (to.times - from.times) as usize);
        // Old contents are overwritten; bytes after the times are never used.
        buffer.resize(numbers + count + times + SLACK, 0);
        let body = |byte: u64| block.body + byte;
        let dictionary = u64::from(block.dictionary);
        let control_begin = dictionary + u64::from(block.calls) * u64::from(block.width);
        let mut read = |to: std::ops::Range<usize>, byte: u64| self.file.read_exact_at(&mut buffer[to], body(byte)).with_path(&self.path);
        read(0..numbers, dictionary + u64::from(from.row) * u64::from(block.width))?;
        read(numbers..numbers + count, control_begin + u64::from(from.row))?;
        read(numbers + count..numbers + count + times, block.times_offset() + u64::from(from.times))?;
        let Some(rows) = BlockRows::from_parts(width, buffer, count, from.previous_leave) else { return Ok(()) };
        let first = if width == 0 { from.row as u16 } else { 0 };
        rows.for_each(self.clock, |enter, leave, descriptor| {
            use_row(CallInterval { enter, leave, descriptor: descriptor.wrapping_add(first) })
        });
        Ok(())
    }

    /// The descriptors of a block; empty if the file has changed since the scan.
    pub fn read_descriptors(&self, recording: &Recording, block: &BlockLocation) -> Result<Vec<CallDescriptor>, Error> {
        let mut descriptors = Vec::new();
        if block.dictionary <= block.body_bytes && self.contains(block) {
            let mut bytes = vec![0; block.dictionary as usize];
            self.file.read_exact_at(&mut bytes, block.body).with_path(&self.path)?;
            sealed::decode_descriptors(&bytes, block.descriptors as usize, recording.functions(), &mut descriptors);
        }
        Ok(descriptors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{RecordingBuilder, TestRecording, call};

    /// A recording of one rank with two threads, with the given number of different descriptors.
    fn recording(calls: u32, descriptors: u32) -> TestRecording {
        let timed = |number: u32| {
            let enter = u64::from(number) * 1000 + u64::from(number % 7);
            let send = call("MPI_Send").tag((number % descriptors) as i32);
            send.at(enter, enter + u64::from(number % 300)).thread((number % 2) as u16)
        };
        let builder = RecordingBuilder::new().rank((0..calls).map(timed));
        builder.header(|header| header.ranks[0].clock.ns_per_tick = 0.4).write()
    }

    /// A block, and its rows in parts of a hundred.
    type InParts = (BlockLocation, Vec<(RowOffset, Vec<CallInterval>)>);

    fn blocks(recording: &Recording) -> Vec<InParts> {
        let mut blocks = Vec::new();
        let mut scan = recording.scan_blocks(0).unwrap().unwrap();
        while scan.next_block(|mut block| {
            let mut parts = Vec::new();
            loop {
                let mut rows = Vec::new();
                let offset = block.read_rows(100, &mut rows);
                if rows.is_empty() {
                    break;
                }
                parts.push((offset, rows));
            }
            blocks.push((block.location, parts));
        }) {}
        blocks
    }

    #[test]
    fn rows_read_from_the_middle_are_those_that_a_survey_found() {
        for descriptors in [1, 300, 1 << 20] {
            let recording = recording(150_000, descriptors);
            let (reader, mut buffer) = (recording.row_reader(0).unwrap().unwrap(), Vec::new());
            let tables = recording.tables(0).unwrap();
            let mut seen = [0, 0];
            for (location, parts) in blocks(&recording) {
                let table = &tables[usize::from(location.thread)];
                let own = reader.read_descriptors(&recording, &location).unwrap();
                for (number, (offset, rows)) in parts.iter().enumerate() {
                    let mut again = Vec::new();
                    let next = parts.get(number + 1).map(|(offset, _)| offset);
                    reader.read_rows(&location, offset, next, &mut buffer, |row| again.push(row)).unwrap();
                    assert_eq!(&again, rows);
                    for row in rows {
                        let at = &mut seen[usize::from(location.thread)];
                        assert_eq!((row.enter, row.leave), (table.enter[*at], table.leave[*at]));
                        assert_eq!(own[usize::from(row.descriptor)], table.descriptors[table.descriptor_ids[*at] as usize]);
                        *at += 1;
                    }
                }
            }
            assert_eq!(seen, [75_000, 75_000]);
        }
    }

    #[test]
    fn a_spot_that_cannot_be_gives_no_rows() {
        let recording = recording(1000, 10);
        let reader = recording.row_reader(0).unwrap().unwrap();
        let location = blocks(&recording)[0].0;
        for (row, times) in [(2, 0), (0, 1), (u32::MAX, 0), (0, u32::MAX), (499, 3)] {
            let mut rows = 0;
            reader.read_rows(&location, &RowOffset { row, times, previous_leave: 0 }, None, &mut Vec::new(), |_| rows += 1).unwrap();
            assert_eq!(rows, 0);
        }
    }

    #[test]
    fn a_block_that_is_not_in_the_file_gives_nothing() {
        let recording = recording(1000, 10);
        let reader = recording.row_reader(0).unwrap().unwrap();
        let location = blocks(&recording)[0].0;
        assert!(!reader.read_descriptors(&recording, &location).unwrap().is_empty());
        for body in [location.body + 1_000_000, u64::MAX - 5] {
            let elsewhere = BlockLocation { body, ..location };
            reader.read_rows(&elsewhere, &RowOffset::default(), None, &mut Vec::new(), |row| panic!("{row:?}")).unwrap();
            assert!(reader.read_descriptors(&recording, &elsewhere).unwrap().is_empty());
        }
        let (large, mut room) = (BlockLocation { body_bytes: u32::MAX, ..location }, Vec::new());
        reader.read_rows(&large, &RowOffset::default(), None, &mut room, |row| panic!("{row:?}")).unwrap();
        assert!(room.capacity() < 1 << 20, "no room is made for what cannot be there");
    }
}
