//! Imports an OTF2 archive of any tool.
//!
//! The definitions are read completely, since everything refers to them; the events of each process are streamed, those
//! of other tools twice: call paths are found first. Regions of the program are not recorded as calls, but provide call paths and sampled
//! stacks.

mod archive_layout;
mod call_path_tree;
mod call_sites;
mod call_writer;
mod context_samples;
mod definitions;
mod location_reader;
mod metrics;
mod open_regions;
mod own_counters;
mod path_scan;
mod rank_reader;
mod region_samples;
mod text_budget;

use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sintonia_otf2::ArchiveReader;
use sintonia_recording::header::{LinearClock, RecordingHeader};
use sintonia_recording::samples;

use crate::error::{Error, PathContext};
use crate::import::{ImportSummary, NANOSECOND_CLOCK, StagedRecording};
use crate::otf2::NANOSECOND_RESOLUTION;
use crate::otf2::properties;
use archive_layout::ArchiveLayout;
use call_path_tree::CallPathTree;
use call_sites::CallSiteIndex;
use context_samples::SampleGenerator;
use definitions::ArchiveDefinitions;
use metrics::MetricIndex;
use rank_reader::{ImportedRank, OmissionCounts};
use text_budget::TextBudget;

/// Imports an OTF2 archive: its anchor file `NAME.otf2`, or a folder that contains one.
pub fn read(path: &Path, into: &Path) -> Result<ImportSummary, Error> {
    let mut trace = OpenArchive::open(&find_anchor(path)?)?;
    let paths = path_scan::scan(&trace)?;
    trace.sites.add_paths(&trace.definitions, &paths, TextBudget::new());
    let recording = StagedRecording::create(into)?;
    let ranks = trace.layout.processes.par_iter().map(|process| rank_reader::read(&trace, process, recording.folder()));
    let mut ranks = ranks.collect::<Result<Vec<_>, Error>>()?;
    ranks.sort_by_key(|rank| rank.rank.rank);
    write_stacks(&trace, &ranks, recording.folder())?;
    let calls = ranks.iter().map(|rank| rank.rank.calls).sum();
    let mut imported = ImportSummary { ranks: trace.layout.size, calls, notes: notes(&trace, &ranks) };
    let creator = trace.archive.anchor().creator.clone();
    recording.finish(recording_header(trace, ranks, imported.notes.clone()))?;
    if !creator.is_empty() {
        imported.notes.insert(0, format!("{creator} made the trace"));
    }
    Ok(imported)
}

/// Writes the frames of all ranks, and gives those of each rank's samples their common index.
fn write_stacks(trace: &OpenArchive, ranks: &[ImportedRank], folder: &Path) -> Result<(), Error> {
    if !trace.definitions.frames.is_empty() {
        return Ok(samples::write_frames(folder, context_samples::own_frames(&trace.definitions))?);
    }
    let mut stacks = CallPathTree::default();
    for rank in ranks.iter().filter(|rank| !rank.stacks.is_empty()) {
        samples::renumber_frames(folder, rank.rank.rank, &stacks.merge(&rank.stacks))?;
    }
    Ok(samples::write_frames(folder, stacks.to_stack_frames(&trace.definitions))?)
}

/// Finds the anchor file.
fn find_anchor(path: &Path) -> Result<PathBuf, Error> {
    let unreadable = |what: &str| Error::Unreadable { path: path.to_owned(), what: what.into() };
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let mut anchors = Vec::new();
    for entry in fs::read_dir(path).with_path(path)? {
        let file = entry.with_path(path)?.path();
        if file.extension().is_some_and(|ending| ending == "otf2") && file.is_file() {
            anchors.push(file);
        }
    }
    match anchors.len() {
        0 => Err(unreadable("the folder contains no file NAME.otf2")),
        1 => Ok(anchors.remove(0)),
        _ => Err(unreadable("the folder contains several files NAME.otf2: name one of them")),
    }
}

/// An archive with its definitions read.
struct OpenArchive {
    archive: ArchiveReader,
    definitions: ArchiveDefinitions,
    layout: ArchiveLayout,
    sites: CallSiteIndex,
    sample_source: Option<SampleGenerator>,
    metrics: MetricIndex,
}

