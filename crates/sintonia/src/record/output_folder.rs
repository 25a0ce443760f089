//! The output folder: a new one, or a recording to replace.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use sintonia_recording::definitions::LIVE_DIR;
use sintonia_recording::program_name::program_name;
use sintonia_view::temp_files;

use crate::{Error, output};

/// The minimum free space to start recording.
const MIN_FREE_BYTES: u64 = 8 << 20;

/// Creates the folder.
pub(super) fn prepare_folder(requested: Option<&Path>, command: &[OsString], force: bool) -> Result<PathBuf, Error> {
    let folder = match requested {
        Some(folder) => folder.to_owned(),
        None if force => numbered_name(&program_name(command), 1),
        None => unused_name(&program_name(command)),
    };
    output::check_replaceable(&folder, force)?;
    let failed = |source| Error::Write { path: folder.clone(), source };
    let is_full = std::fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some());
    if is_full {
        // `sintonia view` may still have it open, and write an index into it.
        temp_files::remove_with_retries(&folder).map_err(failed)?;
    }
    std::fs::create_dir_all(folder.join(LIVE_DIR)).map_err(failed)?;
    check_free_space(&folder).inspect_err(|_| remove_prepared(&folder))?;
    Ok(folder)
}

/// Removes what [`prepare_folder`] created, if the program could not be started.
pub(super) fn remove_prepared(folder: &Path) {
    let _ = std::fs::remove_dir_all(folder.join(LIVE_DIR));
    let _ = std::fs::remove_dir(folder);
}

fn unused_name(program: &str) -> PathBuf {
    (1..).map(|number| numbered_name(program, number)).find(|path| !path.exists()).expect("there is always an unused number")
}

/// `app.sin`, `app-2.sin` and so on.
fn numbered_name(program: &str, number: u32) -> PathBuf {
    PathBuf::from(if number == 1 { format!("{program}.sin") } else { format!("{program}-{number}.sin") })
}

/// Free bytes on the disk of a folder; `None` if unknown.
pub(super) fn free_bytes(folder: &Path) -> Option<u64> {
    let system = rustix::fs::statvfs(folder).ok()?;
    Some(system.f_bavail.saturating_mul(system.f_frsize))
}

fn check_free_space(folder: &Path) -> Result<(), Error> {
    let Some(room) = free_bytes(folder).filter(|room| *room < MIN_FREE_BYTES) else { return Ok(()) };
    let (shown, least) = (folder.display(), MIN_FREE_BYTES >> 20);
    Err(Error::Other(format!(
        "not enough space for a recording: {room} bytes are free at {shown}, at least {least} MiB are needed; choose another path with -o"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_no_recording_is_never_removed() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("thesis");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("chapter1"), "").unwrap();
        for force in [false, true] {
            assert!(prepare_folder(Some(&folder), &[], force).is_err());
        }
        assert!(folder.join("chapter1").exists());
    }

    #[test]
    fn a_recording_is_replaced_only_when_asked() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("a.sin");
        assert!(prepare_folder(Some(&folder), &[], false).is_ok());
        assert!(prepare_folder(Some(&folder), &[], false).unwrap_err().to_string().contains("--force"));
        assert!(prepare_folder(Some(&folder), &[], true).is_ok());
    }
}
