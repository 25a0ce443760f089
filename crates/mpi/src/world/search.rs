//! Finding the MPI library that belongs to the launcher: the one its user names, one beside the launcher, or the one the system's loader
//! knows (`LD_LIBRARY_PATH` first).

use std::path::PathBuf;

use super::error::WorldError;
use super::launcher::{Launcher, Maker, library_folders};
use super::library::Library;

/// Names the library to use, whatever else may be there.
const CHOICE: &str = "SINTONIA_MPI";

/// Loads the library with which this process can talk to the others that the launcher started.
pub fn find(launcher: Launcher) -> Result<Library, WorldError> {
    if let Some(choice) = std::env::var_os(CHOICE).filter(|choice| !choice.is_empty()) {
        return Library::load(choice.as_ref());
    }
    let mut tried = String::new();
    for file in candidates(launcher) {
        let reason = match Library::load(&file) {
            Ok(library) if launcher.suits(library.version()) => return Ok(library),
            Ok(library) => format!("it is {}", library.name()),
            Err(WorldError::Unusable { reason, .. }) => reason,
            Err(other) => return Err(other),
        };
        tried += &format!("\n  {}: {reason}", file.display());
    }
    Err(WorldError::NotFound { launcher: launcher.name(), tried })
}

/// Files that may be the library, the likeliest first. A name without a folder is for the loader to find.
fn candidates(launcher: Launcher) -> Vec<PathBuf> {
    let names = names(launcher.maker);
    let beside = library_folders().into_iter().flat_map(|folder| names.iter().map(move |name| folder.join(name)));
    let mut files: Vec<PathBuf> = Vec::new();
    for file in beside.filter(|file| file.is_file()).chain(names.iter().map(PathBuf::from)) {
        if !files.contains(&file) {
            files.push(file);
        }
    }
    files
}

/// The names that a library of this maker may have. Those with a number tell the maker; the others may turn out to be of another.
fn names(maker: Option<Maker>) -> &'static [&'static str] {
    match maker {
        Some(Maker::OpenMpi) => &["libmpi.so.40", "libmpi.so", "libmpi_abi.so.1", "libmpi_abi.so.0"],
        Some(Maker::Mpich) => &["libmpi.so.12", "libmpich.so.12", "libmpi.so", "libmpi_abi.so.1", "libmpi_abi.so.0"],
        None => &["libmpi.so", "libmpi.so.40", "libmpi.so.12", "libmpich.so.12", "libmpi_abi.so.1", "libmpi_abi.so.0"],
    }
}
