//! ELF files in memory, as the dynamic linker left them: which functions they refer to, and where the addresses are stored.

use std::ffi::{CStr, CString, OsStr, c_int, c_void};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use libc::{Elf64_Phdr, Elf64_Rela, Elf64_Sym};

const DT_PLTRELSZ: i64 = 2;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_JMPREL: i64 = 23;
const PT_DYNAMIC: u32 = 2;
const PT_GNU_RELRO: u32 = 0x6474_e552;

/// Relocation type of a reference.
#[derive(Clone, Copy, PartialEq)]
enum RelocationKind {
    /// A plain address (a constant holding a function pointer).
    Absolute = 1,
    /// A GOT entry.
    Global = 6,
    /// A PLT slot, possibly not yet bound.
    Slot = 7,
}

/// A loaded file.
pub(super) struct LoadedObject {
    /// Load address.
    pub base: usize,
    /// End of its last segment.
    end: usize,
    /// Its path; for the first one that of the program itself.
    pub path: String,
    tables: Option<DynamicTables>,
    read_only: Option<(usize, usize)>,
}

struct DynamicTables {
    symbols: *const Elf64_Sym,
    strings: *const libc::c_char,
    relocations: Vec<(*const Elf64_Rela, usize)>,
}

/// A reference to a function.
pub(super) struct SymbolReference<'a> {
    /// Symbol name.
    pub name: &'a str,
    address: usize,
    relocation: RelocationKind,
}

/// A counter that increases when a file is loaded.
pub(super) fn loaded_count() -> u64 {
    unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _: usize, count: *mut c_void) -> c_int {
        // SAFETY: the linker passes a valid description; `count` points to the variable below.
        unsafe { *count.cast::<u64>() = (*info).dlpi_adds };
        1
    }
    let mut count = 0u64;
    // SAFETY: `first` writes to `count` only during the call.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut count).cast()) };
    count
}

/// All loaded files.
pub(super) fn objects() -> Vec<LoadedObject> {
    unsafe extern "C" fn each(info: *mut libc::dl_phdr_info, _: usize, objects: *mut c_void) -> c_int {
        // SAFETY: the linker passes a valid description; `objects` points to the vector below.
        unsafe { (*objects.cast::<Vec<LoadedObject>>()).push(LoadedObject::read(&*info)) };
        0
    }
    let mut objects: Vec<LoadedObject> = Vec::with_capacity(64);
    // SAFETY: `each` adds to `objects` only during the call.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut objects).cast()) };
    objects
}

