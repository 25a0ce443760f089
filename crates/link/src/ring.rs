//! Layout of the event rings: shared memory written by a thread of the program and read by the collector, lock-free on both sides.
//!
//! The memory starts with a page of counters ([`RingCounters`]), followed by *chunks*: a header and [`CHUNK_RECORDS`] records each. The
//! writer fills the chunks cyclically; each round is a *lap*. It writes the lap number into a chunk's header when it starts the chunk, and
//! into a record last of all, so a reader that knows the lap sees which records are complete. A chunk is started only after the reader has
//! consumed it; otherwise events are dropped and counted.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Words of a record.
pub const RECORD_WORDS: usize = 16;
/// Bytes of a record.
pub const RECORD_BYTES: usize = 8 * RECORD_WORDS;
/// Bytes of a chunk; chunks are aligned to this in the writer's memory.
pub const CHUNK_BYTES: usize = 8192;
/// Records of a chunk: one slot is the header.
pub const CHUNK_RECORDS: usize = CHUNK_BYTES / RECORD_BYTES - 1;
/// Bytes before the first chunk.
pub const HEADER_BYTES: usize = CHUNK_BYTES;

/// Maximum number of values a hook reads besides arguments and results.
pub const MAX_READS: usize = 5;

/// Flag in the hook number for an MPI function; the lower bits are its function index. At exit the words are bytes, peer, tag, communicator
/// id, call site and the ticks of its entry; unknown values are [`UNKNOWN`], unknown bytes 0.
pub const MPI_FUNCTION: u32 = 0x80_0000;
/// A peer, tag or communicator that a call does not have.
pub const UNKNOWN: i64 = -1;

/// Indices of the words in the page of counters.
pub struct RingCounters;

impl RingCounters {
    /// Chunks consumed by the reader, over all laps; written by the reader.
    pub const CONSUMED_CHUNKS: usize = 0;
    /// Records of the next chunk consumed by an earlier reader; written by the process before a new reader attaches.
    pub const CONSUMED_RECORDS: usize = 1;
    /// Chunks started by the writer, over all laps.
    pub const STARTED_CHUNKS: usize = 8;
    /// Records dropped.
    pub const DROPPED_RECORDS: usize = 9;
    /// Thread id of the writer; 0 if there is none.
    pub const THREAD: usize = 10;
    /// Records dropped by threads without a ring; in the first ring of a process.
    pub const DROPPED_WITHOUT_RING: usize = 11;
}

/// Entry or exit: the lowest byte of a record's first word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum HookPoint {
    /// A function is entered.
    Entry = 1,
    /// A function returns.
    Exit = 2,
}

/// An event of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookEvent {
    /// The hook, or the MPI function.
    pub hook: u32,
    /// Entry or exit.
    pub point: HookPoint,
    /// Time in ticks of the process.
    pub ticks: u64,
    /// The caller's stack pointer, the same at entry and exit of a call.
    pub stack: u64,
    /// At entry the first six integer or pointer arguments; at exit the result in two words, two unused ones, the ticks that the call spent
    /// in measured MPI functions, and the ticks of its entry.
    pub words: [u64; 6],
    /// At entry the first two floating-point arguments; at exit the result. Bits.
    pub floats: [u64; 2],
    /// Additional values read by the hook.
    pub reads: [u64; 5],
}

impl HookEvent {
    /// Decodes a record of this lap; `None` if the record is older or empty.
    fn decode(words: &[u64; RECORD_WORDS], lap: u32) -> Option<HookEvent> {
        let point = match words[0] as u8 {
            1 => HookPoint::Entry,
            2 => HookPoint::Exit,
            _ => return None,
        };
        if (words[0] >> 32) as u32 != lap {
            return None;
        }
        let hook = (words[0] >> 8) as u32 & 0xff_ffff;
        let floats = [words[9], words[10]];
        Some(HookEvent { hook, point, ticks: words[1], stack: words[2], words: sub_array(words, 3), floats, reads: sub_array(words, 11) })
    }
}

