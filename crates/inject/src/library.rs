//! The C library of a process: where its functions are, and where a thread must not be interrupted because it may hold their locks.

use object::{BinaryFormat, Object, ObjectSection, ObjectSymbol};

use crate::problem::Problem;
use crate::process::{Mapped, mapped, status};

/// Where the functions are that the errand calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Functions {
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

/// What is to be known of the code of a process before one of its threads is stopped.
#[derive(Debug)]
pub struct Library {
    /// Where the functions are.
    pub functions: Functions,
    /// An instruction that calls the system, in a function that returns then.
    pub system_call: u64,
    /// Where handlers of signals return to.
    pub after_signal: u64,
    /// Files in whose code a thread may hold a lock that making a thread needs.
    guarded: Vec<Mapped>,
}

impl Library {
    /// Looks for them in a process.
    pub fn of(process: u32) -> Result<Library, Problem> {
        let files = mapped(process)?;
        if files.is_empty() {
            status(process)?;
            return Err(Problem::Ended(process));
        }
        check_machine(process)?;
        let named = |begins: &[&str]| files.iter().find(|file| begins.iter().any(|begin| file.file_name().starts_with(begin)));
        let library = named(&["libc.so.6", "libc-2."]).ok_or_else(|| no_library(process, &files))?;
        // Before version 2.34 these were libraries of their own.
        let parts = [Some(library), named(&["libpthread.so", "libpthread-2."]), named(&["libdl.so", "libdl-2."])];
        let mut symbols = Vec::new();
        let mut system_call = None;
        let mut after_signal = None;
        for file in parts.into_iter().flatten() {
            let unreadable = |why: String| Problem::OtherLibrary { process, why };
            let bytes = file.read(process).map_err(|error| unreadable(format!("{}: {error}", file.path)))?;
            let parsed = object::File::parse(&*bytes).map_err(|error| unreadable(format!("{}: {error}", file.path)))?;
            let defined = parsed.dynamic_symbols().filter(|symbol| symbol.is_definition());
            symbols.extend(defined.filter_map(|symbol| Some((symbol.name().ok()?.to_owned(), file.base + symbol.address()))));
            // syscall; cmp rax, -4095; jae …; ret
            system_call = system_call.or_else(|| {
                let found = code(&parsed, |code| {
                    code.starts_with(&[0x0f, 0x05, 0x48, 0x3d, 0x01, 0xf0, 0xff, 0xff, 0x73]) && code.get(10) == Some(&0xc3)
                });
                found.map(|at| file.base + at)
            });
            // mov rax, 15; syscall
            after_signal = after_signal.or_else(|| {
                let found = code(&parsed, |code| code.starts_with(&[0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05]));
                found.map(|at| file.base + at)
            });
        }
        let find = |name: &str| {
            let found = symbols.iter().find(|(known, _)| known == name).map(|(_, address)| *address);
            found.ok_or_else(|| Problem::OtherLibrary { process, why: format!("there is no `{name}` in it") })
        };
        let functions = Functions {
            create: find("pthread_create")?,
            own: find("pthread_self")?,
            detach: find("pthread_detach")?,
            open: find("dlopen")?,
            symbol: find("dlsym")?,
            error: find("dlerror")?,
            unmap: find("munmap")?,
        };
        let unknown = |what: &str| Problem::OtherLibrary { process, why: format!("{what} is not found in it") };
        let system_call = system_call.ok_or_else(|| unknown("a call of the system"))?;
        let after_signal = after_signal.ok_or_else(|| unknown("the return from a signal"))?;
        let guarded = files.iter().filter(|file| is_guarded(process, file)).cloned().collect();
        Ok(Library { functions, system_call, after_signal, guarded })
    }

    /// The file in whose code an instruction is, if a lock may be held there.
    pub fn guard(&self, instruction: u64) -> Option<&str> {
        self.guarded.iter().find(|file| file.holds(instruction)).map(Mapped::file_name)
    }
}

/// Where such instructions first stand in a file.
fn code(file: &object::File, is_it: impl Fn(&[u8]) -> bool) -> Option<u64> {
    let section = file.section_by_name(".text")?;
    let data = section.data().ok()?;
    (0..data.len()).find(|at| is_it(&data[*at..])).map(|at| section.address() + at as u64)
}

/// The C library, the dynamic linker, and whatever gives out memory in their place.
fn is_guarded(process: u32, file: &Mapped) -> bool {
    const BEGINS: [&str; 7] = ["libc.so", "libc-2.", "ld-linux", "ld-2.", "libpthread", "libdl", "libucm"];
    if BEGINS.iter().any(|begin| file.file_name().starts_with(begin)) {
        return true;
    }
    let Ok(bytes) = file.read(process) else { return true };
    let Ok(parsed) = object::File::parse(&*bytes) else { return true };
    parsed.dynamic_symbols().any(|symbol| symbol.is_definition() && symbol.name() == Ok("malloc"))
}

fn check_machine(process: u32) -> Result<(), Problem> {
    let Ok(bytes) = std::fs::read(format!("/proc/{process}/exe")) else { return Err(Problem::Ended(process)) };
    let is_ours = object::File::parse(&*bytes)
        .is_ok_and(|file| file.format() == BinaryFormat::Elf && file.is_64() && file.architecture() == object::Architecture::X86_64);
    if is_ours { Ok(()) } else { Err(Problem::OtherMachine(process)) }
}

fn no_library(process: u32, files: &[Mapped]) -> Problem {
    match files.iter().find(|file| file.file_name().starts_with("ld-")) {
        Some(linker) => Problem::OtherLibrary { process, why: format!("its dynamic linker is {}", linker.path) },
        None => Problem::Static(process),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_functions_are_where_this_process_has_them() {
        let library = Library::of(std::process::id()).expect("this process uses the C library");
        assert_eq!(library.functions.create, libc::pthread_create as *const () as u64);
        assert_eq!(library.functions.unmap, libc::munmap as *const () as u64);
        assert_eq!(library.functions.open, libc::dlopen as *const () as u64);
        assert_eq!(library.guard(library.functions.create).map(|file| file.starts_with("libc")), Some(true));
        assert_eq!(library.guard(Library::of as *const () as u64), None);
    }
}
