//! The way into and out of a recorded call, in assembly: the only part that must not know what function it stands for.
//!
//! Each entry of [`ENTRIES`] has a stub of 16 bytes that loads the entry's number and jumps to the common part. That keeps the argument
//! registers in a [`Frame`], calls [`crate::call::enter`], calls the real function with everything the caller passed (the words on the
//! stack copied), calls [`crate::call::leave`] and returns what the function returned. An entry that is not recorded jumps straight on.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use sintonia_mpi::{Family, Mode as Completed, Operation, Role, Slots, Symbol};
use sintonia_recording::raw::part;

use crate::thread::Thread;

/// How many functions can be led through stubs.
pub const MOST_ENTRIES: usize = 4096;
/// How many words on the stack a call may pass.
const STACK_WORDS: usize = 10;

/// One function that is led through a stub. The assembly below knows the first three fields.
#[repr(C, align(64))]
pub struct Entry {
    target: AtomicUsize,
    mode: AtomicU8,
    stack: AtomicU8,
    about: UnsafeCell<About>,
}

// SAFETY: `about` is written once, before the stub's address is given to anyone, and only read afterwards.
unsafe impl Sync for Entry {}

/// What recording a call needs to know of the function, ready to use: all of it lies in one line of the processor's cache.
#[derive(Clone, Copy)]
pub struct About {
    /// The function.
    pub operation: Operation,
    /// The mark of the language it is called from.
    pub language: u16,
    /// What a call of it does.
    pub role: Role,
    /// When the operation is complete.
    pub mode: Completed,
    /// Whether arguments are passed as Fortran passes them.
    pub fortran: bool,
    /// Whether buffers are passed as descriptors.
    pub descriptor: bool,
    /// Whether counts are 64 bits wide.
    pub large: bool,
    /// Where Fortran's `ierror` stands.
    pub error: u8,
    /// Where each argument stands in the frame.
    pub slots: Slots,
}

const _: () = assert!(size_of::<Entry>() == 64);

impl About {
    const NOTHING: About = About {
        operation: Operation(0),
        language: 0,
        role: Role::Local,
        mode: Completed::Blocking,
        fortran: false,
        descriptor: false,
        large: false,
        error: 0,
        slots: Slots::NONE,
    };

    fn of(symbol: Symbol) -> About {
        let function = symbol.operation.function();
        let language = match symbol.family {
            Family::C => 0,
            Family::Fortran => part::FORTRAN,
            Family::F08 | Family::F08Descriptor => part::F08,
        };
        About {
            operation: symbol.operation,
            language,
            role: function.role,
            mode: function.mode,
            fortran: symbol.family != Family::C,
            descriptor: symbol.family == Family::F08Descriptor,
            large: symbol.large,
            error: word_of(usize::from(function.parameters - function.c_only)),
            slots: function.slots.map(|slot| word_of(symbol.place(slot))),
        }
    }
}

/// Where an argument stands in the words of a frame: between the registers and the stack lie the caller's frame and return address.
fn word_of(argument: usize) -> u8 {
    (if argument < 6 { argument } else { argument + 2 }) as u8
}

/// What a stub does.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Mode {
    Pass = 0,
    Record = 1,
    Switch = 2,
}

/// All entries; those in use come first.
static ENTRIES: [Entry; MOST_ENTRIES] = [const {
    Entry {
        target: AtomicUsize::new(0),
        mode: AtomicU8::new(Mode::Pass as u8),
        stack: AtomicU8::new(0),
        about: UnsafeCell::new(About::NOTHING),
    }
}; MOST_ENTRIES];

impl Entry {
    /// What recording a call needs to know.
    #[inline(always)]
    pub fn about(&self) -> &'static About {
        // SAFETY: entries are static, and written before they can be called.
        unsafe { &*self.about.get() }
    }
}

/// Sets up entry `place` for a function and gives the address of its stub; `None` if its arguments are more than a stub can pass.
pub fn prepare(place: usize, symbol: Symbol, target: usize) -> Option<usize> {
    let entry = ENTRIES.get(place)?;
    if symbol.stack_words() > STACK_WORDS {
        return None;
    }
    // SAFETY: the caller prepares each place once, and nobody has the stub's address yet.
    unsafe { *entry.about.get() = About::of(symbol) };
    entry.stack.store((symbol.stack_words() > 0).into(), Ordering::Relaxed);
    entry.target.store(target, Ordering::Relaxed);
    let mode = if symbol.operation.role() == Role::Switch { Mode::Switch } else { Mode::Record };
    entry.mode.store(mode as u8, Ordering::Release);
    Some(&raw const sintonia_stubs as usize + 16 * place)
}

/// Lets every call through unseen from now on: in a forked child, and when the probe itself fails.
pub fn pass_all() {
    for entry in &ENTRIES {
        entry.mode.store(Mode::Pass as u8, Ordering::Relaxed);
    }
}

/// A call under way: its place on the stack of the caller.
#[repr(C)]
pub struct Frame {
    /// The state of the calling thread if the call is recorded, else null: what `enter` leaves for `leave`.
    pub thread: *mut Thread,
    /// A status array that was put in the place of an ignored one, or 0.
    pub own_status: usize,
    /// When its entry was noted for whoever tunes the program, or 0.
    pub watched_since: u64,
    /// Ticks at entry.
    pub enter: u64,
    /// What the function returned.
    pub result: usize,
    /// The entry.
    entry: *const Entry,
    /// Six registers, the caller's frame, the return address, and the words on the stack: see [`About::slots`].
    words: [usize; 8 + STACK_WORDS],
}

impl Frame {
    /// The entry that was called.
    #[inline(always)]
    pub fn entry(&self) -> &'static Entry {
        // SAFETY: the stub put the address of one of the static entries here.
        unsafe { &*self.entry }
    }

    /// The call site.
    #[inline(always)]
    pub fn return_address(&self) -> usize {
        self.words[7]
    }

    /// One argument as the caller passed it.
    #[inline(always)]
    pub fn argument(&self, slot: u8) -> usize {
        debug_assert!(usize::from(slot) < self.words.len());
        // SAFETY: slots of a prepared entry lie inside the frame: `prepare` refuses functions with more words on the stack.
        unsafe { *self.words.get_unchecked(usize::from(slot)) }
    }

    /// Gives the real function another argument.
    pub fn replace_argument(&mut self, slot: u8, value: usize) {
        self.words[usize::from(slot)] = value;
    }
}

unsafe extern "C" {
    static sintonia_stubs: u8;
    fn sintonia_dlsym_stub();
    fn sintonia_dlopen_stub();
}

/// The function that takes `dlsym`'s place.
pub fn dlsym_stub() -> usize {
    sintonia_dlsym_stub as *const () as usize
}

/// The function that takes `dlopen`'s place.
pub fn dlopen_stub() -> usize {
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
    // r11: number of the entry. r10 and r11 may be used freely at the start of a function.
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
    // The caller's words on the stack, copied below the frame.
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
    // Not recorded, or MPI_Pcontrol: go on as if the stub were not there. MPI_Pcontrol is variadic, so nothing may be lost.
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
    // dlsym and dlopen: their meaning can depend on who calls, so when the answer is not ours they see the original caller.
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
