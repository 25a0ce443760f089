//! Sealing: from what the processes of a run left to a recording that can be read.
//!
//! The files of processes hold addresses, their own numbers and their own time. Sealing looks through them once to learn what there is,
//! then translates and writes them rank by rank, block by block. What they left is removed only when everything else is on disk.

mod clocks;
mod communicators;
mod cython;
mod groups;
mod header;
mod left;
mod process;
mod profile;
mod rank;
mod sites;
mod spawned;
mod stream;
mod symbols;
mod translate;
mod worlds;

use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::definitions::LIVE_FOLDER;
use crate::error::{At, Error};
use crate::header::Header;
use crate::run::Run;
use crate::seal::clocks::HostClocks;
use crate::seal::communicators::Unified;
use crate::seal::left::Left;
use crate::seal::sites::Sites;
use crate::seal::translate::Translator;
use crate::seal::worlds::{Group, Member};
use crate::sealed::Written;

/// How to seal.
#[derive(Clone, Debug, Default)]
pub struct SealOptions {
    /// The exit status of the command, if it was seen to end.
    pub exit_status: Option<i32>,
    /// When it ended, in seconds since 1970: until then calls lasted that never returned.
    pub ended_s: Option<f64>,
    /// Keep what the processes left.
    pub keep_live: bool,
    /// What else was not recorded, one sentence each.
    pub notes: Vec<String>,
}

/// What sealing made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The recording, and those of the other programs that the command ran.
    pub recordings: Vec<PathBuf>,
    /// How many processes there are in the first.
    pub ranks: usize,
    /// How many calls there are in the first.
    pub calls: u64,
    /// Bytes of the first on disk.
    pub bytes: u64,
}

/// Seals a recording. Where the command ran several MPI programs one after the other, `NAME.sin` is the first of them, and the others
/// become `NAME-2.sin`, `NAME-3.sin` and so on.
pub fn seal(folder: &Path, options: &SealOptions) -> Result<Sealed, Error> {
    let mut live = Live::read(folder)?;
    if let Some(ended_s) = options.ended_s {
        live.prolong((ended_s * 1e9) as i64);
    }
    let clocks = live.clocks();
    let (groups, notes) = match live.groups(&clocks) {
        Err(Error::NoMpiCalls { .. }) => return live.seal_nothing(&clocks, options),
        groups => groups?,
    };
    let mut sealed = Sealed { recordings: Vec::new(), ranks: 0, calls: 0, bytes: 0 };
    // The first comes last: as long as it is not sealed, everything can be done again.
    for (place, group) in groups.iter().enumerate().rev() {
        let target = if place == 0 { folder.to_owned() } else { free_name(folder, place + 1) };
        let outcome = Outcome { exit_status: options.exit_status, notes: [&notes[..], &options.notes].concat() };
        let (header, bytes) = live.write(group, &clocks, &target, outcome)?;
        let calls = header.ranks.iter().map(|rank| rank.calls).sum();
        sealed = Sealed { recordings: sealed.recordings, ranks: header.ranks.len(), calls, bytes };
        sealed.recordings.insert(0, target);
    }
    live.remove(options)?;
    Ok(sealed)
}

/// Seals the first program of a run into another folder and leaves the run as it is.
pub(crate) fn seal_copy(recording: &Path, target: &Path) -> Result<Header, Error> {
    let live = Live::read(recording)?;
    let clocks = live.clocks();
    let (groups, mut notes) = live.groups(&clocks)?;
    notes.push("the recording was not sealed: the run goes on, or `sintonia record` was stopped".into());
    if groups.len() > 1 {
        notes.push(format!("the command ran {} MPI programs; this is the first", groups.len()));
    }
    Ok(live.write(&groups[0], &clocks, target, Outcome { exit_status: None, notes })?.0)
}

/// `NAME-2.sin` beside `NAME.sin`, or the next number that is free.
fn free_name(folder: &Path, number: usize) -> PathBuf {
    let stem = folder.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let extension = folder.extension().map(|e| format!(".{}", e.to_string_lossy())).unwrap_or_default();
    let names = (number..).map(|number| folder.with_file_name(format!("{stem}-{number}{extension}")));
    names.into_iter().find(|path| !path.exists()).unwrap_or_else(|| folder.to_owned())
}

/// Everything that the processes of a run left.
struct Live {
    folder: PathBuf,
    run: Run,
    processes: Vec<Left>,
    notes: Vec<String>,
}

/// What is known of a recording besides what its processes left.
struct Outcome {
    exit_status: Option<i32>,
    notes: Vec<String>,
}

