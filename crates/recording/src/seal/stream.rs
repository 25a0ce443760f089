//! The raw blocks of a thread, in order.
//!
//! Full memory is appended to one file; the mapped memory itself is a second file. After a kill, a block may be in either, in both or, if
//! the disk was full, in neither.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, WithPath};
use crate::raw::{self, BLOCK_BYTES, HeaderWord, RawBlock, part};
use crate::seal::process::ThreadFiles;

/// The blocks of one thread. Files are opened only while they are read: a run may have more threads than the limit on open files.
pub(super) struct RawStream {
    /// The thread's number.
    pub thread: u16,
    /// Summary of all blocks.
    pub summary: StreamSummary,
    paths: Vec<PathBuf>,
    blocks: Vec<RawBlockLocation>,
}

/// Location of a block.
#[derive(Clone, Copy)]
struct RawBlockLocation {
    file: usize,
    block_index: u64,
}

/// Summary of blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct StreamSummary {
    /// Whether the last call was in progress.
    pub has_unfinished_call: bool,
    /// Number of calls.
    pub calls: u64,
    /// Enter time of the first call.
    pub first: Option<u64>,
    /// Last known time.
    pub last: u64,
    /// Calls lost by the probe.
    pub dropped: u64,
    /// Damaged or missing blocks.
    pub damaged: u64,
    /// Earliest and latest pair of ticks and nanoseconds.
    pub anchors: Option<[(u64, u64); 2]>,
    /// The call sites, as addresses.
    pub sites: Vec<u64>,
}

impl StreamSummary {
    /// Merges another summary.
    pub(super) fn add(&mut self, other: &StreamSummary) {
        self.calls += other.calls;
        self.first = self.first.into_iter().chain(other.first).min();
        self.last = self.last.max(other.last);
        self.dropped = self.dropped.saturating_add(other.dropped);
        self.damaged += other.damaged;
        self.has_unfinished_call |= other.has_unfinished_call;
        other.anchors.into_iter().flatten().for_each(|anchor| self.add_anchor(anchor));
        self.add_sites(other.sites.iter().copied());
    }

    /// Adds call sites.
    pub(super) fn add_sites(&mut self, sites: impl IntoIterator<Item = u64>) {
        self.sites.extend(sites);
        self.sites.sort_unstable();
        self.sites.dedup();
    }

    fn add_anchor(&mut self, anchor: (u64, u64)) {
        self.anchors = Some(match self.anchors {
            None => [anchor; 2],
            Some([first, last]) => [first.min(anchor), last.max(anchor)],
        });
    }

    fn from_block(block: &RawBlock) -> StreamSummary {
        let mut summary = StreamSummary { dropped: block.header(HeaderWord::Dropped), ..StreamSummary::default() };
        // A process killed while starting a block leaves zeros.
        let anchor = (block.header(HeaderWord::AnchorTicks), block.header(HeaderWord::AnchorNanoseconds));
        if anchor.0 > 0 && anchor.1 > 0 {
            summary.add_anchor(anchor);
        }
        let mut newest_payload = 0;
        for record in block.records() {
            if record.payload_offset > newest_payload {
                newest_payload = record.payload_offset;
                summary.sites.push(record.payload.site());
            }
            summary.calls += u64::from(record.payload.parts() & part::CONTINUED == 0);
            summary.first = Some(summary.first.map_or(record.enter, |first| first.min(record.enter)));
            summary.last = summary.last.max(record.enter.saturating_add(record.duration));
            summary.has_unfinished_call = record.unfinished;
        }
        summary
    }
}

impl RawStream {
    /// Finds and scans the blocks of a thread.
    pub(super) fn open_all(thread: u16, files: &ThreadFiles) -> Result<RawStream, Error> {
        let mut stream = RawStream { thread, summary: StreamSummary::default(), paths: Vec::new(), blocks: Vec::new() };
        let mut found: BTreeMap<u32, (RawBlockLocation, StreamSummary)> = BTreeMap::new();
        // Written blocks come last and replace those from the mapped memory, which are older or equal.
        if let Some(tail) = &files.tail {
            stream.scan_file(tail, &mut found)?;
        }
        let written = match &files.calls {
            Some(calls) => stream.scan_file(calls, &mut found)?,
            None => 0,
        };
        let expected = found.keys().next_back().map_or(0, |last| u64::from(*last) + 1).max(written);
        // Each block counts all losses before it.
        let dropped = found.values().map(|(_, summary)| summary.dropped).max().unwrap_or(0);
        for (location, summary) in found.into_values() {
            stream.blocks.push(location);
            stream.summary.add(&summary);
        }
        stream.summary.dropped = dropped;
        stream.summary.damaged = expected - stream.blocks.len() as u64;
        Ok(stream)
    }

    /// Scans every block of a file and returns how many there should be.
    fn scan_file(&mut self, path: &Path, found: &mut BTreeMap<u32, (RawBlockLocation, StreamSummary)>) -> Result<u64, Error> {
        let file = BlockFile::open(path)?;
        let count = file.file.metadata().with_path(path)?.len().div_ceil(BLOCK_BYTES as u64);
        let mut words = Vec::new();
        for number in 0..count {
            file.read(number, &mut words)?;
            if let Ok(block) = RawBlock::decode(&mut words) {
                let location = RawBlockLocation { file: self.paths.len(), block_index: number };
                let mut summary = StreamSummary::from_block(&block);
                // Losses after a block was written are counted in the mapped memory.
                summary.dropped = summary.dropped.max(found.get(&block.sequence()).map_or(0, |(_, other)| other.dropped));
                found.insert(block.sequence(), (location, summary));
            }
        }
        self.paths.push(path.to_owned());
        Ok(count)
    }

    /// Opens the files.
    pub(super) fn open(&self) -> Result<RawBlockReader<'_>, Error> {
        let files = self.paths.iter().map(|path| BlockFile::open(path)).collect::<Result<_, Error>>()?;
        Ok(RawBlockReader { files, locations: self.blocks.iter() })
    }
}

/// Iterates over the blocks of a stream.
pub(super) struct RawBlockReader<'a> {
    files: Vec<BlockFile<'a>>,
    locations: std::slice::Iter<'a, RawBlockLocation>,
}

impl RawBlockReader<'_> {
    /// Whether no block is left.
    pub(super) fn is_empty(&self) -> bool {
        self.locations.len() == 0
    }

    /// Reads the words of the next block; `false` at the end. [`RawBlock::decode`] accepts them unless the file has changed since the scan.
    pub(super) fn read_next(&mut self, words: &mut Vec<u64>) -> Result<bool, Error> {
        let Some(location) = self.locations.next() else { return Ok(false) };
        self.files[location.file].read(location.block_index, words)?;
        Ok(true)
    }
}

/// A file of blocks.
struct BlockFile<'a> {
    file: File,
    path: &'a Path,
}

impl BlockFile<'_> {
    fn open(path: &Path) -> Result<BlockFile<'_>, Error> {
        Ok(BlockFile { file: File::open(path).with_path(path)?, path })
    }

    /// Reads a block, or the available part of it.
    fn read(&self, number: u64, words: &mut Vec<u64>) -> Result<(), Error> {
        let mut bytes = [0; 1 << 14];
        words.clear();
        while words.len() < raw::BLOCK_WORDS {
            let at = number * BLOCK_BYTES as u64 + words.len() as u64 * 8;
            let read = self.file.read_at(&mut bytes, at).with_path(self.path)?;
            words.extend(bytes[..read].chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))));
            if read < 8 {
                break;
            }
        }
        Ok(())
    }
}
