//! Files of code in memory, as the dynamic linker left them: which functions they refer to, and where the addresses stand.

use std::ffi::{CStr, CString, OsStr, c_int, c_void};
use std::os::unix::ffi::OsStrExt;

use libc::{Elf64_Phdr, Elf64_Rela, Elf64_Sym};

const DT_PLTRELSZ: i64 = 2;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_JMPREL: i64 = 23;
const PT_DYNAMIC: u32 = 2;
const PT_GNU_RELRO: u32 = 0x6474_e552;

/// How an address stands in memory.
#[derive(Clone, Copy, PartialEq)]
enum Relocation {
    /// A plain address (a constant holding a function).
    Absolute = 1,
    /// An entry of the global offset table.
    Global = 6,
    /// A slot of the procedure linkage table, possibly not yet bound.
    Slot = 7,
}

/// A file of code that is loaded.
pub struct Object {
    /// Where it is loaded.
    pub base: usize,
    /// Its path; that of the program itself for the first one.
    pub path: String,
    tables: Option<Tables>,
    read_only: Option<(usize, usize)>,
}

struct Tables {
    symbols: *const Elf64_Sym,
    strings: *const libc::c_char,
    relocations: Vec<(*const Elf64_Rela, usize)>,
}

/// A reference to a function.
pub struct Reference<'a> {
    /// Its name.
    pub name: &'a str,
    place: usize,
    relocation: Relocation,
}

/// A number that grows when a file of code is loaded.
pub fn loaded_count() -> u64 {
    unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _: usize, count: *mut c_void) -> c_int {
        // SAFETY: the linker passes a valid description, `count` is the place given below.
        unsafe { *count.cast::<u64>() = (*info).dlpi_adds };
        1
    }
    let mut count = 0u64;
    // SAFETY: `first` writes to `count` only while the call lasts.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut count).cast()) };
    count
}

/// Everything that is loaded now.
pub fn objects() -> Vec<Object> {
    unsafe extern "C" fn each(info: *mut libc::dl_phdr_info, _: usize, objects: *mut c_void) -> c_int {
        // SAFETY: the linker passes a valid description, `objects` is the vector given below.
        unsafe { (*objects.cast::<Vec<Object>>()).push(Object::read(&*info)) };
        0
    }
    let mut objects: Vec<Object> = Vec::with_capacity(64);
    // SAFETY: `each` adds to `objects` only while the call lasts.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut objects).cast()) };
    objects
}

impl Object {
    /// # Safety
    /// `info` describes a loaded file of code.
    unsafe fn read(info: &libc::dl_phdr_info) -> Object {
        let base = info.dlpi_addr as usize;
        // SAFETY: the name is a string, the headers are an array of the given length.
        let (name, headers) =
            unsafe { (CStr::from_ptr(info.dlpi_name), std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into())) };
        let path = if name.is_empty() { program_path() } else { name.to_string_lossy().into_owned() };
        let find = |kind: u32| headers.iter().find(|h: &&Elf64_Phdr| h.p_type == kind);
        let read_only = find(PT_GNU_RELRO).map(|h| (base + h.p_vaddr as usize, base + (h.p_vaddr + h.p_memsz) as usize));
        // SAFETY: the dynamic section of a loaded file is mapped at this address.
        let tables = find(PT_DYNAMIC).and_then(|h| unsafe { Tables::read(base, (base + h.p_vaddr as usize) as *const [i64; 2]) });
        Object { base, path, tables, read_only }
    }

    /// Whether it is part of the system rather than of the program.
    pub fn is_system(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.is_empty() || ["ld-linux", "linux-vdso", "libc.so", "libdl.so", "libpthread.so", "libm.so"].iter().any(|s| name.starts_with(s))
    }

    /// Whether it is the probe itself.
    pub fn is_probe(&self) -> bool {
        file_of(is_probe_marker as *const () as usize).is_some_and(|(base, _)| base == self.base)
    }

    /// The functions it refers to.
    pub fn references(&self) -> impl Iterator<Item = Reference<'_>> {
        self.tables.iter().flat_map(|tables| {
            tables.relocations.iter().flat_map(|(first, count)| (0..*count).map(move |i| unsafe { &*first.add(i) })).filter_map(
                |relocation| {
                    // SAFETY: relocations name symbols of the table, symbols name strings of the table: the linker relies on it too.
                    unsafe { self.reference(tables, relocation) }
                },
            )
        })
    }

    unsafe fn reference<'a>(&'a self, tables: &'a Tables, relocation: &Elf64_Rela) -> Option<Reference<'a>> {
        let kind = match relocation.r_info as u32 {
            1 if relocation.r_addend == 0 => Relocation::Absolute,
            6 => Relocation::Global,
            7 => Relocation::Slot,
            _ => return None,
        };
        // SAFETY: see `references`.
        let name = unsafe {
            let symbol = &*tables.symbols.add((relocation.r_info >> 32) as usize);
            CStr::from_ptr(tables.strings.add(symbol.st_name as usize))
        };
        Some(Reference { name: name.to_str().ok()?, place: self.base + relocation.r_offset as usize, relocation: kind })
    }

    /// The function that a reference leads to, as the linker sees or would see it.
    pub fn target(&self, reference: &Reference) -> Option<usize> {
        if reference.relocation != Relocation::Slot {
            // SAFETY: the linker wrote an address here before the file's code could run.
            let address = unsafe { *(reference.place as *const usize) };
            return (address != 0).then_some(address);
        }
        crate::library::symbol(libc::RTLD_DEFAULT, reference.name).or_else(|| {
            let handle = open(&self.path)?;
            crate::library::symbol(handle, reference.name)
        })
    }

    /// Replaces the address of a reference.
    pub fn write(&self, reference: &Reference, address: usize) {
        let protected = self.read_only.is_some_and(|(from, to)| (from..to).contains(&reference.place));
        if protected && !protect(reference.place, libc::PROT_READ | libc::PROT_WRITE) {
            return;
        }
        // SAFETY: the place holds an address and is writable; other threads see either the old or the new one.
        unsafe {
            std::sync::atomic::AtomicUsize::from_ptr(reference.place as *mut usize).store(address, std::sync::atomic::Ordering::Release)
        };
        if protected {
            protect(reference.place, libc::PROT_READ);
        }
    }
}

