//! Unwinding with the unwind tables (`.eh_frame`) of the files that are loaded, where they are mapped.
//!
//! All of it happens inside `dl_iterate_phdr`: the dynamic linker's lock keeps other threads from unloading a file whose tables are read.

use std::ffi::{c_int, c_void};
use std::sync::Mutex;

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, FrameAddress, Module, MustNotAllocateDuringUnwind, Unwinder};

use super::stack_bounds::StackBounds;
use super::{CallerRegisters, MAX_FRAMES};

/// An encoding of addresses in `.eh_frame_hdr`: relative to their place, four bytes; what linkers write.
const RELATIVE_4_BYTES: u8 = 0x1b;

static UNWINDER: Mutex<Option<StackUnwinder>> = Mutex::new(None);

/// Which files are loaded: numbers of files loaded and unloaded so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LoadedFiles {
    pub loaded: u64,
    pub unloaded: u64,
}

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
        UnwoundPath { return_addresses: Vec::new(), deciding_words, frame_pointer_matters: false, loaded: LoadedFiles::default() }
    }
}

/// Unwinds a path as far as it goes, and finds what it depends on. `None` if another thread is unwinding.
pub(super) fn unwind_whole(caller: CallerRegisters, stack: StackBounds) -> Option<UnwoundPath> {
    struct Task {
        caller: CallerRegisters,
        stack: StackBounds,
        found: Option<UnwoundPath>,
    }
    unsafe extern "C" fn run(info: *mut libc::dl_phdr_info, _: usize, task: *mut c_void) -> c_int {
        // SAFETY: the linker passes a valid description, and `task` points to the variable below.
        let (info, task) = unsafe { (&*info, &mut *task.cast::<Task>()) };
        if let Ok(mut unwinder) = UNWINDER.try_lock() {
            let unwinder = unwinder.get_or_insert_with(StackUnwinder::new);
            unwinder.update(LoadedFiles { loaded: info.dlpi_adds, unloaded: info.dlpi_subs });
            task.found = Some(unwinder.unwind_whole(task.caller, task.stack));
        }
        1
    }
    let mut task = Task { caller, stack, found: None };
    // SAFETY: `run` uses the task only during the call. A panic would cross the linker: nothing in it panics but for lack of memory.
    unsafe { libc::dl_iterate_phdr(Some(run), (&raw mut task).cast()) };
    task.found
}

/// The unwind tables of all loaded files.
struct StackUnwinder {
    unwinder: UnwinderX86_64<&'static [u8], MustNotAllocateDuringUnwind>,
    rules: CacheX86_64<MustNotAllocateDuringUnwind>,
    loaded: LoadedFiles,
}

/// A path under construction: return addresses, and the places on the stack where all but the first stand.
#[derive(Clone, Copy, PartialEq)]
struct FrameList {
    count: usize,
    addresses: [u64; MAX_FRAMES],
    places: [u64; MAX_FRAMES],
}

impl FrameList {
    fn addresses(&self) -> &[u64] {
        &self.addresses[..self.count]
    }

    fn places(&self) -> &[u64] {
        &self.places[1..self.count]
    }
}

impl StackUnwinder {
    fn new() -> StackUnwinder {
        StackUnwinder { unwinder: UnwinderX86_64::new(), rules: CacheX86_64::new_in(), loaded: LoadedFiles::default() }
    }

