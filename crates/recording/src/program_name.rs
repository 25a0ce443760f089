//! The program of a command: its file, and its name, after which recordings and models are named.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Why the first word of a command cannot be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// It is in no directory of PATH.
    #[error("{0}: command not found in PATH")]
    NotInPath(String),
    /// There is no such file.
    #[error("{0}: no such file")]
    Missing(String),
    /// It may not be executed.
    #[error("{0} is not executable; if it is a program, use chmod +x")]
    NotExecutable(String),
}

/// The executable of a command.
pub fn find_executable(command: &OsStr) -> Result<PathBuf, ProgramError> {
    let shown = command.to_string_lossy();
    if !shown.contains('/') {
        return find_in_path(command).ok_or_else(|| ProgramError::NotInPath(shown.into_owned()));
    }
    let path = PathBuf::from(command);
    match path.exists() {
        false => Err(ProgramError::Missing(shown.into_owned())),
        true if !is_executable(&path) => Err(ProgramError::NotExecutable(shown.into_owned())),
        true => Ok(path),
    }
}

fn find_in_path(command: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(command)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// The executables in a command line.
pub fn executables(command: &[OsString]) -> impl Iterator<Item = PathBuf> + '_ {
    command.iter().filter(|word| !word.to_string_lossy().starts_with('-')).filter_map(|word| find_executable(word).ok())
}

/// The name of the program that a launcher starts, or of the command itself.
pub fn program_name(command: &[OsString]) -> String {
    let started = executables(command.get(1..).unwrap_or_default()).next().or_else(|| command.first().map(PathBuf::from));
    let name = started.and_then(|path| path.file_name().map(|name| name.to_string_lossy().into_owned()));
    name.unwrap_or_else(|| "run".into())
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
        assert_eq!(program_name(&command(&["env", "-n", "4", "/bin/true", "x"])), "true");
        assert_eq!(program_name(&command(&["/bin/echo"])), "echo");
    }
}
