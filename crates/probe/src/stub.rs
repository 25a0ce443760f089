//! The functions that are called through a stub, and whether their calls are recorded.
//!
//! Each entry of [`ENTRIES`] has a stub of 16 bytes in [`crate::trampoline`], which loads the entry's number and jumps to the common part. An
//! entry that is not recorded jumps straight to the function.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use sintonia_mpi::{ArgumentSlots, BlockingMode as Completed, FunctionId, FunctionRole, LanguageBinding, MpiSymbol};
use sintonia_recording::raw::part;

/// Maximum number of stubs.
pub(crate) const MOST_ENTRIES: usize = 4096;
/// Maximum number of argument words on the stack.
pub(crate) const STACK_WORDS: usize = 10;

/// A function that is called through a stub. The assembly knows the first three fields.
#[repr(C, align(64))]
pub(crate) struct StubEntry {
    target: AtomicUsize,
    mode: AtomicU8,
    stack: AtomicU8,
    function: UnsafeCell<BoundFunction>,
}

// SAFETY: `function` is written once, before the stub's address is published, and only read afterwards.
unsafe impl Sync for StubEntry {}

/// Properties of a function needed to record its calls; all in one cache line.
#[derive(Clone, Copy)]
pub(crate) struct BoundFunction {
    /// The function.
    pub id: FunctionId,
    /// Payload flag of the calling language.
    pub language: u16,
    /// Its role.
    pub role: FunctionRole,
    /// Whether it is blocking, nonblocking or persistent.
    pub mode: Completed,
    /// Whether arguments are passed as in Fortran.
    pub fortran: bool,
    /// Whether buffers are passed as descriptors.
    pub descriptor: bool,
    /// Whether counts are 64 bits wide.
    pub large: bool,
    /// Frame index of Fortran's `ierror`.
    pub error_slot: u8,
    /// Frame index of each argument.
    pub slots: ArgumentSlots,
}

const _: () = assert!(size_of::<StubEntry>() == 64);

impl BoundFunction {
    const EMPTY: BoundFunction = BoundFunction {
        id: FunctionId(0),
        language: 0,
        role: FunctionRole::Local,
        mode: Completed::Blocking,
        fortran: false,
        descriptor: false,
        large: false,
        error_slot: 0,
        slots: ArgumentSlots::NONE,
    };

    fn from_symbol(symbol: MpiSymbol) -> BoundFunction {
        let function = symbol.function.definition();
        let language = match symbol.binding {
            LanguageBinding::C => 0,
            LanguageBinding::Fortran => part::FORTRAN,
            LanguageBinding::F08 | LanguageBinding::F08Descriptor => part::F08,
        };
        BoundFunction {
            id: symbol.function,
            language,
            role: function.role,
            mode: function.mode,
            fortran: symbol.binding != LanguageBinding::C,
            descriptor: symbol.binding == LanguageBinding::F08Descriptor,
            large: symbol.large,
            error_slot: frame_word(usize::from(function.parameters - function.c_only)),
            slots: function.slots.map_indices(|slot| frame_word(symbol.argument_index(slot))),
        }
    }
}

/// Frame index of an argument: between registers and stack arguments lie the caller's frame pointer and the return address.
fn frame_word(argument: usize) -> u8 {
    (if argument < 6 { argument } else { argument + 2 }) as u8
}

/// What a stub does.
#[derive(Clone, Copy)]
#[repr(u8)]
enum StubMode {
    Pass = 0,
    Record = 1,
    Pcontrol = 2,
}

/// All entries; those in use come first.
pub(crate) static ENTRIES: [StubEntry; MOST_ENTRIES] = [const {
    StubEntry {
        target: AtomicUsize::new(0),
        mode: AtomicU8::new(StubMode::Pass as u8),
        stack: AtomicU8::new(0),
        function: UnsafeCell::new(BoundFunction::EMPTY),
    }
}; MOST_ENTRIES];

impl StubEntry {
    /// The function called through this stub.
    #[inline(always)]
    pub(crate) fn function(&self) -> &'static BoundFunction {
        // SAFETY: entries are static, and written before they can be called.
        unsafe { &*self.function.get() }
    }
}

/// Sets up entry `index` for a function and returns the address of its stub; `None` if it has too many stack arguments.
pub(crate) fn bind(index: usize, symbol: MpiSymbol, target: usize) -> Option<usize> {
    let entry = ENTRIES.get(index)?;
    if symbol.stack_words() > STACK_WORDS {
        return None;
    }
    // SAFETY: each entry is set up once, and its stub's address is not published yet.
    unsafe { *entry.function.get() = BoundFunction::from_symbol(symbol) };
    entry.stack.store((symbol.stack_words() > 0).into(), Ordering::Relaxed);
    entry.target.store(target, Ordering::Relaxed);
    entry.mode.store(recording_mode(symbol.function.role()) as u8, Ordering::Release);
    Some(&raw const sintonia_stubs as usize + 16 * index)
}

/// Whether an address is that of a stub.
pub(crate) fn is_stub(address: usize) -> bool {
    let first = &raw const sintonia_stubs as usize;
    (first..first + 16 * MOST_ENTRIES).contains(&address)
}

/// Passes all calls through from now on: in a forked child, and when the probe itself fails.
pub(crate) fn disable_all() {
    for entry in &ENTRIES {
        entry.mode.store(StubMode::Pass as u8, Ordering::Relaxed);
    }
}

/// Records the calls of the first `count` entries again.
pub(crate) fn enable(count: usize) {
    for entry in ENTRIES.iter().take(count) {
        entry.mode.store(recording_mode(entry.function().role) as u8, Ordering::Relaxed);
    }
}

fn recording_mode(role: FunctionRole) -> StubMode {
    if role == FunctionRole::Switch { StubMode::Pcontrol } else { StubMode::Record }
}

unsafe extern "C" {
    static sintonia_stubs: u8;
    static sintonia_stubs_end: u8;
    fn sintonia_dlsym_stub();
    fn sintonia_dlopen_stub();
    fn sintonia_longjmp_stub();
    fn sintonia_longjmp_chk_stub();
    fn sintonia_dlclose_stub();
}

/// The replacement of `dlsym`.
pub(crate) fn dlsym_stub() -> usize {
    sintonia_dlsym_stub as *const () as usize
}

/// The replacement of `dlopen`.
pub(crate) fn dlopen_stub() -> usize {
    sintonia_dlopen_stub as *const () as usize
}

/// The replacement of `dlclose`.
pub(crate) fn dlclose_stub() -> usize {
    sintonia_dlclose_stub as *const () as usize
}

/// The replacement of `longjmp`.
pub(crate) fn longjmp_stub() -> usize {
    sintonia_longjmp_stub as *const () as usize
}

/// The replacement of `__longjmp_chk`.
pub(crate) fn longjmp_chk_stub() -> usize {
    sintonia_longjmp_chk_stub as *const () as usize
}

/// Whether an address is in a stub or in the common part: a frame there belongs to an MPI call.
pub(crate) fn is_in_call(address: u64) -> bool {
    let (begin, end) = (&raw const sintonia_stubs as u64, &raw const sintonia_stubs_end as u64);
    (begin..end).contains(&address)
}
