//! A call path as it is unwound for the first time, and the words of the stack on which it depends.

use std::sync::Mutex;

use super::CallerRegisters;
use crate::stack_bounds::StackBounds;
use crate::unwinder::{CodeAddress, FrameList, LoadedFiles, MAX_FRAMES, StackRegisters, StackUnwinder, UndescribedCode, while_loaded};

static UNWINDER: Mutex<Option<StackUnwinder>> = Mutex::new(None);

/// A path and what decided it.
pub(super) struct UnwoundPath {
    /// Innermost first.
    return_addresses: Vec<u64>,
    /// Addresses and values of the words of the stack on which the path depends.
    deciding_words: Vec<(u64, u64)>,
    /// Whether the path depends on the frame pointer at the call.
    pub frame_pointer_matters: bool,
    /// The files that were loaded.
    pub loaded: LoadedFiles,
    /// The code at which the path ends early, if it does.
    pub early_end: Option<UndescribedCode>,
}

impl UnwoundPath {
    pub(super) fn return_addresses(&self) -> &[u64] {
        &self.return_addresses
    }

    pub(super) fn deciding_words(&self) -> &[(u64, u64)] {
        &self.deciding_words
    }

    #[cfg(test)]
    pub(super) fn for_test(deciding_words: Vec<(u64, u64)>) -> UnwoundPath {
        UnwoundPath {
            return_addresses: Vec::new(),
            deciding_words,
            frame_pointer_matters: false,
            loaded: LoadedFiles::default(),
            early_end: None,
        }
    }
}

/// Unwinds a path as far as it goes, and finds what it depends on. `None` if another thread is unwinding.
///
/// The linker's lock is held only while the list of files is read. A signal handler of the program may jump out of this function, and a
/// lock that is never released would stop the program at its next `dlopen`. The files whose functions are on this stack are not unloaded
/// meanwhile, and tables of no others are read.
pub(super) fn unwind_whole(caller: CallerRegisters, stack: StackBounds) -> Option<UnwoundPath> {
    let mut unwinder = UNWINDER.try_lock().ok()?;
    let unwinder = unwinder.get_or_insert_with(StackUnwinder::new);
    while_loaded(|loaded| unwinder.update(loaded))?;
    let mut path = unwind_with(unwinder, caller, stack);
    if path.return_addresses.len() < MAX_FRAMES {
        let is_loaded = |loaded| unwinder.loaded() == loaded;
        let find_end = |loaded| is_loaded(loaded).then(|| unwinder.undescribed_code(path.return_addresses()));
        path.early_end = while_loaded(find_end).flatten().flatten();
    }
    Some(path)
}

fn unwind_with(unwinder: &mut StackUnwinder, caller: CallerRegisters, stack: StackBounds) -> UnwoundPath {
    let read = |address: u64| stack.read(caller.stack_pointer, address);
    let mut reads: Vec<(u64, u64)> = Vec::with_capacity(2 * MAX_FRAMES);
    let frames = unwinder.unwind(caller.to_stack_registers(), |address| {
        let value = read(address)?;
        reads.push((address, value));
        Some(value)
    });
    // Behind a frame that differs there may be anything, such as the address of a file that is being unloaded.
    let follows_path = |found: &FrameList| frames.addresses().starts_with(found.addresses());
    let mut unwind = |caller: CallerRegisters, replace: &dyn Fn(u64, u64) -> u64| {
        let read = |address: u64| read(address).map(|value| replace(address, value));
        unwinder.unwind_while(caller.to_stack_registers(), read, follows_path)
    };
    let is_same = |other: &FrameList| other.addresses() == frames.addresses();
    // Another plausible frame pointer, and value of a word.
    let other = caller.stack_pointer + 0x2000;
    let moved = CallerRegisters { frame_pointer: other, ..caller };
    let frame_pointer_matters = !is_same(&unwind(moved, &|_, value| value));
    let mut deciding_words: Vec<(u64, u64)> =
        frames.places().iter().zip(&frames.addresses()[1..]).map(|(at, value)| (*at, *value)).collect();
    for (address, value) in reads {
        if deciding_words.iter().any(|(known, _)| *known == address) {
            continue;
        }
        // A path that fills the list may differ behind its end.
        let differs = |found: &FrameList| !is_same(found) || frames.is_full();
        if differs(&unwind(caller, &|at, value| if at == address { other } else { value })) {
            deciding_words.push((address, value));
        }
    }
    UnwoundPath {
        return_addresses: frames.addresses().to_vec(),
        deciding_words,
        frame_pointer_matters,
        loaded: unwinder.loaded(),
        early_end: None,
    }
}

