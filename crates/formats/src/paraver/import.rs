//! Reads a Paraver trace as a recording.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use sintonia_recording::header::{Header, Rank};
use sintonia_recording::sealed;

use super::entry::{KEY_BYTES, Key};
use super::names::{self, Names};
use super::process::{Context, Process};
use super::sites::Sites;
use super::sort::Runs;
use super::survey::Survey;
use crate::Error;
use crate::error::At;
use crate::import::{Imported, NewRecording};

/// What is not known of messages.
const MESSAGES: &str = "a Paraver trace does not say to which communicator a message belongs (it was counted to that of all processes) \
                        nor when a send was complete (it was taken to be at the next wait)";

/// Makes a recording at `into` from a trace `NAME.prv` or `NAME.prv.gz`, with the names in `NAME.pcf` and `NAME.row` if they are there.
pub fn read(path: &Path, into: &Path) -> Result<Imported, Error> {
    let pcf = beside(path, "pcf");
    let names = if pcf.exists() { Names::read(&pcf)? } else { Names::default() };
    let new = NewRecording::begin(into)?;
    let entries = Runs::new(new.folder())?;
    let survey = Survey::of(path, &names, new.folder(), &entries)?;
    let mut context = Context { survey: &survey, names: &names, sites: Sites::new(), stray: 0, local: 0 };
    let ranks = ranks(&mut context, &entries, new.folder())?;
    let calls = ranks.iter().map(|rank| rank.calls).sum();
    let mut notes = notes(&context);
    if !pcf.exists() {
        notes.push(format!("without {} the calls have no source lines", pcf.display()));
    }
    let size: usize = survey.header.applications.iter().map(Vec::len).sum();
    let imported = Imported { ranks: size, calls, notes };
    let sites = context.sites.list();
    let (ranks, hosts) = placed(ranks, &survey, path)?;
    new.finish(Header {
        started_s: survey.header.started_s,
        hosts,
        size,
        ranks,
        communicators: survey.communicators.header(),
        sites,
        notes: imported.notes.clone(),
        ..Header::default()
    })?;
    Ok(imported)
}

/// The file with another ending that belongs to a trace.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let compressed = path.extension().is_some_and(|ending| ending == "gz");
    let plain = if compressed { path.with_extension("") } else { path.to_owned() };
    plain.with_extension(ending)
}

/// Understands one process after the other.
fn ranks(context: &mut Context, entries: &Runs<KEY_BYTES>, folder: &Path) -> Result<Vec<Rank>, Error> {
    let mut ranks = Vec::new();
    let mut merge = entries.merge()?;
    while let Some(rank) = merge.peek()?.map(|key| Key::of(key).rank) {
        let mut process = Process::new(context, rank, folder)?;
        while merge.peek()?.is_some_and(|key| Key::of(key).rank == rank) {
            if let Some((key, content)) = merge.next_item()? {
                process.entry(Key::of(key), content)?;
            }
        }
        match process.finish()? {
            Some(rank) => ranks.push(rank),
            None => {
                let file = folder.join(sealed::file_name(rank));
                fs::remove_file(&file).at(&file)?;
            }
        }
    }
    Ok(ranks)
}

/// The ranks with their hosts, and the names of those.
fn placed(ranks: Vec<Rank>, survey: &Survey, path: &Path) -> Result<(Vec<Rank>, Vec<String>), Error> {
    let row = beside(path, "row");
    let named = if row.exists() { names::nodes(&row)? } else { Vec::new() };
    let node = |rank: &Rank| survey.task(rank.rank).1.node;
    let nodes: Vec<u64> = ranks.iter().map(node).collect::<BTreeSet<_>>().into_iter().collect();
    let name = |node: &u64| node.checked_sub(1).and_then(|place| named.get(place as usize)).cloned();
    let hosts = nodes.iter().map(|node| name(node).unwrap_or_else(|| format!("node {node}"))).collect();
    let place = |rank: &Rank| nodes.partition_point(|other| *other < node(rank)) as u32;
    Ok((ranks.iter().map(|rank| Rank { host: place(rank), ..rank.clone() }).collect(), hosts))
}

fn notes(context: &Context) -> Vec<String> {
    let survey = context.survey;
    let counted = |count: u64, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{count} {many}")),
    };
    let mut notes: Vec<String> = [
        counted(survey.nameless_calls, "call of a function without a name was left out", "calls of functions without a name were left out"),
        counted(
            context.local,
            "call of a function that answers at once, such as MPI_Comm_rank, was left out, as `sintonia record` leaves it out",
            "calls of functions that answer at once, such as MPI_Comm_rank, were left out, as `sintonia record` leaves them out",
        ),
        counted(survey.unknown_records, "record of an unknown kind was left out", "records of unknown kinds were left out"),
        counted(
            context.stray,
            "end of a message lies in no call that could have sent or received it",
            "ends of messages lie in no call that could have sent or received them",
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    if survey.messages > 0 {
        notes.push(MESSAGES.into());
    }
    notes
}
