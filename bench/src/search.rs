//! Where peers are looked for: the folder `SINTONIA_PEERS` with a sub-folder for each, `PATH` and `LD_LIBRARY_PATH`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// How far below a peer's folder its files may lie: `tau/x86_64/lib/libTAUsh-mpi.so`.
const DEPTH: usize = 3;

/// Where to look.
pub(crate) struct Search {
    peers: Option<PathBuf>,
}

impl Search {
    /// As the environment says.
    pub(crate) fn from_environment() -> Search {
        Search { peers: std::env::var_os("SINTONIA_PEERS").map(PathBuf::from) }
    }

    /// A program of a peer.
    pub(crate) fn program(&self, peer: &str, name: &str) -> Result<PathBuf, String> {
        self.below(peer, name).or_else(|| in_path(name)).ok_or_else(|| format!("not found ({name})"))
    }

    /// A library of a peer.
    pub(crate) fn library(&self, peer: &str, name: &str) -> Result<PathBuf, String> {
        self.below(peer, name).or_else(|| in_variable("LD_LIBRARY_PATH", name)).ok_or_else(|| format!("not found ({name})"))
    }

    fn below(&self, peer: &str, name: &str) -> Option<PathBuf> {
        find(&self.peers.as_ref()?.join(peer), OsStr::new(name), DEPTH)
    }
}

/// A program in `PATH`.
pub(crate) fn in_path(name: &str) -> Option<PathBuf> {
    in_variable("PATH", name)
}

/// A file in one of the folders listed in an environment variable.
fn in_variable(variable: &str, name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os(variable)?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// A file in a folder or below.
pub(crate) fn find(folder: &Path, name: &OsStr, depth: usize) -> Option<PathBuf> {
    let here = folder.join(name);
    if here.is_file() {
        return Some(here);
    }
    let deeper = depth.checked_sub(1)?;
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders.iter().find_map(|folder| find(folder, name, deeper))
}
