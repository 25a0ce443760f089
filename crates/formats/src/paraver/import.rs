//! Imports a Paraver trace.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use sintonia_recording::header::{RecordedRank, RecordingHeader};
use sintonia_recording::sealed;

use super::call_sites::CallSiteTable;
use super::external_sort::SortRuns;
use super::label_parser::{self, TraceLabels};
use super::process_import::{ImportContext, ProcessImporter};
use super::sort_entry::{EntryKey, KEY_BYTES};
use super::trace_scan::TraceScan;
use crate::Error;
use crate::error::PathContext;
use crate::import::{ImportSummary, StagedRecording};

/// What a trace lacks about messages.
const MESSAGE_NOTE: &str = "a Paraver trace has neither the communicators of messages (MPI_COMM_WORLD is assumed) nor the completion of \
                            nonblocking sends (assumed at the next wait)";

/// Imports a trace `NAME.prv` or `NAME.prv.gz` to `into`, with the labels in `NAME.pcf` and `NAME.row` if they exist.
pub fn read(path: &Path, into: &Path) -> Result<ImportSummary, Error> {
    let pcf = sibling_file(path, "pcf");
    let names = if pcf.exists() { TraceLabels::read(&pcf)? } else { TraceLabels::default() };
    let new = StagedRecording::create(into)?;
    let entries = SortRuns::new(new.folder())?;
    let scan = TraceScan::scan(path, &names, new.folder(), &entries)?;
    let mut context = ImportContext { scan: &scan, names: &names, sites: CallSiteTable::new(), stray_messages: 0, local_calls: 0 };
    let ranks = read_ranks(&mut context, &entries, new.folder())?;
    let calls = ranks.iter().map(|rank| rank.calls).sum();
    let mut notes = notes(&context);
    if !pcf.exists() {
        notes.push(format!("without {} the calls have no source lines", pcf.display()));
    }
    let size: usize = scan.header.applications.iter().map(Vec::len).sum();
    let imported = ImportSummary { ranks: size, calls, notes };
    let sites = context.sites.into_sites();
    let (ranks, hosts) = assign_hosts(ranks, &scan, path)?;
    new.finish(RecordingHeader {
        started_s: scan.header.started_s,
        hosts,
        size,
        ranks,
        communicators: scan.communicators.to_header(),
        sites,
        notes: imported.notes.clone(),
        ..RecordingHeader::default()
    })?;
    Ok(imported)
}

/// The file with another extension that belongs to a trace.
fn sibling_file(path: &Path, ending: &str) -> PathBuf {
    let compressed = path.extension().is_some_and(|ending| ending == "gz");
    let plain = if compressed { path.with_extension("") } else { path.to_owned() };
    plain.with_extension(ending)
}

/// Imports one process after the other.
fn read_ranks(context: &mut ImportContext, entries: &SortRuns<KEY_BYTES>, folder: &Path) -> Result<Vec<RecordedRank>, Error> {
    let mut ranks = Vec::new();
    let mut merge = entries.merge()?;
    while let Some(rank) = merge.peek()?.map(|key| EntryKey::from_bytes(key).rank) {
        let mut process = ProcessImporter::new(context, rank, folder)?;
        while merge.peek()?.is_some_and(|key| EntryKey::from_bytes(key).rank == rank) {
            if let Some((key, content)) = merge.next_item()? {
                process.add_entry(EntryKey::from_bytes(key), content)?;
            }
        }
        match process.finish()? {
            Some(rank) => ranks.push(rank),
            None => {
                let file = folder.join(sealed::file_name(rank));
                fs::remove_file(&file).with_path(&file)?;
            }
        }
    }
    Ok(ranks)
}

/// The ranks with their hosts, and the host names.
fn assign_hosts(ranks: Vec<RecordedRank>, scan: &TraceScan, path: &Path) -> Result<(Vec<RecordedRank>, Vec<String>), Error> {
    let row = sibling_file(path, "row");
    let named = if row.exists() { label_parser::read_node_names(&row)? } else { Vec::new() };
    let node = |rank: &RecordedRank| scan.task(rank.rank).1.node;
    let nodes: Vec<u64> = ranks.iter().map(node).collect::<BTreeSet<_>>().into_iter().collect();
    let name = |node: &u64| node.checked_sub(1).and_then(|index| named.get(index as usize)).cloned();
    let hosts = nodes.iter().map(|node| name(node).unwrap_or_else(|| format!("node {node}"))).collect();
    let index = |rank: &RecordedRank| nodes.partition_point(|other| *other < node(rank)) as u32;
    Ok((ranks.iter().map(|rank| RecordedRank { host: index(rank), ..rank.clone() }).collect(), hosts))
}

fn notes(context: &ImportContext) -> Vec<String> {
    let scan = context.scan;
    let counted = |count: u64, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{count} {many}")),
    };
    let mut notes: Vec<String> = [
        counted(scan.nameless_calls, "call of a function without a name was left out", "calls of functions without a name were left out"),
        counted(
            context.local_calls,
            "call of a local function such as MPI_Comm_rank was left out, as `sintonia record` does",
            "calls of local functions such as MPI_Comm_rank were left out, as `sintonia record` does",
        ),
        counted(scan.unknown_records, "record of an unknown type was left out", "records of unknown types were left out"),
        counted(
            context.stray_messages,
            "end of a message is in no call that could have sent or received it",
            "ends of messages are in no call that could have sent or received them",
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    if scan.message_count > 0 {
        notes.push(MESSAGE_NOTE.into());
    }
    notes
}