impl LoadedObject {
    /// # Safety
    /// `info` describes a loaded file.
    unsafe fn read(info: &libc::dl_phdr_info) -> LoadedObject {
        let base = info.dlpi_addr as usize;
        // SAFETY: the name is a string, the headers are an array of the given length.
        let (name, headers) =
            unsafe { (CStr::from_ptr(info.dlpi_name), std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into())) };
        let path = if name.is_empty() { program_path() } else { name.to_string_lossy().into_owned() };
        let find = |kind: u32| headers.iter().find(|h: &&Elf64_Phdr| h.p_type == kind);
        let read_only = find(PT_GNU_RELRO).map(|h| (base + h.p_vaddr as usize, base + (h.p_vaddr + h.p_memsz) as usize));
        // SAFETY: the dynamic section of a loaded file is mapped at this address.
        let tables = find(PT_DYNAMIC).and_then(|h| unsafe { DynamicTables::read(base, (base + h.p_vaddr as usize) as *const [i64; 2]) });
        let segments = headers.iter().filter(|h| h.p_type == libc::PT_LOAD);
        let end = segments.map(|h| base + (h.p_vaddr + h.p_memsz) as usize).max().unwrap_or(base);
        LoadedObject { base, end, path, tables, read_only }
    }

    /// Whether it belongs to the system rather than to the program.
    pub(super) fn is_system(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.is_empty() || ["ld-linux", "linux-vdso", "libc.so", "libdl.so", "libpthread.so", "libm.so"].iter().any(|s| name.starts_with(s))
    }

    /// Whether it is the probe itself.
    pub(super) fn is_probe(&self) -> bool {
        object_containing(is_probe_marker as *const () as usize).is_some_and(|(base, _)| base == self.base)
    }

    /// The functions it refers to.
    pub(super) fn references(&self) -> impl Iterator<Item = SymbolReference<'_>> {
        self.tables.iter().flat_map(|tables| {
            // SAFETY: the table has `count` entries.
            let entries = tables.relocations.iter().flat_map(|(first, count)| (0..*count).map(move |i| unsafe { &*first.add(i) }));
            entries.filter_map(|relocation| {
                // SAFETY: relocations refer to symbols of the table and symbols to strings of the table; the linker relies on it, too.
                unsafe { self.reference(tables, relocation) }
            })
        })
    }

    unsafe fn reference<'a>(&'a self, tables: &'a DynamicTables, relocation: &Elf64_Rela) -> Option<SymbolReference<'a>> {
        let kind = match relocation.r_info as u32 {
            1 if relocation.r_addend == 0 => RelocationKind::Absolute,
            6 => RelocationKind::Global,
            7 => RelocationKind::Slot,
            _ => return None,
        };
        // SAFETY: see `references`.
        let name = unsafe {
            let symbol = &*tables.symbols.add((relocation.r_info >> 32) as usize);
            CStr::from_ptr(tables.strings.add(symbol.st_name as usize))
        };
        Some(SymbolReference { name: name.to_str().ok()?, address: self.base + relocation.r_offset as usize, relocation: kind })
    }

    /// The function that a reference is or would be bound to.
    pub(super) fn target(&self, reference: &SymbolReference) -> Option<usize> {
        if reference.relocation != RelocationKind::Slot {
            // SAFETY: the linker wrote an address here before the file's code could run.
            let address = unsafe { *(reference.address as *const usize) };
            return (address != 0).then(|| function_behind(address, reference.name));
        }
        let found = crate::library::symbol(libc::RTLD_DEFAULT, reference.name).or_else(|| {
            let handle = open(&self.path)?;
            crate::library::symbol(handle, reference.name)
        });
        found.map(|address| function_behind(address, reference.name))
    }

    /// Replaces the address of a reference.
    pub(super) fn write(&self, reference: &SymbolReference, address: usize) {
        self.slot(reference).write(|slot| slot.store(address, Ordering::Release));
    }

    /// The place where the address of a reference is stored.
    pub(super) fn slot(&self, reference: &SymbolReference) -> ReferenceSlot {
        let is_protected = self.read_only.is_some_and(|(from, to)| (from..to).contains(&reference.address));
        ReferenceSlot { address: reference.address, is_protected }
    }

    /// Whether an address lies inside the file: a slot that the linker has not bound yet leads back to it.
    pub(super) fn contains(&self, address: usize) -> bool {
        (self.base..self.end).contains(&address)
    }
}

impl SymbolReference<'_> {
    /// Whether calls go through it: not a plain address in a variable.
    pub(super) fn is_call(&self) -> bool {
        self.relocation != RelocationKind::Absolute
    }
}

/// The place where the linker stored an address.
#[derive(Clone, Copy)]
pub(super) struct ReferenceSlot {
    address: usize,
    /// Whether the linker made its page read-only.
    is_protected: bool,
}

impl ReferenceSlot {
    /// The address that is stored there.
    pub(super) fn address(&self) -> usize {
        // SAFETY: a slot of a loaded file, aligned as the linker requires.
        unsafe { AtomicUsize::from_ptr(self.address as *mut usize) }.load(Ordering::Acquire)
    }

    /// Replaces an address, unless another one is stored there by now.
    pub(super) fn replace(&self, old: usize, new: usize) -> bool {
        self.write(|slot| slot.compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire).is_ok()).unwrap_or(false)
    }

    /// Changes the stored address; `None` if its page cannot be made writable.
    fn write<R>(&self, change: impl FnOnce(&AtomicUsize) -> R) -> Option<R> {
        if !self.address.is_multiple_of(align_of::<AtomicUsize>())
            || self.is_protected && !protect(self.address, libc::PROT_READ | libc::PROT_WRITE)
        {
            return None;
        }
        // SAFETY: the location holds an address and is writable; other threads see the old or the new one.
        let changed = change(unsafe { AtomicUsize::from_ptr(self.address as *mut usize) });
        if self.is_protected {
            protect(self.address, libc::PROT_READ);
        }
        Some(changed)
    }
}

/// Keeps a loaded file from being unloaded.
pub(super) struct ObjectPin(*mut c_void);

impl Drop for ObjectPin {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: a handle of our own.
            unsafe { libc::dlclose(self.0) };
        }
    }
}

/// Keeps the file that was loaded at an address from this path; `None` if it has been unloaded. The program itself stays loaded anyway.
pub(super) fn pin(base: usize, path: &str) -> Option<ObjectPin> {
    if program_path() == path {
        return Some(ObjectPin(std::ptr::null_mut()));
    }
    let pin = ObjectPin(open(path)?);
    // SAFETY: a handle points to the linker's description of the file, which begins with its load address.
    (unsafe { *pin.0.cast::<usize>() } == base).then_some(pin)
}

