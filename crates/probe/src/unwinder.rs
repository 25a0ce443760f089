//! Unwinding with the unwind tables (`.eh_frame`) of the files that are loaded, where they are mapped.
//!
//! The list of files is read inside `dl_iterate_phdr`: the dynamic linker's lock keeps other threads from unloading one. Stacks of other
//! threads are unwound under that lock, too.

mod table_index;

use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, FrameAddress, Module, MustNotAllocateDuringUnwind, Unwinder};

use self::table_index::TableIndex;

/// Most frames of a stack; of a deeper one the innermost are recorded.
pub(crate) const MAX_FRAMES: usize = 64;

/// An encoding of addresses in `.eh_frame_hdr`: relative to their place, four bytes; what linkers write.
const RELATIVE_4_BYTES: u8 = 0x1b;

/// Which files are loaded: numbers of files loaded and unloaded so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LoadedFiles {
    pub loaded: u64,
    pub unloaded: u64,
}

/// Registers of a function, as unwinding begins with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StackRegisters {
    /// Where the function is.
    pub code: CodeAddress,
    pub stack_pointer: u64,
    pub frame_pointer: u64,
}

/// A place in a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodeAddress {
    /// The instruction that is executed next.
    Instruction(u64),
    /// The instruction after a call.
    Return(u64),
}

impl CodeAddress {
    fn value(self) -> u64 {
        match self {
            CodeAddress::Instruction(address) | CodeAddress::Return(address) => address,
        }
    }

    fn to_frame_address(self) -> Option<FrameAddress> {
        match self {
            CodeAddress::Instruction(address) => Some(FrameAddress::from_instruction_pointer(address)),
            CodeAddress::Return(address) => FrameAddress::from_return_address(address),
        }
    }
}

/// The frames of a stack, innermost first, and the places where the return addresses of all but the first stand.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct FrameList {
    count: usize,
    addresses: [u64; MAX_FRAMES],
    places: [u64; MAX_FRAMES],
}

impl FrameList {
    pub(crate) fn addresses(&self) -> &[u64] {
        &self.addresses[..self.count]
    }

    pub(crate) fn places(&self) -> &[u64] {
        &self.places[1..self.count]
    }

    /// Whether the stack may go on behind its last frame.
    pub(crate) fn is_full(&self) -> bool {
        self.count == MAX_FRAMES
    }
}

/// Calls a function while no file can be unloaded. It must not panic: the panic would cross the linker.
pub(crate) fn while_loaded<R>(action: impl FnOnce(LoadedFiles) -> R) -> Option<R> {
    struct Task<F, R> {
        action: Option<F>,
        result: Option<R>,
    }
    unsafe extern "C" fn run<F: FnOnce(LoadedFiles) -> R, R>(info: *mut libc::dl_phdr_info, _: usize, task: *mut c_void) -> c_int {
        // SAFETY: the linker passes a valid description, and `task` points to the variable below.
        let (info, task) = unsafe { (&*info, &mut *task.cast::<Task<F, R>>()) };
        let loaded = LoadedFiles { loaded: info.dlpi_adds, unloaded: info.dlpi_subs };
        task.result = task.action.take().map(|action| action(loaded));
        1
    }
    fn runner<F: FnOnce(LoadedFiles) -> R, R>(
        _: &Task<F, R>,
    ) -> unsafe extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> c_int {
        run::<F, R>
    }
    let mut task = Task { action: Some(action), result: None };
    let run = runner(&task);
    // SAFETY: `run` uses the task only during the call.
    unsafe { libc::dl_iterate_phdr(Some(run), (&raw mut task).cast()) };
    task.result
}

/// The unwind tables of all loaded files.
pub(crate) struct StackUnwinder {
    unwinder: UnwinderX86_64<&'static [u8], MustNotAllocateDuringUnwind>,
    rules: CacheX86_64<MustNotAllocateDuringUnwind>,
    /// Addresses of code, in order.
    code: Vec<Range<u64>>,
    files: Vec<LoadedFile>,
    loaded: LoadedFiles,
}

/// A file with code.
struct LoadedFile {
    /// Its path; empty for the program itself.
    path: String,
    code: Vec<Range<u64>>,
    index: Option<TableIndex>,
}

/// Code of which no table tells who called it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum UndescribedCode {
    /// In this file.
    InFile(String),
    /// In no file.
    Generated,
}

impl StackUnwinder {
    pub(crate) fn new() -> StackUnwinder {
        let (unwinder, rules) = (UnwinderX86_64::new(), CacheX86_64::new_in());
        StackUnwinder { unwinder, rules, code: Vec::new(), files: Vec::new(), loaded: LoadedFiles::default() }
    }

    /// The files that were loaded at the last update.
    pub(crate) fn loaded(&self) -> LoadedFiles {
        self.loaded
    }

