//! The probe, embedded in the command and written to where the recorded processes can load it.

use std::borrow::Cow;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::Error;

static PROBE: &[u8] = include_bytes!(env!("SINTONIA_PROBE_FILE"));
const FILE_NAME: &str = "libsintonia_probe.so";

/// The path of the probe. The installed one is preferred, because it is likely to exist on other hosts, too; else the probe is written into the
/// recording, which all ranks should see. `SINTONIA_PROBE` overrides it.
pub(crate) fn probe_path(live: &Path) -> Result<PathBuf, Error> {
    if let Some(path) = std::env::var_os("SINTONIA_PROBE") {
        return Ok(path.into());
    }
    if let Some(installed) = installed_probe() {
        return Ok(installed);
    }
    let folder = if may_execute(live) { live.to_owned() } else { std::env::temp_dir() };
    let path = folder.join(FILE_NAME);
    write_probe(&path)?;
    Ok(path)
}

/// The probe as bytes, for injection into running programs.
pub(crate) fn probe_bytes() -> Result<Cow<'static, [u8]>, Error> {
    let Some(path) = std::env::var_os("SINTONIA_PROBE").map(PathBuf::from) else { return Ok(Cow::Borrowed(PROBE)) };
    std::fs::read(&path).map(Cow::Owned).map_err(|error| Error::Other(format!("cannot read {}: {error}", path.display())))
}

/// Writes the probe to a file.
pub(crate) fn write_probe(path: &Path) -> Result<(), Error> {
    let failed = |source| Error::Write { path: path.to_owned(), source };
    std::fs::write(path, PROBE).map_err(failed)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).map_err(failed)
}

/// `lib/libsintonia_probe.so` next to the `bin` of this command, if it is the same probe.
fn installed_probe() -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?.parent()?.parent()?.join("lib").join(FILE_NAME);
    std::fs::read(&path).is_ok_and(|bytes| bytes == PROBE).then_some(path)
}

/// Whether the file system allows executing code.
fn may_execute(folder: &Path) -> bool {
    rustix::fs::statvfs(folder).map_or(true, |system| !system.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC))
}
