//! MPI libraries on this machine: found by their files, and each asked for its version by a process that does nothing else.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Serialize;
use sintonia_mpi::{Abi, short_name};

/// An MPI library.
#[derive(Serialize)]
pub struct Library {
    /// Its file.
    pub path: PathBuf,
    /// What its version text says.
    pub version: String,
    /// `openmpi`, `mpich` or `standard`.
    pub abi: &'static str,
}

/// Looks where the linker looks, where the environment says, and beside the launchers.
pub fn find<'a>(launchers: impl Iterator<Item = &'a Path>) -> Vec<Library> {
    let mut files: BTreeSet<PathBuf> = linker_cache().into_iter().collect();
    let beside = launchers.filter_map(|launcher| launcher.canonicalize().ok()?.parent()?.parent().map(|prefix| prefix.join("lib")));
    let environment = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    for folder in std::env::split_paths(&environment).chain(beside) {
        files.extend(std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).filter(|path| is_mpi(path)));
    }
    let files: BTreeSet<PathBuf> = files.into_iter().filter_map(|file| file.canonicalize().ok()).collect();
    files.into_iter().filter_map(describe).collect()
}

fn linker_cache() -> Vec<PathBuf> {
    let answer = ["ldconfig", "/sbin/ldconfig"].iter().find_map(|program| Command::new(program).arg("-p").output().ok());
    let text = answer.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.rsplit_once("=> "))
        .map(|(_, path)| PathBuf::from(path.trim()))
        .filter(|path| is_mpi(path))
        .collect()
}

/// Whether a file is named as the C library of an MPI is: `libmpi.so.40`, `libmpich.so.12`, `libmpi_abi.so.1`.
fn is_mpi(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = name.split(".so").next().unwrap_or_default();
    name.contains(".so") && matches!(stem, "libmpi" | "libmpich" | "libmpi_abi")
}

fn describe(path: PathBuf) -> Option<Library> {
    let text = ask(&path)?;
    let name = path.file_name()?.to_string_lossy().into_owned();
    let abi = Abi::of_library(&name, &text)?.name();
    Some(Library { version: short_name(&text), path, abi })
}

/// Asks a library for its version, in a process of its own: two MPI libraries in one process would not get on.
fn ask(path: &Path) -> Option<String> {
    let answer = Command::new(std::env::current_exe().ok()?).args(["doctor", "--library"]).arg(path).output().ok()?;
    answer.status.success().then(|| String::from_utf8_lossy(&answer.stdout).trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_known_by_their_names() {
        for name in ["libmpi.so", "libmpi.so.40.30.4", "libmpich.so.12", "libmpi_abi.so.1"] {
            assert!(is_mpi(Path::new(name)), "{name}");
        }
        for name in ["libmpi_cxx.so.40", "libmpifort.so.12", "libmpi.a", "libmpitools.so"] {
            assert!(!is_mpi(Path::new(name)), "{name}");
        }
    }
}
