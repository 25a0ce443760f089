//! The program of a command: its file, its name, and why nothing was recorded.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSegment, read::elf::ElfFile64};

use crate::Error;

/// The executable of a command.
pub(crate) fn find_executable(command: &OsStr) -> Result<PathBuf, Error> {
    let shown = command.to_string_lossy();
    if !shown.contains('/') {
        return find_in_path(command).ok_or_else(|| Error::Other(format!("{shown}: command not found in PATH")));
    }
    let path = PathBuf::from(command);
    if !path.exists() {
        return Err(Error::Other(format!("{shown}: no such file")));
    }
    if !is_executable(&path) {
        return Err(Error::Other(format!("{shown} is not executable; if it is a program, use chmod +x")));
    }
    Ok(path)
}

fn find_in_path(command: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(command)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// The executables in a command line.
fn executables(command: &[OsString]) -> impl Iterator<Item = PathBuf> + '_ {
    command.iter().filter(|word| !word.to_string_lossy().starts_with('-')).filter_map(|word| find_executable(word).ok())
}

/// A name for the recording: that of the program a launcher starts, or of the command itself.
pub(crate) fn recording_name(command: &[OsString]) -> String {
    let started = executables(command.get(1..).unwrap_or_default()).next().or_else(|| command.first().map(PathBuf::from));
    let name = started.and_then(|path| path.file_name().map(|name| name.to_string_lossy().into_owned()));
    name.unwrap_or_else(|| "run".into())
}

/// Why no MPI call of a command was recorded, and what to do about it.
pub(crate) fn no_calls_reason(command: &[OsString]) -> String {
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
    "is it an MPI program, and did it reach MPI_Init?".into()
}

fn is_set_user_id(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.permissions().mode() & 0o6000 != 0)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named() {
        assert!(find_executable(OsStr::new("./no-such-program")).unwrap_err().to_string().contains("./no-such-program: no such file"));
        assert!(find_executable(OsStr::new("no-such-program")).unwrap_err().to_string().contains("PATH"));
        assert!(find_executable(OsStr::new("/etc/passwd")).unwrap_err().to_string().contains("not executable"));
    }

    #[test]
    fn a_recording_is_named_after_the_program_that_is_launched() {
        let command = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        assert_eq!(recording_name(&command(&["env", "-n", "4", "/bin/true", "x"])), "true");
        assert_eq!(recording_name(&command(&["/bin/echo"])), "echo");
    }
}
