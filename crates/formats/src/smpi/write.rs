//! Exports a recording as a time-independent trace of SMPI: a list and a folder with one file per rank.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use sintonia_recording::Recording;

use crate::atomic_output::AtomicOutput;
use crate::error::PathContext;
use crate::sim_trace::{ActionEmitter, CollectiveOp, Completion, FormatFeatures, TraceAction, TraceEnvelope, TraceOmission};
use crate::{Error, ExportSummary, exported_calls};

const FEATURES: FormatFeatures =
    FormatFeatures { threads: false, communicators: false, synchronous_sends: false, wait_for_send: true, wait_all: true };

/// Host speed at which the trace computes for the recorded time.
const FLOPS_PER_S: f64 = 1e9;

/// The files and folders of the trace whose list is at `path`.
pub fn output_paths(path: &Path) -> Result<[PathBuf; 2], Error> {
    let name = file_name(path)?;
    Ok([path.to_owned(), path.with_file_name(rank_folder_name(name))])
}

fn file_name(path: &Path) -> Result<&str, Error> {
    let refused = || Error::InvalidOutputPath { path: path.to_owned(), what: "is not a valid file name".into() };
    path.file_name().and_then(|name| name.to_str()).ok_or_else(refused)
}

fn rank_folder_name(name: &str) -> String {
    format!("{name}_files")
}

/// Writes the trace of a recording; `progress` is called after each rank.
pub fn write(recording: &Recording, path: &Path, progress: &(dyn Fn() + Sync)) -> Result<ExportSummary, Error> {
    exported_calls::require_calls(&recording.header)?;
    let name = file_name(path)?;
    let folder = rank_folder_name(name);
    let output = AtomicOutput::new(path)?;
    std::fs::create_dir(output.staged_path(&folder)).with_path(path)?;
    let mut list = BufWriter::new(File::create(output.staged_path(name)).with_path(path)?);
    let mut omissions = BTreeSet::new();
    for rank in 0..recording.header.rank_count() {
        let file = format!("{folder}/rank-{rank}.txt");
        writeln!(list, "{file}").with_path(path)?;
        let mut out = BufWriter::new(File::create(output.staged_path(&file)).with_path(path)?);
        write_rank(&mut out, recording, rank, path, &mut omissions)?;
        out.flush().with_path(path)?;
        progress();
    }
    list.flush().with_path(path)?;
    let mut written = output.commit(&[&folder, name])?;
    written.notes.extend(omissions.into_iter().map(|omission| omission.describe("SMPI")));
    Ok(written)
}

fn write_rank(
    out: &mut impl Write,
    recording: &Recording,
    rank: u32,
    path: &Path,
    omissions: &mut BTreeSet<TraceOmission>,
) -> Result<(), Error> {
    // Without an argument, counts are bytes.
    writeln!(out, "{rank} init").with_path(path)?;
    if recording.header.rank(rank).is_some() {
        let rank_count = recording.header.rank_count() as usize;
        let mut parts = false;
        let mut emitter = ActionEmitter::new(recording, rank, FEATURES, omissions, |_, action| {
            parts |= matches!(action, TraceAction::Collective { operation, .. } if has_per_rank_counts(*operation));
            write_action(out, rank, rank_count, action)
        });
        exported_calls::for_each_call(recording, rank, |row| emitter.add_call(row).with_path(path))?;
        emitter.finish().with_path(path)?;
        if parts {
            omissions.insert(TraceOmission::EqualisedParts);
        }
    }
    writeln!(out, "{rank} finalize").with_path(path)
}

/// Whether the action has one count per rank, which a recording does not have.
fn has_per_rank_counts(operation: CollectiveOp) -> bool {
    use CollectiveOp::*;
    matches!(operation, Gatherv | Scatterv | Allgatherv | Alltoallv | Alltoallw | ReduceScatter)
}

