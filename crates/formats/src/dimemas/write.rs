//! Exports a recording as a Dimemas trace.

use std::collections::BTreeSet;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use sintonia_recording::Recording;

use super::COLLECTIVE_OPS;
use crate::error::PathContext;
use crate::sim_trace::{ActionEmitter, CollectiveOp, Completion, FormatFeatures, TraceAction, TraceEnvelope, TraceOmission};
use crate::{Error, ExportSummary, exported_calls, single_file};

const FEATURES: FormatFeatures =
    FormatFeatures { threads: true, communicators: true, synchronous_sends: true, wait_for_send: false, wait_all: false };

/// Digits of a file offset, fixed so that it can be overwritten.
const OFFSET_DIGITS: usize = 20;

/// Writes the trace of a recording; `progress` is called after each rank.
pub fn write(recording: &Recording, path: &Path, progress: &(dyn Fn() + Sync)) -> Result<ExportSummary, Error> {
    exported_calls::require_calls(&recording.header)?;
    let threads = (0..recording.header.rank_count()).map(|rank| Ok(recording.threads(rank)?)).collect::<Result<Vec<_>, Error>>()?;
    let mut omissions = BTreeSet::new();
    let mut written = single_file::write(path, |out| {
        let title = header_prefix(recording);
        write_header(out, recording, &title, &threads).with_path(path)?;
        let mut thread_offsets = Vec::new();
        for (rank, threads) in (0..).zip(&threads) {
            let mut own = String::new();
            for (number, thread) in (0..).zip(threads.iter().map(Some).chain(threads.is_empty().then_some(None))) {
                own += &format!(":{}", out.stream_position().with_path(path)?);
                write_thread(out, recording, rank, number, thread.copied(), path, &mut omissions)?;
            }
            thread_offsets.push(own);
            progress();
        }
        write_thread_offsets(out, &title, &thread_offsets).with_path(path)
    })?;
    written.notes.extend(omissions.into_iter().map(|omission| omission.describe("Dimemas")));
    Ok(written)
}

/// The header up to the offset of the thread offsets.
fn header_prefix(recording: &Recording) -> String {
    let name = recording.header.command.join(" ").replace(|sign: char| sign.is_control() || sign == '"', " ");
    format!("#DIMEMAS:\"{}\":1,", if name.is_empty() { "recording" } else { &name })
}

/// Tasks with their thread counts, and communicators with their members.
fn write_header(out: &mut impl Write, recording: &Recording, title: &str, threads: &[Vec<u16>]) -> io::Result<()> {
    let counts: Vec<String> = threads.iter().map(|threads| threads.len().max(1).to_string()).collect();
    let communicators = recording.header.communicators.len();
    writeln!(out, "{title}{:0OFFSET_DIGITS$}:{}({}),{communicators}", 0, counts.len(), counts.join(","))?;
    for communicator in 0..communicators as u32 {
        let both = recording.members(communicator).iter().chain(recording.remote(communicator));
        let members: Vec<String> = both.filter(|member| **member >= 0).map(i32::to_string).collect();
        writeln!(out, "d:1:{}:{}:{}", communicator_id(communicator), members.len(), members.join(":"))?;
    }
    Ok(())
}

/// Writes the records of one thread, which must be contiguous. Every thread sees all calls, since threads share requests.
fn write_thread(
    out: &mut impl Write,
    recording: &Recording,
    rank: u32,
    number: u16,
    thread: Option<u16>,
    path: &Path,
    omissions: &mut BTreeSet<TraceOmission>,
) -> Result<(), Error> {
    // Every thread needs at least one record.
    writeln!(out, "1:{rank}:{number}:0.000000000").with_path(path)?;
    let Some(thread) = thread else { return Ok(()) };
    let mut emitter = ActionEmitter::new(recording, rank, FEATURES, omissions, |owner, action| match owner == thread {
        true => write_action(out, rank, number, action),
        false => Ok(()),
    });
    exported_calls::for_each_call(recording, rank, |row| emitter.add_call(row).with_path(path))?;
    emitter.finish().with_path(path)
}

/// Writes the offset of each thread at the end of the file, and the offset of that table into the header.
fn write_thread_offsets(out: &mut (impl Write + Seek), title: &str, thread_offsets: &[String]) -> io::Result<()> {
    let offset = out.stream_position()?;
    for (task, own) in thread_offsets.iter().enumerate() {
        writeln!(out, "s:{task}{own}")?;
    }
    out.seek(SeekFrom::Start(title.len() as u64))?;
    write!(out, "{offset:0OFFSET_DIGITS$}")
}

/// Dimemas numbers communicators from 1.
fn communicator_id(communicator: u32) -> u32 {
    communicator.saturating_add(1)
}

fn write_action(out: &mut impl Write, rank: u32, thread: u16, action: &TraceAction) -> io::Result<()> {
    match *action {
        TraceAction::Compute { seconds } => writeln!(out, "1:{rank}:{thread}:{seconds:.9}"),
        TraceAction::Send { to, bytes, synchronous, completion } => {
            let mode = u8::from(synchronous) + if completion == Completion::Blocking { 0 } else { 2 };
            write_message(out, (2, rank, thread), to, bytes, mode)
        }
        TraceAction::Receive { from, bytes, completion } => {
            write_message(out, (3, rank, thread), from, bytes, u8::from(completion != Completion::Blocking))
        }
        TraceAction::Wait { is_send: false, message } => write_message(out, (3, rank, thread), message, 0, 2),
        TraceAction::Collective { operation: op, communicator, root, sent, received } => {
            let operation = COLLECTIVE_OPS.iter().position(|known| *known == nearest_supported(op)).unwrap_or(0);
            let root = match (op, root) {
                (CollectiveOp::Reduce, root) => root.unwrap_or(0),
                (_, root) => u32::from(root == Some(rank)),
            };
            writeln!(out, "10:{rank}:{thread}:{operation}:{}:{root}:0:{sent}:{received}:1", communicator_id(communicator))
        }
        // The format features exclude the others.
        TraceAction::Wait { is_send: true, .. }
        | TraceAction::WaitAll { .. }
        | TraceAction::Test
        | TraceAction::Init
        | TraceAction::Finalize => Ok(()),
    }
}

fn write_message(out: &mut impl Write, record: (u8, u32, u16), message: TraceEnvelope, bytes: u64, mode: u8) -> io::Result<()> {
    let ((kind, rank, thread), TraceEnvelope { peer, tag, communicator }) = (record, message);
    writeln!(out, "{kind}:{rank}:{thread}:{peer}:{bytes}:{tag}:{}:{mode}", communicator_id(communicator))
}

/// The closest collective that Dimemas has.
fn nearest_supported(op: CollectiveOp) -> CollectiveOp {
    match op {
        CollectiveOp::ReduceScatterBlock => CollectiveOp::ReduceScatter,
        CollectiveOp::Exscan => CollectiveOp::Scan,
        other => other,
    }
}
