//! Entry and exit of a recorded call, in assembly, independent of the called function.
//!
//! Each entry of [`ENTRIES`] has a stub of 16 bytes that loads the entry's number and jumps to the common part. That stores the argument
//! registers in a [`CallFrame`], calls [`crate::call::enter`], calls the real function with all arguments (stack arguments are copied),
//! calls [`crate::call::leave`] and returns the function's result. An entry that is not recorded jumps straight to the function.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use sintonia_mpi::{ArgumentSlots, BlockingMode as Completed, FunctionId, FunctionRole, LanguageBinding, MpiSymbol};
use sintonia_recording::raw::part;

use crate::thread::ThreadState;

/// Maximum number of stubs.
pub(crate) const MOST_ENTRIES: usize = 4096;
/// Maximum number of argument words on the stack.
const STACK_WORDS: usize = 10;

/// A function that is called through a stub. The assembly below knows the first three fields.
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
static ENTRIES: [StubEntry; MOST_ENTRIES] = [const {
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
    let mode = if symbol.function.role() == FunctionRole::Switch { StubMode::Pcontrol } else { StubMode::Record };
    entry.mode.store(mode as u8, Ordering::Release);
    Some(&raw const sintonia_stubs as usize + 16 * index)
}

/// Passes all calls through from now on: in a forked child, and when the probe itself fails.
pub(crate) fn disable_all() {
    for entry in &ENTRIES {
        entry.mode.store(StubMode::Pass as u8, Ordering::Relaxed);
    }
}

/// Stack frame of a call in progress.
#[repr(C)]
pub(crate) struct CallFrame {
    /// The state of the calling thread if the call is recorded, else null; passed from `enter` to `leave`.
    pub thread: *mut ThreadState,
    /// The probe's status array in place of an ignored one, or 0.
    pub status_buffer: usize,
    /// When its entry was recorded for tuning, or 0.
    pub watch_enter: u64,
    /// Ticks at entry.
    pub enter: u64,
    /// Return value of the function.
    pub result: usize,
    /// The entry.
    entry: *const StubEntry,
    /// Six argument registers, the caller's frame pointer, the return address, and stack arguments: see [`BoundFunction::slots`].
    words: [usize; 8 + STACK_WORDS],
}

impl CallFrame {
    /// The stub entry that was called.
    #[inline(always)]
    pub(crate) fn entry(&self) -> &'static StubEntry {
        // SAFETY: the stub stored the address of one of the static entries.
        unsafe { &*self.entry }
    }

    /// The call site.
    #[inline(always)]
    pub(crate) fn return_address(&self) -> usize {
        self.words[7]
    }

    /// An argument as the caller passed it.
    #[inline(always)]
    pub(crate) fn argument(&self, slot: u8) -> usize {
        debug_assert!(usize::from(slot) < self.words.len());
        // SAFETY: slots of a bound entry lie inside the frame: `bind` rejects functions with more stack arguments.
        unsafe { *self.words.get_unchecked(usize::from(slot)) }
    }

    /// Replaces an argument for the real function.
    pub(crate) fn replace_argument(&mut self, slot: u8, value: usize) {
        self.words[usize::from(slot)] = value;
    }
}

unsafe extern "C" {
    static sintonia_stubs: u8;
    fn sintonia_dlsym_stub();
    fn sintonia_dlopen_stub();
}

/// The replacement of `dlsym`.
pub(crate) fn dlsym_stub() -> usize {
    sintonia_dlsym_stub as *const () as usize
}

/// The replacement of `dlopen`.
pub(crate) fn dlopen_stub() -> usize {
    sintonia_dlopen_stub as *const () as usize
}

