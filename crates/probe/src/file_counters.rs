//! Counters of what the program does with files.
//!
//! There is a record for each operation on a file at a call site in a thread: a thread changes only its own, without a lock. Records are in
//! mapped files wherever a mapped page cannot fail, so that a killed process loses none; elsewhere they are written at the end. Accesses
//! that take long are written one by one, too, and short ones that follow each other closely as one, so that it is known which part of a
//! segment they are.

use std::collections::HashMap;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};

use sintonia_recording::raw::file_io::{
    ACCESS_MAGIC, ACCESS_WORDS, COUNTER_MAGIC, CounterKey, CounterRecord, FileCounters, OTHER_THREADS, PIECE_RECORDS, RawAccess, size_class,
};

use crate::block_region::{allocate_bytes, is_mappable, map};
use crate::breakable_lock::{BreakableGuard, BreakableLock};
use crate::cancellation::CancellationGuard;
use crate::clock::{self, nanoseconds, ticks};
use crate::process;
use crate::record_stream::RecordStream;
use crate::settings::settings;

/// Accesses of at least this length are recorded one by one. Shorter ones are put together if the time between them is less.
const LONG_NS: u64 = 10_000;
/// Accesses are put together for at most this many times [`LONG_NS`].
const MAX_LENGTH: u64 = 100;

/// Bytes of a piece of records.
const PIECE_BYTES: usize = PIECE_RECORDS * size_of::<CounterRecord>();
/// Most pieces.
const MAX_PIECES: usize = 64;
/// Records that a thread finds without a look at the table of all.
const CACHE_ENTRIES: usize = 64;
/// Places of calls that use only a buffer that a thread finds without looking at its stack.
const BUFFERED_ENTRIES: usize = 16;

/// [`LONG_NS`] in ticks.
static LONG_TICKS: AtomicU64 = AtomicU64::new(3 * LONG_NS);

/// Converts the least length of a recorded access to ticks; call when some time has passed since the time source was selected.
pub(crate) fn calibrate() {
    LONG_TICKS.store(clock::to_ticks(LONG_NS, nanoseconds(libc::CLOCK_MONOTONIC), ticks()), Ordering::Relaxed);
}

/// One call that used a file.
pub(crate) struct FileCall {
    pub key: CounterKey,
    /// Begin and end in ticks; both 0 if the call was not timed.
    pub begin: u64,
    pub end: u64,
    /// Bytes read or written; `None` if the call failed.
    pub bytes: Option<u64>,
    /// For a read or write.
    pub transfer: Option<Transfer>,
}

/// Where a read or write was.
pub(crate) struct Transfer {
    /// Whether it begins where the previous one ended.
    pub is_consecutive: bool,
    /// Whether it begins there or behind it.
    pub is_sequential: bool,
    /// Where it ends.
    pub end_offset: u64,
}

/// Where a call uses only the buffer of a stream. Such calls come by the million, so the records of the last ones are kept: of callers that
/// call the same line from the same depth of the stack, the first gets them all.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct BufferedPlace {
    pub file: u32,
    pub is_write: bool,
    pub return_address: u64,
    pub stack_pointer: u64,
}

impl BufferedPlace {
    #[inline]
    fn slot(&self) -> usize {
        (self.return_address ^ self.return_address >> 4) as usize % BUFFERED_ENTRIES
    }
}

/// A record of counters.
#[derive(Clone, Copy)]
struct RecordRef {
    key: [u64; 2],
    record: *mut CounterRecord,
    number: u32,
}

/// Counts for one thread, or for all threads that have not called MPI.
pub(crate) struct ThreadFileCounters {
    thread: u16,
    cache: [Option<RecordRef>; CACHE_ENTRIES],
    accesses: Option<RecordStream<ACCESS_WORDS>>,
    /// Short accesses that are not written yet.
    pending: Option<RawAccess>,
    /// The record of the last call.
    last: Option<RecordRef>,
    /// Places of calls that use only a buffer, with their records.
    buffered: [Option<(BufferedPlace, RecordRef)>; BUFFERED_ENTRIES],
    /// Set while it is in use: a signal handler may call it again.
    is_busy: bool,
}

// SAFETY: the pointers lead to memory that is never unmapped, in which each record is changed by one owner.
unsafe impl Send for ThreadFileCounters {}

