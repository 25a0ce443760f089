//! Formats that are a single file: written atomically, or directly to a device or pipe.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::atomic_output::AtomicOutput;
use crate::error::PathContext;
use crate::{Error, ExportSummary};

/// Writes a file atomically.
pub(crate) fn write(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> Result<(), Error>) -> Result<ExportSummary, Error> {
    let refused = |what: &str| Error::InvalidOutputPath { path: path.to_owned(), what: what.into() };
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => return Err(refused("is a folder")),
        Ok(metadata) if !metadata.is_file() => {
            write_to(open_device(path).with_path(path)?, path, fill)?;
            return Ok(ExportSummary { files: vec![path.to_owned()], ..ExportSummary::default() });
        }
        _ => {}
    }
    let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(|| refused("is not a valid file name"))?;
    let output = AtomicOutput::new(path)?;
    write_to(File::create(output.staged_path(name)).with_path(path)?, path, fill)?;
    output.commit(&[name])
}

/// Opens a device or pipe for writing. Standard output is duplicated instead: opening a pipe again by name would block until it has a
/// reader, and its reader may be gone.
pub fn open_device(path: &Path) -> io::Result<File> {
    let standard = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let identity = |file: fs::Metadata| (file.dev(), file.ino());
    let is_standard = identity(fs::metadata(path)?) == identity(standard.metadata()?);
    if is_standard { Ok(standard) } else { OpenOptions::new().write(true).open(path) }
}

fn write_to(file: File, path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> Result<(), Error>) -> Result<(), Error> {
    let mut out = BufWriter::with_capacity(1 << 20, file);
    fill(&mut out)?;
    out.flush().with_path(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_stays_a_device() {
        let written = write(Path::new("/dev/null"), |out| out.write_all(b"gone").with_path(Path::new("/dev/null"))).unwrap();
        assert_eq!(written.bytes, 0);
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn a_folder_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(write(folder.path(), |_| Ok(())), Err(Error::InvalidOutputPath { .. })));
        assert!(folder.path().is_dir());
    }

    #[test]
    fn a_file_that_cannot_be_filled_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        assert!(matches!(write(&path, |_| Err(Error::ProfileOnly)), Err(Error::ProfileOnly)));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
