//! Programs with one known problem: they say themselves how much of it a run had, and a few runs show it undisturbed.

use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use sintonia_test_report::{not_applicable, retried};

use crate::{Mpi, Program, Recording, expect_none, failing};

/// What a run says it had of its problem: a line `injected KIND at SITE SECONDS` on stderr.
#[derive(Debug, Clone)]
pub struct Injected {
    /// The kind of wait state or advice.
    pub kind: String,
    /// The marker of the line at which it is.
    pub site: String,
    /// How much of it there was.
    pub seconds: f64,
}

impl Injected {
    /// All that a run says.
    pub fn all(recording: &Recording) -> Vec<Injected> {
        let parse = |line: &str| match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["injected", kind, "at", site, seconds] => {
                let seconds = seconds.parse().unwrap_or_else(|_| panic!("{line}: ends with a number"));
                Some(Injected { kind: kind.to_string(), site: site.to_string(), seconds })
            }
            _ => None,
        };
        recording.run.stderr.lines().filter_map(parse).collect()
    }
}

/// Most runs until one is undisturbed.
const MOST_TRIES: u32 = 5;

/// `check` holds in one of a few runs of the program of that name, on the libraries of [`libraries_for`]. The programs may have more ranks
/// than there are cores; what is expected is what the program does, in wall-clock time.
pub fn check_with_retries(name: &str, check: impl Fn(&Program, &Recording) -> Result<(), String>) {
    let program = Program::find(name);
    let check_on = |mpi: &Mpi| {
        let record = || Recording::record(mpi, &program, &[]).without_missing_cores();
        let run = || check(&program, &record()).map_err(|complaint| format!("{}: {name}: {complaint}", mpi.name));
        retry_until_ok(run);
    };
    expect_none(libraries_for(&program).iter().filter_map(|mpi| failing(mpi, check_on)).collect());
}

/// Every library that can run the program, or, with `SINTONIA_TEST_PROBLEMS=one`, only one of them.
///
/// What these programs check is computed from the recording, which other cases hold against every library. The number in the
/// program's name selects the library, so that each library gets its share.
fn libraries_for(program: &Program) -> Vec<&'static Mpi> {
    let can_run = |mpi: &&Mpi| match program.build(mpi) {
        Ok(_) => true,
        Err(reason) => {
            not_applicable(format!("{}: {}: {reason}", mpi.name, program.name));
            false
        }
    };
    let mut libraries: Vec<&Mpi> = Mpi::available().iter().filter(can_run).collect();
    keep_share(&mut libraries, program.number());
    libraries
}

/// With `SINTONIA_TEST_PROBLEMS=one`, only the library whose turn it is by this number.
fn keep_share(libraries: &mut Vec<&'static Mpi>, number: usize) {
    if std::env::var("SINTONIA_TEST_PROBLEMS").is_ok_and(|which| which == "one") && !libraries.is_empty() {
        *libraries = vec![libraries[number % libraries.len()]];
    }
}

/// `check` for every library, or, with `SINTONIA_TEST_PROBLEMS=one`, for one that the number of the case selects: for long cases that check what
/// Sintonia decides rather than what it sees of a library.
pub fn for_share_of_mpis(case: usize, check: impl Fn(&Mpi)) {
    let mut libraries: Vec<&Mpi> = Mpi::available().iter().collect();
    keep_share(&mut libraries, case);
    expect_none(libraries.iter().filter_map(|mpi| failing(mpi, &check)).collect());
}

/// `run` has no complaint in one of a few tries: a busy machine adds waits of its own to a run, but takes none away.
///
/// One run at a time, since each would be noise in the other; the tries end with the first that has no complaint.
pub fn retry_until_ok(run: impl Fn() -> Result<(), String>) {
    static ALONE: Mutex<()> = Mutex::new(());
    let complaint = {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        (1..=MOST_TRIES).try_fold(String::new(), |_, attempt| {
            let complaint = run().err()?;
            if attempt < MOST_TRIES {
                retried(&complaint);
            }
            Some(complaint)
        })
    };
    if let Some(complaint) = complaint {
        panic!("{complaint}");
    }
}

/// The same for a check that panics.
pub fn retry_assertions(check: impl Fn()) {
    let why = |panic: Box<dyn std::any::Any + Send>| match panic.downcast::<String>() {
        Ok(message) => *message,
        Err(_) => "it panicked".to_owned(),
    };
    retry_until_ok(|| std::panic::catch_unwind(std::panic::AssertUnwindSafe(&check)).map_err(why));
}

/// Whether an item of a report is at the line marked `site:name` of `program`.
pub fn is_at(item: &Value, program: &Program, site: &str) -> bool {
    let name = program.source.file_name().and_then(|name| name.to_str()).expect("a program has a name");
    let file = item["file"].as_str().unwrap_or_default();
    file.rsplit('/').next() == Some(name) && item["line"] == program.line(site)
}
