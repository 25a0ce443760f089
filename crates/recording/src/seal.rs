//! Sealing: turns the files that processes wrote during a run into a recording.
//!
//! The raw files contain addresses, process-local ids and local time. Sealing scans them once to collect definitions, then translates and
//! writes them rank by rank and block by block. Raw files are removed only after everything else is on disk.

mod clocks;
mod communicators;
mod counters;
mod cython;
mod file_io;
mod group_ids;
mod header;
mod off_cpu;
mod openmp;
mod process;
mod profile;
mod rank_file;
mod ranked_process;
mod raw_process;
mod raw_records;
mod samples;
mod site_table;
mod spawns;
mod stream;
mod symbols;
mod translate;
mod worlds;

pub use self::symbols::resolve_call_site;
use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::definitions::LIVE_DIR;
use crate::error::{Error, WithPath};
use crate::header::RecordingHeader;
use crate::run_description::RunDescription;
use crate::seal::clocks::HostClocks;
use crate::seal::communicators::UnifiedDefinitions;
use crate::seal::file_io::RawFileIo;
use crate::seal::ranked_process::RankedProcess;
use crate::seal::raw_process::RawProcess;
use crate::seal::site_table::SiteTable;
use crate::seal::spawns::SpawnGroups;
use crate::seal::translate::IdTranslator;
use crate::seal::worlds::WorldGroup;
use crate::sealed::WriteStats;

/// Options for sealing.
#[derive(Clone, Debug, Default)]
pub struct SealOptions {
    /// Exit status of the command, if known.
    pub exit_status: Option<i32>,
    /// End of the run in seconds since the Unix epoch: calls that never returned are taken to last until then.
    pub ended_s: Option<f64>,
    /// Keep the raw files.
    pub keep_live: bool,
    /// Further notes on what was not recorded, one sentence each.
    pub notes: Vec<String>,
}

/// Result of sealing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealReport {
    /// The recording, followed by those of further programs that the command ran.
    pub recordings: Vec<PathBuf>,
    /// Number of processes in the first.
    pub ranks: usize,
    /// Number of calls in the first.
    pub calls: u64,
    /// Size of the first on disk, in bytes.
    pub bytes: u64,
}

/// Seals a recording. If the command ran several MPI programs one after the other, `NAME.sin` is the first of them; the others become
/// `NAME-2.sin`, `NAME-3.sin` and so on.
pub fn seal(folder: &Path, options: &SealOptions) -> Result<SealReport, Error> {
    let mut live = LiveRun::read(folder)?;
    if let Some(ended_s) = options.ended_s {
        live.extend_unfinished((ended_s * 1e9) as i64);
    }
    let clocks = live.clocks();
    let (groups, notes) = match live.recording_worlds(&clocks) {
        Err(Error::NoMpiCalls { .. }) => return live.seal_empty(&clocks, options),
        groups => groups?,
    };
    let mut report = SealReport { recordings: Vec::new(), ranks: 0, calls: 0, bytes: 0 };
    // The first is written last: until then, sealing can be repeated.
    for (index, group) in groups.iter().enumerate().rev() {
        let target = if index == 0 { folder.to_owned() } else { next_free_path(folder, index + 1) };
        let outcome = RunMetadata { exit_status: options.exit_status, notes: [&notes[..], &options.notes].concat() };
        let (header, bytes) = live.write(group, &clocks, &target, outcome)?;
        let calls = header.ranks.iter().map(|rank| rank.calls).sum();
        report = SealReport { recordings: report.recordings, ranks: header.ranks.len(), calls, bytes };
        report.recordings.insert(0, target);
    }
    live.remove_live(options)?;
    Ok(report)
}

/// Seals the first program of a run into another directory, without changing the run.
pub(crate) fn seal_copy(recording: &Path, target: &Path) -> Result<RecordingHeader, Error> {
    let live = LiveRun::read(recording)?;
    let clocks = live.clocks();
    let (groups, mut notes) = live.recording_worlds(&clocks)?;
    notes.push("the recording was not sealed: the run is still in progress, `sintonia record` was stopped, or the disk was full".into());
    if groups.len() > 1 {
        notes.push(format!("the command ran {} MPI programs; this is the first", groups.len()));
    }
    Ok(live.write(&groups[0], &clocks, target, RunMetadata { exit_status: None, notes })?.0)
}

/// `NAME-2.sin` next to `NAME.sin`, or the next free number.
fn next_free_path(folder: &Path, number: usize) -> PathBuf {
    let stem = folder.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let extension = folder.extension().map(|e| format!(".{}", e.to_string_lossy())).unwrap_or_default();
    let names = (number..).map(|number| folder.with_file_name(format!("{stem}-{number}{extension}")));
    names.into_iter().find(|path| !path.exists()).unwrap_or_else(|| folder.to_owned())
}

/// All raw data of a run.
struct LiveRun {
    folder: PathBuf,
    run: RunDescription,
    processes: Vec<RawProcess>,
    notes: Vec<String>,
}

/// What is known about a run apart from its raw data.
struct RunMetadata {
    exit_status: Option<i32>,
    notes: Vec<String>,
}

impl LiveRun {
    fn read(folder: &Path) -> Result<LiveRun, Error> {
        let live = folder.join(LIVE_DIR);
        if !live.is_dir() {
            let what = format!("it has no folder `{LIVE_DIR}`");
            return Err(Error::NotARecording { path: folder.to_owned(), what });
        }
        let run = RunDescription::read(folder)?.unwrap_or_default();
        let (processes, notes) = process::read_all(&live)?;
        let processes = processes.into_par_iter().map(RawProcess::scan).collect::<Result<_, Error>>()?;
        Ok(LiveRun { folder: folder.to_owned(), run, processes, notes })
    }

