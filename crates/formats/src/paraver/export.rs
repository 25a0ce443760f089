//! Exports a recording as a Paraver trace.
//!
//! Ranks are converted in parallel; their records go to an [external sort](super::external_sort) by time, their message ends to one by
//! matching key. Then matched messages become records too, and everything is merged.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sintonia_paraver::{CommunicationEnd, IntercommunicatorSide, Record, TaskDefinition, TraceHeader, TraceWriter};
use sintonia_recording::Recording;

use super::caller_labels::CallerLabels;
use super::event_types::STATE_NOT_CREATED;
use super::external_sort::SortRuns;
use super::label_files;
use super::message_matching::{MatchedMessage, MessageEndpoint, MessageMatcher, UnmatchedCounts};
use super::rank_records::{self, RankStats, RecordType, TraceContext, record_key};
use super::resource_model::ResourceModel;
use crate::Error;
use crate::atomic_output::{AtomicOutput, ExportSummary};
use crate::error::PathContext;
use crate::exported_calls;
use crate::timeline::TimeOrigin;

/// The files that [`write()`] creates or replaces.
pub fn output_paths(path: &Path) -> Result<[PathBuf; 3], Error> {
    let TraceFileNames { prv, pcf, row } = TraceFileNames::from_path(path)?;
    Ok([prv, pcf, row].map(|name| path.with_file_name(name)))
}

/// Writes a recording as `NAME.prv` (or `NAME.prv.gz`), `NAME.pcf` and `NAME.row`; `path` is that of the first.
pub fn write(recording: &Recording, path: &Path, progress: &(dyn Fn() + Sync)) -> Result<ExportSummary, Error> {
    exported_calls::require_calls(&recording.header)?;
    let names = TraceFileNames::from_path(path)?;
    let output = AtomicOutput::new(path)?;
    let (layout, callers) = (ResourceModel::from_header(&recording.header), CallerLabels::from_sites(&recording.header.sites));
    let context =
        TraceContext { recording, resources: &layout, callers: &callers, time_origin: TimeOrigin::from_header(&recording.header) };
    let trace = CollectedTrace::collect(&context, &output.staged_path(""), progress)?;
    let (pcf, row) = (output.staged_path(&names.pcf), output.staged_path(&names.row));
    let operations: BTreeSet<_> = trace.ranks.iter().flat_map(|stats| stats.operations.iter().copied()).collect();
    fs::write(&pcf, label_files::trace_labels(&operations, &callers).to_string()).with_path(&pcf)?;
    fs::write(&row, label_files::resource_names(&layout, &trace.thread_counts(&layout)).to_string()).with_path(&row)?;
    let notes = trace.notes();
    trace.write(&context, &output.staged_path(&names.prv))?;
    let written = output.commit(&[&names.row, &names.pcf, &names.prv])?;
    Ok(ExportSummary { notes, ..written })
}

#[derive(Debug, PartialEq, Eq)]
struct TraceFileNames {
    prv: String,
    pcf: String,
    row: String,
}

impl TraceFileNames {
    fn from_path(path: &Path) -> Result<TraceFileNames, Error> {
        let no_name = || Error::InvalidOutputPath {
            path: path.to_owned(),
            what: "is not a valid trace name; expected NAME.prv or NAME.prv.gz".into(),
        };
        let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(no_name)?;
        let base = name.strip_suffix(".gz").unwrap_or(name).strip_suffix(".prv").filter(|base| !base.is_empty()).ok_or_else(no_name)?;
        Ok(TraceFileNames { prv: name.to_owned(), pcf: format!("{base}.pcf"), row: format!("{base}.row") })
    }
}

/// The collected content of a trace.
struct CollectedTrace {
    lines: SortRuns<{ rank_records::KEY_BYTES }>,
    ranks: Vec<RankStats>,
    unmatched: UnmatchedCounts,
    end_time: u64,
}

impl CollectedTrace {
    fn collect(context: &TraceContext, folder: &Path, progress: &(dyn Fn() + Sync)) -> Result<CollectedTrace, Error> {
        let (lines, messages) = (SortRuns::new(folder)?, MessageMatcher::new(folder)?);
        let ranks = context.recording.header.ranks.par_iter().filter(|rank| context.resources.has_rank(rank.rank));
        let stats = ranks.map(|rank| {
            let stats = rank_records::RankRecordWriter::new(context, rank, lines.collector(), messages.for_rank(rank.rank)).write();
            progress();
            stats
        });
        let stats: Vec<RankStats> = stats.collect::<Result<_, Error>>()?;
        let end_time = stats.iter().map(|stats| stats.end_time).max().unwrap_or(0);
        let mut collector = lines.collector();
        let mut line = Vec::new();
        for stats in stats.iter().filter(|stats| stats.end_time < end_time) {
            let object = context.resources.trace_object(stats.rank, 0);
            line.clear();
            Record::State { object, begin: stats.end_time, end: end_time, state: STATE_NOT_CREATED }.encode(&mut line);
            collector.add(record_key(stats.end_time, RecordType::State, stats.rank), &line)?;
        }
        let unmatched = messages.for_each_match(|message| {
            line.clear();
            communication(context.resources, message).encode(&mut line);
            collector.add(record_key(message.send.logical_time, RecordType::Communication, message.from), &line)
        })?;
        collector.finish()?;
        Ok(CollectedTrace { lines, ranks: stats, unmatched, end_time })
    }

