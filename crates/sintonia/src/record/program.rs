//! The program behind a command: where it is, what it is called, and why nothing of it could be recorded.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSegment, read::elf::ElfFile64};

use crate::Error;

/// The file of a command; an error that says what is wrong with it.
pub fn find(command: &OsStr) -> Result<PathBuf, Error> {
    let shown = command.to_string_lossy();
    if !shown.contains('/') {
        return in_path(command).ok_or_else(|| Error::Other(format!("{shown} is not there: no folder of PATH has it")));
    }
    let path = PathBuf::from(command);
    if !path.exists() {
        return Err(Error::Other(format!("{shown} is not there")));
    }
    if !is_executable(&path) {
        return Err(Error::Other(format!("{shown} is not executable; chmod +x makes it so, if it is a program")));
    }
    Ok(path)
}

fn in_path(command: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(command)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// The programs in a command line: everything that is an executable file.
fn programs(command: &[OsString]) -> impl Iterator<Item = PathBuf> + '_ {
    command.iter().filter(|word| !word.to_string_lossy().starts_with('-')).filter_map(|word| find(word).ok())
}

/// A name for the recording of a command: that of the program a launcher starts, or of the command itself.
pub fn name(command: &[OsString]) -> String {
    let started = programs(command.get(1..).unwrap_or_default()).next().or_else(|| command.first().map(PathBuf::from));
    let name = started.and_then(|path| path.file_name().map(|name| name.to_string_lossy().into_owned()));
    name.unwrap_or_else(|| "run".into())
}

/// Why no MPI call of a command could be seen, and what to do about it.
pub fn why_nothing(command: &[OsString]) -> String {
    let programs: Vec<PathBuf> = programs(command).collect();
    if let Some(path) = programs.iter().find(|path| is_set_user_id(path)) {
        return format!(
            "{} runs with the rights of another user, and the system lets no library be added to such programs: \
             record a copy without those rights (cp {} copy && chmod ug-s copy)",
            path.display(),
            path.display()
        );
    }
    if let Some(path) = programs.iter().find(|path| is_static(path)) {
        return format!(
            "{} is linked statically, so no library can be added to it: link it with the shared MPI library (without -static)",
            path.display()
        );
    }
    "is it an MPI program, and did it get as far as MPI_Init?".into()
}

fn is_set_user_id(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.permissions().mode() & 0o6000 != 0)
}

/// Whether a file is a program that asks for no dynamic linker.
fn is_static(path: &Path) -> bool {
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
        assert!(find(OsStr::new("./no-such-program")).unwrap_err().to_string().contains("./no-such-program is not there"));
        assert!(find(OsStr::new("no-such-program")).unwrap_err().to_string().contains("PATH"));
        assert!(find(OsStr::new("/etc/passwd")).unwrap_err().to_string().contains("not executable"));
    }

    #[test]
    fn a_recording_is_named_after_the_program_that_is_launched() {
        let command = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        assert_eq!(name(&command(&["env", "-n", "4", "/bin/true", "x"])), "true");
        assert_eq!(name(&command(&["/bin/echo"])), "echo");
    }
}