fn write_action(out: &mut impl Write, rank: u32, rank_count: usize, action: &TraceAction) -> io::Result<()> {
    let message = |out: &mut dyn Write, action: &str, TraceEnvelope { peer, tag, .. }: TraceEnvelope, bytes: u64| {
        writeln!(out, "{rank} {action} {peer} {tag} {bytes}")
    };
    match *action {
        TraceAction::Compute { seconds } => writeln!(out, "{rank} compute {:.0}", seconds * FLOPS_PER_S),
        TraceAction::Send { to, bytes, completion, .. } => {
            message(out, if completion == Completion::Blocking { "send" } else { "isend" }, to, bytes)
        }
        TraceAction::Receive { from, bytes, completion } => {
            message(out, if completion == Completion::Blocking { "recv" } else { "irecv" }, from, bytes)
        }
        TraceAction::Wait { is_send: true, message } => writeln!(out, "{rank} wait {rank} {} {}", message.peer, message.tag),
        TraceAction::Wait { is_send: false, message } => writeln!(out, "{rank} wait {} {rank} {}", message.peer, message.tag),
        TraceAction::WaitAll { .. } => writeln!(out, "{rank} waitall"),
        TraceAction::Collective { operation, root, sent, received, .. } => {
            write_collective(out, rank, operation, CollectiveSizes { rank_count, root: root.unwrap_or(0), sent, received })
        }
        // The format features exclude the others.
        TraceAction::Test | TraceAction::Init | TraceAction::Finalize => Ok(()),
    }
}

/// A rank's arguments of a collective.
struct CollectiveSizes {
    rank_count: usize,
    root: u32,
    sent: u64,
    received: u64,
}

impl CollectiveSizes {
    /// One count per rank, as equal as possible.
    fn split_evenly(&self, bytes: u64) -> String {
        let (share, rest) = (bytes / self.rank_count.max(1) as u64, bytes % self.rank_count.max(1) as u64);
        let part = |rank: usize| share + u64::from((rank as u64) < rest);
        (0..self.rank_count).map(|rank| part(rank).to_string()).collect::<Vec<_>>().join(" ")
    }

    fn per_rank(&self, bytes: u64) -> u64 {
        bytes / self.rank_count.max(1) as u64
    }
}

fn write_collective(out: &mut impl Write, rank: u32, operation: CollectiveOp, sizes: CollectiveSizes) -> io::Result<()> {
    let CollectiveSizes { rank_count, root, sent, received } = sizes;
    let (whole, here) = (sent.max(received), root == rank);
    match operation {
        CollectiveOp::Barrier => writeln!(out, "{rank} barrier"),
        CollectiveOp::Broadcast => writeln!(out, "{rank} bcast {whole} {root}"),
        CollectiveOp::Reduce => writeln!(out, "{rank} reduce {whole} 0 {root}"),
        CollectiveOp::Allreduce => writeln!(out, "{rank} allreduce {whole} 0"),
        CollectiveOp::Scan => writeln!(out, "{rank} scan {whole} 0"),
        CollectiveOp::Exscan => writeln!(out, "{rank} exscan {whole} 0"),
        CollectiveOp::Gather => {
            let block = if here { sizes.per_rank(received) } else { sent };
            writeln!(out, "{rank} gather {block} {block} {root}")
        }
        CollectiveOp::Scatter => {
            let block = if here { sizes.per_rank(sent) } else { received };
            writeln!(out, "{rank} scatter {block} {block} {root}")
        }
        CollectiveOp::Allgather => writeln!(out, "{rank} allgather {} {}", sizes.per_rank(received), sizes.per_rank(received)),
        CollectiveOp::Alltoall => writeln!(out, "{rank} alltoall {} {}", sizes.per_rank(sent), sizes.per_rank(received)),
        CollectiveOp::Gatherv => writeln!(out, "{rank} gatherv {sent} {} {root}", sizes.split_evenly(received)),
        CollectiveOp::Scatterv => writeln!(out, "{rank} scatterv {} {received} {root}", sizes.split_evenly(sent)),
        CollectiveOp::Allgatherv => writeln!(out, "{rank} allgatherv {sent} {}", sizes.split_evenly(received)),
        CollectiveOp::ReduceScatter => writeln!(out, "{rank} reducescatter {} 0", sizes.split_evenly(sent)),
        CollectiveOp::ReduceScatterBlock => writeln!(out, "{rank} reducescatter {} 0", vec![received.to_string(); rank_count].join(" ")),
        // Neighbourhood collectives are written as messages, so only variants of alltoallv remain.
        _ => writeln!(out, "{rank} alltoallv {sent} {} {received} {}", sizes.split_evenly(sent), sizes.split_evenly(received)),
    }
}
