//! The rings of this process: one for each thread that notes something, in a file that the collector reads. Their form is told in
//! [`sintonia_link::ring`].

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use sintonia_link::ring::{CHUNK_BYTES, CHUNK_RECORDS, Counters, HEAD_BYTES, Moment, RECORD_BYTES, tag};

use crate::stub::Entry;

/// As many threads of a process can have a ring; those of others are dropped.
pub const MOST_RINGS: usize = 256;

/// Where the rings begin in memory, their chunks, and how many have been given to threads.
static BASE: AtomicUsize = AtomicUsize::new(0);
static CHUNKS: AtomicUsize = AtomicUsize::new(0);
static GIVEN: AtomicUsize = AtomicUsize::new(0);
static MEMORY: OnceLock<File> = OnceLock::new();

/// Bytes of one ring: counters, chunks, and a chunk that is never read, for what must be dropped.
const fn ring_bytes(chunks: usize) -> usize {
    HEAD_BYTES + (chunks + 1) * CHUNK_BYTES
}

/// The rings of this process, for the collector to read.
#[derive(Debug)]
pub struct Rings {
    /// The memory as a file; it has no name, and needs to stay open only until the collector has it.
    pub file: File,
    /// Bytes of each ring; ring `n` begins at `n` times as many.
    pub bytes: usize,
    /// Chunks of each ring.
    pub chunks: usize,
}

impl Rings {
    /// Makes the memory; only room that is used is ever taken. To be called before the first hook. Threads keep their rings for ever: for
    /// a collector that comes later the memory is the same, and what was noted before is passed over.
    pub fn create(chunks: usize) -> io::Result<Rings> {
        let bytes = ring_bytes(chunks);
        if let Some(memory) = MEMORY.get() {
            let base = BASE.load(Ordering::Acquire);
            (0..taken()).for_each(|number| pass_over(base + number * bytes));
            return Ok(Rings { file: memory.try_clone()?, bytes, chunks });
        }
        // SAFETY: a call that only makes a new file, which then belongs to `file`.
        let file = unsafe {
            let number = libc::memfd_create(c"sintonia".as_ptr(), libc::MFD_CLOEXEC);
            if number < 0 {
                return Err(io::Error::last_os_error());
            }
            File::from_raw_fd(number)
        };
        file.set_len((MOST_RINGS * bytes) as u64)?;
        CHUNKS.store(chunks, Ordering::Relaxed);
        BASE.store(map(&file, MOST_RINGS * bytes)?, Ordering::Release);
        let _ = MEMORY.set(file.try_clone()?);
        Ok(Rings { file, bytes, chunks })
    }
}

/// Maps a file where a chunk may begin.
fn map(file: &File, bytes: usize) -> io::Result<usize> {
    let failed = |memory: *mut libc::c_void| if memory == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(memory as usize) };
    // SAFETY: a place is reserved where the system has room, and the file is mapped within it.
    unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let room = failed(libc::mmap(std::ptr::null_mut(), bytes + CHUNK_BYTES, libc::PROT_NONE, flags, -1, 0))?;
        let begin = room.next_multiple_of(CHUNK_BYTES);
        let flags = libc::MAP_SHARED | libc::MAP_FIXED | libc::MAP_NORESERVE;
        failed(libc::mmap(begin as *mut _, bytes, libc::PROT_READ | libc::PROT_WRITE, flags, file.as_raw_fd(), 0))
    }
}

/// What a thread knows of its ring; the assembly knows the first two fields.
#[repr(C)]
pub struct Place {
    next: usize,
    end: usize,
    /// The first byte of the ring; 0 before the thread has one, 1 if it gets none.
    ring: usize,
    /// Whether this thread is asking for a chunk: a signal handler must not ask at the same time.
    asking: usize,
}

const NO_RING: usize = 1;

/// A counter of a ring.
fn counter(ring: usize, which: usize) -> &'static AtomicU64 {
    // SAFETY: rings are mapped for ever, and begin with a page of counters.
    unsafe { &*((ring + 8 * which) as *const AtomicU64) }
}

/// Where those write who have nowhere to write.
#[repr(C, align(8192))]
struct Nowhere([AtomicU64; CHUNK_BYTES / 8]);
static NOWHERE: Nowhere = Nowhere([const { AtomicU64::new(0) }; CHUNK_BYTES / 8]);

/// Room for a record after the chunk has ended: the first of the next chunk, if the reader has left it, else a place that nobody reads.
///
/// # Safety
/// The place must be that of the calling thread.
pub unsafe extern "C" fn next_chunk(place: *mut Place, _entry: *const Entry, _moment: u32) -> usize {
    // SAFETY: the stub passes the place of its own thread.
    let place = unsafe { &mut *place };
    if std::mem::replace(&mut place.asking, 1) == 1 {
        count_homeless(1);
        return NOWHERE.0.as_ptr() as usize + RECORD_BYTES;
    }
    if place.ring == 0 {
        place.ring = take_ring().unwrap_or(NO_RING);
    }
    let chunk = if place.ring == NO_RING {
        count_homeless(CHUNK_RECORDS as u64);
        NOWHERE.0.as_ptr() as usize
    } else {
        begin_chunk(place.ring)
    };
    let first = chunk + RECORD_BYTES;
    place.end = chunk + CHUNK_BYTES;
    place.next = first + RECORD_BYTES;
    place.asking = 0;
    first
}

