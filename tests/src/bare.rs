//! Runs test programs without Sintonia, twice, and shows what they print: a check for a new test program.
//!
//!     cargo run -p sintonia-tests --bin bare -- [part of a name]
//!
//! A program whose two runs differ, or whose status is not the one it declares, cannot be compared with anything.

use sintonia_tests::{Mpi, NormalizedRun, Program, fresh_dir};

fn main() {
    let part = std::env::args().nth(1).unwrap_or_default();
    let mut bad = 0;
    for program in Program::all().iter().filter(|program| program.name.contains(&part)) {
        for mpi in Mpi::available() {
            let what = format!("{} {}", mpi.name, program.name);
            if let Err(reason) = program.build(mpi) {
                println!("skip {what}: {reason}");
                continue;
            }
            let folders = [fresh_dir(), fresh_dir()];
            let [first, second] = folders.each_ref().map(|folder| {
                let outcome = program.run_bare(mpi, folder.path());
                (NormalizedRun::new(&outcome, folder.path()), outcome)
            });
            let declared = program.status.map_or(first.1.status != 0, |status| first.1.status == status);
            let verdict = if first.1.timed_out {
                "TIME "
            } else if !declared {
                "WRONG"
            } else if first.0.difference(&second.0).is_some() {
                "VARIES"
            } else {
                "ok   "
            };
            println!("{verdict} {what} (status {})", first.1.status);
            if verdict != "ok   " || !part.is_empty() {
                println!("{}", first.1.text());
            }
            if verdict == "VARIES" {
                println!("{}", first.0.difference(&second.0).unwrap_or_default());
            }
            bad += usize::from(verdict != "ok   ");
        }
    }
    std::process::exit(i32::from(bad > 0));
}
