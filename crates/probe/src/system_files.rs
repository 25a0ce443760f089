//! The files in which the kernel describes the host and the process. Tests put other hosts in their place.

use std::fs;
use std::os::unix::fs::MetadataExt;

/// Reads files of `/proc` and `/sys`. A file that is missing or may not be read is `None`: no host has all of them.
pub(crate) trait SystemFiles {
    /// Contents of a file.
    fn read(&self, path: &str) -> Option<String>;

    /// Inode number of a directory.
    fn inode(&self, path: &str) -> Option<u64>;

    /// The only number in a file.
    fn number(&self, path: &str) -> Option<f64> {
        self.read(path)?.trim().parse().ok()
    }
}

/// The files of this host.
pub(crate) struct KernelFiles;

impl SystemFiles for KernelFiles {
    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(path).ok()
    }

    fn inode(&self, path: &str) -> Option<u64> {
        Some(fs::metadata(path).ok()?.ino())
    }
}

/// Files of another host, for tests.
#[cfg(test)]
pub(crate) struct TestFiles(pub Vec<(String, String)>);

#[cfg(test)]
impl TestFiles {
    pub(crate) fn new(files: &[(&str, &str)]) -> TestFiles {
        TestFiles(files.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect())
    }
}

#[cfg(test)]
impl SystemFiles for TestFiles {
    fn read(&self, path: &str) -> Option<String> {
        self.0.iter().find(|(known, _)| known == path).map(|(_, text)| text.clone())
    }

    fn inode(&self, _: &str) -> Option<u64> {
        Some(77)
    }
}