impl OpenArchive {
    fn open(path: &Path) -> Result<OpenArchive, Error> {
        let archive = ArchiveReader::open(path)?;
        let definitions = ArchiveDefinitions::read(&archive)?;
        let unreadable = |what| Error::Unreadable { path: archive.definitions_path(), what };
        let layout = archive_layout::build_layout(&definitions).map_err(unreadable)?;
        let sites = CallSiteIndex::new(&definitions);
        let sample_source = SampleGenerator::from_archive(&definitions);
        let metrics = MetricIndex::new(&definitions);
        Ok(OpenArchive { archive, definitions, layout, sites, sample_source, metrics })
    }

    /// The clock of the recording. Sintonia's own archives can have times before the start, which are kept.
    fn clock(&self) -> LinearClock {
        LinearClock { origin_ticks: self.start_offset(), ..NANOSECOND_CLOCK }
    }

    fn start_offset(&self) -> u64 {
        if self.definitions.is_from_sintonia() { self.definitions.offset } else { 0 }
    }

    /// Converts a timestamp to ticks of the recording.
    fn to_ticks(&self, time: u64) -> u64 {
        self.to_ns(time.saturating_sub(self.definitions.offset - self.start_offset()))
    }

    /// Whether the trace has samples; otherwise regions are sampled.
    fn has_samples(&self) -> bool {
        self.sample_source.is_some() || self.definitions.is_from_sintonia()
    }

    /// Time between two samples of the regions of a location.
    fn region_sample_period_ns(&self) -> u64 {
        region_samples::sample_period_ns(self.to_ns(self.definitions.length))
    }

    fn to_ns(&self, duration: u64) -> u64 {
        let resolution = self.definitions.resolution;
        if resolution == NANOSECOND_RESOLUTION {
            return duration;
        }
        let nanoseconds = u128::from(duration) * u128::from(NANOSECOND_RESOLUTION) / u128::from(resolution);
        u64::try_from(nanoseconds).unwrap_or(u64::MAX)
    }
}

fn recording_header(trace: OpenArchive, ranks: Vec<ImportedRank>, notes: Vec<String>) -> RecordingHeader {
    let resolution = trace.definitions.resolution as f64;
    let deviation = ranks.iter().map(|rank| rank.deviation).fold(0.0, f64::max);
    let mut header = RecordingHeader {
        command: ranks.iter().map(|rank| &rank.command).find(|command| !command.is_empty()).cloned().unwrap_or_default(),
        started_s: trace.definitions.real_time.map_or(0.0, |time| time as f64 / NANOSECOND_RESOLUTION as f64),
        hosts: trace.layout.hosts,
        size: trace.layout.size,
        ranks: ranks.into_iter().map(|rank| rank.rank).collect(),
        communicators: trace.layout.communicators,
        objects: trace.layout.objects,
        groups: trace.layout.groups,
        sites: trace.sites.sites,
        clock_error_s: deviation / resolution,
        ..RecordingHeader::default()
    };
    for (name, value) in &trace.definitions.run_properties {
        properties::apply_run_property(&mut header, name, value);
    }
    properties::apply_host_properties(&mut header, &trace.definitions.host_properties);
    header.notes.extend(notes);
    header
}

/// Notes for the user, one sentence each.
fn notes(trace: &OpenArchive, ranks: &[ImportedRank]) -> Vec<String> {
    let left_out = ranks.iter().fold(OmissionCounts::default(), |sum, rank| sum.sum(rank.omissions));
    let counted = [
        (left_out.local_calls, "calls of local functions such as MPI_Comm_rank are left out, as `sintonia record` does"),
        (
            left_out.started_requests,
            "persistent requests are shown as MPI_Isend and MPI_Irecv where they are started: the trace does not have the calls that created them",
        ),
        (left_out.unresolved, "nonblocking operations complete very late or never: their communicator is unknown"),
        (left_out.unknown_requests, "requests complete whose start is not in the trace"),
        (left_out.stray_events, "MPI events outside any MPI call are left out"),
        (left_out.samples, "samples of another event, or without a calling context, are left out"),
        (left_out.interruptions, "the tool that made the trace paused or flushed its buffer: times around that are distorted"),
        (trace.metrics.beyond_limit, "metrics are left out: there are too many"),
        (trace.metrics.asynchronous, "metrics are left out: they are read at other times than events"),
        (trace.layout.skipped_location_groups as u64, "location groups that are not MPI processes, such as accelerators, are left out"),
    ];
    counted.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{what} ({count})")).collect()
}
