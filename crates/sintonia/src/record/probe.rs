//! The probe, carried inside the command and laid down where the recorded processes can load it.

use std::borrow::Cow;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::Error;

static PROBE: &[u8] = include_bytes!(env!("SINTONIA_PROBE_FILE"));
const NAME: &str = "libsintonia_probe.so";

/// The probe's file. The one that was installed with this command, because it is likely to be there on other hosts too; else it is
/// written into the recording, which all ranks are expected to see. `SINTONIA_PROBE` names another one.
pub fn library(live: &Path) -> Result<PathBuf, Error> {
    if let Some(path) = std::env::var_os("SINTONIA_PROBE") {
        return Ok(path.into());
    }
    if let Some(installed) = installed() {
        return Ok(installed);
    }
    let folder = if may_execute(live) { live.to_owned() } else { std::env::temp_dir() };
    let path = folder.join(NAME);
    write(&path)?;
    Ok(path)
}

/// The probe as bytes, for programs that run already.
pub fn bytes() -> Result<Cow<'static, [u8]>, Error> {
    let Some(path) = std::env::var_os("SINTONIA_PROBE").map(PathBuf::from) else { return Ok(Cow::Borrowed(PROBE)) };
    std::fs::read(&path).map(Cow::Owned).map_err(|error| Error::Other(format!("cannot read {}: {error}", path.display())))
}

/// Writes the probe to a file.
pub fn write(path: &Path) -> Result<(), Error> {
    let failed = |source| Error::Write { path: path.to_owned(), source };
    std::fs::write(path, PROBE).map_err(failed)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).map_err(failed)
}

/// `lib/libsintonia_probe.so` beside the `bin` of this command, if it is the same probe.
fn installed() -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?.parent()?.parent()?.join("lib").join(NAME);
    std::fs::read(&path).is_ok_and(|bytes| bytes == PROBE).then_some(path)
}

/// Whether code may be loaded from this folder: some file systems forbid it.
fn may_execute(folder: &Path) -> bool {
    rustix::fs::statvfs(folder).map_or(true, |system| !system.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC))
}
