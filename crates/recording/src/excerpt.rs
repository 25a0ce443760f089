//! Calls from the middle of a file, without reading what stands before them.
//!
//! Whoever wants to come back to any moment of a run goes through the file of each rank once ([`Survey`]), and remembers where its blocks
//! stand ([`BlockPlace`]) and where in them some of the rows begin ([`Spot`]). From there rows can be read again ([`Excerpts`]).

use std::fs::{File, Metadata};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::{At, Error};
use crate::header::{Line, Rank};
use crate::recording::Recording;
use crate::sealed::{self, BLOCK_HEADER_BYTES, BlockHeader, Blocks, Fault, Place, Rows, SLACK};
use crate::table::Shape;

/// Where a block stands in the file of its rank, and what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockPlace {
    /// The byte at which its body begins.
    body: u64,
    /// How many bytes that has.
    body_bytes: u32,
    /// The thread.
    pub thread: u16,
    /// How many calls there are.
    pub calls: u32,
    shapes: u32,
    dictionary: u32,
    width: u8,
}

impl BlockPlace {
    /// The place of a block that begins at this byte.
    fn of(header: &BlockHeader, at: u64) -> BlockPlace {
        BlockPlace {
            body: at + BLOCK_HEADER_BYTES as u64,
            body_bytes: header.body as u32,
            thread: header.thread,
            calls: header.calls as u32,
            shapes: header.shapes as u32,
            dictionary: header.dictionary as u32,
            width: header.width as u8,
        }
    }

    /// The bytes of the body in front of the times.
    fn before_times(&self) -> u64 {
        u64::from(self.dictionary) + u64::from(self.calls) * (u64::from(self.width) + 1)
    }

    /// Where the last row ends.
    fn end(&self) -> Spot {
        let times = u64::from(self.body_bytes).saturating_sub(self.before_times());
        Spot { row: self.calls, times: times as u32, ticks: 0 }
    }
}

/// Where a row begins in its block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spot {
    /// The row, counted from the first of the block.
    pub row: u32,
    /// Bytes of times in front of it.
    pub times: u32,
    /// The ticks at which the call before it was left.
    pub ticks: u64,
}

/// One call: when it was entered and left, in nanoseconds since the recording began, and the number of its shape in the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// When it was entered.
    pub enter: i64,
    /// When it was left.
    pub leave: i64,
    /// Its shape.
    pub shape: u16,
}

/// The blocks of a rank from the first to the last.
pub struct Survey<'a> {
    recording: &'a Recording,
    rank: &'a Rank,
    blocks: Blocks,
    shapes: Vec<Shape>,
}

/// A block that a survey has come to.
pub struct Surveyed<'a> {
    /// Where it stands.
    pub place: BlockPlace,
    /// Its shapes.
    pub shapes: &'a [Shape],
    /// Whether calls before it are lost.
    pub after_loss: bool,
    rows: Rows<'a>,
    at: Place,
    ticks: u64,
    clock: Line,
}

impl<'a> Survey<'a> {
    pub(crate) fn new(recording: &'a Recording, rank: &'a Rank, blocks: Blocks) -> Survey<'a> {
        Survey { recording, rank, blocks, shapes: Vec::new() }
    }

    /// Hands out the next block that can be read, and says whether there was one; blocks that cannot are noted in the recording.
    pub fn next_block(&mut self, use_block: impl FnOnce(Surveyed)) -> bool {
        let Survey { recording, rank, blocks, shapes } = self;
        let mut after_loss = false;
        loop {
            let at = blocks.position();
            match blocks.next() {
                None => return false,
                Some(Err(fault)) => recording.fault(rank.rank, fault),
                Some(Ok(block)) => {
                    shapes.clear();
                    if let (Some(rows), Some(())) = (block.rows(), block.shapes(recording.operations(), shapes)) {
                        let (place, ticks) = (BlockPlace::of(block.header(), at), block.header().base);
                        use_block(Surveyed { place, shapes, after_loss, rows, at: Place::default(), ticks, clock: rank.clock.line() });
                        return true;
                    }
                    recording.fault(rank.rank, Fault::Damaged(at));
                }
            }
            after_loss = true;
        }
    }
}

