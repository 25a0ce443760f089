//! Reports the cases that were skipped, needed a second try or do not apply to a library. Rust's test harness counts them as passed and hides what they print.
//!
//! `tests/run` names a file in `SINTONIA_TEST_REPORT`, prints what is in it at the end and fails CI for skipped cases.

#![forbid(unsafe_code)]

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;

/// The current case, or a part of it, did not run.
pub fn skipped(reason: impl Display) {
    report("skipped", &reason);
}

/// The current case is about to run again because the last try failed.
pub fn retried(reason: impl Display) {
    report("retried", &reason);
}

/// A library or program of the current case cannot take part, for a reason that is declared and expected.
pub fn not_applicable(reason: impl Display) {
    report("not applicable", &reason);
}

fn report(what: &str, reason: &dyn Display) {
    let reason = reason.to_string().replace(['\n', '\t'], " ");
    let line = format!("{what}\t{}\t{reason}", case_name());
    println!("{line}");
    let Some(path) = std::env::var_os("SINTONIA_TEST_REPORT") else { return };
    let mut file = OpenOptions::new().create(true).append(true).open(&path).expect("SINTONIA_TEST_REPORT names a file that can be written");
    file.write_all(format!("{line}\n").as_bytes()).expect("the test report can be written");
}

/// The test binary and, since libtest names its threads so, the test.
fn case_name() -> String {
    let exe = std::env::current_exe().ok();
    let stem = exe.as_deref().and_then(|exe| exe.file_stem()).and_then(|stem| stem.to_str()).unwrap_or("?");
    let binary = stem.rsplit_once('-').map_or(stem, |(binary, _hash)| binary);
    format!("{binary}::{}", std::thread::current().name().unwrap_or("?"))
}