    /// Number of threads of each task.
    fn thread_counts(&self, layout: &ResourceModel) -> Vec<usize> {
        let mut threads = vec![1; layout.tasks.len()];
        self.ranks.iter().for_each(|stats| threads[stats.rank as usize] = stats.threads);
        threads
    }

    fn notes(&self) -> Vec<String> {
        let outside: u64 = self.ranks.iter().map(|stats| stats.external_messages).sum();
        let counted = |count: u64, what: &str| (count > 0).then(|| format!("{count} message{} {what}", if count == 1 { "" } else { "s" }));
        let mut notes: Vec<String> = [
            counted(self.unmatched.sends, "that no recorded call received could not be drawn"),
            counted(self.unmatched.receives, "that no recorded call sent could not be drawn"),
            counted(outside, "to or from processes outside the recording could not be drawn"),
        ]
        .into_iter()
        .flatten()
        .collect();
        notes.push(
            "Paraver cannot represent requests, the communicators of messages, windows, files, and errors that calls returned".into(),
        );
        notes
    }

    fn write(self, context: &TraceContext, path: &Path) -> Result<(), Error> {
        let communicators = communicator_lines(context.recording);
        let mut out = TraceWriter::create(path, &self.header(context, communicators.len() as u64))?;
        for line in communicators {
            out.write_line(&line)?;
        }
        let mut lines = self.lines.merge()?;
        while let Some((_, line)) = lines.next_item()? {
            out.write_line(line)?;
        }
        Ok(out.finish()?)
    }

    fn header(&self, context: &TraceContext, communicators: u64) -> TraceHeader {
        let threads = self.thread_counts(context.resources);
        let tasks = context.resources.tasks.iter().zip(threads);
        let tasks = tasks.map(|(task, threads)| TaskDefinition { threads: threads as u64, node: task.node as u64 + 1 });
        TraceHeader {
            started_s: context.recording.header.started_s,
            duration: self.end_time,
            unit_ns: 1,
            node_cpus: context.resources.nodes.iter().map(|node| node.task_count as u64).collect(),
            applications: vec![tasks.collect()],
            communicators,
        }
    }
}

/// One line per communicator, numbered from 1. Intercommunicators come last, after their groups, which have ids of their own.
fn communicator_lines(recording: &Recording) -> Vec<Vec<u8>> {
    let count = recording.header.communicators.len() as u64;
    let (mut lines, mut groups, mut between) = (Vec::new(), Vec::new(), Vec::new());
    for (number, id) in (0..count as u32).zip(1..) {
        let (members, remote) = (recording.members(number), recording.remote(number));
        if remote.is_empty() {
            lines.push(communicator_line(id, members));
            continue;
        }
        let local = count + groups.len() as u64 + 1;
        groups.extend([communicator_line(local, members), communicator_line(local + 1, remote)]);
        let leader = |members: &[i32]| members.first().and_then(|first| u64::try_from(*first).ok()).map_or(0, |first| first + 1);
        let sides = [(local, members), (local + 1, remote)]
            .map(|(communicator, members)| IntercommunicatorSide { communicator, leader: leader(members) });
        between.push(encoded(&Record::Intercommunicator { application: 1, id, sides }));
    }
    [lines, groups, between].concat()
}

fn communicator_line(id: u64, members: &[i32]) -> Vec<u8> {
    let tasks: Vec<u64> = members.iter().filter_map(|member| u64::try_from(*member).ok()).map(|member| member + 1).collect();
    encoded(&Record::Communicator { application: 1, id, tasks: &tasks })
}

fn encoded(record: &Record) -> Vec<u8> {
    let mut line = Vec::new();
    record.encode(&mut line);
    line
}

fn communication(layout: &ResourceModel, message: &MatchedMessage) -> Record<'static> {
    let end = |rank, end: &MessageEndpoint| CommunicationEnd {
        object: layout.trace_object(rank, end.thread),
        logical_time: end.logical_time,
        physical_time: end.physical_time,
    };
    Record::Communication {
        send: end(message.from, &message.send),
        receive: end(message.to, &message.receive),
        size: message.bytes(),
        tag: u64::try_from(message.tag).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_files_have_one_name() {
        let names = |path: &str| {
            let TraceFileNames { prv, pcf, row } = TraceFileNames::from_path(Path::new(path)).unwrap();
            [prv, pcf, row]
        };
        assert_eq!(names("a/run.prv"), ["run.prv", "run.pcf", "run.row"]);
        assert_eq!(names("run.prv.gz"), ["run.prv.gz", "run.pcf", "run.row"]);
        for name in ["/", "run", "run.gz", ".prv"] {
            assert!(TraceFileNames::from_path(Path::new(name)).is_err(), "{name}");
        }
    }
}
