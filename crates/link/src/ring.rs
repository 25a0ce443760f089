//! How events lie in memory that a thread of the program writes and the collector reads, without either ever waiting for the other.
//!
//! The memory is a file of the run. It begins with a page of counters ([`Counters`]) and goes on with *chunks*: a head and
//! [`CHUNK_RECORDS`] records each. The writer fills one chunk after the other and begins again at the first; each time round is a *lap*.
//! It writes the lap into a chunk's head when it begins it, and into a record as the very last word, so a reader who knows the lap sees
//! which records are complete. A chunk is begun only if the reader has left it: otherwise what happens meanwhile is dropped, and counted.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Words of a record.
pub const RECORD_WORDS: usize = 16;
/// Bytes of a record.
pub const RECORD_BYTES: usize = 8 * RECORD_WORDS;
/// Bytes of a chunk; a chunk begins at a multiple of them in the writer's memory.
pub const CHUNK_BYTES: usize = 8192;
/// Records of a chunk: one place is its head.
pub const CHUNK_RECORDS: usize = CHUNK_BYTES / RECORD_BYTES - 1;
/// Bytes before the first chunk.
pub const HEAD_BYTES: usize = CHUNK_BYTES;

/// Values that a hook can read besides arguments and results.
pub const READS: usize = 5;

/// What stands in the place of a hook's number for a function of MPI, together with the number of its operation. At exit its words are
/// bytes, peer, tag, number of the communicator, 0 and the ticks of its entry; what is not known is [`UNKNOWN`], bytes are 0.
pub const OF_MPI: u32 = 0x80_0000;
/// A peer, tag or communicator that a call has not.
pub const UNKNOWN: i64 = -1;

/// Words of the page of counters, by their place.
pub struct Counters;

impl Counters {
    /// How many chunks the reader has left, over all laps; written by the reader.
    pub const LEFT: usize = 0;
    /// How many records of the chunk behind these are of an earlier reader; written by the process before a reader comes.
    pub const TAKEN: usize = 1;
    /// How many chunks the writer has begun, over all laps.
    pub const BEGUN: usize = 8;
    /// How many records were dropped.
    pub const DROPPED: usize = 9;
    /// The number the system gives to the thread that writes; 0 if none does.
    pub const THREAD: usize = 10;
    /// How many records of threads without a ring were dropped; in the first ring of a process.
    pub const HOMELESS: usize = 11;
}

/// What kind of moment a record is of: the lowest byte of its first word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Moment {
    /// A function is entered.
    Entry = 1,
    /// A function returns.
    Exit = 2,
}

/// One thing that happened in the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Which hook, or which function of MPI.
    pub hook: u32,
    /// Entry or exit.
    pub moment: Moment,
    /// When, in ticks of the process.
    pub ticks: u64,
    /// The stack pointer of the caller: what was entered below it and has not returned was left by a jump.
    pub stack: u64,
    /// At entry the first six arguments that are whole numbers or pointers; at exit the result in two words.
    pub words: [u64; 6],
    /// At entry the first two arguments that are floating numbers; at exit the result. Bits.
    pub floats: [u64; 2],
    /// What the hook was told to read besides.
    pub reads: [u64; 5],
}

impl Event {
    /// The words of a record of this lap; `None` if the record is older or none.
    fn of_words(words: &[u64; RECORD_WORDS], lap: u32) -> Option<Event> {
        let moment = match words[0] as u8 {
            1 => Moment::Entry,
            2 => Moment::Exit,
            _ => return None,
        };
        if (words[0] >> 32) as u32 != lap {
            return None;
        }
        let hook = (words[0] >> 8) as u32 & 0xff_ffff;
        let floats = [words[9], words[10]];
        Some(Event { hook, moment, ticks: words[1], stack: words[2], words: part(words, 3), floats, reads: part(words, 11) })
    }
}

fn part<const LENGTH: usize>(words: &[u64; RECORD_WORDS], from: usize) -> [u64; LENGTH] {
    std::array::from_fn(|place| words[from + place])
}

/// The first word of a record, without its lap.
pub const fn tag(hook: u32, moment: Moment) -> u64 {
    (hook as u64) << 8 | moment as u64
}

/// The file of one ring, as the collector reads it.
#[derive(Debug)]
pub struct Reader {
    file: File,
    /// Where its first byte is in the file.
    base: u64,
    chunks: u64,
    /// Chunks left so far.
    left: u64,
    /// Records taken from the chunk that is being read.
    taken: usize,
}

impl Reader {
    /// Reads the ring that begins at `base` of the file, from where an earlier reader may have left it.
    pub fn new(file: File, base: u64, chunks: u64) -> Reader {
        let mut reader = Reader { file, base, chunks, left: 0, taken: 0 };
        reader.left = reader.counter(Counters::LEFT).unwrap_or(0);
        reader.taken = reader.counter(Counters::TAKEN).unwrap_or(0) as usize;
        reader
    }

    /// The value of a counter.
    pub fn counter(&self, which: usize) -> io::Result<u64> {
        let mut word = [0; 8];
        self.file.read_exact_at(&mut word, self.base + 8 * which as u64)?;
        Ok(u64::from_ne_bytes(word))
    }

    /// Whether the next record of a chunk is complete: most of the time nothing has happened, and then no more is read.
    fn has_more(&self, chunk: u64, lap: u32) -> io::Result<bool> {
        let mut word = [0; 8];
        let next = self.taken.min(CHUNK_RECORDS - 1) + 1;
        self.file.read_exact_at(&mut word, chunk + (next * RECORD_BYTES) as u64)?;
        Ok((u64::from_ne_bytes(word) >> 32) as u32 == lap)
    }

    /// Gives every event that is complete to `each`, in the order they were begun; how many there were.
    pub fn drain(&mut self, mut each: impl FnMut(Event)) -> io::Result<usize> {
        let mut count = 0;
        let mut chunk = Vec::new();
        loop {
            let lap = (self.left / self.chunks) as u32 + 1;
            let at = self.base + HEAD_BYTES as u64 + (self.left % self.chunks) * CHUNK_BYTES as u64;
            if !self.has_more(at, lap)? {
                break;
            }
            chunk.resize(CHUNK_BYTES, 0);
            // The first look tells which records are complete, the second reads them: what is complete stays as it is.
            self.file.read_exact_at(&mut chunk, at)?;
            let complete = (self.taken..CHUNK_RECORDS).take_while(|place| Event::of_words(&record(&chunk, *place), lap).is_some()).count();
            if complete == 0 {
                break;
            }
            self.file.read_exact_at(&mut chunk, at)?;
            (self.taken..self.taken + complete).filter_map(|place| Event::of_words(&record(&chunk, place), lap)).for_each(&mut each);
            self.taken += complete;
            count += complete;
            if self.taken < CHUNK_RECORDS {
                break;
            }
            (self.left, self.taken) = (self.left + 1, 0);
            self.file.write_all_at(&self.left.to_ne_bytes(), self.base + 8 * Counters::LEFT as u64)?;
        }
        Ok(count)
    }
}

/// The words of a record in the bytes of its chunk.
fn record(chunk: &[u8], place: usize) -> [u64; RECORD_WORDS] {
    let begin = (place + 1) * RECORD_BYTES;
    std::array::from_fn(|word| {
        let bytes = &chunk[begin + 8 * word..begin + 8 * word + 8];
        u64::from_ne_bytes(bytes.try_into().expect("eight bytes"))
    })
}
