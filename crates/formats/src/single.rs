//! Formats that are one file: written aside like all others, or straight into a device or a pipe, which must stay what it is.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::error::At;
use crate::written::Aside;
use crate::{Error, Written};

/// Writes a file that is there completely or not at all.
pub(crate) fn write(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> Result<(), Error>) -> Result<Written, Error> {
    let refused = |what: &str| Error::InTheWay { path: path.to_owned(), what: what.into() };
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => return Err(refused("is a folder")),
        Ok(there) if !there.is_file() => {
            filled(open_device(path).at(path)?, path, fill)?;
            return Ok(Written { files: vec![path.to_owned()], ..Written::default() });
        }
        _ => {}
    }
    let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(|| refused("is no name for a file"))?;
    let aside = Aside::beside(path)?;
    filled(File::create(aside.file(name)).at(path)?, path, fill)?;
    aside.publish(&[name])
}

/// Opens a device or a pipe to be written. Standard output is open already: opened once more under its name, it would wait for a reader,
/// though the one that it had may be gone.
pub fn open_device(path: &Path) -> io::Result<File> {
    let standard = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let identity = |file: fs::Metadata| (file.dev(), file.ino());
    let is_standard = identity(fs::metadata(path)?) == identity(standard.metadata()?);
    if is_standard { Ok(standard) } else { OpenOptions::new().write(true).open(path) }
}

fn filled(file: File, path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> Result<(), Error>) -> Result<(), Error> {
    let mut out = BufWriter::with_capacity(1 << 20, file);
    fill(&mut out)?;
    out.flush().at(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_stays_a_device() {
        let written = write(Path::new("/dev/null"), |out| out.write_all(b"gone").at(Path::new("/dev/null"))).unwrap();
        assert_eq!(written.bytes, 0);
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn a_folder_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(write(folder.path(), |_| Ok(())), Err(Error::InTheWay { .. })));
        assert!(folder.path().is_dir());
    }

    #[test]
    fn a_file_that_cannot_be_filled_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        assert!(matches!(write(&path, |_| Err(Error::OnlySums)), Err(Error::OnlySums)));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
