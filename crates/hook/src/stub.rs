//! The stubs in `stub.s`, and the table of hooks that they look at.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use sintonia_link::order::Read;
use sintonia_link::ring::{Moment, tag};

use crate::act::act;
use crate::code::Results;
use crate::reads;
use crate::ring::next_chunk;

core::arch::global_asm!(
    include_str!("stub.s"),
    hooks = sym HOOKS,
    state_bytes = sym STATE_BYTES,
    state_parts = sym STATE_PARTS,
    next_chunk = sym next_chunk,
    act = sym act,
    options(att_syntax)
);

/// How many functions can be hooked in one process.
pub const MOST_HOOKS: usize = 2048;
const STUB_BYTES: u64 = 16;

unsafe extern "C" {
    fn sintonia_stubs_wrap();
    fn sintonia_stubs_wrap_stack();
    fn sintonia_stubs_pass();
    fn sintonia_stubs_replace();
}

/// What a stub knows of its hook; the assembly knows the places of the fields.
#[repr(C, align(128))]
pub struct Entry {
    target: AtomicU64,
    entry_tag: AtomicU64,
    exit_tag: AtomicU64,
    entry_reads: AtomicU64,
    exit_reads: AtomicU64,
    /// What is to be done at entry and at exit, if anything.
    pub acts: [AtomicU64; 2],
    unused: u64,
    /// How many calls there were.
    calls: AtomicU64,
    /// How many ticks those took that were seen to return.
    ticks: AtomicU64,
    replacement: AtomicU64,
    results: AtomicU64,
}

const _: () = assert!(std::mem::offset_of!(Entry, calls) == 64 && std::mem::offset_of!(Entry, results) == 88 && size_of::<Entry>() == 128);

impl Entry {
    const fn empty() -> Entry {
        Entry {
            target: AtomicU64::new(0),
            entry_tag: AtomicU64::new(0),
            exit_tag: AtomicU64::new(0),
            entry_reads: AtomicU64::new(0),
            exit_reads: AtomicU64::new(0),
            acts: [AtomicU64::new(0), AtomicU64::new(0)],
            unused: 0,
            calls: AtomicU64::new(0),
            ticks: AtomicU64::new(0),
            replacement: AtomicU64::new(0),
            results: AtomicU64::new(0),
        }
    }

    /// Makes the entry ready for calls.
    pub fn prepare(&self, hook: u32) {
        self.entry_tag.store(tag(hook, Moment::Entry), Ordering::Relaxed);
        self.exit_tag.store(tag(hook, Moment::Exit), Ordering::Relaxed);
    }

    /// What is called from now on.
    pub fn call(&self, target: u64) {
        self.target.store(target, Ordering::Release);
    }

    /// What is called in the function's place, and where besides the first register its callers may look for a result.
    pub fn replace(&self, by: u64, results: Results) {
        self.results.store(u64::from(results.second_word) | u64::from(results.floats) << 1, Ordering::Relaxed);
        self.replacement.store(by, Ordering::Release);
    }

    /// How many calls there were, and the ticks they took.
    pub fn counts(&self) -> (u64, u64) {
        (self.calls.load(Ordering::Relaxed), self.ticks.load(Ordering::Relaxed))
    }

    /// Whether something waits to be done here.
    pub fn has_something_to_do(&self) -> bool {
        self.acts.iter().any(|acts| acts.load(Ordering::Relaxed) != 0)
    }

    /// Counts from nothing.
    pub fn count_anew(&self) {
        self.calls.store(0, Ordering::Relaxed);
        self.ticks.store(0, Ordering::Relaxed);
    }

    /// What is read from now on.
    pub fn read(&self, at_entry: &[Read], at_exit: &[Read]) {
        self.entry_reads.store(reads::list(at_entry), Ordering::Release);
        self.exit_reads.store(reads::list(at_exit), Ordering::Release);
    }
}

static HOOKS: [Entry; MOST_HOOKS] = [const { Entry::empty() }; MOST_HOOKS];

/// How many bytes the vector registers take, and which parts of the processor's state they are.
static STATE_BYTES: AtomicU64 = AtomicU64::new(0);
static STATE_PARTS: AtomicU32 = AtomicU32::new(0);

/// The entry of a hook.
pub fn entry(hook: usize) -> &'static Entry {
    &HOOKS[hook]
}

/// What a stub does with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Notes entry and exit; the function has all its arguments in registers.
    Wrap,
    /// Notes entry and exit; up to 16 words of arguments may be on the stack.
    WrapStack,
    /// Notes the entry only.
    Pass,
    /// Calls another function.
    Replace,
}

/// Where the stub of a hook is.
pub fn address(kind: Kind, hook: usize) -> u64 {
    let pool = match kind {
        Kind::Wrap => sintonia_stubs_wrap as *const () as u64,
        Kind::WrapStack => sintonia_stubs_wrap_stack as *const () as u64,
        Kind::Pass => sintonia_stubs_pass as *const () as u64,
        Kind::Replace => sintonia_stubs_replace as *const () as u64,
    };
    pool + STUB_BYTES * hook as u64
}

/// Finds out how the processor's state is saved; `false` if this processor is too old for it.
pub fn prepare() -> bool {
    /// The tiles of matrix instructions: large, and no code that a stub calls touches them.
    const TILES: u32 = 1 << 17 | 1 << 18;
    const SAVES_STATE: u32 = 1 << 27;
    /// The old registers and the head come first.
    const LEAST: u32 = 512 + 64;
    #[allow(unused_unsafe, reason = "safe in newer toolchains")]
    // SAFETY: every x86-64 processor has CPUID; XGETBV only where the system says that it has switched the instruction on.
    unsafe {
        use core::arch::x86_64::{__cpuid, __cpuid_count};
        if __cpuid(1).ecx & SAVES_STATE == 0 {
            return false;
        }
        let parts = enabled_parts() & !TILES;
        let end = (2..32).filter(|part| parts >> part & 1 == 1).map(|part| {
            let place = __cpuid_count(0xd, part);
            place.eax + place.ebx
        });
        STATE_BYTES.store(u64::from(end.max().unwrap_or(0).max(LEAST)), Ordering::Relaxed);
        STATE_PARTS.store(parts, Ordering::Relaxed);
    }
    true
}

/// The parts of the processor's state that the system has switched on.
///
/// # Safety
/// The processor must have XGETBV, switched on.
unsafe fn enabled_parts() -> u32 {
    let parts: u32;
    // SAFETY: reads a control register that user code may read, as the caller makes sure.
    unsafe { core::arch::asm!("xgetbv", in("ecx") 0, out("eax") parts, out("edx") _, options(nomem, nostack)) };
    parts
}