impl DynamicTables {
    /// # Safety
    /// `entry` is the first entry of the dynamic section of a file loaded at `base`.
    unsafe fn read(base: usize, mut entry: *const [i64; 2]) -> Option<DynamicTables> {
        let (mut symbols, mut strings, mut slots, mut slots_bytes, mut others, mut others_bytes) = (0, 0, 0, 0, 0, 0);
        loop {
            // SAFETY: the section ends with an entry of tag 0.
            let [tag, value] = unsafe { *entry };
            match tag {
                0 => break,
                DT_SYMTAB => symbols = value as usize,
                DT_STRTAB => strings = value as usize,
                DT_JMPREL => slots = value as usize,
                DT_PLTRELSZ => slots_bytes = value as usize,
                DT_RELA => others = value as usize,
                DT_RELASZ => others_bytes = value as usize,
                _ => {}
            }
            // SAFETY: there is a next entry, see above.
            entry = unsafe { entry.add(1) };
        }
        // The linker converts these to addresses at load time, except in the few files it does not write to.
        let absolute = |value: usize| if value < base { base + value } else { value };
        if symbols == 0 || strings == 0 {
            return None;
        }
        let table = |at: usize, bytes: usize| (at != 0).then(|| (absolute(at) as *const Elf64_Rela, bytes / size_of::<Elf64_Rela>()));
        let relocations = [table(slots, slots_bytes), table(others, others_bytes)].into_iter().flatten().collect();
        Some(DynamicTables { symbols: absolute(symbols) as _, strings: absolute(strings) as _, relocations })
    }
}

/// A function whose address identifies the probe.
fn is_probe_marker() {}

fn protect(address: usize, protection: c_int) -> bool {
    // SAFETY: only queries the page size.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    // SAFETY: changes the page of a reference, and is reverted after the write.
    unsafe { libc::mprotect((address & !(page - 1)) as *mut c_void, page, protection) == 0 }
}

/// The path of the program itself, which the linker lists without a name.
fn program_path() -> String {
    std::fs::read_link("/proc/self/exe").map(|path| path.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The loaded file that contains an address.
pub(super) fn object_containing(address: usize) -> Option<(usize, String)> {
    // SAFETY: a struct of pointers, filled by dladdr.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: `info` is valid for writes.
    if unsafe { libc::dladdr(address as *const c_void, &mut info) } == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: dladdr returns a string.
    let path = OsStr::from_bytes(unsafe { CStr::from_ptr(info.dli_fname) }.to_bytes()).to_string_lossy().into_owned();
    Some((info.dli_fbase as usize, path))
}

/// The function itself if an address is that of a jump to it: in a program that is not position-independent and takes the address of a
/// function, an entry of its own procedure linkage table stands for the function everywhere. That entry leads back to our stub.
fn function_behind(address: usize, name: &str) -> usize {
    const RTLD_DL_SYMENT: c_int = 1;
    unsafe extern "C" {
        fn dladdr1(address: *const c_void, info: *mut libc::Dl_info, extra: *mut *mut c_void, flags: c_int) -> c_int;
    }
    static PROGRAM: OnceLock<Option<Range<usize>>> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| objects().first().map(|program| program.base..program.end));
    if !program.as_ref().is_some_and(|program| program.contains(&address)) {
        return address;
    }
    // SAFETY: a struct of pointers, filled by dladdr1.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    let mut symbol = std::ptr::null_mut();
    // SAFETY: both are valid for writes.
    let found = unsafe { dladdr1(address as *const c_void, &mut info, &mut symbol, RTLD_DL_SYMENT) } != 0;
    // SAFETY: with this flag, the result is the symbol at the address, or null.
    let symbol = unsafe { symbol.cast::<Elf64_Sym>().as_ref() }.filter(|_| found && info.dli_saddr as usize == address);
    let is_jump = symbol.is_some_and(|symbol| symbol.st_shndx == 0);
    // The probe comes right after the program in the linker's order.
    if is_jump { crate::library::symbol(libc::RTLD_NEXT, name).unwrap_or(address) } else { address }
}

/// A handle of an already loaded file.
fn open(path: &str) -> Option<*mut c_void> {
    let path = CString::new(path).ok()?;
    // SAFETY: nothing is loaded.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    (!handle.is_null()).then_some(handle)
}

/// Whether the file itself (not a dependency) defines a symbol.
pub(super) fn defines(base: usize, path: &str, name: &str) -> bool {
    let found = open(path).and_then(|handle| {
        let found = crate::library::symbol(handle, name);
        // SAFETY: releases the reference taken by `open`.
        unsafe { libc::dlclose(handle) };
        found
    });
    found.and_then(object_containing).is_some_and(|(its_base, _)| its_base == base)
}
