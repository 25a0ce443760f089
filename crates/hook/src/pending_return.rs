//! Calls in progress whose return address is replaced, because their function may have arguments on the stack and must find the stack as its
//! caller left it.
//!
//! Each of them claims a pending return. The function returns to the return point of that pending return (`stub.s`), which records the exit
//! and continues at the original address. There is one return point per pending return, so the stack alone says which one is meant: threads,
//! coroutines that move between threads, and programs that copy stacks need no attention. The unwind information of the return points leads
//! to the original address, so exceptions and backtraces pass them.
//!
//! A thread claims them from blocks of its own, so that claiming needs no synchronisation.
//!
//! A call that is left by an exception or by `longjmp` leaves its pending return behind. When none is free, those are collected: the return
//! point is no longer on the stack.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::checked_memory::{self, CopyFailure, preserving_errno};
use crate::counting_start;
use crate::ring::RingCursor;
use crate::stub::{HookEntry, STATE_BYTES};

/// Number of pending returns; the assembly has as many return points.
const COUNT: usize = 65_536;
/// Pending returns of a block, which takes one page. The last one is never free, so that the assembly may always try the next one.
const BLOCK: usize = 64;
/// Bytes of a return point.
const POINT_BYTES: u64 = 16;

/// States of a pending return; each call in progress has another value, so that a change in between is noticed.
const FREE: u64 = 0;
const CLAIMED: u64 = 1;

/// A pending return; the assembly knows the layout.
#[repr(C, align(64))]
pub(crate) struct PendingReturn {
    return_address: AtomicU64,
    state: AtomicU64,
    /// Where the return address is on the stack.
    location: AtomicU64,
    hook: AtomicU64,
    registers: AtomicU64,
    latest_state: AtomicU64,
    entry_ticks: AtomicU64,
    frame_distance: AtomicU64,
}

impl PendingReturn {
    const fn new() -> PendingReturn {
        PendingReturn {
            return_address: AtomicU64::new(0),
            state: AtomicU64::new(FREE),
            location: AtomicU64::new(0),
            hook: AtomicU64::new(0),
            registers: AtomicU64::new(0),
            latest_state: AtomicU64::new(0),
            entry_ticks: AtomicU64::new(0),
            frame_distance: AtomicU64::new(0),
        }
    }

