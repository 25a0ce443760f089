//! Exports a recording as an OTF2 archive.
//!
//! The calls of each rank are converted to a stream of events; the global definitions come last, because they contain the event counts.

mod calling_contexts;
mod comm_ranks;
mod counter_writer;
mod definitions;
mod event_builder;
mod rank_writer;
mod rma_and_io;
mod sample_writer;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sintonia_mpi::FunctionId;
use sintonia_otf2::ArchiveWriter;
use sintonia_recording::Recording;
use sintonia_recording::samples::StackFrame;

use crate::atomic_output::{AtomicOutput, ExportSummary};
use crate::error::{Error, PathContext};
use crate::exported_calls;
use crate::otf2::event::MpiEvent;
use crate::timeline::TimeOrigin;
use calling_contexts::CallingContexts;
use comm_ranks::CommRankMap;
use counter_writer::MetricClasses;
use event_builder::UnmappedOperations;

/// The property that tells Scalasca that every message has both ends.
const COMMUNICATION_COMPLETE: &str = "OTF2::MPI_COMMUNICATION_COMPLETE";

/// The files and the folder that [`write()`] creates or replaces; an error if the folder exists and is no archive folder.
pub fn output_paths(path: &Path) -> Result<[PathBuf; 3], Error> {
    let name = archive_name(path)?;
    let folder = path.with_file_name(&name);
    check_replaceable(&folder)?;
    Ok([path.to_owned(), path.with_file_name(format!("{name}.def")), folder])
}

/// Writes a recording as an OTF2 archive: `NAME.otf2`, the file to open, with `NAME.def` and the folder `NAME` beside it. Calls are events
/// with calling contexts if the recording has samples, which have them too: OTF2 does not allow both kinds of events in an archive.
pub fn write(recording: &Recording, path: &Path, progress: &(dyn Fn() + Sync)) -> Result<ExportSummary, Error> {
    write_archive(recording, recording.stack_frames()?, path, progress)
}

/// Like [`write()`], without samples.
pub fn write_without_samples(recording: &Recording, path: &Path, progress: &(dyn Fn() + Sync)) -> Result<ExportSummary, Error> {
    write_archive(recording, &[], path, progress)
}

fn write_archive(recording: &Recording, frames: &[StackFrame], path: &Path, progress: &(dyn Fn() + Sync)) -> Result<ExportSummary, Error> {
    exported_calls::require_calls(&recording.header)?;
    let name = archive_name(path)?;
    check_replaceable(&path.with_file_name(&name))?;
    let output = AtomicOutput::new(path)?;
    let mut archive = create_archive(recording, &output.staged_path(&format!("{name}.otf2")))?;
    let has_samples = !frames.is_empty();
    let (calls, earliest_sample) = if has_samples { survey(recording)? } else { (BTreeSet::new(), 0) };
    let context = ExportContext {
        recording,
        comm_ranks: CommRankMap::new(recording),
        calling_contexts: CallingContexts::new(&recording.header.sites, frames, &calls),
        program_begin: definitions::program_begin(&recording.header, &mut archive),
        time_origin: TimeOrigin::from_header(&recording.header).extended_to(earliest_sample),
        has_samples,
        metric_classes: MetricClasses::new(recording, has_samples)?,
    };
    let ranks = (0..recording.header.rank_count()).into_par_iter().map(|rank| {
        let written = rank_writer::write(&context, &archive, rank);
        if recording.header.rank(rank).is_some() {
            progress();
        }
        written
    });
    let ranks = ranks.collect::<Result<Vec<_>, Error>>()?;
    definitions::define_all(&context, &ranks, &mut archive)?;
    archive.finish()?;
    let notes = UnmappedOperations::notes(ranks.iter().map(|rank| &rank.unmapped));
    let written = output.commit(&[&name, &format!("{name}.def"), &format!("{name}.otf2")])?;
    Ok(ExportSummary { notes, ..written })
}