fn sub_array<const LENGTH: usize>(words: &[u64; RECORD_WORDS], from: usize) -> [u64; LENGTH] {
    std::array::from_fn(|index| words[from + index])
}

/// The first word of a record, without its lap.
pub const fn tag(hook: u32, point: HookPoint) -> u64 {
    (hook as u64) << 8 | point as u64
}

/// Reads one ring; used by the collector.
#[derive(Debug)]
pub struct RingReader {
    file: File,
    /// Offset of the ring in the file.
    base: u64,
    chunks: u64,
    /// Chunks consumed so far.
    consumed_chunks: u64,
    /// Records consumed of the current chunk.
    consumed_records: usize,
}

impl RingReader {
    /// A reader for the ring at offset `base`; continues where an earlier reader stopped.
    pub fn new(file: File, base: u64, chunks: u64) -> RingReader {
        let mut reader = RingReader { file, base, chunks, consumed_chunks: 0, consumed_records: 0 };
        reader.consumed_chunks = reader.counter(RingCounters::CONSUMED_CHUNKS).unwrap_or(0);
        reader.consumed_records = reader.counter(RingCounters::CONSUMED_RECORDS).unwrap_or(0) as usize;
        reader
    }

    /// The value of a counter.
    pub fn counter(&self, which: usize) -> io::Result<u64> {
        let mut word = [0; 8];
        self.file.read_exact_at(&mut word, self.base + 8 * which as u64)?;
        Ok(u64::from_ne_bytes(word))
    }

    /// Whether the next record of a chunk is complete. Usually there is none, and then nothing else is read.
    fn has_more(&self, chunk: u64, lap: u32) -> io::Result<bool> {
        let mut word = [0; 8];
        let next = self.consumed_records.min(CHUNK_RECORDS - 1) + 1;
        self.file.read_exact_at(&mut word, chunk + (next * RECORD_BYTES) as u64)?;
        Ok((u64::from_ne_bytes(word) >> 32) as u32 == lap)
    }

    /// Passes every complete event to `each`, in order, and returns their number.
    pub fn drain(&mut self, mut each: impl FnMut(HookEvent)) -> io::Result<usize> {
        let mut count = 0;
        let mut chunk = Vec::new();
        loop {
            let lap = (self.consumed_chunks / self.chunks) as u32 + 1;
            let at = self.base + HEADER_BYTES as u64 + (self.consumed_chunks % self.chunks) * CHUNK_BYTES as u64;
            if !self.has_more(at, lap)? {
                break;
            }
            chunk.resize(CHUNK_BYTES, 0);
            // The first read finds the complete records, the second one reads them: complete records do not change.
            self.file.read_exact_at(&mut chunk, at)?;
            let complete = (self.consumed_records..CHUNK_RECORDS)
                .take_while(|index| HookEvent::decode(&record_words(&chunk, *index), lap).is_some())
                .count();
            if complete == 0 {
                break;
            }
            self.file.read_exact_at(&mut chunk, at)?;
            (self.consumed_records..self.consumed_records + complete)
                .filter_map(|index| HookEvent::decode(&record_words(&chunk, index), lap))
                .for_each(&mut each);
            self.consumed_records += complete;
            count += complete;
            if self.consumed_records < CHUNK_RECORDS {
                break;
            }
            (self.consumed_chunks, self.consumed_records) = (self.consumed_chunks + 1, 0);
            self.file.write_all_at(&self.consumed_chunks.to_ne_bytes(), self.base + 8 * RingCounters::CONSUMED_CHUNKS as u64)?;
        }
        Ok(count)
    }
}

/// The words of a record in the bytes of its chunk.
fn record_words(chunk: &[u8], index: usize) -> [u64; RECORD_WORDS] {
    let begin = (index + 1) * RECORD_BYTES;
    std::array::from_fn(|word| {
        let bytes = &chunk[begin + 8 * word..begin + 8 * word + 8];
        u64::from_ne_bytes(bytes.try_into().expect("eight bytes"))
    })
}
