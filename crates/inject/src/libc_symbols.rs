//! The C library of a process: addresses of its functions, and files in whose code a thread may hold a lock.

use object::{BinaryFormat, Object, ObjectSection, ObjectSymbol};

use crate::error::InjectError;
use crate::process::{MappedFile, mapped_files, status};

/// Addresses of the functions that the payload calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LibcFunctions {
    /// `pthread_create`.
    pub create: u64,
    /// `pthread_self`.
    pub own: u64,
    /// `pthread_detach`.
    pub detach: u64,
    /// `dlopen`.
    pub open: u64,
    /// `dlsym`.
    pub symbol: u64,
    /// `dlerror`.
    pub error: u64,
    /// `munmap`.
    pub unmap: u64,
}

/// Data about the code of a process, collected before one of its threads is stopped.
#[derive(Debug)]
pub(crate) struct TargetLibc {
    /// Function addresses.
    pub functions: LibcFunctions,
    /// Address of a `syscall` instruction in a function that returns right after it.
    pub syscall_instruction: u64,
    /// Address to which signal handlers return.
    pub sigreturn: u64,
    /// Files in whose code a thread may hold a lock that `pthread_create` needs.
    lock_files: Vec<MappedFile>,
}

impl TargetLibc {
    /// Finds the C library of a process.
    pub(crate) fn find(process: u32) -> Result<TargetLibc, InjectError> {
        let files = mapped_files(process)?;
        if files.is_empty() {
            status(process)?;
            return Err(InjectError::ProcessEnded(process));
        }
        check_machine(process)?;
        let named = |begins: &[&str]| files.iter().find(|file| begins.iter().any(|begin| file.file_name().starts_with(begin)));
        let library = named(&["libc.so.6", "libc-2."]).ok_or_else(|| missing_libc(process, &files))?;
        // Separate libraries before glibc 2.34.
        let parts = [Some(library), named(&["libpthread.so", "libpthread-2."]), named(&["libdl.so", "libdl-2."])];
        let mut symbols = Vec::new();
        let mut system_call = None;
        let mut after_signal = None;
        for file in parts.into_iter().flatten() {
            let unreadable = |why: String| InjectError::UnsupportedLibc { process, why };
            let bytes = file.read(process).map_err(|error| unreadable(format!("{}: {error}", file.path)))?;
            let parsed = object::File::parse(&*bytes).map_err(|error| unreadable(format!("{}: {error}", file.path)))?;
            let defined = parsed.dynamic_symbols().filter(|symbol| symbol.is_definition());
            symbols.extend(defined.filter_map(|symbol| Some((symbol.name().ok()?.to_owned(), file.base + symbol.address()))));
            // syscall; cmp rax, -4095; jae ...; ret
            system_call = system_call.or_else(|| {
                let found = find_code(&parsed, |code| {
                    code.starts_with(&[0x0f, 0x05, 0x48, 0x3d, 0x01, 0xf0, 0xff, 0xff, 0x73]) && code.get(10) == Some(&0xc3)
                });
                found.map(|at| file.base + at)
            });
            // mov rax, 15; syscall
            after_signal = after_signal.or_else(|| {
                let found = find_code(&parsed, |code| code.starts_with(&[0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05]));
                found.map(|at| file.base + at)
            });
        }
        let find = |name: &str| {
            let found = symbols.iter().find(|(known, _)| known == name).map(|(_, address)| *address);
            found.ok_or_else(|| InjectError::UnsupportedLibc { process, why: format!("there is no `{name}` in it") })
        };
        let functions = LibcFunctions {
            create: find("pthread_create")?,
            own: find("pthread_self")?,
            detach: find("pthread_detach")?,
            open: find("dlopen")?,
            symbol: find("dlsym")?,
            error: find("dlerror")?,
            unmap: find("munmap")?,
        };
        let unknown = |what: &str| InjectError::UnsupportedLibc { process, why: format!("{what} is not found in it") };
        let system_call = system_call.ok_or_else(|| unknown("a system call instruction"))?;
        let after_signal = after_signal.ok_or_else(|| unknown("the signal return code"))?;
        let guarded = files.iter().filter(|file| may_hold_locks(process, file)).cloned().collect();
        Ok(TargetLibc { functions, syscall_instruction: system_call, sigreturn: after_signal, lock_files: guarded })
    }

    /// The file that contains an instruction, if a lock may be held there.
    pub(crate) fn lock_file_at(&self, instruction: u64) -> Option<&str> {
        self.lock_files.iter().find(|file| file.contains(instruction)).map(MappedFile::file_name)
    }
}

/// Address of the first matching instructions in a file.
fn find_code(file: &object::File, is_it: impl Fn(&[u8]) -> bool) -> Option<u64> {
    let section = file.section_by_name(".text")?;
    let data = section.data().ok()?;
    (0..data.len()).find(|at| is_it(&data[*at..])).map(|at| section.address() + at as u64)
}

/// The C library, the dynamic linker, and other memory allocators.
fn may_hold_locks(process: u32, file: &MappedFile) -> bool {
    const BEGINS: [&str; 7] = ["libc.so", "libc-2.", "ld-linux", "ld-2.", "libpthread", "libdl", "libucm"];
    if BEGINS.iter().any(|begin| file.file_name().starts_with(begin)) {
        return true;
    }
    let Ok(bytes) = file.read(process) else { return true };
    let Ok(parsed) = object::File::parse(&*bytes) else { return true };
    parsed.dynamic_symbols().any(|symbol| symbol.is_definition() && symbol.name() == Ok("malloc"))
}

fn check_machine(process: u32) -> Result<(), InjectError> {
    let Ok(bytes) = std::fs::read(format!("/proc/{process}/exe")) else { return Err(InjectError::ProcessEnded(process)) };
    let is_ours = object::File::parse(&*bytes)
        .is_ok_and(|file| file.format() == BinaryFormat::Elf && file.is_64() && file.architecture() == object::Architecture::X86_64);
    if is_ours { Ok(()) } else { Err(InjectError::WrongArchitecture(process)) }
}

fn missing_libc(process: u32, files: &[MappedFile]) -> InjectError {
    match files.iter().find(|file| file.file_name().starts_with("ld-")) {
        Some(linker) => InjectError::UnsupportedLibc { process, why: format!("its dynamic linker is {}", linker.path) },
        None => InjectError::StaticallyLinked(process),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_functions_are_where_this_process_has_them() {
        let library = TargetLibc::find(std::process::id()).expect("this process uses the C library");
        assert_eq!(library.functions.create, libc::pthread_create as *const () as u64);
        assert_eq!(library.functions.unmap, libc::munmap as *const () as u64);
        assert_eq!(library.functions.open, libc::dlopen as *const () as u64);
        assert_eq!(library.lock_file_at(library.functions.create).map(|file| file.starts_with("libc")), Some(true));
        assert_eq!(library.lock_file_at(TargetLibc::find as *const () as u64), None);
    }
}