impl Live {
    fn read(folder: &Path) -> Result<Live, Error> {
        let live = folder.join(LIVE_FOLDER);
        if !live.is_dir() {
            let what = format!("it has no folder `{LIVE_FOLDER}`");
            return Err(Error::NotARecording { path: folder.to_owned(), what });
        }
        let run = Run::read(folder)?.unwrap_or_default();
        let (processes, notes) = process::read_all(&live)?;
        let processes = processes.into_par_iter().map(Left::look_through).collect::<Result<_, Error>>()?;
        Ok(Live { folder: folder.to_owned(), run, processes, notes })
    }

    /// Calls that were under way when their process ended lasted until the run ended: nobody knows when in between it was killed.
    fn prolong(&mut self, ended: i64) {
        let clocks = self.clocks();
        let last: Vec<u64> = self.processes.iter().map(|left| clocks.ticks_at(&left.process, ended)).collect();
        for (left, last) in self.processes.iter_mut().zip(last).filter(|(left, _)| left.survey.under_way) {
            left.survey.last = left.survey.last.max(last);
        }
    }

    fn clocks(&self) -> HostClocks<'_> {
        HostClocks::new(self.processes.iter().map(|left| (&left.process, &left.survey)))
    }

    fn groups(&self, clocks: &HostClocks) -> Result<(Vec<Group>, Vec<String>), Error> {
        let (groups, notes) = worlds::group(&self.processes, clocks);
        if groups.is_empty() {
            return Err(Error::NoMpiCalls { path: self.folder.clone() });
        }
        Ok((groups, [&self.notes[..], &notes].concat()))
    }

    /// Seals a run in which no process called MPI: a recording that says so.
    fn seal_nothing(&self, clocks: &HostClocks, options: &SealOptions) -> Result<Sealed, Error> {
        let notes = [&self.notes[..], &options.notes].concat();
        let outcome = Outcome { exit_status: options.exit_status, notes };
        let header = header::build(&self.run, &[], &[], clocks, Unified::default(), Vec::new(), outcome);
        let bytes = write_header(&header, &self.folder)?;
        self.remove(options)?;
        Ok(Sealed { recordings: vec![self.folder.clone()], ranks: 0, calls: 0, bytes })
    }

    /// Removes what the processes left, unless it is to be kept.
    fn remove(&self, options: &SealOptions) -> Result<(), Error> {
        let live = self.folder.join(LIVE_FOLDER);
        if options.keep_live { Ok(()) } else { fs::remove_dir_all(&live).at(&live) }
    }

    /// Writes one recording: everything aside first, then in its place, the header last. Says how many bytes that were.
    fn write(&self, group: &Group, clocks: &HostClocks, target: &Path, outcome: Outcome) -> Result<(Header, u64), Error> {
        let aside = target.join("sealing");
        fs::create_dir_all(&aside).at(&aside)?;
        let written = self.write_aside(group, clocks, &aside, outcome).and_then(|header| {
            let bytes = move_into_place(&aside, target)? + write_header(&header, target)?;
            Ok((header, bytes))
        });
        // Nothing half done stays, whatever happened; if it cannot be removed, it does no harm.
        let _ = fs::remove_dir_all(&aside);
        written
    }

    fn write_aside(&self, group: &Group, clocks: &HostClocks, aside: &Path, outcome: Outcome) -> Result<Header, Error> {
        let members = worlds::members(group, &self.processes);
        let (mut unified, locals) = communicators::unify(&members);
        let (groups, group_numbers) = groups::unify(&members);
        unified.groups = groups;
        let mut sites = Sites::default();
        let numbers: Vec<_> = members.iter().map(|member| sites.add(member.process(), &member.left.survey.sites)).collect();
        let known = numbers.into_iter().zip(&locals).zip(&group_numbers);
        let translators = known.map(|((sites, locals), groups)| Translator { sites, locals, groups });
        let ranks: Vec<(&Member, Translator)> = members.iter().zip(translators).collect();
        let written: Vec<Written> =
            ranks.par_iter().map(|(member, translator)| member.left.write(aside, member.rank, translator)).collect::<Result<_, Error>>()?;
        Ok(header::build(&self.run, &members, &written, clocks, unified, sites.resolved(), outcome))
    }
}

/// Writes the header, which makes a folder a recording, and says how many bytes it has.
fn write_header(header: &Header, folder: &Path) -> Result<u64, Error> {
    header.write(folder)?;
    let path = folder.join(crate::header::FILE);
    Ok(path.metadata().at(&path)?.len())
}

/// Moves all files of a folder into another and says how many bytes they are.
fn move_into_place(from: &Path, to: &Path) -> Result<u64, Error> {
    let mut bytes = 0;
    for entry in fs::read_dir(from).at(from)? {
        let entry = entry.at(from)?;
        let target = to.join(entry.file_name());
        bytes += entry.metadata().at(&entry.path())?.len();
        fs::rename(entry.path(), &target).at(&target)?;
    }
    Ok(bytes)
}
