//! The peers: how each is found and set to do its work, as its own manual says, with nothing switched off that its users would have.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::tool::Tool;
use crate::mpi::Mpi;
use crate::paths;
use crate::search::{self, Search};

/// The ways a peer is measured, or why it is not.
pub(super) type PeerTools = Result<Vec<Tool>, String>;
type PeerFinder = fn(&Search, &Mpi) -> PeerTools;

/// Every peer, and how to find it.
pub(super) const PEERS: &[(&str, PeerFinder)] =
    &[("IPM", ipm), ("mpiP", mpip), ("EZTrace", eztrace), ("Extrae", extrae), ("Score-P", scorep), ("TAU", tau)];

/// Those that record OpenMP, and of which runtimes.
pub(super) const OPENMP_PEERS: &[(&str, PeerFinder, &[&str])] = &[
    ("EZTrace", eztrace_openmp, &["libgomp"]),
    ("Extrae", extrae_openmp, &["libgomp", "libomp"]),
    ("Score-P", scorep_openmp, &["libgomp", "libomp"]),
    ("TAU", tau_openmp, &["libomp"]),
];

fn ipm(search: &Search, mpi: &Mpi) -> PeerTools {
    let library = fitting(mpi, search.library("ipm", "libipm.so")?)?;
    Ok(vec![Tool::new("IPM", "sums").preloaded(&library, &[])])
}

fn mpip(search: &Search, mpi: &Mpi) -> PeerTools {
    let library = fitting(mpi, search.library("mpip", "libmpiP.so")?)?;
    Ok(vec![
        Tool::new("mpiP -k 0", "sums").preloaded(&library, &["MPIP=-k 0"]),
        Tool::new("mpiP", "sums by call site").preloaded(&library, &[]),
    ])
}

fn eztrace(search: &Search, mpi: &Mpi) -> PeerTools {
    let program = search.program("eztrace", "eztrace")?.display().to_string();
    Ok(vec![Tool::new("EZTrace", "calls").tracing().started_by([&program, "-t", mpi.name, "-o", "trace"])])
}

fn extrae(search: &Search, mpi: &Mpi) -> PeerTools {
    let library = extrae_library(search, mpi)?;
    let callers = [EXTRAE_SETTINGS[0], EXTRAE_SETTINGS[1], "EXTRAE_MPI_CALLER=1-3"];
    Ok(vec![
        Tool::new("Extrae", "calls").tracing().preloaded(&library, &EXTRAE_SETTINGS),
        Tool::new("Extrae with callers", "calls, call sites").tracing().preloaded(&library, &callers),
    ])
}

/// Started before MPI, it would take `MPI_Finalize` away from the program.
pub(super) const EXTRAE_SETTINGS: [&str; 2] = ["EXTRAE_ON=1", "EXTRAE_SKIP_AUTO_LIBRARY_INITIALIZE=1"];

/// The library of Extrae that records MPI.
pub(super) fn extrae_library(search: &Search, mpi: &Mpi) -> Result<PathBuf, String> {
    const NAME: &str = "libmpitrace.so";
    let home = std::env::var_os("EXTRAE_HOME").and_then(|home| search::find(home.as_ref(), NAME.as_ref(), 1));
    fitting(mpi, home.map_or_else(|| search.library("extrae", NAME), Ok)?)
}

fn extrae_openmp(search: &Search, mpi: &Mpi) -> PeerTools {
    let library = fitting(mpi, search.library("extrae", "libompitrace.so")?)?;
    Ok(vec![Tool::new("Extrae", "events of each thread").preloaded(&library, &EXTRAE_SETTINGS)])
}

fn eztrace_openmp(search: &Search, mpi: &Mpi) -> PeerTools {
    let program = search.program("eztrace", "eztrace")?.display().to_string();
    let modules = format!("{} openmp", mpi.name);
    Ok(vec![Tool::new("EZTrace", "events of each thread").started_by([&program, "-t", &modules, "-o", "trace"])])
}

fn tau_openmp(search: &Search, mpi: &Mpi) -> PeerTools {
    let program = search.program("tau", "tau_exec")?.display().to_string();
    fitting(mpi, search.library("tau", "libTAUsh-ompt-mpi.so")?)?;
    Ok(vec![Tool::new("TAU", "sums").started_by(["env", "TAU_THROTTLE=0", &program, "-T", "ompt,mpi", "-ompt"])])
}

/// Score-P measures regions, barriers and critical sections of a program that its own compiler wrapper has built.
fn scorep_openmp(_search: &Search, _mpi: &Mpi) -> PeerTools {
    Err("needs the program to be rebuilt".into())
}

fn scorep(search: &Search, mpi: &Mpi) -> PeerTools {
    let folder = paths::folder().map_err(|error| error.to_string())?;
    let preload = scorep_library(search, mpi, &folder.join(mpi.name).join("calls"))?;
    let tool = |name, keeps, settings: &[&str]| {
        let settings = [settings, &["SCOREP_EXPERIMENT_DIRECTORY=scorep", "SCOREP_TOTAL_MEMORY=256M"]].concat();
        Tool::new(name, keeps).preloaded(preload.as_ref(), &settings)
    };
    Ok(vec![
        tool("Score-P profile", "sums by call path", &[]),
        tool("Score-P trace", "calls", &["SCOREP_ENABLE_PROFILING=false", "SCOREP_ENABLE_TRACING=true"]).tracing(),
    ])
}

/// The library that Score-P builds for a program to load.
pub(super) fn scorep_library(search: &Search, mpi: &Mpi, program: &Path) -> Result<String, String> {
    let init = search.program("scorep", "scorep-preload-init")?;
    let name = program.file_name().unwrap_or_default();
    let answer = Command::new(&init).args(["--value-only", "--mpp=mpi"]).arg(name).args(program.parent()).output();
    let answer = answer.map_err(|error| error.to_string())?;
    let preload = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
    if preload.is_empty() {
        return Err("scorep-preload-init gave no library".into());
    }
    preload.split(':').try_for_each(|library| fitting(mpi, library.into()).map(drop))?;
    Ok(preload)
}

fn tau(search: &Search, mpi: &Mpi) -> PeerTools {
    let program = search.program("tau", "tau_exec")?.display().to_string();
    if let Ok(library) = search.library("tau", "libTAUsh-mpi.so") {
        fitting(mpi, library)?;
    }
    // By default it stops measuring a call that is short and frequent.
    let tool = |name, keeps, setting: &str| Tool::new(name, keeps).started_by(["env", "TAU_THROTTLE=0", setting, &program, "-T", "mpi"]);
    Ok(vec![tool("TAU profile", "sums", "TAU_PROFILE=1"), tool("TAU trace", "calls", "TAU_TRACE=1").tracing()])
}

/// A library, if it was not built for another MPI.
pub(super) fn fitting(mpi: &Mpi, library: PathBuf) -> Result<PathBuf, String> {
    if mpi.fits(&library) { Ok(library) } else { Err("built for another MPI".into()) }
}
