//! The event rings of this process, one per recording thread, in shared memory that the collector reads. The layout is defined in
//! [`sintonia_link::ring`].

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use sintonia_link::call_sums::{TABLE_BYTES, table_offset};
use sintonia_link::ring::{CHUNK_BYTES, CHUNK_RECORDS, HEADER_BYTES, HookPoint, RECORD_BYTES, RingCounters, tag};

use crate::checked_memory::preserving_errno;
use crate::stub::HookEntry;
use crate::sum_table;

/// Maximum number of threads with a ring at the same time; events of further threads are dropped.
pub(crate) const MAX_RINGS: usize = 256;

/// Address of the rings, chunks per ring, and number of rings claimed by threads.
static BASE: AtomicUsize = AtomicUsize::new(0);
static CHUNKS: AtomicUsize = AtomicUsize::new(0);
static CLAIMED: AtomicUsize = AtomicUsize::new(0);
static MEMORY: OnceLock<File> = OnceLock::new();

/// Bytes of one ring: counters, chunks, one chunk for dropped events that is never read, and the table of sums.
const fn ring_bytes(chunks: usize) -> usize {
    table_offset(chunks) + TABLE_BYTES
}

/// The memory of all rings, for the collector.
#[derive(Debug)]
pub struct RingMemory {
    /// An anonymous file (memfd); needs to stay open only until the collector has it.
    pub file: File,
    /// Bytes of each ring; ring `n` starts at `n` times this.
    pub bytes: usize,
    /// Chunks of each ring.
    pub chunks: usize,
}

impl RingMemory {
    /// Creates the memory; pages are allocated only when used. Call before the first hook. Threads keep their rings: a later collector gets
    /// the same memory, earlier events are skipped, and sums begin anew.
    pub fn create(chunks: usize) -> io::Result<RingMemory> {
        let bytes = ring_bytes(chunks);
        if let Some(memory) = MEMORY.get() {
            let base = BASE.load(Ordering::Acquire);
            for ring in (0..claimed_rings()).map(|number| base + number * bytes) {
                skip_recorded(ring);
                sum_table::clear(ring + table_offset(chunks));
            }
            return Ok(RingMemory { file: memory.try_clone()?, bytes, chunks });
        }
        // SAFETY: creates a new file descriptor, which `file` then owns.
        let file = unsafe {
            let number = libc::memfd_create(c"sintonia".as_ptr(), libc::MFD_CLOEXEC);
            if number < 0 {
                return Err(io::Error::last_os_error());
            }
            File::from_raw_fd(number)
        };
        file.set_len((MAX_RINGS * bytes) as u64)?;
        CHUNKS.store(chunks, Ordering::Relaxed);
        BASE.store(map(&file, MAX_RINGS * bytes)?, Ordering::Release);
        let _ = MEMORY.set(file.try_clone()?);
        Ok(RingMemory { file, bytes, chunks })
    }
}

/// Maps a file with chunk alignment.
fn map(file: &File, bytes: usize) -> io::Result<usize> {
    let failed = |memory: *mut libc::c_void| if memory == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(memory as usize) };
    // SAFETY: reserves an address range and maps the file within it.
    unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let room = failed(libc::mmap(std::ptr::null_mut(), bytes + CHUNK_BYTES, libc::PROT_NONE, flags, -1, 0))?;
        let begin = room.next_multiple_of(CHUNK_BYTES);
        let flags = libc::MAP_SHARED | libc::MAP_FIXED | libc::MAP_NORESERVE;
        failed(libc::mmap(begin as *mut _, bytes, libc::PROT_READ | libc::PROT_WRITE, flags, file.as_raw_fd(), 0))
    }
}

