//! Temporary files and directories: files that are renamed when complete, and directories that are removed when the command ends.
//!
//! [`remove_all`] removes them when the command ends, even while they are still in use. If the command was killed, the next one removes
//! them ([`remove_stale`]): files in use are locked, so unlocked ones are stale.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use tempfile::{Builder, NamedTempFile, TempDir};

/// Attempts to create a file that another process removes before it is locked.
const MAX_CREATE_ATTEMPTS: usize = 8;
/// Attempts to remove a directory that is still being written to.
const MAX_REMOVE_ATTEMPTS: usize = 500;

/// All temporary paths of this process.
struct TempRegistry {
    paths: BTreeSet<PathBuf>,
    /// No more files may be created.
    is_closed: bool,
}

static TEMP_REGISTRY: Mutex<TempRegistry> = Mutex::new(TempRegistry { paths: BTreeSet::new(), is_closed: false });

fn temp_registry() -> MutexGuard<'static, TempRegistry> {
    TEMP_REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A temporary file that is renamed when complete.
pub struct LockedTempFile {
    file: NamedTempFile,
    _entry: RegisteredPath,
}

/// A temporary directory that is removed when dropped.
pub struct LockedTempDir {
    dir: TempDir,
    _lock: File,
    _entry: RegisteredPath,
}

/// A path in the registry, removed from it when dropped.
struct RegisteredPath(PathBuf);

impl Drop for RegisteredPath {
    fn drop(&mut self) {
        temp_registry().paths.remove(&self.0);
    }
}

impl LockedTempFile {
    /// Creates a file with a name prefix.
    pub fn new(dir: &Path, prefix: &str, mode: u32) -> io::Result<LockedTempFile> {
        let create = || Builder::new().prefix(prefix).permissions(Permissions::from_mode(mode)).tempfile_in(dir);
        let (file, entry) = create_locked(create, |file| Ok((file.path().to_owned(), try_lock(file.as_file()))))?;
        Ok(LockedTempFile { file, _entry: entry })
    }

    /// The open file.
    pub fn file(&self) -> &File {
        self.file.as_file()
    }

    /// Renames the file, replacing an existing one.
    pub fn persist(self, path: &Path) -> io::Result<File> {
        let file = self.file.persist(path)?;
        // File systems without lock support did not lock it.
        let _ = flock(&file, FlockOperation::Unlock);
        Ok(file)
    }
}

impl LockedTempDir {
    /// Creates a directory with a name prefix in the system's temporary directory, after removing stale ones.
    pub fn new(prefix: &str) -> io::Result<LockedTempDir> {
        remove_stale(&std::env::temp_dir(), prefix);
        let create = || Builder::new().prefix(prefix).tempdir();
        let mut locked_dir = None;
        let (dir, entry) = create_locked(create, |dir| {
            let file = locked_dir.insert(File::open(dir.path())?);
            Ok((dir.path().to_owned(), try_lock(file)))
        })?;
        Ok(LockedTempDir { dir, _lock: locked_dir.ok_or(io::ErrorKind::NotFound)?, _entry: entry })
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// Locks a file or directory, without blocking.
fn try_lock(file: &File) -> Result<(), Errno> {
    flock(file, FlockOperation::NonBlockingLockExclusive)
}

/// Creates and locks a file or directory, so that no other process removes it as stale. Without lock support, none would.
fn create_locked<T>(
    create: impl Fn() -> io::Result<T>,
    mut lock: impl FnMut(&T) -> io::Result<(PathBuf, Result<(), Errno>)>,
) -> io::Result<(T, RegisteredPath)> {
    for _ in 0..MAX_CREATE_ATTEMPTS {
        let mut registry = temp_registry();
        if registry.is_closed {
            break;
        }
        let created = create()?;
        let (path, locked) = lock(&created)?;
        // Another process may have found it before it was locked.
        if locked != Err(Errno::WOULDBLOCK) && path.exists() {
            registry.paths.insert(path.clone());
            return Ok((created, RegisteredPath(path)));
        }
    }
    Err(io::Error::other("no temporary files can be created: the command is ending"))
}

/// Removes files and directories with a name prefix that are not locked.
pub fn remove_stale(dir: &Path, prefix: &str) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix)) {
        let is_ours = entry.file_type().is_ok_and(|kind| kind.is_file() || kind.is_dir());
        // Locked until it is removed, so that a process creating the same name notices.
        let Some(file) = is_ours.then(|| File::open(entry.path()).ok()).flatten() else { continue };
        if try_lock(&file).is_ok() {
            // Best effort.
            let _ = remove_with_retries(&entry.path());
        }
    }
}

/// Removes all temporary files and prevents new ones. Called when the command ends.
pub fn remove_all() {
    let mut registry = temp_registry();
    registry.is_closed = true;
    registry.paths.iter().for_each(|path| drop(remove_with_retries(path)));
}

/// Removes a file or directory tree, retrying while a directory is still being written to.
pub fn remove_with_retries(path: &Path) -> io::Result<()> {
    let attempt = || if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    for _ in 0..MAX_REMOVE_ATTEMPTS {
        match attempt() {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => std::thread::sleep(Duration::from_millis(1)),
            removed => return removed,
        }
    }
    attempt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_renamed_when_complete_and_removed_otherwise() {
        let dir = tempfile::tempdir().unwrap();
        let (whole, given_up) =
            (LockedTempFile::new(dir.path(), ".a.", 0o600).unwrap(), LockedTempFile::new(dir.path(), ".a.", 0o600).unwrap());
        assert_eq!(names(dir.path()).len(), 2);
        whole.persist(&dir.path().join("a")).unwrap();
        drop(given_up);
        assert_eq!(names(dir.path()), ["a"]);
        assert_eq!(fs::metadata(dir.path().join("a")).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn only_unlocked_files_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let busy = LockedTempFile::new(dir.path(), ".a.", 0o644).unwrap();
        fs::write(dir.path().join(".a.left"), "a part of something").unwrap();
        fs::create_dir(dir.path().join(".a.folder")).unwrap();
        fs::write(dir.path().join(".a.folder").join("file"), "").unwrap();
        fs::write(dir.path().join(".b.other"), "").unwrap();
        std::os::unix::fs::symlink(dir.path().join(".b.other"), dir.path().join(".a.link")).unwrap();
        remove_stale(dir.path(), ".a.");
        let mut expected = vec![".a.link", ".b.other", busy.file.path().file_name().unwrap().to_str().unwrap()];
        expected.sort_unstable();
        assert_eq!(names(dir.path()), expected);
        drop(busy);
    }

    #[test]
    fn a_directory_is_removed_while_it_is_being_written_to() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("a.sin");
        for _ in 0..20 {
            fs::create_dir(&dir).unwrap();
            std::thread::scope(|threads| {
                threads.spawn(|| (0..300).for_each(|number| drop(fs::write(dir.join(number.to_string()), ""))));
                remove_with_retries(&dir).unwrap();
            });
            assert!(!dir.exists());
        }
    }

    #[test]
    fn a_temporary_directory_is_removed_with_its_contents() {
        let dir = LockedTempDir::new("sintonia-view-test-").unwrap();
        let path = dir.path().to_owned();
        fs::write(path.join("file"), "").unwrap();
        let other = LockedTempDir::new("sintonia-view-test-").unwrap();
        assert!(path.exists(), "another one sweeps away only what was left");
        drop((dir, other));
        assert!(!path.exists());
    }
}
