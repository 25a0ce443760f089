//! Writes a recording as a Paraver trace.
//!
//! Every rank is written down for itself, several at a time; its records go to a [sort](super::sort) by time, its ends of messages to one
//! by what makes two ends meet. Then the messages become records too, and everything is merged into the trace.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use rayon::prelude::*;
use sintonia_recording::Recording;

use super::callers::Callers;
use super::events::NOT_CREATED;
use super::layout::Layout;
use super::messages::{Matched, Messages, Unmatched};
use super::rank::{self, Kind, Seen, Stage, key};
use super::sort::Runs;
use super::{labels, text};
use crate::Error;
use crate::error::At;
use crate::rows;
use crate::timeline::Timeline;
use crate::written::{Aside, Written};

/// The files that [`write()`] makes or replaces.
pub fn files(path: &Path) -> Result<[PathBuf; 3], Error> {
    let FileNames { prv, pcf, row } = FileNames::of(path)?;
    Ok([prv, pcf, row].map(|name| path.with_file_name(name)))
}

/// Writes a recording as `NAME.prv` (or `NAME.prv.gz`), `NAME.pcf` and `NAME.row`; the path is that of the first.
pub fn write(recording: &Recording, path: &Path, progress: &(dyn Fn() + Sync)) -> Result<Written, Error> {
    rows::check_for_calls(&recording.header)?;
    let names = FileNames::of(path)?;
    let aside = Aside::beside(path)?;
    let (layout, callers) = (Layout::of(&recording.header), Callers::of(&recording.header.sites));
    let stage = Stage { recording, layout: &layout, callers: &callers, timeline: Timeline::of(&recording.header) };
    let trace = Trace::of(&stage, &aside.file(""), progress)?;
    let (pcf, row) = (aside.file(&names.pcf), aside.file(&names.row));
    let operations: BTreeSet<_> = trace.seen.iter().flat_map(|seen| seen.operations.iter().copied()).collect();
    fs::write(&pcf, labels::pcf(&operations, &callers)).at(&pcf)?;
    fs::write(&row, labels::row(&layout, &trace.threads(&layout))).at(&row)?;
    let notes = trace.notes();
    trace.write(&stage, &aside.file(&names.prv))?;
    let written = aside.publish(&[&names.row, &names.pcf, &names.prv])?;
    Ok(Written { notes, ..written })
}

/// The names of the three files.
#[derive(Debug, PartialEq, Eq)]
struct FileNames {
    prv: String,
    pcf: String,
    row: String,
}

impl FileNames {
    fn of(path: &Path) -> Result<FileNames, Error> {
        let no_name = || Error::InTheWay { path: path.to_owned(), what: "is no name for a trace; give NAME.prv or NAME.prv.gz".into() };
        let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(no_name)?;
        let base = name.strip_suffix(".gz").unwrap_or(name).strip_suffix(".prv").filter(|base| !base.is_empty()).ok_or_else(no_name)?;
        Ok(FileNames { prv: name.to_owned(), pcf: format!("{base}.pcf"), row: format!("{base}.row") })
    }
}

/// Everything that the trace will hold.
struct Trace {
    lines: Runs<{ rank::KEY_BYTES }>,
    seen: Vec<Seen>,
    unmatched: Unmatched,
    end: u64,
}

impl Trace {
    fn of(stage: &Stage, folder: &Path, progress: &(dyn Fn() + Sync)) -> Result<Trace, Error> {
        let (lines, messages) = (Runs::new(folder)?, Messages::new(folder)?);
        let ranks = stage.recording.header.ranks.par_iter().filter(|rank| stage.layout.has(rank.rank));
        let seen = ranks.map(|rank| {
            let seen = rank::Writer::new(stage, rank, lines.collect(), messages.of(rank.rank)).write();
            progress();
            seen
        });
        let seen: Vec<Seen> = seen.collect::<Result<_, Error>>()?;
        let end = seen.iter().map(|seen| seen.end).max().unwrap_or(0);
        let mut collector = lines.collect();
        let mut line = Vec::new();
        for seen in seen.iter().filter(|seen| seen.end < end) {
            rank::state_line(&mut line, stage.layout.object(seen.rank, 0), seen.end, end, NOT_CREATED);
            collector.add(key(seen.end, Kind::State, seen.rank), &line)?;
        }
        let unmatched = messages.each(|message| {
            communication_line(&mut line, stage.layout, message);
            collector.add(key(message.send.logical, Kind::Communication, message.from), &line)
        })?;
        collector.finish()?;
        Ok(Trace { lines, seen, unmatched, end })
    }

    /// How many threads each task has.
    fn threads(&self, layout: &Layout) -> Vec<usize> {
        let mut threads = vec![1; layout.tasks.len()];
        self.seen.iter().for_each(|seen| threads[seen.rank as usize] = seen.threads);
        threads
    }