    fn claim(&self) -> bool {
        self.state.compare_exchange(FREE, CLAIMED, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Frees it if its call was left without returning. A location with any return point counts as in use: after a tail call, the return
    /// point of the first function waits behind that of the second.
    fn free_if_left(&self) -> bool {
        let state = self.state.load(Ordering::Acquire);
        if state == FREE || state == CLAIMED {
            return false;
        }
        let mut word = [0; 8];
        let is_left = match checked_memory::copy(self.location.load(Ordering::Relaxed), &mut word) {
            Ok(()) => !is_return_point(u64::from_le_bytes(word)),
            Err(CopyFailure::Unmapped) => true,
            Err(CopyFailure::NotPermitted) => false,
        };
        is_left && self.state.compare_exchange(state, FREE, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

#[repr(C, align(4096))]
pub(crate) struct PendingReturns([PendingReturn; COUNT]);

pub(crate) static PENDING_RETURNS: PendingReturns = PendingReturns([const { PendingReturn::new() }; COUNT]);

/// The thread that claims from each block: its process and number, 0 if there is none.
static OWNERS: [AtomicU64; COUNT / BLOCK] = [const { AtomicU64::new(0) }; COUNT / BLOCK];

/// Where registers are saved while a replacement of a function runs: one page per pending return; 0 before the first replacement.
pub(crate) static SAVED_REGISTERS: AtomicU64 = AtomicU64::new(0);
const SAVED_REGISTERS_BYTES: u64 = 4096;
/// Offset of the vector registers.
const STATE_OFFSET: u64 = 128;

unsafe extern "C" {
    fn sintonia_return_points();
}

fn is_return_point(address: u64) -> bool {
    let first = sintonia_return_points as *const () as u64;
    (first..first + COUNT as u64 * POINT_BYTES).contains(&address)
}

/// Why functions cannot be replaced.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceRefusal {
    /// There is no memory for saved registers.
    #[error("there is no memory to save registers in: {0}")]
    NoMemory(io::Error),
    /// The processor has more registers than there is room for.
    #[error("the vector registers of this processor take more than a page")]
    LargeRegisters,
}

/// Reserves the memory for the registers that callers of replaced functions keep; pages are allocated when used. Callers may run side by
/// side.
pub(crate) fn prepare_saved_registers() -> Result<(), ReplaceRefusal> {
    static ALONE: Mutex<()> = Mutex::new(());
    if STATE_BYTES.load(Ordering::Relaxed) + STATE_OFFSET > SAVED_REGISTERS_BYTES {
        return Err(ReplaceRefusal::LargeRegisters);
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if SAVED_REGISTERS.load(Ordering::Acquire) != 0 {
        return Ok(());
    }
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping that replaces no other.
    let memory = unsafe { libc::mmap(std::ptr::null_mut(), COUNT * SAVED_REGISTERS_BYTES as usize, rights, flags, -1, 0) };
    if memory == libc::MAP_FAILED {
        return Err(ReplaceRefusal::NoMemory(io::Error::last_os_error()));
    }
    SAVED_REGISTERS.store(memory as u64, Ordering::Release);
    Ok(())
}

/// Claims a pending return when the one to try first is in use; returns its address, or 0 if all are in use: then only the entry of this
/// call is recorded. May run in a signal handler.
///
/// # Safety
/// `cursor` must be that of the calling thread.
pub(crate) unsafe extern "C" fn claim(cursor: *mut RingCursor, _entry: *const HookEntry, _moment: u32) -> usize {
    static SEARCH: PausingSearch = PausingSearch::new();
    static COLLECTION: PausingSearch = PausingSearch::new();
    // SAFETY: the stub passes the cursor of its own thread.
    let next = unsafe { (*cursor).next_pending };
    let offset = next.saturating_sub(PENDING_RETURNS.0.as_ptr() as usize);
    let start = offset / size_of::<PendingReturn>() / BLOCK;
    let search = || {
        let thread = BlockOwner::current();
        let freed = || COLLECTION.run(|| Some(free_blocks_of_ended_threads(thread) + collect()).filter(|freed| *freed > 0));
        thread.claim_from(start).or_else(|| freed().and_then(|_| thread.claim_from(start)))
    };
    let found = preserving_errno(|| SEARCH.run(search));
    found.map_or(0, |found| std::ptr::from_ref(found) as usize)
}

/// A search that pauses after it has found nothing: calls must not become slow where there are too many of them.
struct PausingSearch {
    not_before: AtomicU64,
}

impl PausingSearch {
    /// How much longer than the search the pause is.
    const FACTOR: u64 = 20;

    const fn new() -> PausingSearch {
        PausingSearch { not_before: AtomicU64::new(0) }
    }

    fn run<T>(&self, search: impl FnOnce() -> Option<T>) -> Option<T> {
        let begin = counting_start::ticks();
        if begin < self.not_before.load(Ordering::Relaxed) {
            return None;
        }
        let found = search();
        if found.is_none() {
            let end = counting_start::ticks();
            self.not_before.store(end + PausingSearch::FACTOR * end.saturating_sub(begin), Ordering::Relaxed);
        }
        found
    }
}

/// A thread as an owner of blocks.
#[derive(Clone, Copy)]
struct BlockOwner {
    process: i32,
    number: i32,
}

impl BlockOwner {
    fn current() -> BlockOwner {
        // SAFETY: only queries the numbers.
        unsafe { BlockOwner { process: libc::getpid(), number: libc::syscall(libc::SYS_gettid) as i32 } }
    }

    fn word(self) -> u64 {
        (self.process as u64) << 32 | self.number as u64
    }

    /// Claims from the blocks of this thread, or takes a block that nobody has. The search begins at a block and ends before it, so that
    /// nested calls find the next one at once.
    fn claim_from(self, start: usize) -> Option<&'static PendingReturn> {
        (0..OWNERS.len()).map(|step| (start + step) % OWNERS.len()).filter(|block| self.owns(*block)).find_map(claim_in)
    }

    fn owns(self, block: usize) -> bool {
        match OWNERS[block].load(Ordering::Acquire) {
            0 => OWNERS[block].compare_exchange(0, self.word(), Ordering::AcqRel, Ordering::Relaxed).is_ok(),
            owner => owner == self.word(),
        }
    }

    /// Whether an owner of this process has ended. What a parent process owned stays: a child may still use it.
    fn has_ended(self, owner: u64) -> bool {
        let (process, number) = ((owner >> 32) as i32, owner as i32);
        // SAFETY: signal 0 only asks whether the thread exists.
        process == self.process && unsafe { libc::syscall(libc::SYS_tgkill, process, number, 0) } != 0
    }
}

fn claim_in(block: usize) -> Option<&'static PendingReturn> {
    let all = &PENDING_RETURNS.0[block * BLOCK..(block + 1) * BLOCK];
    let (last, usable) = all.split_last()?;
    last.state.store(CLAIMED, Ordering::Relaxed);
    usable.iter().find(|pending| pending.state.load(Ordering::Relaxed) == FREE && pending.claim())
}

fn free_blocks_of_ended_threads(thread: BlockOwner) -> usize {
    let free = |owner: &&AtomicU64| {
        let word = owner.load(Ordering::Acquire);
        word != 0 && thread.has_ended(word) && owner.compare_exchange(word, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    };
    OWNERS.iter().filter(free).count()
}

/// Frees the pending returns of calls that were left without returning; returns their number.
fn collect() -> usize {
    PENDING_RETURNS.0.iter().filter(|pending| pending.free_if_left()).count()
}