impl Tables {
    /// # Safety
    /// `entry` is the first entry of the dynamic section of a file loaded at `base`.
    unsafe fn read(base: usize, mut entry: *const [i64; 2]) -> Option<Tables> {
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
        // The linker turns these into addresses when it loads a file, except in the few files it does not write to.
        let absolute = |value: usize| if value < base { base + value } else { value };
        if symbols == 0 || strings == 0 {
            return None;
        }
        let table = |at: usize, bytes: usize| (at != 0).then(|| (absolute(at) as *const Elf64_Rela, bytes / size_of::<Elf64_Rela>()));
        let relocations = [table(slots, slots_bytes), table(others, others_bytes)].into_iter().flatten().collect();
        Some(Tables { symbols: absolute(symbols) as _, strings: absolute(strings) as _, relocations })
    }
}

/// Marks the probe's own code.
fn is_probe_marker() {}

fn protect(place: usize, protection: c_int) -> bool {
    // SAFETY: asks for a number only.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    // SAFETY: changes the page of a reference, which is restored after the write.
    unsafe { libc::mprotect((place & !(page - 1)) as *mut c_void, page, protection) == 0 }
}

/// The path of the program itself, which the linker lists without a name.
fn program_path() -> String {
    std::fs::read_link("/proc/self/exe").map(|path| path.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The file of code that an address belongs to.
pub fn file_of(address: usize) -> Option<(usize, String)> {
    // SAFETY: a struct of pointers, filled by dladdr.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: `info` is a valid place to write to.
    if unsafe { libc::dladdr(address as *const c_void, &mut info) } == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: dladdr gives a string.
    let path = OsStr::from_bytes(unsafe { CStr::from_ptr(info.dli_fname) }.to_bytes()).to_string_lossy().into_owned();
    Some((info.dli_fbase as usize, path))
}

/// A handle of a file that is loaded already.
fn open(path: &str) -> Option<*mut c_void> {
    let path = CString::new(path).ok()?;
    // SAFETY: nothing is loaded.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    (!handle.is_null()).then_some(handle)
}

/// Whether the file of code itself (not one it needs) defines a symbol.
pub fn defines(base: usize, path: &str, name: &str) -> bool {
    let found = open(path).and_then(|handle| {
        let found = crate::library::symbol(handle, name);
        // SAFETY: gives back what `open` counted.
        unsafe { libc::dlclose(handle) };
        found
    });
    found.and_then(file_of).is_some_and(|(its_base, _)| its_base == base)
}