impl ThreadFileCounters {
    pub(crate) fn new(thread: u16) -> ThreadFileCounters {
        let stream = || RecordStream::new(&format!("t{thread}.io"), ACCESS_MAGIC, format!("accesses to files of thread {thread}"));
        let accesses = (thread != OTHER_THREADS && !settings().profile).then(stream);
        ThreadFileCounters {
            thread,
            cache: [None; CACHE_ENTRIES],
            accesses,
            pending: None,
            last: None,
            buffered: [None; BUFFERED_ENTRIES],
            is_busy: false,
        }
    }

    /// The thread, as it is in the keys of its records.
    pub(crate) fn thread(&self) -> u16 {
        self.thread
    }

    /// Counts an access. `may_allocate`: whether a new record can be made, if it takes one.
    #[inline]
    pub(crate) fn count(&mut self, access: &FileCall, may_allocate: impl FnOnce() -> bool) {
        if std::mem::replace(&mut self.is_busy, true) {
            return;
        }
        self.last = self.find(access.key, may_allocate);
        if let Some(found) = self.last {
            // SAFETY: memory of a record that belongs to this thread, and is never unmapped.
            add(unsafe { &mut (*found.record).counters }, access);
            if access.end > access.begin {
                self.add_timed(access, found.number);
            }
        }
        self.is_busy = false;
    }

    /// Counts a call that uses only a buffer if its place is known; `false` if not.
    #[inline]
    pub(crate) fn count_buffered(&mut self, place: BufferedPlace, bytes: u64, transfer: &Transfer) -> bool {
        let known = self.buffered[place.slot()].filter(|(known, _)| *known == place && !self.is_busy);
        let Some((_, found)) = known else { return false };
        // SAFETY: as in `count`.
        add_transfer(unsafe { &mut (*found.record).counters }, bytes, transfer);
        true
    }

    /// The call that was just counted used only a buffer, at this place.
    pub(crate) fn remember_buffered(&mut self, place: BufferedPlace) {
        if !self.is_busy {
            self.buffered[place.slot()] = self.last.map(|record| (place, record));
        }
    }