    fn notes(&self) -> Vec<String> {
        let outside: u64 = self.seen.iter().map(|seen| seen.outside).sum();
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
            "Paraver has no place for requests, the communicators of messages, windows, files, and errors that calls returned".into(),
        );
        notes
    }

    fn write(self, stage: &Stage, path: &Path) -> Result<(), Error> {
        let file = BufWriter::with_capacity(1 << 20, File::create(path).at(path)?);
        let compressed = path.extension().is_some_and(|ending| ending == "gz");
        let mut out = if compressed { Out::Compressed(GzEncoder::new(file, Compression::fast())) } else { Out::Plain(file) };
        out.write_all(&self.header(stage)).at(path)?;
        let mut lines = self.lines.merge()?;
        while let Some((_, line)) = lines.next_item()? {
            out.write_all(line).and_then(|()| out.write_all(b"\n")).at(path)?;
        }
        out.finish().at(path)
    }

    /// The first line and those of the communicators.
    fn header(&self, stage: &Stage) -> Vec<u8> {
        let header = &stage.recording.header;
        let list = |items: &mut dyn Iterator<Item = String>| items.collect::<Vec<_>>().join(",");
        let nodes = list(&mut stage.layout.nodes.iter().map(|node| node.tasks.to_string()));
        let threads = self.threads(stage.layout);
        let tasks = list(&mut stage.layout.tasks.iter().zip(&threads).map(|(task, threads)| format!("{threads}:{}", task.node + 1)));
        let communicators = communicators(stage.recording);
        let (date, end) = (text::date(header.started_s), self.end);
        let (node_count, task_count) = (stage.layout.nodes.len(), threads.len());
        let first = format!("#Paraver ({date}):{end}_ns:{node_count}({nodes}):1:{task_count}({tasks}),{}\n", communicators.len());
        let mut text = first.into_bytes();
        for line in communicators {
            text.extend(line);
            text.push(b'\n');
        }
        text
    }
}

/// A line for each communicator, numbered from 1. Those between two groups come last, after their groups, which have numbers of their own.
fn communicators(recording: &Recording) -> Vec<Vec<u8>> {
    let count = recording.header.communicators.len() as u64;
    let (mut lines, mut groups, mut between) = (Vec::new(), Vec::new(), Vec::new());
    for (number, id) in (0..count as u32).zip(1..) {
        let (members, remote) = (recording.members(number), recording.remote(number));
        if remote.is_empty() {
            lines.push(group(id, members));
            continue;
        }
        let local = count + groups.len() as u64 + 1;
        groups.extend([group(local, members), group(local + 1, remote)]);
        let leader = |members: &[i32]| members.first().and_then(|first| u64::try_from(*first).ok()).map_or(0, |first| first + 1);
        let mut line = b"i:".to_vec();
        text::numbers(&mut line, &[1, id, local, leader(members), local + 1, leader(remote)]);
        between.push(line);
    }
    [lines, groups, between].concat()
}

fn group(id: u64, members: &[i32]) -> Vec<u8> {
    let tasks: Vec<u64> = members.iter().filter_map(|member| u64::try_from(*member).ok()).map(|member| member + 1).collect();
    let mut line = b"c:".to_vec();
    text::numbers(&mut line, &[1, id, tasks.len() as u64]);
    tasks.iter().for_each(|task| {
        line.push(b':');
        text::number(&mut line, *task);
    });
    line
}

fn communication_line(line: &mut Vec<u8>, layout: &Layout, message: &Matched) {
    line.clear();
    line.push(b'3');
    for (rank, end) in [(message.from, &message.send), (message.to, &message.receive)] {
        line.push(b':');
        text::numbers(line, &layout.object(rank, end.thread));
        line.push(b':');
        text::numbers(line, &[end.logical, end.physical]);
    }
    line.push(b':');
    text::numbers(line, &[message.bytes(), u64::try_from(message.tag).unwrap_or(0)]);
}

/// A file, or a compressed one.
enum Out {
    Plain(BufWriter<File>),
    Compressed(GzEncoder<BufWriter<File>>),
}

impl Out {
    fn finish(self) -> io::Result<()> {
        match self {
            Out::Plain(mut file) => file.flush(),
            Out::Compressed(encoder) => encoder.finish()?.flush(),
        }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Out::Plain(file) => file.write(bytes),
            Out::Compressed(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Out::Plain(file) => file.flush(),
            Out::Compressed(encoder) => encoder.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_files_have_one_name() {
        let names = |path: &str| {
            let FileNames { prv, pcf, row } = FileNames::of(Path::new(path)).unwrap();
            [prv, pcf, row]
        };
        assert_eq!(names("a/run.prv"), ["run.prv", "run.pcf", "run.row"]);
        assert_eq!(names("run.prv.gz"), ["run.prv.gz", "run.pcf", "run.row"]);
        for name in ["/", "run", "run.gz", ".prv"] {
            assert!(FileNames::of(Path::new(name)).is_err(), "{name}");
        }
    }
}
