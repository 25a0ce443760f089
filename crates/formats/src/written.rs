//! Files that appear only when they are complete.
//!
//! A format may consist of several files that make sense only together. They are written in a folder aside, in the same place so that
//! they can be renamed, and moved where they belong when all are there. Whatever fails before leaves nothing behind.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::Error;
use crate::error::At;

/// What an export wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The files and folders, the one to open first.
    pub files: Vec<PathBuf>,
    /// Bytes in all of them together.
    pub bytes: u64,
    /// What the format cannot hold, one sentence each.
    pub notes: Vec<String>,
}

/// A folder beside a target, where its files are written.
pub(crate) struct Aside {
    staging: TempDir,
    place: PathBuf,
}

impl Aside {
    /// Makes the folder in which `target` will be.
    pub fn beside(target: &Path) -> Result<Aside, Error> {
        let place = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned();
        let staging = tempfile::Builder::new().prefix(".sintonia-").tempdir_in(&place).at(target)?;
        Ok(Aside { staging, place })
    }

    /// Where a file of this name is written.
    pub fn file(&self, name: &str) -> PathBuf {
        self.staging.path().join(name)
    }

    /// Moves files and folders to where they belong, in this order, in place of what has their names (but no file takes the place of a
    /// folder). The last one should be the one that others are found by.
    pub fn publish(self, names: &[&str]) -> Result<Written, Error> {
        let mut written = Written::default();
        for name in names {
            let (from, to) = (self.file(name), self.place.join(name));
            written.bytes += bytes(&from).at(&from)?;
            // A folder cannot be renamed over another one; what was there goes away with the folder aside.
            if from.is_dir() && to.is_dir() {
                fs::rename(&to, self.file(&format!("{name}.replaced"))).at(&to)?;
            }
            fs::rename(&from, &to).at(&to)?;
            written.files.insert(0, to);
        }
        Ok(written)
    }
}

/// Bytes of a file, or of all files in a folder.
fn bytes(path: &Path) -> std::io::Result<u64> {
    if !path.is_dir() {
        return Ok(fs::metadata(path)?.len());
    }
    fs::read_dir(path)?.map(|entry| bytes(&entry?.path())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_appear_together_and_the_last_one_is_opened_first() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::write(folder.path().join("a/old"), "old").unwrap();
        let aside = Aside::beside(&folder.path().join("a.x")).unwrap();
        fs::write(aside.file("a.x"), "12").unwrap();
        fs::create_dir(aside.file("a")).unwrap();
        fs::write(aside.file("a").join("new"), "345").unwrap();
        let written = aside.publish(&["a", "a.x"]).unwrap();
        assert_eq!((written.files, written.bytes), (vec![folder.path().join("a.x"), folder.path().join("a")], 5));
        assert!(folder.path().join("a/new").exists() && !folder.path().join("a/old").exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left");
    }

    #[test]
    fn a_file_does_not_take_the_place_of_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a.x")).unwrap();
        let aside = Aside::beside(&folder.path().join("a.x")).unwrap();
        fs::write(aside.file("a.x"), "12").unwrap();
        assert!(aside.publish(&["a.x"]).is_err());
        assert!(folder.path().join("a.x").is_dir());
    }

    #[test]
    fn what_is_given_up_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let aside = Aside::beside(&folder.path().join("a.x")).unwrap();
        fs::write(aside.file("a.x"), "half").unwrap();
        drop(aside);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
