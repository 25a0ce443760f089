//! Atomic output of one or several files.
//!
//! The files of a format are written to a staging folder on the same file system and renamed into place when all are complete. A failure
//! leaves nothing behind.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::Error;
use crate::error::PathContext;

/// Summary of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportSummary {
    /// The files and folders, the main one first.
    pub files: Vec<PathBuf>,
    /// Total size in bytes.
    pub bytes: u64,
    /// What the format cannot represent, one sentence each.
    pub notes: Vec<String>,
}

/// A staging folder beside the output path.
pub(crate) struct AtomicOutput {
    staging: TempDir,
    target_dir: PathBuf,
}

impl AtomicOutput {
    /// Creates the staging folder in the folder of `target`.
    pub(crate) fn new(target: &Path) -> Result<AtomicOutput, Error> {
        let target_dir = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned();
        let staging = tempfile::Builder::new().prefix(".sintonia-").tempdir_in(&target_dir).with_path(target)?;
        Ok(AtomicOutput { staging, target_dir })
    }

    /// Path of a file in the staging folder.
    pub(crate) fn staged_path(&self, name: &str) -> PathBuf {
        self.staging.path().join(name)
    }

    /// Moves files and folders into place, in this order, replacing existing ones (but a file does not replace a folder). The main file
    /// should come last.
    pub(crate) fn commit(self, names: &[&str]) -> Result<ExportSummary, Error> {
        let mut written = ExportSummary::default();
        for name in names {
            let (from, to) = (self.staged_path(name), self.target_dir.join(name));
            written.bytes += total_bytes(&from).with_path(&from)?;
            // A folder cannot be renamed over another one; the old one is removed with the staging folder.
            if from.is_dir() && to.is_dir() {
                fs::rename(&to, self.staged_path(&format!("{name}.replaced"))).with_path(&to)?;
            }
            fs::rename(&from, &to).with_path(&to)?;
            written.files.insert(0, to);
        }
        Ok(written)
    }
}

/// Size of a file, or of all files in a folder.
fn total_bytes(path: &Path) -> std::io::Result<u64> {
    if !path.is_dir() {
        return Ok(fs::metadata(path)?.len());
    }
    fs::read_dir(path)?.map(|entry| total_bytes(&entry?.path())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_appear_together_and_the_last_one_is_opened_first() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::write(folder.path().join("a/old"), "old").unwrap();
        let output = AtomicOutput::new(&folder.path().join("a.x")).unwrap();
        fs::write(output.staged_path("a.x"), "12").unwrap();
        fs::create_dir(output.staged_path("a")).unwrap();
        fs::write(output.staged_path("a").join("new"), "345").unwrap();
        let written = output.commit(&["a", "a.x"]).unwrap();
        assert_eq!((written.files, written.bytes), (vec![folder.path().join("a.x"), folder.path().join("a")], 5));
        assert!(folder.path().join("a/new").exists() && !folder.path().join("a/old").exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left");
    }

    #[test]
    fn a_file_does_not_replace_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a.x")).unwrap();
        let output = AtomicOutput::new(&folder.path().join("a.x")).unwrap();
        fs::write(output.staged_path("a.x"), "12").unwrap();
        assert!(output.commit(&["a.x"]).is_err());
        assert!(folder.path().join("a.x").is_dir());
    }

    #[test]
    fn what_is_given_up_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let output = AtomicOutput::new(&folder.path().join("a.x")).unwrap();
        fs::write(output.staged_path("a.x"), "half").unwrap();
        drop(output);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
