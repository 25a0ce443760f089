//! The folder to record into: a new one, or a recording that may be replaced.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use sintonia_recording::definitions::LIVE_FOLDER;
use sintonia_view::aside;

use super::program;
use crate::{Error, output};

/// Room without which recording is not begun.
const LEAST_ROOM: u64 = 8 << 20;

/// Makes the folder.
pub fn prepare(asked: Option<&Path>, command: &[OsString], force: bool) -> Result<PathBuf, Error> {
    let folder = match asked {
        Some(folder) => folder.to_owned(),
        None => free_name(&program::name(command)),
    };
    output::may_replace(&folder, force)?;
    let failed = |source| Error::Write { path: folder.clone(), source };
    let is_full = std::fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some());
    if is_full {
        // `sintonia view` may still show it, and write an index into it.
        aside::remove(&folder).map_err(failed)?;
    }
    std::fs::create_dir_all(folder.join(LIVE_FOLDER)).map_err(failed)?;
    enough_room(&folder).inspect_err(|_| withdraw(&folder))?;
    Ok(folder)
}

/// Takes back what [`prepare`] made, when the program could not even be started.
pub fn withdraw(folder: &Path) {
    let _ = std::fs::remove_dir_all(folder.join(LIVE_FOLDER));
    let _ = std::fs::remove_dir(folder);
}

fn free_name(program: &str) -> PathBuf {
    let first = PathBuf::from(format!("{program}.sin"));
    let numbered = (2..).map(|number| PathBuf::from(format!("{program}-{number}.sin")));
    std::iter::once(first).chain(numbered).find(|path| !path.exists()).expect("numbers do not end")
}

fn enough_room(folder: &Path) -> Result<(), Error> {
    let Ok(system) = rustix::fs::statvfs(folder) else { return Ok(()) };
    let room = system.f_bavail.saturating_mul(system.f_frsize);
    if room >= LEAST_ROOM {
        return Ok(());
    }
    let (shown, least) = (folder.display(), LEAST_ROOM >> 20);
    Err(Error::Other(format!(
        "no room for a recording: {room} bytes are free at {shown}, at least {least} MiB are needed; choose another place with -o"
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
            assert!(prepare(Some(&folder), &[], force).is_err());
        }
        assert!(folder.join("chapter1").exists());
    }

    #[test]
    fn a_recording_is_replaced_only_when_asked() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("a.sin");
        assert!(prepare(Some(&folder), &[], false).is_ok());
        assert!(prepare(Some(&folder), &[], false).unwrap_err().to_string().contains("--force"));
        assert!(prepare(Some(&folder), &[], true).is_ok());
    }
}