    #[inline]
    fn find(&mut self, key: CounterKey, may_allocate: impl FnOnce() -> bool) -> Option<RecordRef> {
        let words = key.to_words();
        let slot = ((words[0].rotate_left(23) ^ words[1]).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize;
        match self.cache[slot] {
            Some(found) if found.key == words => Some(found),
            _ => {
                let found = table(may_allocate)?.record(words);
                self.cache[slot] = found;
                found
            }
        }
    }

    fn add_timed(&mut self, access: &FileCall, record: u32) {
        let (begin, end, long) = (access.begin, access.end, LONG_TICKS.load(Ordering::Relaxed));
        let (time, bytes) = (end - begin, access.bytes.unwrap_or(0));
        if let Some(pending) = &mut self.pending {
            let is_near = begin.saturating_sub(pending.end) < long && end.saturating_sub(pending.begin) < MAX_LENGTH * long;
            if pending.record == record && is_near && time < long {
                pending.end = end;
                pending.time += time;
                pending.bytes += bytes;
                pending.calls += 1;
                return;
            }
            self.write_pending();
        }
        self.pending = Some(RawAccess { begin, end, time, bytes, calls: 1, record });
        if time >= long {
            self.write_pending();
        }
    }

    /// Writes the pending accesses if they took long together.
    fn write_pending(&mut self) {
        let Some(pending) = self.pending.take() else { return };
        if pending.time >= LONG_TICKS.load(Ordering::Relaxed)
            && let Some(stream) = &mut self.accesses
        {
            let _guard = CancellationGuard::new();
            stream.append(pending.to_words());
        }
    }

    /// Writes what would be lost with the process.
    pub(crate) fn finish(&mut self) {
        self.write_pending();
        self.accesses.iter_mut().for_each(RecordStream::finish);
    }
}

const _: () = assert!(CACHE_ENTRIES == 1 << 6);

#[inline]
fn add(counters: &mut FileCounters, access: &FileCall) {
    let Some(bytes) = access.bytes else {
        counters.failed += 1;
        return add_time(counters, access, 0);
    };
    match &access.transfer {
        Some(transfer) => add_transfer(counters, bytes, transfer),
        None => counters.calls += 1,
    }
    add_time(counters, access, bytes);
}

#[inline]
fn add_transfer(counters: &mut FileCounters, bytes: u64, transfer: &Transfer) {
    counters.calls += 1;
    counters.bytes += bytes;
    counters.sizes[size_class(bytes)] += 1;
    counters.consecutive += u64::from(transfer.is_consecutive);
    counters.sequential += u64::from(transfer.is_sequential);
    counters.furthest = counters.furthest.max(transfer.end_offset);
}

#[inline]
fn add_time(counters: &mut FileCounters, access: &FileCall, bytes: u64) {
    if access.begin == 0 {
        return;
    }
    let time = access.end.saturating_sub(access.begin);
    counters.time += time;
    if counters.first == 0 {
        counters.first = access.begin;
    }
    counters.last = access.end;
    if time > counters.longest {
        (counters.longest, counters.longest_bytes) = (time, bytes);
    }
}

/// All records.
static TABLE: BreakableLock<Option<RecordTable>> = BreakableLock::new(None);

/// The table, unless another thread holds it for long, or this thread must not wait for it.
fn table(may_allocate: impl FnOnce() -> bool) -> Option<TableGuard> {
    if may_allocate() { TABLE.lock().map(TableGuard) } else { None }
}

struct TableGuard(BreakableGuard<'static, Option<RecordTable>>);

impl TableGuard {
    fn record(&mut self, key: [u64; 2]) -> Option<RecordRef> {
        self.0.get_or_insert_default().record(key)
    }
}

#[derive(Default)]
struct RecordTable {
    numbers: HashMap<[u64; 2], u32>,
    pieces: Vec<usize>,
    is_full: bool,
}

impl RecordTable {
    /// The record with a key; `None` if there is no space for a new one.
    fn record(&mut self, key: [u64; 2]) -> Option<RecordRef> {
        let number = match self.numbers.get(&key) {
            Some(number) => *number,
            None => self.add(key)?,
        };
        Some(RecordRef { key, record: self.pointer(number)?, number })
    }

    fn pointer(&self, number: u32) -> Option<*mut CounterRecord> {
        let piece = *self.pieces.get(number as usize / PIECE_RECORDS)? as *mut CounterRecord;
        // SAFETY: a piece has that many records.
        Some(unsafe { piece.add(number as usize % PIECE_RECORDS) })
    }

    fn add(&mut self, key: [u64; 2]) -> Option<u32> {
        // The first record of each piece is its header.
        let payload = PIECE_RECORDS - 1;
        let (piece, slot) = (self.numbers.len() / payload, self.numbers.len() % payload + 1);
        if piece == self.pieces.len() && !self.add_piece() {
            if !std::mem::replace(&mut self.is_full, true) {
                process::note("there are more files and call sites that use them than can be recorded; further ones are not");
            }
            return None;
        }
        let number = (piece * PIECE_RECORDS + slot) as u32;
        // SAFETY: a record of the last piece that is not in use yet.
        unsafe { (*self.pointer(number)?).key = key };
        self.numbers.insert(key, number);
        Some(number)
    }

    fn add_piece(&mut self) -> bool {
        let number = self.pieces.len();
        if number == MAX_PIECES {
            return false;
        }
        let Some(memory) = map_piece(&format!("p{number}.files")) else { return false };
        // SAFETY: the first word of the new piece.
        unsafe { *memory.cast::<u64>() = COUNTER_MAGIC };
        self.pieces.push(memory as usize);
        true
    }
}

/// Memory for a piece: a mapped file, or anonymous memory that is written at the end.
fn map_piece(extension: &str) -> Option<*mut u8> {
    let file = process::create_file(extension).filter(is_mappable).filter(|file| allocate_bytes(file, 0, PIECE_BYTES));
    let mapped = file.and_then(|file| map(PIECE_BYTES, libc::MAP_SHARED, file.as_raw_fd()));
    mapped.or_else(|| {
        process::remove_file(extension);
        let memory = map(PIECE_BYTES, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)?;
        process::write_at_end(memory as usize, PIECE_BYTES, extension);
        Some(memory)
    })
}
