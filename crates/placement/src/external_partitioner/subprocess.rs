//! Runs an external partitioner in a temporary directory, with a deadline.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Poll interval for the end of a program.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Maximum number of characters of a program's output in an error message.
const MAX_OUTPUT_CHARS: usize = 400;

/// Why an external partitioner gave no placement.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program is not installed.
    #[error("{0} is not in PATH")]
    NotInstalled(&'static str),
    /// There are fewer slots than ranks.
    #[error("{ranks} ranks for {slots} slots")]
    TooManyRanks {
        /// Number of ranks.
        ranks: usize,
        /// Number of slots.
        slots: u32,
    },
    /// The program could not be started, or a file not be written or read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The program or the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The program failed.
    #[error("{program} failed with {status}: {said}")]
    Failed {
        /// The program.
        program: String,
        /// Its exit status.
        status: ExitStatus,
        /// The end of its output.
        said: String,
    },
    /// The program exceeded its time limit.
    #[error("{program} exceeded its time limit and was killed")]
    TooLong {
        /// The program.
        program: String,
    },
    /// The program wrote unexpected output.
    #[error("{program} did not write {expected}")]
    Unexpected {
        /// The program.
        program: String,
        /// What was expected.
        expected: &'static str,
    },
    /// The domain sizes differ too much for the program's input format.
    #[error("hosts differ too much in size for {program}")]
    TooUneven {
        /// The program.
        program: String,
    },
}

/// The program with this name in PATH.
pub(super) fn find_in_path(name: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(name)).find(is_program)
}

/// A program, its working directory, and its deadline.
pub(super) struct PartitionerRun {
    program: PathBuf,
    dir: TempDir,
    deadline: Instant,
}

impl PartitionerRun {
    /// Creates the directory, which is removed on drop.
    pub(super) fn new(program: PathBuf, end: Instant) -> Result<PartitionerRun, Error> {
        let index = TempDir::new().map_err(|source| Error::Io { path: std::env::temp_dir(), source })?;
        Ok(PartitionerRun { program, dir: index, deadline: end })
    }

    /// Writes a file in the directory.
    pub(super) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> Result<(), Error> {
        let path = self.dir.path().join(name);
        fs::write(&path, content).map_err(|source| Error::Io { path, source })
    }

    /// The numbers in a file of the directory; `count` of them are required, `expected` describes them for the error message.
    pub(super) fn read_numbers(&self, name: &str, count: usize, expected: &'static str) -> Result<Vec<u32>, Error> {
        let path = self.dir.path().join(name);
        let text = fs::read(&path).map_err(|source| Error::Io { path, source })?;
        let numbers = String::from_utf8_lossy(&text).split_whitespace().map(str::parse).collect::<Result<Vec<u32>, _>>();
        numbers.ok().filter(|numbers| numbers.len() == count).ok_or_else(|| self.unexpected(expected))
    }

    /// Runs the program until it ends or the deadline passes; returns the end of its output.
    pub(super) fn run(&self, words: &[impl AsRef<OsStr>]) -> Result<String, Error> {
        let path = self.dir.path().join("said");
        let refused = |path: &Path| {
            let path = path.to_owned();
            |source| Error::Io { path, source }
        };
        let said = File::create(&path).map_err(refused(&path))?;
        let also_said = said.try_clone().map_err(refused(&path))?;
        let mut command = Command::new(&self.program);
        command.args(words).current_dir(self.dir.path()).stdin(Stdio::null()).stdout(said).stderr(also_said);
        let mut child = command.spawn().map_err(refused(&self.program))?;
        let status = self.wait(&mut child).map_err(refused(&self.program))?;
        let said = output_tail(&fs::read(&path).map_err(refused(&path))?);
        match status {
            Some(status) if status.success() => Ok(said),
            Some(status) => Err(Error::Failed { program: self.program_name(), status, said }),
            None => Err(Error::TooLong { program: self.program_name() }),
        }
    }

    /// The exit status of a program; `None` if it was killed.
    fn wait(&self, child: &mut Child) -> io::Result<Option<ExitStatus>> {
        while Instant::now() < self.deadline {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        child.kill()?;
        child.wait()?;
        Ok(None)
    }

    /// The error for unexpected output.
    pub(super) fn unexpected(&self, expected: &'static str) -> Error {
        Error::Unexpected { program: self.program_name(), expected }
    }

    /// The name of the program.
    pub(super) fn program_name(&self) -> String {
        self.program.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// The end of the output, on one line.
fn output_tail(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let skipped = line.chars().count().saturating_sub(MAX_OUTPUT_CHARS);
    line.chars().skip(skipped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(seconds: u64) -> PartitionerRun {
        PartitionerRun::new(find_in_path("sh").expect("there is a shell"), Instant::now() + Duration::from_secs(seconds)).expect("a folder")
    }

    #[test]
    fn a_program_that_fails_is_told_with_its_words() {
        let error = shell(60).run(&["-c", "echo one; echo 'no such graph' >&2; exit 3"]).unwrap_err();
        assert_eq!(error.to_string(), "sh failed with exit status: 3: one no such graph");
    }

    #[test]
    fn a_program_that_takes_too_long_is_ended() {
        assert!(matches!(shell(0).run(&["-c", "exec sleep 600"]), Err(Error::TooLong { program }) if program == "sh"));
    }

    #[test]
    fn files_are_in_a_folder_that_vanishes() {
        let folder = shell(60);
        folder.write("in", "1 2\n3").unwrap();
        folder.run(&["-c", "cat in > out"]).unwrap();
        assert_eq!(folder.read_numbers("out", 3, "three numbers").unwrap(), [1, 2, 3]);
        let four = folder.read_numbers("out", 4, "four numbers").unwrap_err();
        assert_eq!(four.to_string(), "sh did not write four numbers");
        let path = folder.dir.path().to_owned();
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn a_program_that_is_not_there_is_not_found() {
        assert_eq!(find_in_path("no-such-program-anywhere"), None);
    }
}