/// Which MPI functions are called at which call sites, and the time of the earliest sample, if it is before the start.
fn survey(recording: &Recording) -> Result<(BTreeSet<(u32, FunctionId)>, i64), Error> {
    let rank_survey = |rank: u32| {
        let totals = recording.totals(rank)?;
        let calls: BTreeSet<_> = totals.iter().map(|(descriptor, _)| (descriptor.site, descriptor.function)).collect();
        let samples = recording.samples(rank)?;
        let earliest = samples.iter().filter_map(|thread| thread.samples.first()).map(|sample| sample.time).min();
        Ok((calls, earliest.unwrap_or(0)))
    };
    let ranks = (0..recording.header.rank_count()).into_par_iter().map(rank_survey).collect::<Result<Vec<_>, Error>>()?;
    let join = |(mut calls, earliest): (BTreeSet<_>, i64), (more, other): (BTreeSet<_>, i64)| {
        calls.extend(more);
        (calls, earliest.min(other))
    };
    Ok(ranks.into_iter().fold((BTreeSet::new(), 0), join))
}

/// What the parts of an export share.
struct ExportContext<'a> {
    recording: &'a Recording,
    comm_ranks: CommRankMap,
    calling_contexts: CallingContexts,
    /// The event at which each process starts.
    program_begin: MpiEvent,
    /// Time origin of the archive.
    time_origin: TimeOrigin,
    /// Whether samples are written, and calls with their calling contexts.
    has_samples: bool,
    metric_classes: MetricClasses,
}

/// The common name of an archive's files.
fn archive_name(path: &Path) -> Result<String, Error> {
    let unnamed = || Error::InvalidOutputPath { path: path.to_owned(), what: "is not a valid archive name; expected NAME.otf2".into() };
    let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".otf2"));
    name.filter(|name| !name.is_empty()).map(str::to_owned).ok_or_else(unnamed)
}

/// The folder may have the name of anything: replace it only if it belongs to an archive.
fn check_replaceable(folder: &Path) -> Result<(), Error> {
    let refuse = || {
        Err(Error::InvalidOutputPath {
            path: folder.to_owned(),
            what: "exists and is not the folder of an archive: the events of the archive would go there".into(),
        })
    };
    if !folder.exists() {
        return Ok(());
    }
    if !folder.is_dir() {
        return refuse();
    }
    for entry in fs::read_dir(folder).with_path(folder)? {
        let name = entry.with_path(folder)?.file_name();
        if !Path::new(&name).extension().is_some_and(|ending| ending == "evt" || ending == "def") {
            return refuse();
        }
    }
    Ok(())
}

fn create_archive(recording: &Recording, path: &Path) -> Result<ArchiveWriter, Error> {
    let header = &recording.header;
    let mut archive = ArchiveWriter::create(path)?;
    archive.set_machine_name(header.hosts.first().cloned().unwrap_or_default());
    archive.set_creator(format!("Sintonia {}", env!("CARGO_PKG_VERSION")));
    archive.set_description(header.command.join(" "));
    if recording.incomplete_ranks().is_empty() && header.ranks.iter().all(|rank| rank.dropped == 0) {
        archive.add_property(COMMUNICATION_COMPLETE, "true");
    }
    Ok(archive)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_folder_of_an_archive_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        assert!(check_replaceable(&path).is_ok());
        fs::create_dir(&path).unwrap();
        fs::write(path.join("0.evt"), "").unwrap();
        assert!(check_replaceable(&path).is_ok());
        fs::write(path.join("thesis.tex"), "").unwrap();
        assert!(
            check_replaceable(&path)
                .unwrap_err()
                .to_string()
                .ends_with("run: exists and is not the folder of an archive: the events of the archive would go there")
        );
    }

    #[test]
    fn an_archive_has_the_name_of_its_file() {
        assert_eq!(archive_name(Path::new("a/run.otf2")).unwrap(), "run");
        for name in ["a/run", ".otf2", "/"] {
            assert!(archive_name(Path::new(name)).is_err(), "{name}");
        }
    }
}
