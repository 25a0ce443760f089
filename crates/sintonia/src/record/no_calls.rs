//! Why nothing was recorded.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSegment, ObjectSymbol, read::elf::ElfFile64};
use sintonia_recording::program_name::executables;
use sintonia_recording::raw::BLOCK_BYTES;

use super::output_folder::free_bytes;

/// Why no MPI call of a command was recorded in this folder, and what to do about it.
pub(super) fn no_calls_reason(command: &[OsString], folder: &Path) -> String {
    if free_bytes(folder).is_some_and(|free| free < BLOCK_BYTES as u64) {
        return "the disk is full".into();
    }
    let programs: Vec<PathBuf> = executables(command).collect();
    if let Some(path) = programs.iter().find(|path| is_set_user_id(path)) {
        return format!(
            "{} is a set-user-ID program, into which no library can be preloaded: \
             record a copy without that bit (cp {} copy && chmod ug-s copy)",
            path.display(),
            path.display()
        );
    }
    if let Some(path) = programs.iter().find(|path| is_statically_linked(path)) {
        return format!(
            "{} is statically linked, so no library can be preloaded: link it with the shared MPI library (without -static)",
            path.display()
        );
    }
    if let Some(path) = programs.iter().find(|path| contains_mpi(path)) {
        return format!(
            "{} is statically linked with its MPI library (libmpi.a or libmpich.a), so its calls cannot be intercepted: \
             link it with the shared MPI library",
            path.display()
        );
    }
    "is it an MPI program, and did it reach MPI_Init?".into()
}

fn is_set_user_id(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.permissions().mode() & 0o6000 != 0)
}

/// Whether an executable defines the functions of MPI itself.
fn contains_mpi(path: &Path) -> bool {
    let Ok(bytes) = std::fs::read(path) else { return false };
    let Ok(file) = ElfFile64::<object::Endianness>::parse(&*bytes) else { return false };
    let is_defined = |wanted: &str| {
        let mut symbols = file.symbols().chain(file.dynamic_symbols());
        symbols.any(|symbol| symbol.is_definition() && symbol.name() == Ok(wanted))
    };
    is_defined("PMPI_Init") && is_defined("PMPI_Finalize")
}

/// Whether a file is an executable without a dynamic linker.
fn is_statically_linked(path: &Path) -> bool {
    let Ok(bytes) = std::fs::read(path) else { return false };
    let Ok(file) = ElfFile64::<object::Endianness>::parse(&*bytes) else { return false };
    use object::read::elf::ProgramHeader;
    let endian = file.endian();
    let needs_linker = file.elf_program_headers().iter().any(|header| header.p_type(endian) == object::elf::PT_INTERP);
    !needs_linker && file.segments().any(|segment| segment.size() > 0)
}
