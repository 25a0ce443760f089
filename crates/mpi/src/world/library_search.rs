//! Finds the MPI library that belongs to the launcher: the one named by the user, one next to the launcher, or the one that the loader
//! finds (`LD_LIBRARY_PATH` first).

use std::path::PathBuf;

use super::error::WorldError;
use super::launcher::{DetectedLauncher, MpiVendor, library_dirs};
use super::library::LoadedMpi;

/// Environment variable that names the library to use.
const LIBRARY_VARIABLE: &str = "SINTONIA_MPI";

/// Loads the library that can connect to the launcher.
pub(super) fn find(launcher: DetectedLauncher) -> Result<LoadedMpi, WorldError> {
    if let Some(choice) = std::env::var_os(LIBRARY_VARIABLE).filter(|choice| !choice.is_empty()) {
        return LoadedMpi::load(choice.as_ref());
    }
    let mut tried = String::new();
    for file in candidates(launcher) {
        let reason = match LoadedMpi::load(&file) {
            Ok(library) if launcher.is_compatible(library.version()) => return Ok(library),
            Ok(library) => format!("it is {}", library.name()),
            Err(WorldError::Unusable { reason, .. }) => reason,
            Err(other) => return Err(other),
        };
        tried += &format!("\n  {}: {reason}", file.display());
    }
    Err(WorldError::NotFound { launcher: launcher.name(), tried })
}

/// Candidate files, most likely first. A name without a directory is left to the loader.
fn candidates(launcher: DetectedLauncher) -> Vec<PathBuf> {
    let names = library_names(launcher.vendor);
    let beside = library_dirs().into_iter().flat_map(|folder| names.iter().map(move |name| folder.join(name)));
    let mut files: Vec<PathBuf> = Vec::new();
    for file in beside.filter(|file| file.is_file()).chain(names.iter().map(PathBuf::from)) {
        if !files.contains(&file) {
            files.push(file);
        }
    }
    files
}

/// Possible library names. Those with a version number identify the implementation; the others may turn out to be another one.
fn library_names(maker: Option<MpiVendor>) -> &'static [&'static str] {
    match maker {
        Some(MpiVendor::OpenMpi) => &["libmpi.so.40", "libmpi.so", "libmpi_abi.so.1", "libmpi_abi.so.0"],
        Some(MpiVendor::Mpich) => &["libmpi.so.12", "libmpich.so.12", "libmpi.so", "libmpi_abi.so.1", "libmpi_abi.so.0"],
        None => &["libmpi.so", "libmpi.so.40", "libmpi.so.12", "libmpich.so.12", "libmpi_abi.so.1", "libmpi_abi.so.0"],
    }
}
