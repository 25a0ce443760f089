//! Output to standard output, or to a file that appears only when it is complete.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde::Serialize;
use sintonia_formats::open_device;
use sintonia_recording::definitions::LIVE_DIR;
use sintonia_recording::header;

use crate::Error;

/// Writes to standard output; a closed pipe is not an error.
pub(crate) fn write_stdout<E: Into<Error>>(write: impl FnOnce(&mut dyn Write) -> Result<(), E>) -> Result<(), Error> {
    let mut out = BufWriter::new(io::stdout().lock());
    match write(&mut out).map_err(Into::into).and_then(|()| Ok(out.flush()?)) {
        Err(error) if error.is_broken_pipe() => Ok(()),
        result => result,
    }
}

/// Writes a value as one line of JSON.
pub(crate) fn write_json_line(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    writeln!(out)
}

/// Writes a file atomically (temporary file and rename).
pub(crate) fn write_file(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
    let written = if is_special_file(path) { write_in_place(path, write) } else { write_atomically(path, write) };
    written.map_err(|source| Error::Write { path: path.to_owned(), source })
}

/// Checks that a file can be written, before any work is done.
pub(crate) fn check_writable(path: &Path) -> Result<(), Error> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder.filter(|folder| !folder.is_dir()) {
        _ if path.is_dir() => Err(Error::Other(format!("{} is a directory: give a file name", path.display()))),
        Some(folder) => Err(Error::Other(format!("cannot write {}: no directory {}", path.display(), folder.display()))),
        None => Ok(()),
    }
}

/// Checks that a new recording may be written to this path. An empty directory is fine; only recordings, sealed or not, are replaced, and only
/// with --force.
pub(crate) fn check_replaceable(recording: &Path, force: bool) -> Result<(), Error> {
    let refused = |why: &str| Err(Error::Other(format!("{} {why}", recording.display())));
    let is_empty = || fs::read_dir(recording).is_ok_and(|mut entries| entries.next().is_none());
    let is_recording = || recording.join(header::FILE_NAME).exists() || recording.join(LIVE_DIR).is_dir();
    match recording {
        path if !path.exists() => Ok(()),
        path if !path.is_dir() => refused("is a file: choose another name with -o"),
        _ if is_empty() => Ok(()),
        _ if !is_recording() => refused("is not a recording, so it is not replaced: choose another name with -o"),
        _ if !force => refused("already exists: choose another name with -o, or replace it with --force"),
        _ => Ok(()),
    }
}

/// Whether the path is a device, a pipe or the like, which must not be replaced.
fn is_special_file(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| !metadata.is_file())
}

fn write_in_place(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(open_device(path)?);
    write(&mut out)?;
    out.flush()
}

fn write_atomically(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Like any new file, its permissions follow the umask.
    let permissions = fs::Permissions::from_mode(0o666);
    let mut out = BufWriter::new(tempfile::Builder::new().permissions(permissions).tempfile_in(folder)?);
    write(&mut out)?;
    out.into_inner()?.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_there_completely_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.graph");
        let failed = write_file(&path, |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("no more"))
        });
        assert_eq!(failed.unwrap_err().to_string(), format!("cannot write {}: no more", path.display()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        write_file(&path, |out| out.write_all(b"whole")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
    }

    #[test]
    fn nothing_but_a_recording_is_replaced_and_that_only_when_forced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sin");
        let refused = |force| check_replaceable(&path, force).unwrap_err().to_string();
        assert!(check_replaceable(&path, false).is_ok(), "there is nothing");
        fs::write(&path, "").unwrap();
        assert!(refused(true).contains("is a file"));
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(check_replaceable(&path, false).is_ok(), "an empty folder");
        fs::write(path.join("thesis.tex"), "").unwrap();
        assert!(refused(true).contains("is not a recording"));
        fs::create_dir(path.join(LIVE_DIR)).unwrap();
        assert!(refused(false).contains("--force"));
        assert!(check_replaceable(&path, true).is_ok(), "not sealed yet");
        fs::remove_dir(path.join(LIVE_DIR)).unwrap();
        fs::write(path.join(header::FILE_NAME), "{}").unwrap();
        assert!(refused(false).contains("--force"));
        assert!(check_replaceable(&path, true).is_ok(), "sealed");
    }

    #[test]
    fn a_device_stays_a_device() {
        write_file(Path::new("/dev/null"), |out| out.write_all(b"gone")).unwrap();
        assert!(is_special_file(Path::new("/dev/null")));
    }
}
