//! The probe, carried inside the command and laid down where the recorded processes can load it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::Error;

static PROBE: &[u8] = include_bytes!(env!("SINTONIA_PROBE_FILE"));
const NAME: &str = "libsintonia_probe.so";

/// Writes the probe into the recording, which all ranks are expected to see. `SINTONIA_PROBE` names another one, for hosts that do not.
pub fn library(live: &Path) -> Result<PathBuf, Error> {
    if let Some(path) = std::env::var_os("SINTONIA_PROBE") {
        return Ok(path.into());
    }
    let folder = if may_execute(live) { live.to_owned() } else { std::env::temp_dir() };
    let path = folder.join(NAME);
    let failed = |source| Error::Write { path: path.clone(), source };
    std::fs::write(&path, PROBE).map_err(failed)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).map_err(failed)?;
    Ok(path)
}

/// Whether code may be loaded from this folder: some file systems forbid it.
fn may_execute(folder: &Path) -> bool {
    rustix::fs::statvfs(folder).map_or(true, |system| !system.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC))
}
