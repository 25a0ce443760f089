//! What is made aside: files that get their names when they are whole, and folders for what nobody needs when the command has ended.
//!
//! None of it outlives the command, however that ends: [`end`] removes what is left, whoever still works on it. Where the command was killed,
//! the next one removes it ([`sweep`]): whoever works on something holds its lock, so what nobody holds is left over.

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

/// How often something is made anew that somebody has swept away before it was locked.
const MOST_ATTEMPTS: usize = 8;
/// How often a folder is removed into which somebody still writes.
const MOST_REMOVALS: usize = 500;

/// All that is aside now.
struct Known {
    paths: BTreeSet<PathBuf>,
    /// Nothing more is made.
    is_over: bool,
}

static KNOWN: Mutex<Known> = Mutex::new(Known { paths: BTreeSet::new(), is_over: false });

fn known() -> MutexGuard<'static, Known> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file that has no name yet under which others look for it.
pub struct Aside {
    file: NamedTempFile,
    _entry: Entry,
}

/// A folder for as long as it is held.
pub struct Folder {
    folder: TempDir,
    _lock: File,
    _entry: Entry,
}

/// Something aside that is known.
struct Entry(PathBuf);

impl Drop for Entry {
    fn drop(&mut self) {
        known().paths.remove(&self.0);
    }
}

impl Aside {
    /// Makes a file whose name begins so.
    pub fn new(folder: &Path, prefix: &str, mode: u32) -> io::Result<Aside> {
        let make = || Builder::new().prefix(prefix).permissions(Permissions::from_mode(mode)).tempfile_in(folder);
        let (file, entry) = made(make, |file| Ok((file.path().to_owned(), lock(file.as_file()))))?;
        Ok(Aside { file, _entry: entry })
    }

    /// The file.
    pub fn file(&self) -> &File {
        self.file.as_file()
    }

    /// Gives it its name, whatever had that before.
    pub fn name(self, path: &Path) -> io::Result<File> {
        let file = self.file.persist(path)?;
        // Where locks are not known there is none.
        let _ = flock(&file, FlockOperation::Unlock);
        Ok(file)
    }
}

impl Folder {
    /// Makes a folder whose name begins so, in the place for what is temporary, and sweeps away those that were left there.
    pub fn new(prefix: &str) -> io::Result<Folder> {
        sweep(&std::env::temp_dir(), prefix);
        let make = || Builder::new().prefix(prefix).tempdir();
        let mut held = None;
        let (folder, entry) = made(make, |folder| {
            let file = held.insert(File::open(folder.path())?);
            Ok((folder.path().to_owned(), lock(file)))
        })?;
        Ok(Folder { folder, _lock: held.ok_or(io::ErrorKind::NotFound)?, _entry: entry })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Locks a file or a folder, if nobody else has.
fn lock(file: &File) -> Result<(), Errno> {
    flock(file, FlockOperation::NonBlockingLockExclusive)
}

/// Makes something, and lets nobody sweep it away. Where locks are not known, nobody does.
fn made<T>(
    make: impl Fn() -> io::Result<T>,
    mut lock: impl FnMut(&T) -> io::Result<(PathBuf, Result<(), Errno>)>,
) -> io::Result<(T, Entry)> {
    for _ in 0..MOST_ATTEMPTS {
        let mut known = known();
        if known.is_over {
            break;
        }
        let made = make()?;
        let (path, locked) = lock(&made)?;
        // Somebody may have found it before it was locked.
        if locked != Err(Errno::WOULDBLOCK) && path.exists() {
            known.paths.insert(path.clone());
            return Ok((made, Entry(path)));
        }
    }
    Err(io::Error::other("nothing is made aside any more"))
}

/// Removes files and folders whose names begin so and that nobody works on.
pub fn sweep(folder: &Path, prefix: &str) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix)) {
        let is_ours = entry.file_type().is_ok_and(|kind| kind.is_file() || kind.is_dir());
        // Held until it is removed: whoever makes a file of this name sees that somebody is about to.
        let Some(file) = is_ours.then(|| File::open(entry.path()).ok()).flatten() else { continue };
        if lock(&file).is_ok() {
            // What cannot be removed stays.
            let _ = remove(&entry.path());
        }
    }
}

/// Removes everything that is aside, and lets nothing more be made: the command ends.
pub fn end() {
    let mut known = known();
    known.is_over = true;
    known.paths.iter().for_each(|path| drop(remove(path)));
}

/// Removes a file, or a folder with all that is in it, also one into which somebody still writes: then it takes another attempt.
pub fn remove(path: &Path) -> io::Result<()> {
    let once = || if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    for _ in 0..MOST_REMOVALS {
        match once() {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => std::thread::sleep(Duration::from_millis(1)),
            removed => return removed,
        }
    }
    once()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_has_its_name_when_it_is_whole_and_else_there_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let (whole, given_up) = (Aside::new(folder.path(), ".a.", 0o600).unwrap(), Aside::new(folder.path(), ".a.", 0o600).unwrap());
        assert_eq!(names(folder.path()).len(), 2);
        whole.name(&folder.path().join("a")).unwrap();
        drop(given_up);
        assert_eq!(names(folder.path()), ["a"]);
        assert_eq!(fs::metadata(folder.path().join("a")).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn only_what_nobody_works_on_is_swept_away() {
        let folder = tempfile::tempdir().unwrap();
        let busy = Aside::new(folder.path(), ".a.", 0o644).unwrap();
        fs::write(folder.path().join(".a.left"), "a part of something").unwrap();
        fs::create_dir(folder.path().join(".a.folder")).unwrap();
        fs::write(folder.path().join(".a.folder").join("file"), "").unwrap();
        fs::write(folder.path().join(".b.other"), "").unwrap();
        std::os::unix::fs::symlink(folder.path().join(".b.other"), folder.path().join(".a.link")).unwrap();
        sweep(folder.path(), ".a.");
        let mut expected = vec![".a.link", ".b.other", busy.file.path().file_name().unwrap().to_str().unwrap()];
        expected.sort_unstable();
        assert_eq!(names(folder.path()), expected);
        drop(busy);
    }

    #[test]
    fn a_folder_into_which_somebody_still_writes_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("a.sin");
        for _ in 0..20 {
            fs::create_dir(&folder).unwrap();
            std::thread::scope(|threads| {
                threads.spawn(|| (0..300).for_each(|number| drop(fs::write(folder.join(number.to_string()), ""))));
                remove(&folder).unwrap();
            });
            assert!(!folder.exists());
        }
    }

    #[test]
    fn a_folder_vanishes_with_everything_in_it() {
        let folder = Folder::new("sintonia-view-test-").unwrap();
        let path = folder.path().to_owned();
        fs::write(path.join("file"), "").unwrap();
        let other = Folder::new("sintonia-view-test-").unwrap();
        assert!(path.exists(), "another one sweeps away only what was left");
        drop((folder, other));
        assert!(!path.exists());
    }
}
