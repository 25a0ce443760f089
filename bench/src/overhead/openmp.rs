//! What is added to constructs of OpenMP, with GCC's runtime and with LLVM's.

use std::path::Path;

use super::peers;
use super::study::{AddedUnit, OverheadStudy, StudyCase};
use super::tool::record;
use super::{AbsentTool, programs};
use crate::error::Error;
use crate::mpi::{CompileSettings, Mpi};
use crate::paths;
use crate::search::{Search, in_path};

const CASES: &[StudyCase] = &[
    StudyCase::of_quickest_batch("region_1", "region, 1 thread"),
    StudyCase::of_quickest_batch("region_2", "region, 2 threads"),
    StudyCase::of_quickest_batch("barrier", "barrier, 2 threads"),
    StudyCase::of_quickest_batch("critical", "critical section"),
];

/// A runtime, by the compiler that uses it.
struct OpenMpRuntime {
    name: &'static str,
    compiler: &'static str,
}

const RUNTIMES: [OpenMpRuntime; 2] =
    [OpenMpRuntime { name: "libgomp", compiler: "gcc" }, OpenMpRuntime { name: "libomp", compiler: "clang" }];

/// For each runtime whose compiler is here, the program and everything that records it.
pub(super) fn studies(mpi: &Mpi, folder: &Path) -> Result<Vec<OverheadStudy>, Error> {
    RUNTIMES.iter().filter(|runtime| in_path(runtime.compiler).is_some()).map(|runtime| study(mpi, runtime, folder)).collect()
}

fn study(mpi: &Mpi, runtime: &OpenMpRuntime, folder: &Path) -> Result<OverheadStudy, Error> {
    let settings = CompileSettings { compiler: Some(runtime.compiler), options: &["-fopenmp"] };
    let program = programs::build_as(mpi, "openmp", &folder.join(format!("openmp-{}", runtime.name)), &settings)?;
    let sintonia = paths::sintonia()?;
    let mut tools = vec![
        record("Sintonia", "regions, threads, waits", &sintonia, &[]),
        record("Sintonia --openmp off", "no OpenMP", &sintonia, &["--openmp", "off"]),
    ];
    let mut absent = Vec::new();
    let search = Search::from_environment();
    for (name, find, runtimes) in peers::OPENMP_PEERS {
        let known = if runtimes.contains(&runtime.name) { Ok(()) } else { Err("does not know this runtime".to_owned()) };
        match known.and_then(|()| find(&search, mpi)) {
            Ok(found) => tools.extend(found),
            Err(why) => absent.push(AbsentTool { name: (*name).into(), why }),
        }
    }
    Ok(OverheadStudy {
        title: format!("OpenMP, {}", runtime.name),
        explanation: "Nanoseconds added to an empty construct.",
        program,
        // A team needs more than the core of its rank.
        launch: mpi.launch(1),
        cases: CASES,
        unit: AddedUnit::Nanoseconds,
        tools,
        absent,
    })
}
