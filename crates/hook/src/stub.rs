//! The table of hooks, and the addresses of their stubs in `stub.s`.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use sintonia_link::call_sums::slot_offset;
use sintonia_link::probe_protocol::{HookRead, Recorded};
use sintonia_link::ring::{HookPoint, tag};

use crate::prologue::ResultRegisters;
use crate::read_steps;

/// Maximum number of hooks in one process.
pub(crate) const MOST_HOOKS: usize = 2048;
const STUB_BYTES: u64 = 16;
/// Squares and maxima are kept in the sums.
const RECORDS_SUMS: u64 = 4;
/// Everything is recorded.
const RECORDS_ALL: u64 = HookPoint::Entry as u64 | HookPoint::Exit as u64 | RECORDS_SUMS;

unsafe extern "C" {
    fn sintonia_stubs_wrap();
    fn sintonia_stubs_in_place();
    fn sintonia_stubs_pass();
    fn sintonia_stubs_replace();
}

/// Data of a hook for its stub; the assembly knows the field offsets.
#[repr(C, align(128))]
pub(crate) struct HookEntry {
    target: AtomicU64,
    entry_tag: AtomicU64,
    exit_tag: AtomicU64,
    entry_reads: AtomicU64,
    exit_reads: AtomicU64,
    /// Scheduled actions at entry and at exit, if any.
    pub actions: [AtomicU64; 2],
    /// Offset of the hook's slot in a table of sums.
    sums: AtomicU64,
    /// What is recorded: 1 events at entry, 2 at exit, 4 squares and maxima in the sums.
    records: AtomicU64,
    unused: u64,
    replacement: AtomicU64,
    results: AtomicU64,
}

const _: () = assert!(
    std::mem::offset_of!(HookEntry, records) == 64 && std::mem::offset_of!(HookEntry, results) == 88 && size_of::<HookEntry>() == 128
);

impl HookEntry {
    const fn empty() -> HookEntry {
        HookEntry {
            target: AtomicU64::new(0),
            entry_tag: AtomicU64::new(0),
            exit_tag: AtomicU64::new(0),
            entry_reads: AtomicU64::new(0),
            exit_reads: AtomicU64::new(0),
            actions: [AtomicU64::new(0), AtomicU64::new(0)],
            sums: AtomicU64::new(0),
            records: AtomicU64::new(RECORDS_ALL),
            unused: 0,
            replacement: AtomicU64::new(0),
            results: AtomicU64::new(0),
        }
    }

    /// Initialises the entry.
    pub(crate) fn prepare(&self, hook: u32) {
        self.entry_tag.store(tag(hook, HookPoint::Entry), Ordering::Relaxed);
        self.exit_tag.store(tag(hook, HookPoint::Exit), Ordering::Relaxed);
        self.sums.store(slot_offset(hook) as u64, Ordering::Relaxed);
    }

    /// Sets the function that is called.
    pub(crate) fn set_target(&self, target: u64) {
        self.target.store(target, Ordering::Release);
    }

    /// Sets the replacement function, and the result registers besides rax that callers may use.
    pub(crate) fn set_replacement(&self, by: u64, results: ResultRegisters) {
        self.results.store(u64::from(results.second_int) | u64::from(results.floats) << 1, Ordering::Relaxed);
        self.replacement.store(by, Ordering::Release);
    }

    /// Whether any events are recorded.
    pub(crate) fn records_events(&self) -> bool {
        self.records.load(Ordering::Relaxed) & !RECORDS_SUMS != 0
    }

    /// Selects the events that are recorded, and whether sums are needed in full. Calls and their time are counted in any case.
    pub(crate) fn set_records(&self, Recorded { entry, exit, sums }: Recorded) {
        let of = |is_recorded: bool, flag: u64| u64::from(is_recorded) * flag;
        let flags = of(entry, HookPoint::Entry as u64) | of(exit, HookPoint::Exit as u64) | of(sums, RECORDS_SUMS);
        self.records.store(flags, Ordering::Relaxed);
    }

    /// Whether actions are scheduled here.
    pub(crate) fn has_actions(&self) -> bool {
        self.actions.iter().any(|acts| acts.load(Ordering::Relaxed) != 0)
    }

    /// Sets the values to read.
    pub(crate) fn set_reads(&self, at_entry: &[HookRead], at_exit: &[HookRead]) {
        self.entry_reads.store(read_steps::leak_list(at_entry), Ordering::Release);
        self.exit_reads.store(read_steps::leak_list(at_exit), Ordering::Release);
    }
}

pub(crate) static HOOKS: [HookEntry; MOST_HOOKS] = [const { HookEntry::empty() }; MOST_HOOKS];

/// Size of the vector state, and the mask of its components (for XSAVE).
pub(crate) static STATE_BYTES: AtomicU64 = AtomicU64::new(0);
/// See [`STATE_BYTES`].
pub(crate) static STATE_PARTS: AtomicU32 = AtomicU32::new(0);

/// The entry of a hook.
pub(crate) fn entry(hook: usize) -> &'static HookEntry {
    &HOOKS[hook]
}

/// Kind of a stub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StubKind {
    /// Records entry and exit; all arguments are in registers.
    Wrap,
    /// Records entry and exit; any number of arguments may be on the stack, which is not moved.
    InPlace,
    /// Records the entry only.
    Pass,
    /// Calls another function.
    Replace,
}

/// The address of a hook's stub.
pub(crate) fn address(kind: StubKind, hook: usize) -> u64 {
    let pool = match kind {
        StubKind::Wrap => sintonia_stubs_wrap as *const () as u64,
        StubKind::InPlace => sintonia_stubs_in_place as *const () as u64,
        StubKind::Pass => sintonia_stubs_pass as *const () as u64,
        StubKind::Replace => sintonia_stubs_replace as *const () as u64,
    };
    pool + STUB_BYTES * hook as u64
}

/// Determines how to save the processor state; `false` if the processor lacks XSAVE.
pub(crate) fn prepare() -> bool {
    /// AMX tiles: large, and not used by code that a stub calls.
    const TILES: u32 = 1 << 17 | 1 << 18;
    const SAVES_STATE: u32 = 1 << 27;
    /// Legacy area and header.
    const LEAST: u32 = 512 + 64;
    #[allow(unused_unsafe, reason = "safe in newer toolchains")]
    // SAFETY: every x86-64 processor has CPUID; XGETBV is used only if the system has enabled it.
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

/// The state components enabled by the system.
///
/// # Safety
/// XGETBV must be enabled.
unsafe fn enabled_parts() -> u32 {
    let parts: u32;
    // SAFETY: reads an unprivileged control register.
    unsafe { core::arch::asm!("xgetbv", in("ecx") 0, out("eax") parts, out("edx") _, options(nomem, nostack)) };
    parts
}
