//! Programs with one known problem: they say themselves how much of it a run had, and a few runs show it undisturbed.

use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::{Program, Recording, for_every_mpi};

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

/// `check` holds in one of three runs of the program of that name, on every library that can run it.
pub fn settles(name: &str, check: impl Fn(&Program, &Recording) -> Result<(), String>) {
    let program = Program::named(name);
    for_every_mpi(|mpi| {
        if let Err(reason) = program.build(mpi) {
            println!("{}: {name} skipped: {reason}", mpi.name);
            return;
        }
        settles_in_three(|| check(&program, &Recording::of(mpi, &program, &[])).map_err(|complaint| format!("{name}: {complaint}")));
    });
}

/// `run` has no complaint in one of three tries: a busy machine adds waits of its own to a run, but takes none away.
///
/// One run at a time, since each would be noise in the other; the tries end with the first that has no complaint.
pub fn settles_in_three(run: impl Fn() -> Result<(), String>) {
    static ALONE: Mutex<()> = Mutex::new(());
    let complaint = {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        (0..3).try_fold(String::new(), |_, _| run().err())
    };
    if let Some(complaint) = complaint {
        panic!("{complaint}");
    }
}

/// Whether an item of a report is at the line marked `site:name` of `program`.
pub fn is_at(item: &Value, program: &Program, site: &str) -> bool {
    let name = program.source.file_name().and_then(|name| name.to_str()).expect("a program has a name");
    let file = item["file"].as_str().unwrap_or_default();
    file.rsplit('/').next() == Some(name) && item["line"] == program.line(site)
}
