//! The programs that calls are measured with, compiled.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::mpi::Mpi;

/// The programs.
pub(super) struct BenchPrograms {
    pub calls: PathBuf,
    pub pingpong: PathBuf,
}

impl BenchPrograms {
    /// Compiles them into a folder.
    pub(super) fn build(mpi: &Mpi, folder: &Path) -> Result<BenchPrograms, Error> {
        std::fs::create_dir_all(folder).map_err(Error::at(folder))?;
        let compiled = |name: &str| {
            let program = folder.join(name);
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs").join(name).with_extension("c");
            mpi.compile(&source, &program).map(|()| program)
        };
        Ok(BenchPrograms { calls: compiled("calls")?, pingpong: compiled("pingpong")? })
    }
}
