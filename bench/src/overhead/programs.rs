//! The programs that are measured, compiled.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::mpi::{CompileSettings, Mpi};

/// Compiles a program into a folder.
pub(super) fn build(mpi: &Mpi, name: &str, folder: &Path) -> Result<PathBuf, Error> {
    build_as(mpi, name, &folder.join(name), &CompileSettings::default())
}

/// Compiles a program in a given way.
pub(super) fn build_as(mpi: &Mpi, name: &str, program: &Path, settings: &CompileSettings) -> Result<PathBuf, Error> {
    let folder = program.parent().unwrap_or(program);
    std::fs::create_dir_all(folder).map_err(Error::at(folder))?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs").join(name).with_extension("c");
    mpi.compile_as(&source, program, settings)?;
    Ok(program.to_owned())
}
