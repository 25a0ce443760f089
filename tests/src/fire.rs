//! The program of the paper on MATE, which the cases of `sintonia tune` run, and what the verb tells of it.

use std::path::Path;

use serde_json::Value;

use crate::{Mpi, Outcome, workspace};

/// A short fire: points in the south take twice their time.
pub const SHORT_FIRE: &str =
    "points = 1500\nspacing = 12\nend = 2\nsubsteps = 4\nheavy_below = -150\nheavy = 1\nheavy_works = 0\nidle_per_point = 20\n";

/// Builds `apps/xfire` in a folder, beside a fire; the words that run it.
pub fn xfire(mpi: &Mpi, folder: &Path, fire: &str) -> [String; 2] {
    let files = ["main.c", "conf.c", "spread.c", "front.c", "master.c", "worker.c"].map(|file| workspace().join("apps/xfire").join(file));
    mpi.compile(&files, &folder.join("xfire"));
    std::fs::write(folder.join("fire.conf"), fire).expect("written");
    ["xfire", "fire.conf"].map(|file| folder.join(file).display().to_string())
}

/// The line of JSON that `sintonia tune --json` ends with.
pub fn tuning(outcome: &Outcome) -> Value {
    let line = outcome.stderr.lines().rev().find(|line| line.starts_with("{\"decisions\"")).expect("a line of JSON");
    serde_json::from_str(line).expect("JSON")
}

/// Whether a change was made; the last one may come when the program has ended.
pub fn was_made(change: &Value) -> bool {
    change["refused"].is_null() || change["refused"].as_str().is_some_and(|why| why.contains("before the program ended"))
}