/// A thread's position in its ring, in the pending returns and in its sums; the assembly knows the layout.
#[repr(C)]
pub(crate) struct RingCursor {
    next: usize,
    end: usize,
    /// Address of the ring; 0 before the thread has one, 1 if it gets none.
    ring: usize,
    /// Set while this thread requests a chunk, to detect reentry from a signal handler.
    is_refilling: usize,
    /// Address of the pending return to try first; 0 before the first one.
    pub next_pending: usize,
    /// Address of the table of sums; 0 before the thread has one, or if it gets none.
    pub sums: usize,
    /// Ticks that the thread has spent in MPI functions that are measured.
    pub mpi_ticks: u64,
}

const NO_RING: usize = 1;

/// A counter of a ring.
fn counter(ring: usize, which: usize) -> &'static AtomicU64 {
    // SAFETY: rings stay mapped, and start with a page of counters.
    unsafe { &*((ring + 8 * which) as *const AtomicU64) }
}

/// Target of writes by threads without a ring.
#[repr(C, align(8192))]
struct DiscardChunk([AtomicU64; CHUNK_BYTES / 8]);
static DISCARD_CHUNK: DiscardChunk = DiscardChunk([const { AtomicU64::new(0) }; CHUNK_BYTES / 8]);

/// Space for a record when the current chunk is full: the first slot of the next chunk if the reader has consumed it, else of a chunk that
/// is never read.
///
/// # Safety
/// `cursor` must be that of the calling thread.
pub(crate) unsafe extern "C" fn next_chunk(cursor: *mut RingCursor, _entry: *const HookEntry, _moment: u32) -> usize {
    // SAFETY: the stub passes the cursor of its own thread.
    let cursor = unsafe { &mut *cursor };
    if std::mem::replace(&mut cursor.is_refilling, 1) == 1 {
        count_without_ring(1);
        return DISCARD_CHUNK.0.as_ptr() as usize + RECORD_BYTES;
    }
    if cursor.ring == 0 {
        cursor.claim_ring();
        if cursor.end != 0 {
            let first = cursor.next;
            cursor.next += RECORD_BYTES;
            cursor.is_refilling = 0;
            return first;
        }
    }
    let chunk = if cursor.ring == NO_RING {
        count_without_ring(CHUNK_RECORDS as u64);
        DISCARD_CHUNK.0.as_ptr() as usize
    } else {
        start_chunk(cursor.ring)
    };
    let first = chunk + RECORD_BYTES;
    cursor.end = chunk + CHUNK_BYTES;
    cursor.next = first + RECORD_BYTES;
    cursor.is_refilling = 0;
    first
}

/// Makes the next reader of a ring skip all earlier events.
fn skip_recorded(ring: usize) {
    let Some(consumed) = counter(ring, RingCounters::STARTED_CHUNKS).load(Ordering::Acquire).checked_sub(1) else { return };
    let (_, consumed_records) = complete_records(ring, consumed);
    let (consumed, consumed_records) = if consumed_records == CHUNK_RECORDS { (consumed + 1, 0) } else { (consumed, consumed_records) };
    counter(ring, RingCounters::CONSUMED_RECORDS).store(consumed_records as u64, Ordering::Relaxed);
    counter(ring, RingCounters::CONSUMED_CHUNKS).store(consumed, Ordering::Release);
}

/// Starts the next chunk of a ring; returns the chunk for dropped events if the ring is full.
fn start_chunk(ring: usize) -> usize {
    let chunks = CHUNKS.load(Ordering::Relaxed) as u64;
    let begun = counter(ring, RingCounters::STARTED_CHUNKS).load(Ordering::Relaxed);
    let first = ring + HEADER_BYTES;
    if begun - counter(ring, RingCounters::CONSUMED_CHUNKS).load(Ordering::Acquire).min(begun) >= chunks {
        counter(ring, RingCounters::DROPPED_RECORDS).fetch_add(CHUNK_RECORDS as u64, Ordering::Relaxed);
        return first + chunks as usize * CHUNK_BYTES;
    }
    let chunk = first + (begun % chunks) as usize * CHUNK_BYTES;
    let lap = begun / chunks + 1;
    counter(chunk, 0).store(lap << 32, Ordering::Relaxed);
    counter(ring, RingCounters::STARTED_CHUNKS).store(begun + 1, Ordering::Release);
    chunk
}

