//! What is added to calls that use files.

use std::path::Path;

use super::programs;
use super::study::{AddedUnit, OverheadStudy, StudyCase};
use super::tool::record;
use crate::error::Error;
use crate::mpi::Mpi;
use crate::paths;

const CASES: &[StudyCase] = &[
    StudyCase::of_quickest_batch("open_close", "open, close"),
    StudyCase::of_quickest_batch("read", "read"),
    StudyCase::of_quickest_batch("pwrite", "pwrite"),
    StudyCase::of_quickest_batch("fread", "fread"),
    StudyCase::of_quickest_batch("fgetc", "fgetc"),
    StudyCase::of_quickest_batch("fputc", "fputc"),
    StudyCase::of_quickest_batch("fwrite", "fwrite"),
];

/// The program, with files recorded and without.
pub(super) fn study(mpi: &Mpi, folder: &Path) -> Result<OverheadStudy, Error> {
    let program = programs::build(mpi, "files", folder)?;
    let sintonia = paths::sintonia()?;
    Ok(OverheadStudy {
        title: "Files".into(),
        explanation: "Nanoseconds added to a call of one byte (16 for `fwrite`) on a file whose pages are in memory;\n\
                      `open` and `close` together.",
        program,
        launch: mpi.launch_bound(1),
        cases: CASES,
        unit: AddedUnit::Nanoseconds,
        tools: vec![
            record("Sintonia", "counters by file and call path", &sintonia, &[]),
            record("Sintonia --io off", "no files", &sintonia, &["--io", "off"]),
        ],
        absent: Vec::new(),
    })
}