core::arch::global_asm!(
    // One stub per entry: its number, then the common part.
    ".text",
    ".balign 64",
    ".hidden sintonia_stubs",
    ".globl sintonia_stubs",
    "sintonia_stubs:",
    ".set sintonia_number, 0",
    ".rept {entries_count}",
    "mov r11d, offset sintonia_number",
    "jmp sintonia_common",
    ".balign 16",
    ".set sintonia_number, sintonia_number + 1",
    ".endr",
    // r11: number of the entry. r10 and r11 are free at function entry.
    ".balign 64",
    ".type sintonia_common, @function",
    "sintonia_common:",
    ".cfi_startproc",
    "lea r10, [rip + {entries}]",
    "shl r11, 6",
    "add r10, r11",
    "cmp byte ptr [r10 + 8], 1",
    "jne 3f",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "sub rsp, 176",
    "mov [rbp - 48], rdi",
    "mov [rbp - 40], rsi",
    "mov [rbp - 32], rdx",
    "mov [rbp - 24], rcx",
    "mov [rbp - 16], r8",
    "mov [rbp - 8], r9",
    "mov [rbp - 56], r10",
    "lea rdi, [rbp - 96]",
    "call {enter}",
    "mov r10, [rbp - 56]",
    "cmp byte ptr [r10 + 9], 0",
    "je 2f",
    // The caller's stack arguments, copied below the frame.
    "movups xmm0, [rbp + 16]",
    "movups xmm1, [rbp + 32]",
    "movups xmm2, [rbp + 48]",
    "movups xmm3, [rbp + 64]",
    "movups xmm4, [rbp + 80]",
    "movups [rsp], xmm0",
    "movups [rsp + 16], xmm1",
    "movups [rsp + 32], xmm2",
    "movups [rsp + 48], xmm3",
    "movups [rsp + 64], xmm4",
    "2:",
    "mov rdi, [rbp - 48]",
    "mov rsi, [rbp - 40]",
    "mov rdx, [rbp - 32]",
    "mov rcx, [rbp - 24]",
    "mov r8, [rbp - 16]",
    "mov r9, [rbp - 8]",
    "call [r10]",
    "mov [rbp - 64], rax",
    "lea rdi, [rbp - 96]",
    "call {leave}",
    "mov rax, [rbp - 64]",
    "leave",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    // Not recorded, or MPI_Pcontrol: continue as without the stub. MPI_Pcontrol is variadic, so all registers are preserved.
    "3:",
    ".cfi_startproc",
    "cmp byte ptr [r10 + 8], 2",
    "je 4f",
    "jmp [r10]",
    "4:",
    "push rax",
    ".cfi_def_cfa_offset 16",
    "push rdi",
    "push rsi",
    "push rdx",
    "push rcx",
    "push r8",
    "push r9",
    "push r10",
    "sub rsp, 136",
    ".cfi_def_cfa_offset 208",
    "movups [rsp], xmm0",
    "movups [rsp + 16], xmm1",
    "movups [rsp + 32], xmm2",
    "movups [rsp + 48], xmm3",
    "movups [rsp + 64], xmm4",
    "movups [rsp + 80], xmm5",
    "movups [rsp + 96], xmm6",
    "movups [rsp + 112], xmm7",
    "mov rsi, r10",
    "mov rdx, [rsp + 200]",
    "call {switch}",
    "movups xmm0, [rsp]",
    "movups xmm1, [rsp + 16]",
    "movups xmm2, [rsp + 32]",
    "movups xmm3, [rsp + 48]",
    "movups xmm4, [rsp + 64]",
    "movups xmm5, [rsp + 80]",
    "movups xmm6, [rsp + 96]",
    "movups xmm7, [rsp + 112]",
    "add rsp, 136",
    "pop r10",
    "pop r9",
    "pop r8",
    "pop rcx",
    "pop rdx",
    "pop rsi",
    "pop rdi",
    "pop rax",
    ".cfi_def_cfa_offset 8",
    "jmp [r10]",
    ".cfi_endproc",
    // dlsym and dlopen: their result can depend on the caller, so unless we answer they see the original caller.
    ".hidden sintonia_dlsym_stub",
    ".globl sintonia_dlsym_stub",
    "sintonia_dlsym_stub:",
    ".cfi_startproc",
    "push rdi",
    "push rsi",
    "sub rsp, 8",
    ".cfi_def_cfa_offset 32",
    "call {dlsym}",
    "add rsp, 8",
    "pop rsi",
    "pop rdi",
    ".cfi_def_cfa_offset 8",
    "test rax, rax",
    "jz 5f",
    "ret",
    "5:",
    "jmp [rip + {real_dlsym}]",
    ".cfi_endproc",
    ".hidden sintonia_dlopen_stub",
    ".globl sintonia_dlopen_stub",
    "sintonia_dlopen_stub:",
    ".cfi_startproc",
    "push rdi",
    "push rsi",
    "sub rsp, 8",
    ".cfi_def_cfa_offset 32",
    "call {dlopen}",
    "add rsp, 8",
    "pop rsi",
    "pop rdi",
    ".cfi_def_cfa_offset 8",
    "test rax, rax",
    "jz 6f",
    "ret",
    "6:",
    "jmp [rip + {real_dlopen}]",
    ".cfi_endproc",
    entries_count = const MOST_ENTRIES,
    entries = sym ENTRIES,
    enter = sym crate::call::enter,
    leave = sym crate::call::leave,
    switch = sym crate::call::switch,
    dlsym = sym crate::binding::on_dlsym,
    dlopen = sym crate::binding::on_dlopen,
    real_dlsym = sym crate::binding::REAL_DLSYM,
    real_dlopen = sym crate::binding::REAL_DLOPEN,
);