/// Counts events of threads without a ring, in the first ring of the process.
fn count_without_ring(records: u64) {
    let base = BASE.load(Ordering::Acquire);
    if base != 0 {
        counter(base, RingCounters::DROPPED_WITHOUT_RING).fetch_add(records, Ordering::Relaxed);
    }
}

impl RingCursor {
    /// The cursor of a thread that writes nowhere.
    fn detached() -> RingCursor {
        RingCursor { next: 0, end: 0, ring: NO_RING, is_refilling: 0, next_pending: 0, sums: sum_table::private_table(), mpi_ticks: 0 }
    }

    /// Claims a ring and its table of sums, if there is one. In the ring of a thread that has ended, its last chunk is continued.
    fn claim_ring(&mut self) {
        let Some(ring) = preserving_errno(|| claim_new_ring().or_else(claim_ring_of_ended_thread)) else {
            self.ring = NO_RING;
            return;
        };
        if let Some((next, end)) = unfinished_chunk(ring) {
            (self.next, self.end) = (next, end);
        }
        self.ring = ring;
        self.sums = ring + table_offset(CHUNKS.load(Ordering::Relaxed));
    }

    /// The thread's table of sums; where it has none, one that is never read, and the call counts as dropped.
    pub(crate) fn claim_sums(&mut self, counts_as_dropped: bool) -> usize {
        if std::mem::replace(&mut self.is_refilling, 1) == 0 {
            if self.ring == 0 {
                self.claim_ring();
            }
            self.is_refilling = 0;
        }
        if self.sums == 0 && counts_as_dropped {
            count_without_ring(1);
        }
        if self.sums == 0 { sum_table::private_table() } else { self.sums }
    }
}

/// Claims a ring that no thread has had, and populates its memory: running out of memory later would raise a signal in the program. The
/// table of sums is allocated as it is used: most of its slots never are.
fn claim_new_ring() -> Option<usize> {
    let base = BASE.load(Ordering::Acquire);
    if base == 0 || CLAIMED.load(Ordering::Relaxed) >= MAX_RINGS {
        return None;
    }
    let number = CLAIMED.fetch_add(1, Ordering::Relaxed);
    if number >= MAX_RINGS {
        return None;
    }
    let chunks = CHUNKS.load(Ordering::Relaxed);
    let ring = base + number * ring_bytes(chunks);
    // SAFETY: own memory; older kernels do not know this advice and allocate on first touch.
    let failed = unsafe { libc::syscall(libc::SYS_madvise, ring, table_offset(chunks), libc::MADV_POPULATE_WRITE) };
    if failed != 0 && errno() != libc::EINVAL {
        return None;
    }
    counter(ring, RingCounters::THREAD).store(own_thread(), Ordering::Release);
    Some(ring)
}

/// Claims the ring of a thread that has ended. Its events stay, and its sums go on.
fn claim_ring_of_ended_thread() -> Option<usize> {
    let base = BASE.load(Ordering::Acquire);
    if base == 0 {
        return None;
    }
    let bytes = ring_bytes(CHUNKS.load(Ordering::Relaxed));
    let own = own_thread();
    (0..claimed_rings()).map(|number| base + number * bytes).find(|ring| {
        let owner = counter(*ring, RingCounters::THREAD);
        let thread = owner.load(Ordering::Acquire);
        // The number of an ended thread may be that of this one.
        thread != 0
            && (thread == own || has_ended(thread))
            && owner.compare_exchange(thread, own, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    })
}

/// The number of the calling thread.
fn own_thread() -> u64 {
    // SAFETY: only queries the thread id.
    unsafe { libc::syscall(libc::SYS_gettid) as u64 }
}

fn has_ended(thread: u64) -> bool {
    // SAFETY: signal 0 only asks whether the thread exists.
    let failed = unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, 0) };
    failed != 0 && errno() == libc::ESRCH
}

