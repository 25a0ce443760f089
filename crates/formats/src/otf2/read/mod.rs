//! An OTF2 archive of any tool as a recording.
//!
//! The definitions are read whole, because everything refers to them; the events of each process are a stream that becomes a stream of
//! calls. Regions of the program itself are no calls, but tell where calls come from.

mod calls;
mod definitions;
mod layout;
mod location;
mod rank;
mod sites;

use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use sintonia_recording::header::{Clock, Header};

use crate::error::{At, Error};
use crate::import::{CLOCK, Imported, NewRecording};
use crate::otf2::anchor::Anchor;
use crate::otf2::definition::NANOSECONDS;
use crate::otf2::facts;
use definitions::Definitions;
use layout::Layout;
use rank::{LeftOut, ReadRank};
use sites::Sites;

/// Makes a recording from an OTF2 archive: its anchor file `NAME.otf2`, or a folder that holds one.
pub fn read(path: &Path, into: &Path) -> Result<Imported, Error> {
    let trace = Trace::open(&find_anchor(path)?)?;
    let recording = NewRecording::begin(into)?;
    let ranks = trace.layout.processes.par_iter().map(|process| rank::read(&trace, process, recording.folder()));
    let mut ranks = ranks.collect::<Result<Vec<_>, Error>>()?;
    ranks.sort_by_key(|rank| rank.rank.rank);
    let calls = ranks.iter().map(|rank| rank.rank.calls).sum();
    let mut imported = Imported { ranks: trace.layout.size, calls, notes: notes(&trace, &ranks) };
    let creator = trace.anchor.creator.clone();
    recording.finish(header(trace, ranks, imported.notes.clone()))?;
    if !creator.is_empty() {
        imported.notes.insert(0, format!("{creator} made the trace"));
    }
    Ok(imported)
}

/// The anchor file that a path means, if it means one.
fn find_anchor(path: &Path) -> Result<PathBuf, Error> {
    let unreadable = |what: &str| Error::Unreadable { path: path.to_owned(), what: what.into() };
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let mut anchors = Vec::new();
    for entry in fs::read_dir(path).at(path)? {
        let file = entry.at(path)?.path();
        if file.extension().is_some_and(|ending| ending == "otf2") && file.is_file() {
            anchors.push(file);
        }
    }
    match anchors.len() {
        0 => Err(unreadable("the folder holds no file NAME.otf2")),
        1 => Ok(anchors.remove(0)),
        _ => Err(unreadable("the folder holds several files NAME.otf2: give one of them")),
    }
}

/// An archive whose definitions are read.
struct Trace {
    anchor: Anchor,
    definitions: Definitions,
    layout: Layout,
    sites: Sites,
    /// Where the files of its locations are.
    folder: PathBuf,
}

impl Trace {
    fn open(path: &Path) -> Result<Trace, Error> {
        let anchor = Anchor::read(path)?;
        let definitions_file = path.with_extension("def");
        let definitions = definitions::read(&definitions_file, anchor.definition_chunk)?;
        let layout = layout::understand(&definitions).map_err(|what| Error::Unreadable { path: definitions_file, what })?;
        let sites = Sites::new(&definitions);
        Ok(Trace { anchor, definitions, layout, sites, folder: path.with_extension("") })
    }

    /// The clock of the recording. What Sintonia wrote can have times before the beginning; they are kept.
    fn clock(&self) -> Clock {
        Clock { origin_ticks: self.before(), ..CLOCK }
    }

    fn before(&self) -> u64 {
        if self.definitions.is_ours() { self.definitions.offset } else { 0 }
    }

    /// A time of the archive in ticks of the recording.
    fn ticks(&self, time: u64) -> u64 {
        let Definitions { resolution, offset, .. } = self.definitions;
        let since = time.saturating_sub(offset - self.before());
        if resolution == NANOSECONDS {
            return since;
        }
        let nanoseconds = u128::from(since) * u128::from(NANOSECONDS) / u128::from(resolution);
        u64::try_from(nanoseconds).unwrap_or(u64::MAX)
    }
}

fn header(trace: Trace, ranks: Vec<ReadRank>, notes: Vec<String>) -> Header {
    let resolution = trace.definitions.resolution as f64;
    let deviation = ranks.iter().map(|rank| rank.deviation).fold(0.0, f64::max);
    let mut header = Header {
        command: ranks.iter().map(|rank| &rank.command).find(|command| !command.is_empty()).cloned().unwrap_or_default(),
        started_s: trace.definitions.real_time.map_or(0.0, |time| time as f64 / NANOSECONDS as f64),
        hosts: trace.layout.hosts,
        size: trace.layout.size,
        ranks: ranks.into_iter().map(|rank| rank.rank).collect(),
        communicators: trace.layout.communicators,
        objects: trace.layout.objects,
        groups: trace.layout.groups,
        sites: trace.sites.all,
        clock_error_s: deviation / resolution,
        ..Header::default()
    };
    for (name, value) in &trace.definitions.run {
        facts::tell_run(&mut header, name, value);
    }
    header.notes.extend(notes);
    header
}

/// What a reader of the recording should know, one sentence each.
fn notes(trace: &Trace, ranks: &[ReadRank]) -> Vec<String> {
    let left_out = ranks.iter().fold(LeftOut::default(), |sum, rank| sum.plus(rank.left_out));
    let counted = [
        (
            left_out.local,
            "calls of functions that answer at once, such as MPI_Comm_rank, are left out, as `sintonia record` leaves them out",
        ),
        (
            left_out.started,
            "persistent requests are shown as MPI_Isend and MPI_Irecv where they are started: the trace does not say which call described them",
        ),
        (left_out.unsettled, "nonblocking operations never end, or long after they began: their communicator is not known"),
        (left_out.unknown_requests, "requests end of which the trace does not say what they were for"),
        (left_out.stray, "events of MPI outside any MPI call are left out"),
        (
            left_out.interruptions,
            "the tool that made the trace stopped recording, or to write out its memory: such times are not what they seem",
        ),
        (trace.layout.left_out as u64, "groups of locations that are no processes of MPI, such as accelerators, are left out"),
    ];
    counted.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{what} ({count})")).collect()
}
