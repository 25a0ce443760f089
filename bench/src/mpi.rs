//! The MPI libraries to measure with: how to compile for them, and how to start ranks.

use std::path::Path;
use std::process::Command;

use crate::error::Error;
use crate::search;

/// How a program is compiled.
#[derive(Default)]
pub(crate) struct CompileSettings {
    /// The compiler that the wrapper is to call; none: its default.
    pub compiler: Option<&'static str>,
    pub options: &'static [&'static str],
}

/// An MPI library.
pub(crate) struct Mpi {
    /// What it is called here, by EZTrace, and by Debian's alternatives.
    pub name: &'static str,
    compiler: &'static str,
    /// The variable that tells `compiler` which compiler to call.
    compiler_variable: &'static str,
    fortran: &'static str,
    launcher: &'static str,
    /// What libraries that were built for it are linked with.
    linked: &'static [&'static str],
}

const LIBRARIES: [Mpi; 2] = [
    Mpi {
        name: "openmpi",
        compiler: "mpicc.openmpi",
        compiler_variable: "OMPI_CC",
        fortran: "mpifort.openmpi",
        launcher: "mpirun.openmpi",
        linked: &["libmpi.so.40"],
    },
    Mpi {
        name: "mpich",
        compiler: "mpicc.mpich",
        compiler_variable: "MPICH_CC",
        fortran: "mpifort.mpich",
        launcher: "mpiexec.mpich",
        linked: &["libmpich.so.12", "libmpi.so.12"],
    },
];

impl Mpi {
    /// Those that are here.
    pub(crate) fn found(only: Option<&str>) -> Result<Vec<Mpi>, Error> {
        let wanted = |mpi: &Mpi| only.is_none_or(|name| name == mpi.name);
        let found: Vec<Mpi> = LIBRARIES.into_iter().filter(|mpi| wanted(mpi) && search::in_path(mpi.compiler).is_some()).collect();
        if found.is_empty() {
            return Err(Error::NoMpi { looked_for: LIBRARIES.map(|mpi| mpi.compiler).join(", ") });
        }
        Ok(found)
    }

    /// The command that starts so many ranks, each bound to a core: a rank that moves makes noise.
    pub(crate) fn launch_bound(&self, ranks: u32) -> Vec<String> {
        [self.launcher, "-n", &ranks.to_string(), "-bind-to", "core"].map(String::from).into()
    }

    /// The command that starts so many ranks, which may be more than there are cores.
    pub(crate) fn launch(&self, ranks: u32) -> Vec<String> {
        [self.launcher, "-n", &ranks.to_string(), "-bind-to", "none"].map(String::from).into()
    }

    /// Compiles a program in C or Fortran.
    pub(crate) fn compile(&self, source: &Path, program: &Path) -> Result<(), Error> {
        self.compile_as(source, program, &CompileSettings::default())
    }

    /// Compiles a program in a given way.
    pub(crate) fn compile_as(&self, source: &Path, program: &Path, settings: &CompileSettings) -> Result<(), Error> {
        let wrapper = if source.extension().is_some_and(|extension| extension == "f90") { self.fortran } else { self.compiler };
        let failed = |why: String| Error::Failed { command: format!("{wrapper} {}", source.display()), why };
        let mut command = Command::new(wrapper);
        command.args(["-O2", "-g"]).args(settings.options).arg("-o").arg(program).arg(source).arg("-lm");
        command.envs(settings.compiler.map(|compiler| (self.compiler_variable, compiler)));
        let ended = command.output().map_err(|error| failed(error.to_string()))?;
        if ended.status.success() { Ok(()) } else { Err(failed(String::from_utf8_lossy(&ended.stderr).into_owned())) }
    }

    /// Whether a library was built for this MPI; true as well if it was built for none in particular.
    pub(crate) fn fits(&self, library: &Path) -> bool {
        let bytes = std::fs::read(library).unwrap_or_default();
        let mentions = |mpi: &Mpi| mpi.linked.iter().any(|name| bytes.windows(name.len()).any(|part| part == name.as_bytes()));
        mentions(self) || !LIBRARIES.iter().any(mentions)
    }
}

/// In a container, root is who measures.
pub(crate) const AS_ROOT: [(&str, &str); 2] = [("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")];

/// For more ranks than cores: they are let start, and let others run while they wait.
pub(crate) const CROWDED: [(&str, &str); 2] = [("OMPI_MCA_rmaps_base_oversubscribe", "1"), ("OMPI_MCA_mpi_yield_when_idle", "1")];