impl CallerRegisters {
    fn to_stack_registers(self) -> StackRegisters {
        let CallerRegisters { return_address, stack_pointer, frame_pointer } = self;
        StackRegisters { code: CodeAddress::Return(return_address), stack_pointer, frame_pointer }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{MutexGuard, PoisonError};

    use super::*;

    /// A thread that finds the unwinder in use goes on without a path, so tests unwind one after the other.
    fn one_at_a_time() -> MutexGuard<'static, ()> {
        static UNWINDING: Mutex<()> = Mutex::new(());
        UNWINDING.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The path from inside this function, which calls itself this often.
    #[inline(never)]
    fn path_from_here(depth: u32) -> UnwoundPath {
        if depth > 0 {
            let deeper = path_from_here(depth - 1);
            return std::hint::black_box(deeper);
        }
        let (sp, ip, bp): (u64, u64, u64);
        // SAFETY: reads registers.
        unsafe { std::arch::asm!("mov {}, rsp", "lea {}, [rip]", "mov {}, rbp", out(reg) sp, out(reg) ip, out(reg) bp) };
        let caller = CallerRegisters { return_address: ip, stack_pointer: sp, frame_pointer: bp };
        unwind_whole(caller, StackBounds::of_this_thread()).expect("no other thread unwinds")
    }

    #[test]
    fn a_stack_is_unwound_to_its_end() {
        let _guard = one_at_a_time();
        let [shallow, deep] = [2, 12].map(|depth| path_from_here(depth).return_addresses().len());
        assert_eq!(deep - shallow, 10);
        let path = path_from_here(3);
        let own = &path.return_addresses()[1..3];
        assert_eq!(own[0], own[1], "a recursive function returns to the same place");
        // Of each frame but the first, the place of its return address decides.
        assert!(path.deciding_words().len() >= path.return_addresses().len() - 1);
        for (address, value) in path.deciding_words() {
            assert_ne!((*address, *value), (0, 0));
        }
    }

    std::arch::global_asm!(
        ".text",
        ".type sintonia_test_without_table, @function",
        "sintonia_test_without_table:",
        "push rbp",
        "mov ebp, 1",
        "call rdi",
        "pop rbp",
        "ret",
        ".size sintonia_test_without_table, . - sintonia_test_without_table",
    );

    unsafe extern "C" {
        fn sintonia_test_without_table(call: extern "C" fn());
    }

    extern "C" fn expect_early_end() {
        let path = path_from_here(1);
        assert!(matches!(path.early_end, Some(UndescribedCode::InFile(_))), "{:?}", path.early_end);
    }

    #[test]
    fn code_without_tables_at_which_a_path_ends_is_known() {
        let _guard = one_at_a_time();
        assert_eq!(path_from_here(1).early_end, None);
        // SAFETY: calls the function.
        unsafe { sintonia_test_without_table(expect_early_end) };
    }

    #[test]
    fn nothing_outside_the_stack_is_read() {
        let _guard = one_at_a_time();
        let nowhere = CallerRegisters { return_address: 0x1234, stack_pointer: 0x1000, frame_pointer: 0 };
        let path = unwind_whole(nowhere, StackBounds::UNKNOWN).expect("no other thread unwinds");
        assert_eq!(path.return_addresses(), [0x1234]);
    }
}
