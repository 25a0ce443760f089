//! Finds MPI libraries by their files, and queries each version in a separate process.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Serialize;
use sintonia_mpi::{Abi, short_name};

/// An MPI library.
#[derive(Serialize)]
pub(super) struct FoundMpiLibrary {
    /// Its file.
    pub path: PathBuf,
    /// Its version.
    pub version: String,
    /// Its ABI: `openmpi`, `mpich` or `standard`.
    pub abi: &'static str,
}

/// Looks in the linker cache, in LD_LIBRARY_PATH, and next to the launchers.
pub(super) fn find_libraries<'a>(launchers: impl Iterator<Item = &'a Path>) -> Vec<FoundMpiLibrary> {
    let mut files: BTreeSet<PathBuf> = linker_cache_libraries().into_iter().collect();
    let beside = launchers.filter_map(|launcher| launcher.canonicalize().ok()?.parent()?.parent().map(|prefix| prefix.join("lib")));
    let environment = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    for folder in std::env::split_paths(&environment).chain(beside) {
        files.extend(
            std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).filter(|path| is_mpi_library_name(path)),
        );
    }
    let files: BTreeSet<PathBuf> = files.into_iter().filter_map(|file| file.canonicalize().ok()).collect();
    files.into_iter().filter_map(describe_library).collect()
}

fn linker_cache_libraries() -> Vec<PathBuf> {
    let answer = ["ldconfig", "/sbin/ldconfig"].iter().find_map(|program| Command::new(program).arg("-p").output().ok());
    let text = answer.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.rsplit_once("=> "))
        .map(|(_, path)| PathBuf::from(path.trim()))
        .filter(|path| is_mpi_library_name(path))
        .collect()
}

/// Whether a file is named like the C library of an MPI: `libmpi.so.40`, `libmpich.so.12`, `libmpi_abi.so.1`.
fn is_mpi_library_name(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = name.split(".so").next().unwrap_or_default();
    name.contains(".so") && matches!(stem, "libmpi" | "libmpich" | "libmpi_abi")
}

fn describe_library(path: PathBuf) -> Option<FoundMpiLibrary> {
    let text = query_version(&path)?;
    let name = path.file_name()?.to_string_lossy().into_owned();
    let abi = Abi::detect(&name, &text)?.name();
    Some(FoundMpiLibrary { version: short_name(&text), path, abi })
}

/// Queries the version in a separate process: two MPI libraries in one process would conflict.
fn query_version(path: &Path) -> Option<String> {
    let answer = Command::new(std::env::current_exe().ok()?).args(["doctor", "--library"]).arg(path).output().ok()?;
    answer.status.success().then(|| String::from_utf8_lossy(&answer.stdout).trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_known_by_their_names() {
        for name in ["libmpi.so", "libmpi.so.40.30.4", "libmpich.so.12", "libmpi_abi.so.1"] {
            assert!(is_mpi_library_name(Path::new(name)), "{name}");
        }
        for name in ["libmpi_cxx.so.40", "libmpifort.so.12", "libmpi.a", "libmpitools.so"] {
            assert!(!is_mpi_library_name(Path::new(name)), "{name}");
        }
    }
}
