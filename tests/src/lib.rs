//! The harness of the end-to-end tests: it builds the programs of `programs/` with each MPI library, runs them bare and
//! under `sintonia record`, and reads what was recorded the way a user's script would: through `--json`.
//!
//! Which libraries: `SINTONIA_TEST_MPI=debian` (the default: openmpi, mpich), `all`, or a list of names (`mpich,intel`).
//! Which Sintonia: `SINTONIA_BIN`, or the one in the target folder (release before debug).

mod busy;
mod compare;
pub mod fire;
mod hosts;
mod imports;
pub mod json;
mod mpi;
mod page;
mod problem;
mod process;
mod program;
pub mod prototypes;
mod recording;
mod request_ledger;
mod source_program;
mod twins;
pub mod view;

pub use busy::BusyLoops;
pub use compare::NormalizedRun;
pub use hosts::Hosts;
pub use imports::import_circles;
pub use mpi::{Family, Mpi, readers_python};
pub use page::{run_in_web, run_scenario};
pub use problem::{Injected, check_with_retries, for_share_of_mpis, is_at, retry_assertions, retry_until_ok};
pub use process::{Outcome, Process};
pub use program::{Language, Program};
pub use recording::{Call, Completion, Recording, own_lines, record_command, remove_missing_cores, sintonia};
pub use request_ledger::compare_with_ledgers;
pub use source_program::SourceProgram;
pub use twins::{Twin, TwinVariant};

pub use sintonia_test_report::{not_applicable, skipped};

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The folder this crate lives in.
pub fn tests_dir() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The root of the workspace.
pub fn workspace() -> &'static Path {
    tests_dir().parent().expect("tests/ lies in the workspace")
}

/// Cargo's target folder: where the test program itself was built.
pub fn target_dir() -> PathBuf {
    let exe = std::env::current_exe().expect("a test knows its own path");
    let marked = exe.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file());
    marked.map_or_else(|| workspace().join("target"), Path::to_path_buf)
}

/// A fresh folder that goes away with its owner.
pub fn fresh_dir() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("sintonia-test-").tempdir().expect("a temporary folder")
}

/// Waits until something is so, a minute at most.
pub fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < Duration::from_secs(60), "{what}: not within a minute");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The program of that name (`c/001_send_modes`) recorded on every library that can run it, each given to `check`.
///
/// All libraries are tried before the test fails, so that one run shows which of them are affected.
pub fn on_every_mpi(name: &str, check: impl Fn(&Mpi, &Program, &Recording)) {
    let program = Program::find(name);
    for_every_mpi(|mpi| match program.build(mpi) {
        Err(reason) => not_applicable(format!("{}: {name}: {reason}", mpi.name)),
        Ok(_) => {
            let recording = Recording::record(mpi, &program, &[]);
            check(mpi, &program, &recording);
        }
    });
}

/// `check` for every library; fails at the end, with the names of all libraries for which it failed.
pub fn for_every_mpi(check: impl Fn(&Mpi)) {
    expect_none(Mpi::available().iter().filter_map(|mpi| failing(mpi, &check)).collect());
}

/// The same for two libraries at a time: where nothing is measured, programs of one run while those of the other wait.
pub fn for_every_mpi_in_pairs(check: impl Fn(&Mpi) + Sync) {
    let case = std::thread::current().name().unwrap_or_default().to_string();
    let (case, check) = (&case, &check);
    let both = |two: &'static [Mpi]| -> Vec<&str> {
        std::thread::scope(|scope| {
            // The name of the thread is that of the case in the test report.
            let named = || std::thread::Builder::new().name(case.clone());
            let threads: Vec<_> =
                two.iter().map(|mpi| named().spawn_scoped(scope, move || failing(mpi, check)).expect("a thread")).collect();
            threads.into_iter().filter_map(|thread| thread.join().expect("a failure does not end the thread")).collect()
        })
    };
    expect_none(Mpi::available().chunks(2).flat_map(both).collect());
}

/// The name of a library, if `check` fails for it.
fn failing(mpi: &Mpi, check: impl Fn(&Mpi)) -> Option<&'static str> {
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(mpi)));
    outcome.is_err().then(|| {
        println!("^ {}", mpi.name);
        mpi.name
    })
}

fn expect_none(failed: Vec<&str>) {
    assert!(failed.is_empty(), "failed with: {}", failed.join(", "));
}
