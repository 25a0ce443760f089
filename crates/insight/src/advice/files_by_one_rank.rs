//! A file read or written by a single rank through the C library while the others wait.

use sintonia_recording::file_io::FileOperation;

use super::phrases::{format_bytes, format_ns, format_ranks, format_share};
use super::rule_context::RuleContext;
use super::serial_file_io::SerialFileIo;
use super::what_if::WhatIfChange;
use super::{AdviceCandidate, AdviceRule, AdviceText};

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "files_by_one_rank",
    name: "files of one rank",
    help: "One rank reads or writes files (fwrite, write, Fortran I/O, Python) while the others wait for it at the next synchronisation.",
    basis: "the run replayed with this file I/O divided evenly among all ranks, as if the file system served all of them at once",
    find,
    describe,
};

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    let size = context.size() as i64;
    let candidate = |(rank, io): (&u32, &SerialFileIo)| {
        let site = io.record.as_ref()?.site?;
        Some(AdviceCandidate::at_call(site, vec![*rank], WhatIfChange::Moved(io.divided.clone()), io.ns - io.ns / size))
    };
    context.inputs.serial_file_io.iter().filter_map(candidate).collect()
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let rank = candidate.ranks.first().copied().unwrap_or(0);
    let known = context.inputs.serial_file_io.get(&rank).cloned().unwrap_or_default();
    let does = match known.record.as_ref().map(|record| record.operation) {
        Some(FileOperation::Read) => "reads",
        Some(FileOperation::Write | FileOperation::Sync) => "writes",
        _ => "accesses",
    };
    let who = format_ranks(&[rank]);
    let waited: i64 = context.findings.waits.iter().filter_map(|waits| waits.causes.get(&rank)).sum();
    AdviceText {
        what: format!(
            "{who} {does} {} alone ({} at {}), and the others wait for it.",
            known.path,
            format_bytes(known.bytes),
            context.source_location(candidate.site())
        ),
        evidence: format!(
            "{} in file operations on {who} ({}), {} moved; the others wait {} for it in total.",
            format_ns(known.ns),
            format_share(known.ns, context.run_ns()),
            format_bytes(known.bytes),
            format_ns(waited)
        ),
        try_this: match does {
            "reads" => {
                "Let each rank read its own part (MPI_File_read_at_all, parallel HDF5 or netCDF); or read the file on one rank before \
                        the others need it."
            }
            _ => {
                "Let each rank write its own part (MPI_File_write_at_all, parallel HDF5 or netCDF, a file per rank); or copy the data and \
                  write it in a thread while the computation goes on."
            }
        }
        .into(),
    }
}