    /// Reads the list of loaded files again, if it has changed.
    fn update(&mut self, loaded: LoadedFiles) {
        unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, unwinder: *mut c_void) -> c_int {
            // SAFETY: the linker passes a valid description, and `unwinder` points to the caller's.
            let (info, unwinder) = unsafe { (&*info, &mut *unwinder.cast::<StackUnwinder>()) };
            if let Some(module) = module_of(info) {
                unwinder.unwinder.add_module(module);
            }
            0
        }
        if self.loaded != loaded {
            *self = StackUnwinder { loaded, ..StackUnwinder::new() };
            // SAFETY: `add` uses the unwinder only during the call; the linker's lock can be taken again by the same thread.
            unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut *self).cast()) };
        }
    }

    fn unwind_whole(&mut self, caller: CallerRegisters, stack: StackBounds) -> UnwoundPath {
        let mut reads: Vec<(u64, u64)> = Vec::with_capacity(2 * MAX_FRAMES);
        let frames = self.unwind(caller, stack, |address, value| {
            reads.push((address, value));
            value
        });
        let is_same = |other: &FrameList| other.addresses() == frames.addresses();
        // Another plausible frame pointer, and value of a word.
        let other = caller.stack_pointer + 0x2000;
        let moved = CallerRegisters { frame_pointer: other, ..caller };
        let frame_pointer_matters = !is_same(&self.unwind(moved, stack, |_, value| value));
        let mut deciding_words: Vec<(u64, u64)> =
            frames.places().iter().zip(&frames.addresses()[1..]).map(|(at, value)| (*at, *value)).collect();
        for (address, value) in reads {
            if deciding_words.iter().any(|(known, _)| *known == address) {
                continue;
            }
            // A path that fills the list may differ behind its end.
            let differs = |found: &FrameList| !is_same(found) || frames.count == MAX_FRAMES;
            if differs(&self.unwind(caller, stack, |at, value| if at == address { other } else { value })) {
                deciding_words.push((address, value));
            }
        }
        UnwoundPath { return_addresses: frames.addresses().to_vec(), deciding_words, frame_pointer_matters, loaded: self.loaded }
    }

    /// Unwinds; `read` gets each word that is read from the stack, and may replace it.
    fn unwind(&mut self, caller: CallerRegisters, stack: StackBounds, mut read: impl FnMut(u64, u64) -> u64) -> FrameList {
        let CallerRegisters { return_address, stack_pointer, frame_pointer } = caller;
        let mut frames = FrameList { count: 1, addresses: [0; MAX_FRAMES], places: [0; MAX_FRAMES] };
        frames.addresses[0] = return_address;
        let mut registers = UnwindRegsX86_64::new(return_address, stack_pointer, frame_pointer);
        let mut at = return_address;
        while frames.count < MAX_FRAMES {
            let before = registers.sp();
            let mut read = |address: u64| stack.read(stack_pointer, address).map(|value| read(address, value)).ok_or(());
            let Some(address) = FrameAddress::from_return_address(at) else { break };
            let Ok(Some(next)) = self.unwinder.unwind_frame(address, &mut registers, &mut self.rules, &mut read) else { break };
            if registers.sp() <= before {
                break;
            }
            frames.addresses[frames.count] = next;
            frames.places[frames.count] = registers.sp() - 8;
            frames.count += 1;
            at = next;
        }
        frames
    }
}

/// The unwind tables of a loaded file; `None` if it has none.
fn module_of(info: &libc::dl_phdr_info) -> Option<Module<&'static [u8]>> {
    // SAFETY: the linker describes the program headers of a loaded file.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let header = headers.iter().find(|header| header.p_type == libc::PT_GNU_EH_FRAME)?;
    let loads = || headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    let end_of = |header: &libc::Elf64_Phdr| header.p_vaddr + header.p_memsz;
    let containing = |address: u64| loads().find(move |load| (load.p_vaddr..end_of(load)).contains(&address));
    let base = info.dlpi_addr;
    // SAFETY: bytes of a loaded segment, which stays while the linker's lock is held; the list is read again before it is used after that.
    let bytes = |from: u64, to: u64| unsafe { std::slice::from_raw_parts((base + from) as *const u8, (to - from) as usize) };
    containing(header.p_vaddr).filter(|load| end_of(header) <= load.p_vaddr + load.p_filesz)?;
    let table = bytes(header.p_vaddr, end_of(header));
    if table.get(1) != Some(&RELATIVE_4_BYTES) {
        return None;
    }
    let distance = i32::from_le_bytes(*table.get(4..)?.first_chunk()?);
    let frames = (header.p_vaddr + 4).checked_add_signed(distance.into())?;
    let frames_end = containing(frames).map(|load| load.p_vaddr + load.p_filesz).filter(|end| *end > frames)?;
    let low = loads().map(|load| load.p_vaddr).min()?;
    let high = loads().map(end_of).max()?;
    let text = loads().find(|load| load.p_flags & libc::PF_X != 0).map(|load| load.p_vaddr..end_of(load));
    let sections = ExplicitModuleSectionInfo {
        base_svma: 0,
        text_svma: text,
        eh_frame_svma: Some(frames..frames_end),
        eh_frame: Some(bytes(frames, frames_end)),
        eh_frame_hdr_svma: Some(header.p_vaddr..end_of(header)),
        eh_frame_hdr: Some(table),
        ..Default::default()
    };
    Some(Module::new(String::new(), base + low..base + high, base, sections))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return address, stack pointer and frame pointer of the caller of this function.
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
        // Other tests may be unwinding at the same time only in this test.
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

    #[test]
    fn nothing_outside_the_stack_is_read() {
        let nowhere = CallerRegisters { return_address: 0x1234, stack_pointer: 0x1000, frame_pointer: 0 };
        let path = unwind_whole(nowhere, StackBounds::UNKNOWN).expect("no other thread unwinds");
        assert_eq!(path.return_addresses(), [0x1234]);
    }
}