impl Surveyed<'_> {
    /// Replaces `rows` by at most so many next rows, and says where the first of them begins.
    pub fn some(&mut self, most: usize, rows: &mut Vec<Row>) -> Spot {
        let spot = Spot { row: self.at.row(), times: self.at.times(), ticks: self.ticks };
        let (clock, mut ticks) = (self.clock, self.ticks);
        rows.clear();
        rows.extend(self.rows.some(&mut self.at, most).map(|(gap, duration, shape)| {
            ticks = ticks.wrapping_add(gap);
            let enter = clock.nanoseconds(ticks);
            ticks = ticks.wrapping_add(duration);
            Row { enter, leave: clock.nanoseconds(ticks), shape }
        }));
        self.ticks = ticks;
        spot
    }
}

/// Reads rows of one rank from anywhere.
pub struct Excerpts {
    file: File,
    metadata: Metadata,
    path: PathBuf,
    clock: Line,
}

impl Excerpts {
    pub(crate) fn open(rank: &Rank, path: PathBuf) -> Result<Excerpts, Error> {
        let file = File::open(&path).at(&path)?;
        Ok(Excerpts { metadata: file.metadata().at(&path)?, file, clock: rank.clock.line(), path })
    }

    /// What the system told of the file when it was opened.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Whether all of a block is in the file.
    fn holds(&self, block: &BlockPlace) -> bool {
        block.body.checked_add(block.body_bytes.into()).is_some_and(|end| end <= self.metadata.len())
    }

    /// When the call before a row was left, in nanoseconds since the recording began.
    pub fn moment(&self, spot: &Spot) -> i64 {
        self.clock.nanoseconds(spot.ticks)
    }

    /// Hands out the rows of a block from one spot to another, or to the block's end. `buffer` is only room, to be used again. Where the file
    /// is not what it was there is none.
    pub fn rows(
        &self,
        block: &BlockPlace,
        from: &Spot,
        to: Option<&Spot>,
        buffer: &mut Vec<u8>,
        mut use_row: impl FnMut(Row),
    ) -> Result<(), Error> {
        let end = block.end();
        let to = to.unwrap_or(&end);
        let in_order = from.row <= to.row && to.row <= end.row && from.times <= to.times && to.times <= end.times;
        if !in_order || block.before_times() > u64::from(block.body_bytes) || !self.holds(block) {
            return Ok(());
        }
        let (count, width) = ((to.row - from.row) as usize, usize::from(block.width));
        let (numbers, times) = (count * width, (to.times - from.times) as usize);
        // What was in it is written over; what follows the times is never looked at.
        buffer.resize(numbers + count + times + SLACK, 0);
        let body = |byte: u64| block.body + byte;
        let dictionary = u64::from(block.dictionary);
        let control_begin = dictionary + u64::from(block.calls) * u64::from(block.width);
        let mut read = |to: std::ops::Range<usize>, byte: u64| self.file.read_exact_at(&mut buffer[to], body(byte)).at(&self.path);
        read(0..numbers, dictionary + u64::from(from.row) * u64::from(block.width))?;
        read(numbers..numbers + count, control_begin + u64::from(from.row))?;
        read(numbers + count..numbers + count + times, block.before_times() + u64::from(from.times))?;
        let Some(rows) = Rows::part(width, buffer, count, from.ticks) else { return Ok(()) };
        let first = if width == 0 { from.row as u16 } else { 0 };
        rows.each(self.clock, |enter, leave, shape| use_row(Row { enter, leave, shape: shape.wrapping_add(first) }));
        Ok(())
    }