/// Lets the next reader of a ring begin with what is noted from now on.
fn pass_over(ring: usize) {
    let chunks = CHUNKS.load(Ordering::Relaxed) as u64;
    let Some(left) = counter(ring, Counters::BEGUN).load(Ordering::Acquire).checked_sub(1) else { return };
    let chunk = ring + HEAD_BYTES + (left % chunks) as usize * CHUNK_BYTES;
    let lap = left / chunks + 1;
    let is_complete = |place: &usize| counter(chunk + place * RECORD_BYTES, 0).load(Ordering::Acquire) >> 32 == lap;
    let taken = (1..=CHUNK_RECORDS).take_while(is_complete).count();
    let (left, taken) = if taken == CHUNK_RECORDS { (left + 1, 0) } else { (left, taken) };
    counter(ring, Counters::TAKEN).store(taken as u64, Ordering::Relaxed);
    counter(ring, Counters::LEFT).store(left, Ordering::Release);
}

/// The next chunk of a ring, begun; or the one for what is dropped.
fn begin_chunk(ring: usize) -> usize {
    let chunks = CHUNKS.load(Ordering::Relaxed) as u64;
    let begun = counter(ring, Counters::BEGUN).load(Ordering::Relaxed);
    let first = ring + HEAD_BYTES;
    if begun - counter(ring, Counters::LEFT).load(Ordering::Acquire).min(begun) >= chunks {
        counter(ring, Counters::DROPPED).fetch_add(CHUNK_RECORDS as u64, Ordering::Relaxed);
        return first + chunks as usize * CHUNK_BYTES;
    }
    let chunk = first + (begun % chunks) as usize * CHUNK_BYTES;
    let lap = begun / chunks + 1;
    counter(chunk, 0).store(lap << 32, Ordering::Relaxed);
    counter(ring, Counters::BEGUN).store(begun + 1, Ordering::Release);
    chunk
}

/// Counts records that have no ring where the reader looks for those that were dropped: in the first ring of the process.
fn count_homeless(records: u64) {
    let base = BASE.load(Ordering::Acquire);
    if base != 0 {
        counter(base, Counters::HOMELESS).fetch_add(records, Ordering::Relaxed);
    }
}

/// A ring for this thread, with its memory taken: where there is none left, the program must not notice.
fn take_ring() -> Option<usize> {
    let base = BASE.load(Ordering::Acquire);
    let number = GIVEN.fetch_add(1, Ordering::Relaxed);
    if base == 0 || number >= MOST_RINGS {
        return None;
    }
    let bytes = ring_bytes(CHUNKS.load(Ordering::Relaxed));
    let ring = base + number * bytes;
    // SAFETY: memory of our own; older systems do not know this advice, and give memory when it is touched.
    let taken = unsafe { libc::syscall(libc::SYS_madvise, ring, bytes, libc::MADV_POPULATE_WRITE) };
    if taken != 0 && errno() != libc::EINVAL {
        return None;
    }
    // SAFETY: asks the system for a number.
    let thread = unsafe { libc::syscall(libc::SYS_gettid) };
    counter(ring, Counters::THREAD).store(thread as u64, Ordering::Release);
    Some(ring)
}

fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// How many rings threads have taken.
pub fn taken() -> usize {
    GIVEN.load(Ordering::Relaxed).min(MOST_RINGS)
}

/// What this thread knows of its ring.
fn place() -> *mut Place {
    let place: *mut Place;
    // SAFETY: the address of this thread's own place, which the assembly reserves.
    unsafe {
        core::arch::asm!(
            "mov {place}, qword ptr fs:0",
            "add {place}, qword ptr [rip + sintonia_ring@GOTTPOFF]",
            place = out(reg) place,
            options(nostack, readonly),
        );
    }
    place
}

/// Notes something that happened in this thread and was not seen by a hook, as one with this number would. Call and return have the same
/// place on the stack.
pub fn note(hook: u32, moment: Moment, ticks: u64, stack: u64, words: [u64; 6]) {
    let place = place();
    let mut room = RECORD_BYTES;
    // SAFETY: the place of this thread. Room is taken by one instruction, as in the stubs: a signal handler that is hooked takes the next.
    // A record lies within its chunk, which is mapped for ever.
    unsafe {
        core::arch::asm!("xadd qword ptr [{place}], {room}", place = in(reg) place, room = inout(reg) room, options(nostack));
        if room >= (*place).end {
            room = next_chunk(place, std::ptr::null(), 0);
        }
        let record = room as *mut u64;
        record.add(1).write(ticks);
        record.add(2).write(stack);
        record.add(3).cast::<[u64; 6]>().write(words);
        let lap = counter(room & !(CHUNK_BYTES - 1), 0).load(Ordering::Relaxed);
        counter(room, 0).store(lap | tag(hook, moment), Ordering::Release);
    }
}

/// In a forked child: this thread, the only one there, writes into its parent's ring no more.
pub fn forget() {
    // SAFETY: the place of this thread.
    unsafe { *place() = Place { next: 0, end: 0, ring: NO_RING, asking: 0 } };
}
