//! The MPI libraries to measure with: how to compile for them, and how to start ranks.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::search;
use crate::error::Error;

/// An MPI library.
pub struct Mpi {
    /// What it is called here, by EZTrace, and by Debian's alternatives.
    pub name: &'static str,
    compiler: &'static str,
    launcher: &'static str,
    /// What libraries that were built for it are linked with.
    linked: &'static [&'static str],
}

const LIBRARIES: [Mpi; 2] = [
    Mpi { name: "openmpi", compiler: "mpicc.openmpi", launcher: "mpirun.openmpi", linked: &["libmpi.so.40"] },
    Mpi { name: "mpich", compiler: "mpicc.mpich", launcher: "mpiexec.mpich", linked: &["libmpich.so.12", "libmpi.so.12"] },
];

impl Mpi {
    /// Those that are here.
    pub fn found(only: Option<&str>) -> Result<Vec<Mpi>, Error> {
        let wanted = |mpi: &Mpi| only.is_none_or(|name| name == mpi.name);
        let found: Vec<Mpi> = LIBRARIES.into_iter().filter(|mpi| wanted(mpi) && search::in_path(mpi.compiler).is_some()).collect();
        if found.is_empty() {
            return Err(Error::NoMpi { looked_for: LIBRARIES.map(|mpi| mpi.compiler).join(", ") });
        }
        Ok(found)
    }

    /// The command that starts so many ranks, each bound to a core: a rank that moves makes noise.
    pub fn launch(&self, ranks: u32) -> Vec<String> {
        [self.launcher, "-n", &ranks.to_string(), "-bind-to", "core"].map(String::from).into()
    }

    /// Whether a library was built for this MPI; true as well if it was built for none in particular.
    pub fn fits(&self, library: &Path) -> bool {
        let bytes = std::fs::read(library).unwrap_or_default();
        let mentions = |mpi: &Mpi| mpi.linked.iter().any(|name| bytes.windows(name.len()).any(|part| part == name.as_bytes()));
        mentions(self) || !LIBRARIES.iter().any(mentions)
    }
}

/// The programs to measure with, compiled.
pub struct Programs {
    pub calls: PathBuf,
    pub pingpong: PathBuf,
}

impl Programs {
    /// Compiles them into a folder.
    pub fn build(mpi: &Mpi, folder: &Path) -> Result<Programs, Error> {
        std::fs::create_dir_all(folder).map_err(Error::at(folder))?;
        Ok(Programs { calls: compile(mpi, folder, "calls")?, pingpong: compile(mpi, folder, "pingpong")? })
    }
}

fn compile(mpi: &Mpi, folder: &Path, name: &str) -> Result<PathBuf, Error> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs").join(name).with_extension("c");
    let program = folder.join(name);
    let failed = |why: String| Error::Failed { command: format!("{} {}", mpi.compiler, source.display()), why };
    let ended = Command::new(mpi.compiler).args(["-O2", "-g", "-o"]).arg(&program).arg(&source).output();
    let ended = ended.map_err(|error| failed(error.to_string()))?;
    if ended.status.success() { Ok(program) } else { Err(failed(String::from_utf8_lossy(&ended.stderr).into_owned())) }
}