    /// The shapes of a block; none where the file is not what it was.
    pub fn shapes(&self, recording: &Recording, block: &BlockPlace) -> Result<Vec<Shape>, Error> {
        let mut shapes = Vec::new();
        if block.dictionary <= block.body_bytes && self.holds(block) {
            let mut bytes = vec![0; block.dictionary as usize];
            self.file.read_exact_at(&mut bytes, block.body).at(&self.path)?;
            sealed::read_shapes(&bytes, block.shapes as usize, recording.operations(), &mut shapes);
        }
        Ok(shapes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::{Clock, Header};
    use crate::sealed::Writer;
    use sintonia_mpi::{FUNCTIONS, Operation};

    /// A recording of one rank with two threads, whose calls have more or fewer shapes.
    fn recording(folder: &std::path::Path, calls: u32, shapes: u32) -> Recording {
        let mut writer = Writer::create(folder, 0).unwrap();
        for call in 0..calls {
            let shape = Shape { tag: (call % shapes) as i32, ..Shape::of(Operation::named("MPI_Send").unwrap()) };
            let enter = u64::from(call) * 1000 + u64::from(call % 7);
            writer.call((call % 2) as u16, enter, enter + u64::from(call % 300), &shape).unwrap();
        }
        let clock = Clock { origin_ticks: 0, origin_ns: 0.0, ns_per_tick: 0.4 };
        let rank = Rank { calls: writer.finish().unwrap().calls, threads: 2, clock, ..Rank::default() };
        let operations = FUNCTIONS.iter().map(|function| function.name.to_owned()).collect();
        Header { format: 1, size: 1, ranks: vec![rank], operations, ..Header::default() }.write(folder).unwrap();
        Recording::open(folder).unwrap()
    }

    /// A block, and its rows a hundred at a time.
    type InParts = (BlockPlace, Vec<(Spot, Vec<Row>)>);

    fn blocks(recording: &Recording) -> Vec<InParts> {
        let mut blocks = Vec::new();
        let mut survey = recording.survey(0).unwrap().unwrap();
        while survey.next_block(|mut block| {
            let mut parts = Vec::new();
            loop {
                let mut rows = Vec::new();
                let spot = block.some(100, &mut rows);
                if rows.is_empty() {
                    break;
                }
                parts.push((spot, rows));
            }
            blocks.push((block.place, parts));
        }) {}
        blocks
    }

    #[test]
    fn rows_read_from_the_middle_are_those_that_a_survey_found() {
        for shapes in [1, 300, 1 << 20] {
            let folder = tempfile::tempdir().unwrap();
            let recording = recording(folder.path(), 150_000, shapes);
            let (excerpts, mut buffer) = (recording.excerpts(0).unwrap().unwrap(), Vec::new());
            let tables = recording.tables(0).unwrap();
            let mut seen = [0, 0];
            for (place, parts) in blocks(&recording) {
                let table = &tables[usize::from(place.thread)];
                let own = excerpts.shapes(&recording, &place).unwrap();
                for (number, (spot, rows)) in parts.iter().enumerate() {
                    let mut again = Vec::new();
                    let next = parts.get(number + 1).map(|(spot, _)| spot);
                    excerpts.rows(&place, spot, next, &mut buffer, |row| again.push(row)).unwrap();
                    assert_eq!(&again, rows);
                    for row in rows {
                        let at = &mut seen[usize::from(place.thread)];
                        assert_eq!((row.enter, row.leave), (table.enter[*at], table.leave[*at]));
                        assert_eq!(own[usize::from(row.shape)], table.shapes[table.shape[*at] as usize]);
                        *at += 1;
                    }
                }
            }
            assert_eq!(seen, [75_000, 75_000]);
        }
    }

    #[test]
    fn a_spot_that_cannot_be_gives_no_rows() {
        let folder = tempfile::tempdir().unwrap();
        let recording = recording(folder.path(), 1000, 10);
        let excerpts = recording.excerpts(0).unwrap().unwrap();
        let place = blocks(&recording)[0].0;
        for (row, times) in [(2, 0), (0, 1), (u32::MAX, 0), (0, u32::MAX), (499, 3)] {
            let mut rows = 0;
            excerpts.rows(&place, &Spot { row, times, ticks: 0 }, None, &mut Vec::new(), |_| rows += 1).unwrap();
            assert_eq!(rows, 0);
        }
    }

    #[test]
    fn a_block_that_is_not_in_the_file_gives_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let recording = recording(folder.path(), 1000, 10);
        let excerpts = recording.excerpts(0).unwrap().unwrap();
        let place = blocks(&recording)[0].0;
        assert!(!excerpts.shapes(&recording, &place).unwrap().is_empty());
        for body in [place.body + 1_000_000, u64::MAX - 5] {
            let elsewhere = BlockPlace { body, ..place };
            excerpts.rows(&elsewhere, &Spot::default(), None, &mut Vec::new(), |row| panic!("{row:?}")).unwrap();
            assert!(excerpts.shapes(&recording, &elsewhere).unwrap().is_empty());
        }
        let (large, mut room) = (BlockPlace { body_bytes: u32::MAX, ..place }, Vec::new());
        excerpts.rows(&large, &Spot::default(), None, &mut room, |row| panic!("{row:?}")).unwrap();
        assert!(room.capacity() < 1 << 20, "no room is made for what cannot be there");
    }
}
