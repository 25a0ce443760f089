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

/// Programs that start the one that follows them; with a version or the name of an MPI library after the name, too.
const LAUNCHERS: [&str; 20] = [
    "aprun", "env", "flux", "jsrun", "mpiexec", "mpirun", "nice", "nohup", "numactl", "orterun", "perf", "prterun", "prun", "setarch",
    "srun", "stdbuf", "strace", "taskset", "time", "timeout",
];
/// Programs that run the script that follows them.
const INTERPRETERS: [&str; 11] = ["bash", "dash", "julia", "lua", "octave", "perl", "python", "pypy", "Rscript", "ruby", "sh"];
/// Endings of scripts.
const SCRIPT_ENDINGS: [&str; 8] = ["R", "jl", "lua", "m", "pl", "py", "rb", "sh"];

/// The name of the program that a command runs in the end, without the ending of a script.
pub fn program_name(command: &[OsString]) -> String {
    // The first word need not exist any more, or here.
    let is_program =
        |(index, word): &(usize, &OsString)| !word.to_string_lossy().starts_with('-') && (*index == 0 || find_executable(word).is_ok());
    let mut program = None;
    for (index, word) in command.iter().enumerate().filter(is_program) {
        let name = file_name(word);
        let is_launcher = is_one_of(&name, &LAUNCHERS);
        let script = if is_one_of(&name, &INTERPRETERS) { script_name(&command[index + 1..]) } else { None };
        program = Some(script.unwrap_or(name));
        if !is_launcher {
            break;
        }
    }
    program.filter(|name| !name.is_empty()).map_or_else(|| "run".into(), |name| without_script_ending(&name).to_owned())
}

/// Whether a name is in a list, perhaps followed by a version or a library: `python3.11`, `mpirun.openmpi`.
fn is_one_of(name: &str, list: &[&str]) -> bool {
    let is_suffix = |rest: &str| rest.is_empty() || rest.starts_with(|first: char| first == '.' || first.is_ascii_digit());
    list.iter().any(|known| name.strip_prefix(known).is_some_and(is_suffix))
}

/// The script or module among the arguments of an interpreter; `None` if the program is in the arguments themselves (`-c`).
fn script_name(arguments: &[OsString]) -> Option<String> {
    let is_file = |word: &&OsString| Path::new(word).is_file() || is_script(&file_name(word));
    let before_code: Vec<&OsString> = arguments.iter().take_while(|word| *word != "-c").collect();
    let script = before_code.iter().copied().find(is_file);
    let module = || before_code.iter().position(|word| *word == "-m").and_then(|index| before_code.get(index + 1).copied());
    script.or_else(module).map(|word| file_name(word))
}

fn file_name(word: &OsStr) -> String {
    Path::new(word).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn is_script(name: &str) -> bool {
    without_script_ending(name) != name
}

fn without_script_ending(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && SCRIPT_ENDINGS.contains(&ending) => stem,
        _ => name,
    }
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
        for (line, name) in [
            ("env X=1 timeout -k 9 100 /bin/true x", "true"),
            ("mpirun.gone -n 4 /bin/true : -n 2 /bin/echo", "true"),
            ("mpirun -n 2 sh solver.sh 10", "solver"),
            ("mpirun -n 2 /usr/bin/env sh -u dir/app.py --size 10", "app"),
            ("sh -c true", "sh"),
            ("python3 -m mpi4py app.py", "app"),
            ("python3 -m package run", "package"),
            ("./job.sh", "job"),
            ("env", "env"),
            ("-", "run"),
            ("", "run"),
        ] {
            assert_eq!(program_name(&command(&line.split_whitespace().collect::<Vec<_>>())), name, "{line}");
        }
    }
}