    /// Reads the list of loaded files again, if it has changed. To be called in [`while_loaded`].
    pub(crate) fn update(&mut self, loaded: LoadedFiles) {
        unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, unwinder: *mut c_void) -> c_int {
            // SAFETY: the linker passes a valid description, and `unwinder` points to the caller's.
            let (info, unwinder) = unsafe { (&*info, &mut *unwinder.cast::<StackUnwinder>()) };
            unwinder.code.extend(code_of(info));
            let (module, index) = module_of(info).unzip();
            // SAFETY: the linker gives a text, or none.
            let path = (!info.dlpi_name.is_null()).then(|| unsafe { CStr::from_ptr(info.dlpi_name) }.to_string_lossy().into_owned());
            unwinder.files.push(LoadedFile { path: path.unwrap_or_default(), code: code_of(info).collect(), index });
            if let Some(module) = module {
                unwinder.unwinder.add_module(module);
            }
            0
        }
        if self.loaded != loaded {
            *self = StackUnwinder { loaded, ..StackUnwinder::new() };
            // SAFETY: `add` uses the unwinder only during the call; the linker's lock can be taken again by the same thread.
            unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut *self).cast()) };
            self.code.sort_unstable_by_key(|code| code.start);
        }
    }

    /// The code of a loaded file at an address.
    pub(crate) fn code_at(&self, address: u64) -> Option<&Range<u64>> {
        let after = self.code.partition_point(|code| code.start <= address);
        self.code[..after].last().filter(|code| code.contains(&address))
    }

    /// If unwinding has ended early: the innermost code of which no table tells who called it. To be called in [`while_loaded`], with return
    /// addresses.
    pub(crate) fn undescribed_code(&self, addresses: &[u64]) -> Option<UndescribedCode> {
        let undescribed = |address: &u64| {
            // The instruction of the call.
            let call = address.wrapping_sub(1);
            match self.files.iter().find(|file| file.code.iter().any(|code| code.contains(&call))) {
                None => Some(UndescribedCode::Generated),
                Some(file) if file.index.as_ref().is_some_and(|index| index.describes(call)) => None,
                Some(file) => Some(UndescribedCode::InFile(file.name())),
            }
        };
        // Behind code without a table there may be some that has one: frame pointers were followed.
        undescribed(addresses.last()?)?;
        addresses.iter().find_map(undescribed)
    }

    /// Unwinds as far as it goes; `read` gives the words of the stack.
    pub(crate) fn unwind(&mut self, begin: StackRegisters, read: impl FnMut(u64) -> Option<u64>) -> FrameList {
        self.unwind_while(begin, read, |_| true)
    }

    /// Unwinds as far as the frames found so far are accepted. Tables are read only of the files of accepted frames.
    pub(crate) fn unwind_while(
        &mut self,
        begin: StackRegisters,
        mut read: impl FnMut(u64) -> Option<u64>,
        accept: impl Fn(&FrameList) -> bool,
    ) -> FrameList {
        let mut frames = FrameList { count: 1, addresses: [0; MAX_FRAMES], places: [0; MAX_FRAMES] };
        frames.addresses[0] = begin.code.value();
        let mut registers = UnwindRegsX86_64::new(begin.code.value(), begin.stack_pointer, begin.frame_pointer);
        let mut at = begin.code;
        while frames.count < MAX_FRAMES && accept(&frames) {
            let before = registers.sp();
            let mut read = |address: u64| read(address).ok_or(());
            let Some(address) = at.to_frame_address() else { break };
            let Ok(Some(next)) = self.unwinder.unwind_frame(address, &mut registers, &mut self.rules, &mut read) else { break };
            if registers.sp() <= before {
                break;
            }
            frames.addresses[frames.count] = next;
            frames.places[frames.count] = registers.sp() - 8;
            frames.count += 1;
            at = CodeAddress::Return(next);
        }
        frames
    }
}

impl LoadedFile {
    fn name(&self) -> String {
        match self.path.rsplit('/').next() {
            Some(name) if !name.is_empty() => name.to_owned(),
            _ => "the program".to_owned(),
        }
    }
}

/// The addresses of a loaded file's code.
fn code_of(info: &libc::dl_phdr_info) -> impl Iterator<Item = Range<u64>> {
    // SAFETY: the linker describes the program headers of a loaded file.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let base = info.dlpi_addr;
    let code = headers.iter().filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0);
    code.map(move |load| base + load.p_vaddr..base + load.p_vaddr + load.p_memsz)
}

/// The unwind tables of a loaded file, and their index; `None` if it has none.
fn module_of(info: &libc::dl_phdr_info) -> Option<(Module<&'static [u8]>, TableIndex)> {
    // SAFETY: the linker describes the program headers of a loaded file.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let header = headers.iter().find(|header| header.p_type == libc::PT_GNU_EH_FRAME)?;
    let loads = || headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    let end_of = |header: &libc::Elf64_Phdr| header.p_vaddr + header.p_memsz;
    let containing = |address: u64| loads().find(move |load| (load.p_vaddr..end_of(load)).contains(&address));
    let base = info.dlpi_addr;
    // SAFETY: bytes of a loaded segment. It stays while the linker's lock is held, or while one of its functions is on the stack that is
    // unwound; the list is read again before it is used after that.
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
    let index =
        TableIndex { address: base + header.p_vaddr, bytes: table, frames_address: base + frames, frames: bytes(frames, frames_end) };
    let sections = ExplicitModuleSectionInfo {
        base_svma: 0,
        text_svma: text,
        eh_frame_svma: Some(frames..frames_end),
        eh_frame: Some(bytes(frames, frames_end)),
        eh_frame_hdr_svma: Some(header.p_vaddr..end_of(header)),
        eh_frame_hdr: Some(table),
        ..Default::default()
    };
    Some((Module::new(String::new(), base + low..base + high, base, sections), index))
}