    /// Calls in progress when their process ended are taken to last until the process exited or, where that is unknown, until the end of
    /// the run.
    fn extend_unfinished(&mut self, ended: i64) {
        let clocks = self.clocks();
        let last_ticks = |raw: &RawProcess| match &raw.process.end {
            // `MPI_Abort` notes the end before it is called.
            Some(end) if end.how != "aborted" => end.ticks,
            _ => clocks.ticks_at(&raw.process, ended),
        };
        let last: Vec<u64> = self.processes.iter().map(last_ticks).collect();
        for (raw, last) in self.processes.iter_mut().zip(last).filter(|(raw, _)| raw.summary.has_unfinished_call) {
            raw.summary.last = raw.summary.last.max(last);
        }
    }

    fn clocks(&self) -> HostClocks<'_> {
        HostClocks::new(self.processes.iter().map(|raw| (&raw.process, &raw.summary)))
    }

    fn recording_worlds(&self, clocks: &HostClocks) -> Result<(Vec<WorldGroup>, Vec<String>), Error> {
        let (groups, notes) = worlds::group_worlds(&self.processes, clocks);
        if groups.is_empty() {
            return Err(Error::NoMpiCalls { path: self.folder.clone() });
        }
        Ok((groups, [&self.notes[..], &notes].concat()))
    }

    /// Seals a run in which no process called MPI: an empty recording with a note.
    fn seal_empty(&self, clocks: &HostClocks, options: &SealOptions) -> Result<SealReport, Error> {
        let notes = [&self.notes[..], &options.notes].concat();
        let outcome = RunMetadata { exit_status: options.exit_status, notes };
        let header = header::build(&self.run, &[], &[], clocks, UnifiedDefinitions::default(), Vec::new(), outcome);
        let bytes = write_header(&header, &self.folder)?;
        self.remove_live(options)?;
        Ok(SealReport { recordings: vec![self.folder.clone()], ranks: 0, calls: 0, bytes })
    }

    /// Removes the raw files unless they are to be kept.
    fn remove_live(&self, options: &SealOptions) -> Result<(), Error> {
        let live = self.folder.join(LIVE_DIR);
        if options.keep_live { Ok(()) } else { fs::remove_dir_all(&live).with_path(&live) }
    }

    /// Writes one recording: first into a temporary directory, then into place, header last. Returns header and size in bytes.
    fn write(&self, group: &WorldGroup, clocks: &HostClocks, target: &Path, outcome: RunMetadata) -> Result<(RecordingHeader, u64), Error> {
        let staging = target.join("sealing");
        fs::create_dir_all(&staging).with_path(&staging)?;
        let written = self.write_files(group, clocks, &staging, outcome).and_then(|header| {
            let bytes = move_into_place(&staging, target)? + write_header(&header, target)?;
            Ok((header, bytes))
        });
        // Leave nothing half done; a failure to remove it is harmless.
        let _ = fs::remove_dir_all(&staging);
        written
    }

    fn write_files(&self, group: &WorldGroup, clocks: &HostClocks, staging: &Path, outcome: RunMetadata) -> Result<RecordingHeader, Error> {
        let members = worlds::ranked_processes(group, &self.processes);
        let (mut definitions, objects) = communicators::unify(&members, SpawnGroups::find(&members, clocks));
        let (groups, group_numbers) = group_ids::unify(&members);
        definitions.groups = groups;
        let mut sites = SiteTable::default();
        let site_ids: Vec<_> = members.iter().map(|member| sites.add(member.process(), &member.raw.summary.sites)).collect();
        let file_io = members.iter().map(|member| RawFileIo::read(member.process())).collect::<Result<Vec<_>, Error>>()?;
        let file_sites: Vec<_> = members.iter().zip(&file_io).map(|(member, io)| sites.add(member.process(), &io.sites())).collect();
        let known = site_ids.into_iter().zip(&objects).zip(&group_numbers);
        let translators = known.map(|((sites, objects), groups)| IdTranslator { sites, objects, groups });
        let ranks: Vec<(&RankedProcess, IdTranslator)> = members.iter().zip(translators).collect();
        for ((member, io), sites) in members.iter().zip(&file_io).zip(&file_sites) {
            io.write(staging, member.rank, sites)?;
        }
        let written: Vec<WriteStats> = ranks
            .par_iter()
            .map(|(member, translator)| {
                off_cpu::write(staging, member.rank, member.process())?;
                counters::write(staging, member.rank, member.process())?;
                openmp::write(staging, member.rank, member.process(), &translator.sites)?;
                rank_file::write(staging, member.rank, member.raw, translator)
            })
            .collect::<Result<_, Error>>()?;
        samples::write(staging, &members)?;
        Ok(header::build(&self.run, &members, &written, clocks, definitions, sites.into_resolved(), outcome))
    }
}

/// Writes the header, which makes a directory a recording, and returns its size in bytes.
fn write_header(header: &RecordingHeader, folder: &Path) -> Result<u64, Error> {
    header.write(folder)?;
    let path = folder.join(crate::header::FILE_NAME);
    Ok(path.metadata().with_path(&path)?.len())
}

/// Moves all files of a directory into another and returns their size in bytes.
fn move_into_place(from: &Path, to: &Path) -> Result<u64, Error> {
    let mut bytes = 0;
    for entry in fs::read_dir(from).with_path(from)? {
        let entry = entry.with_path(from)?;
        let target = to.join(entry.file_name());
        bytes += entry.metadata().with_path(&entry.path())?.len();
        fs::rename(entry.path(), &target).with_path(&target)?;
    }
    Ok(bytes)
}
