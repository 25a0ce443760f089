//! The blocks that a thread left, put in order.
//!
//! Full memory is written to one file, and the memory itself is another. A process that is killed leaves both, so a block may stand in
//! either, in both, or, where the disk was full, in neither.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::error::{At, Error};
use crate::raw::{self, BLOCK_BYTES, Block, Header, part};
use crate::seal::process::ThreadFiles;

/// The blocks of one thread. Its files are opened to be read and closed again: a run may have more threads than files may be open.
pub struct Stream {
    /// The thread's number.
    pub thread: u16,
    /// What they hold together.
    pub survey: Survey,
    paths: Vec<PathBuf>,
    places: Vec<Place>,
}

/// Where a block stands.
#[derive(Clone, Copy)]
struct Place {
    file: usize,
    number: u64,
}

/// What blocks hold.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// Whether a call was under way at the end.
    pub under_way: bool,
    /// How many calls.
    pub calls: u64,
    /// When the first call was entered.
    pub first: Option<u64>,
    /// The last moment that is known.
    pub last: u64,
    /// Calls that the probe could not keep.
    pub dropped: u64,
    /// Blocks that are damaged or missing.
    pub damaged: u64,
    /// The earliest and the latest pair of ticks and nanoseconds.
    pub anchors: Option<[(u64, u64); 2]>,
    /// The call sites, as addresses.
    pub sites: Vec<u64>,
}

impl Survey {
    /// Adds what other blocks hold.
    pub fn add(&mut self, other: &Survey) {
        self.calls += other.calls;
        self.first = self.first.into_iter().chain(other.first).min();
        self.last = self.last.max(other.last);
        self.dropped = self.dropped.saturating_add(other.dropped);
        self.damaged += other.damaged;
        self.under_way |= other.under_way;
        other.anchors.into_iter().flatten().for_each(|anchor| self.add_anchor(anchor));
        self.sites.extend_from_slice(&other.sites);
        self.sites.sort_unstable();
        self.sites.dedup();
    }

    fn add_anchor(&mut self, anchor: (u64, u64)) {
        self.anchors = Some(match self.anchors {
            None => [anchor; 2],
            Some([first, last]) => [first.min(anchor), last.max(anchor)],
        });
    }

    fn of(block: &Block) -> Survey {
        let mut survey = Survey { dropped: block.header(Header::Dropped), ..Survey::default() };
        // A process that is killed while it begins a block leaves zeros.
        let anchor = (block.header(Header::AnchorTicks), block.header(Header::AnchorNanoseconds));
        if anchor.0 > 0 && anchor.1 > 0 {
            survey.add_anchor(anchor);
        }
        let mut newest_payload = 0;
        for record in block.records() {
            if record.reference > newest_payload {
                newest_payload = record.reference;
                survey.sites.push(record.payload.site());
            }
            survey.calls += u64::from(record.payload.parts() & part::CONTINUED == 0);
            survey.first = Some(survey.first.map_or(record.enter, |first| first.min(record.enter)));
            survey.last = survey.last.max(record.enter.saturating_add(record.duration));
            survey.under_way = record.unfinished;
        }
        survey
    }
}

impl Stream {
    /// Finds the blocks of a thread and looks through them.
    pub fn find(thread: u16, files: &ThreadFiles) -> Result<Stream, Error> {
        let mut stream = Stream { thread, survey: Survey::default(), paths: Vec::new(), places: Vec::new() };
        let mut found: BTreeMap<u32, (Place, Survey)> = BTreeMap::new();
        // What was written out comes last and so replaces what stood in memory: the memory is older, or the same.
        if let Some(tail) = &files.tail {
            stream.look_through(tail, &mut found)?;
        }
        let written = match &files.calls {
            Some(calls) => stream.look_through(calls, &mut found)?,
            None => 0,
        };
        let expected = found.keys().next_back().map_or(0, |last| u64::from(*last) + 1).max(written);
        // Each block counts everything that was dropped before it.
        let dropped = found.values().map(|(_, survey)| survey.dropped).max().unwrap_or(0);
        for (place, survey) in found.into_values() {
            stream.places.push(place);
            stream.survey.add(&survey);
        }
        stream.survey.dropped = dropped;
        stream.survey.damaged = expected - stream.places.len() as u64;
        Ok(stream)
    }

    /// Looks at every block of a file and says how many there should be.
    fn look_through(&mut self, path: &Path, found: &mut BTreeMap<u32, (Place, Survey)>) -> Result<u64, Error> {
        let file = BlockFile::open(path)?;
        let count = file.file.metadata().at(path)?.len().div_ceil(BLOCK_BYTES as u64);
        let mut words = Vec::new();
        for number in 0..count {
            file.read(number, &mut words)?;
            if let Ok(block) = Block::read(&mut words) {
                let place = Place { file: self.paths.len(), number };
                found.insert(block.sequence(), (place, Survey::of(&block)));
            }
        }
        self.paths.push(path.to_owned());
        Ok(count)
    }

    /// Opens the files.
    pub fn open(&self) -> Result<Blocks<'_>, Error> {
        let files = self.paths.iter().map(|path| BlockFile::open(path)).collect::<Result<_, Error>>()?;
        Ok(Blocks { files, places: self.places.iter() })
    }
}

/// The blocks of a stream, one after the other.
pub struct Blocks<'a> {
    files: Vec<BlockFile<'a>>,
    places: std::slice::Iter<'a, Place>,
}

impl Blocks<'_> {
    /// Whether there is none left.
    pub fn is_empty(&self) -> bool {
        self.places.len() == 0
    }

    /// Reads the words of the next block, which [`Block::read`] accepts unless the file has changed since; `false` if there is none.
    pub fn next(&mut self, words: &mut Vec<u64>) -> Result<bool, Error> {
        let Some(place) = self.places.next() else { return Ok(false) };
        self.files[place.file].read(place.number, words)?;
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
        Ok(BlockFile { file: File::open(path).at(path)?, path })
    }

    /// Reads a block, or as much of it as there is.
    fn read(&self, number: u64, words: &mut Vec<u64>) -> Result<(), Error> {
        let mut bytes = [0; 1 << 14];
        words.clear();
        while words.len() < raw::BLOCK_WORDS {
            let at = number * BLOCK_BYTES as u64 + words.len() as u64 * 8;
            let read = self.file.read_at(&mut bytes, at).at(self.path)?;
            words.extend(bytes[..read].chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))));
            if read < 8 {
                break;
            }
        }
        Ok(())
    }
}