/// The first free record of a ring's latest chunk and the end of the chunk, unless it is full.
fn unfinished_chunk(ring: usize) -> Option<(usize, usize)> {
    let started = counter(ring, RingCounters::STARTED_CHUNKS).load(Ordering::Acquire).checked_sub(1)?;
    let (chunk, complete) = complete_records(ring, started);
    (complete < CHUNK_RECORDS).then_some((chunk + (1 + complete) * RECORD_BYTES, chunk + CHUNK_BYTES))
}

/// The address of the chunk with this number over all laps, and the number of its complete records.
fn complete_records(ring: usize, started: u64) -> (usize, usize) {
    let chunks = CHUNKS.load(Ordering::Relaxed) as u64;
    let chunk = ring + HEADER_BYTES + (started % chunks) as usize * CHUNK_BYTES;
    let lap = started / chunks + 1;
    let is_complete = |slot: &usize| counter(chunk + slot * RECORD_BYTES, 0).load(Ordering::Acquire) >> 32 == lap;
    (chunk, (1..=CHUNK_RECORDS).take_while(is_complete).count())
}

fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// Number of rings claimed by threads.
pub fn claimed_rings() -> usize {
    CLAIMED.load(Ordering::Relaxed).min(MAX_RINGS)
}

/// Addresses of the tables of sums that threads have claimed.
pub(crate) fn sum_tables() -> impl Iterator<Item = usize> {
    let (base, chunks) = (BASE.load(Ordering::Acquire), CHUNKS.load(Ordering::Relaxed));
    (0..claimed_rings()).filter(move |_| base != 0).map(move |number| base + number * ring_bytes(chunks) + table_offset(chunks))
}

/// This thread's ring cursor.
pub(crate) fn ring_cursor() -> *mut RingCursor {
    let cursor: *mut RingCursor;
    // SAFETY: the address of a thread-local variable reserved by the assembly.
    unsafe {
        core::arch::asm!(
            "mov {place}, qword ptr fs:0",
            "add {place}, qword ptr [rip + sintonia_ring@GOTTPOFF]",
            place = out(reg) cursor,
            options(nostack, readonly),
        );
    }
    cursor
}

/// Records an event of this thread that did not come from a hook, under the given hook number. Entry and exit must have the same stack
/// address.
pub fn record_event(hook: u32, point: HookPoint, ticks: u64, stack: u64, words: [u64; 6]) {
    let cursor = ring_cursor();
    let mut room = RECORD_BYTES;
    // SAFETY: the cursor of this thread. Space is reserved by one instruction, as in the stubs, so a hooked signal handler gets the next
    // slot. A record lies within its chunk, which stays mapped.
    unsafe {
        core::arch::asm!("xadd qword ptr [{place}], {room}", place = in(reg) cursor, room = inout(reg) room, options(nostack));
        if room >= (*cursor).end {
            room = next_chunk(cursor, std::ptr::null(), 0);
        }
        let record = room as *mut u64;
        record.add(1).write(ticks);
        record.add(2).write(stack);
        record.add(3).cast::<[u64; 6]>().write(words);
        let lap = counter(room & !(CHUNK_BYTES - 1), 0).load(Ordering::Relaxed);
        counter(room, 0).store(lap | tag(hook, point), Ordering::Release);
    }
}

/// Whether at least half of this thread's ring is free, so that events nobody depends on do not displace others.
pub fn has_room() -> bool {
    // SAFETY: the cursor of this thread.
    let ring = unsafe { (*ring_cursor()).ring };
    if ring <= NO_RING {
        return ring == 0;
    }
    let unread = |begun: u64| begun - counter(ring, RingCounters::CONSUMED_CHUNKS).load(Ordering::Relaxed).min(begun);
    2 * unread(counter(ring, RingCounters::STARTED_CHUNKS).load(Ordering::Relaxed)) <= CHUNKS.load(Ordering::Relaxed) as u64
}

/// In a forked child: the only thread stops writing into its parent's ring.
pub fn detach_ring() {
    // SAFETY: the cursor of this thread.
    unsafe { *ring_cursor() = RingCursor::detached() };
}
