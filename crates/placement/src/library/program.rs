//! Running a program that partitions: in a folder of its own that vanishes, for no longer than until a moment.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How often one looks whether a program has ended.
const GLANCE: Duration = Duration::from_millis(1);

/// So much of what a program said is told.
const SAID: usize = 400;

/// Why another program gave no placement.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program is not installed.
    #[error("{0} is not in PATH")]
    NotThere(&'static str),
    /// There is not room for all ranks.
    #[error("there are {ranks} ranks for {slots} slots")]
    TooManyRanks {
        /// How many ranks there are.
        ranks: usize,
        /// How many slots there are.
        slots: u32,
    },
    /// The program could not be started, or its files not be written or read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The program or the file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The program ended with an error.
    #[error("{program} ended with {status}: {said}")]
    Failed {
        /// The program.
        program: String,
        /// How it ended.
        status: ExitStatus,
        /// What it said last.
        said: String,
    },
    /// The program did not end in time.
    #[error("{program} took too long and was ended")]
    TooLong {
        /// The program.
        program: String,
    },
    /// The program wrote something else than was asked for.
    #[error("{program} did not write {expected}")]
    Unexpected {
        /// The program.
        program: String,
        /// What was expected.
        expected: &'static str,
    },
    /// Domains differ so much in size that the program cannot be told.
    #[error("hosts differ too much in size for {program}")]
    TooUneven {
        /// The program.
        program: String,
    },
}

/// The program of this name in PATH.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(name)).find(is_program)
}

/// A program, the folder it works in, and when its time is over.
pub(super) struct Folder {
    program: PathBuf,
    place: TempDir,
    end: Instant,
}

impl Folder {
    /// A new folder, which is removed with everything in it.
    pub(super) fn new(program: PathBuf, end: Instant) -> Result<Folder, Error> {
        let place = TempDir::new().map_err(|source| Error::Io { path: std::env::temp_dir(), source })?;
        Ok(Folder { program, place, end })
    }

    /// Writes a file of the folder.
    pub(super) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> Result<(), Error> {
        let path = self.place.path().join(name);
        fs::write(&path, content).map_err(|source| Error::Io { path, source })
    }

    /// The numbers in a file of the folder; they must be so many, and what they should be is told where they are not.
    pub(super) fn numbers(&self, name: &str, count: usize, expected: &'static str) -> Result<Vec<u32>, Error> {
        let path = self.place.path().join(name);
        let text = fs::read(&path).map_err(|source| Error::Io { path, source })?;
        let numbers = String::from_utf8_lossy(&text).split_whitespace().map(str::parse).collect::<Result<Vec<u32>, _>>();
        numbers.ok().filter(|numbers| numbers.len() == count).ok_or_else(|| self.unexpected(expected))
    }

    /// Runs the program until it ends or its time is over, and gives the end of what it said.
    pub(super) fn run(&self, words: &[impl AsRef<OsStr>]) -> Result<String, Error> {
        let path = self.place.path().join("said");
        let refused = |path: &Path| {
            let path = path.to_owned();
            |source| Error::Io { path, source }
        };
        let said = File::create(&path).map_err(refused(&path))?;
        let also_said = said.try_clone().map_err(refused(&path))?;
        let mut command = Command::new(&self.program);
        command.args(words).current_dir(self.place.path()).stdin(Stdio::null()).stdout(said).stderr(also_said);
        let mut child = command.spawn().map_err(refused(&self.program))?;
        let status = self.wait(&mut child).map_err(refused(&self.program))?;
        let said = last(&fs::read(&path).map_err(refused(&path))?);
        match status {
            Some(status) if status.success() => Ok(said),
            Some(status) => Err(Error::Failed { program: self.name(), status, said }),
            None => Err(Error::TooLong { program: self.name() }),
        }
    }

    /// How a program ended; nothing if it had to be ended.
    fn wait(&self, child: &mut Child) -> io::Result<Option<ExitStatus>> {
        while Instant::now() < self.end {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status));
            }
            std::thread::sleep(GLANCE);
        }
        child.kill()?;
        child.wait()?;
        Ok(None)
    }

    /// That the program wrote something else.
    pub(super) fn unexpected(&self, expected: &'static str) -> Error {
        Error::Unexpected { program: self.name(), expected }
    }

    /// The name of the program.
    pub(super) fn name(&self) -> String {
        self.program.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// The end of what was said, in one line.
fn last(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let skipped = line.chars().count().saturating_sub(SAID);
    line.chars().skip(skipped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(seconds: u64) -> Folder {
        Folder::new(find("sh").expect("there is a shell"), Instant::now() + Duration::from_secs(seconds)).expect("a folder")
    }

    #[test]
    fn a_program_that_fails_is_told_with_its_words() {
        let error = shell(60).run(&["-c", "echo one; echo 'no such graph' >&2; exit 3"]).unwrap_err();
        assert_eq!(error.to_string(), "sh ended with exit status: 3: one no such graph");
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
        assert_eq!(folder.numbers("out", 3, "three numbers").unwrap(), [1, 2, 3]);
        let four = folder.numbers("out", 4, "four numbers").unwrap_err();
        assert_eq!(four.to_string(), "sh did not write four numbers");
        let path = folder.place.path().to_owned();
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn a_program_that_is_not_there_is_not_found() {
        assert_eq!(find("no-such-program-anywhere"), None);
    }
}
