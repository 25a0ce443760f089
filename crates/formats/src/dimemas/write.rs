//! A recording as a trace of Dimemas.

use std::collections::BTreeSet;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use sintonia_recording::Recording;

use super::OPERATIONS;
use crate::error::At;
use crate::script::{End, Envelope, LeftOut, Pattern, Recorded, Step, Vocabulary};
use crate::{Error, Written, rows, single};

const VOCABULARY: Vocabulary =
    Vocabulary { threads: true, communicators: true, synchronous: true, waits_for_sends: false, waits_for_all: false };

/// Digits of a place in the file, so that it can be written over.
const PLACE_DIGITS: usize = 20;

/// Writes the trace of a recording; `progress` is called after each rank.
pub fn write(recording: &Recording, path: &Path, progress: &(dyn Fn() + Sync)) -> Result<Written, Error> {
    rows::check_for_calls(&recording.header)?;
    let threads = (0..recording.header.rank_count()).map(|rank| Ok(recording.threads(rank)?)).collect::<Result<Vec<_>, Error>>()?;
    let mut left_out = BTreeSet::new();
    let mut written = single::write(path, |out| {
        let title = title(recording);
        write_header(out, recording, &title, &threads).at(path)?;
        let mut places = Vec::new();
        for (rank, threads) in (0..).zip(&threads) {
            let mut own = String::new();
            for (number, thread) in (0..).zip(threads.iter().map(Some).chain(threads.is_empty().then_some(None))) {
                own += &format!(":{}", out.stream_position().at(path)?);
                write_thread(out, recording, rank, number, thread.copied(), path, &mut left_out)?;
            }
            places.push(own);
            progress();
        }
        write_places(out, &title, &places).at(path)
    })?;
    written.notes.extend(left_out.into_iter().map(|left_out| left_out.sentence("Dimemas")));
    Ok(written)
}

/// The beginning of the header, as far as the number that says where the places of the threads are.
fn title(recording: &Recording) -> String {
    let name = recording.header.command.join(" ").replace(|sign: char| sign.is_control() || sign == '"', " ");
    format!("#DIMEMAS:\"{}\":1,", if name.is_empty() { "recording" } else { &name })
}

/// The tasks with the number of their threads, and the communicators with their members.
fn write_header(out: &mut impl Write, recording: &Recording, title: &str, threads: &[Vec<u16>]) -> io::Result<()> {
    let counts: Vec<String> = threads.iter().map(|threads| threads.len().max(1).to_string()).collect();
    let communicators = recording.header.communicators.len();
    writeln!(out, "{title}{:0PLACE_DIGITS$}:{}({}),{communicators}", 0, counts.len(), counts.join(","))?;
    for communicator in 0..communicators as u32 {
        let both = recording.members(communicator).iter().chain(recording.remote(communicator));
        let members: Vec<String> = both.filter(|member| **member >= 0).map(i32::to_string).collect();
        writeln!(out, "d:1:{}:{}:{}", number(communicator), members.len(), members.join(":"))?;
    }
    Ok(())
}

/// Writes the records of one thread, which must stand together; of all threads each sees every call, since they share requests.
fn write_thread(
    out: &mut impl Write,
    recording: &Recording,
    rank: u32,
    number: u16,
    thread: Option<u16>,
    path: &Path,
    left_out: &mut BTreeSet<LeftOut>,
) -> Result<(), Error> {
    // Every thread has a record, so that it is there.
    writeln!(out, "1:{rank}:{number}:0.000000000").at(path)?;
    let Some(thread) = thread else { return Ok(()) };
    let mut steps = Recorded::of(recording, rank, VOCABULARY, left_out, |of, step| match of == thread {
        true => write_step(out, rank, number, step),
        false => Ok(()),
    });
    rows::each(recording, rank, |row| steps.call(row).at(path))?;
    steps.finish().at(path)
}

/// Says at the end where each thread begins, and at the beginning where that is said.
fn write_places(out: &mut (impl Write + Seek), title: &str, places: &[String]) -> io::Result<()> {
    let place = out.stream_position()?;
    for (task, own) in places.iter().enumerate() {
        writeln!(out, "s:{task}{own}")?;
    }
    out.seek(SeekFrom::Start(title.len() as u64))?;
    write!(out, "{place:0PLACE_DIGITS$}")
}

/// Dimemas counts communicators from one; below it they mean something else.
fn number(communicator: u32) -> u32 {
    communicator.saturating_add(1)
}

fn write_step(out: &mut impl Write, rank: u32, thread: u16, step: &Step) -> io::Result<()> {
    match *step {
        Step::Compute { seconds } => writeln!(out, "1:{rank}:{thread}:{seconds:.9}"),
        Step::Send { to, bytes, synchronous, end } => {
            let how = u8::from(synchronous) + if end == End::Here { 0 } else { 2 };
            write_message(out, (2, rank, thread), to, bytes, how)
        }
        Step::Receive { from, bytes, end } => write_message(out, (3, rank, thread), from, bytes, u8::from(end != End::Here)),
        Step::Wait { sent: false, message } => write_message(out, (3, rank, thread), message, 0, 2),
        Step::Collective { pattern, communicator, root, sent, received } => {
            let operation = OPERATIONS.iter().position(|known| *known == spoken(pattern)).unwrap_or(0);
            let root = match (pattern, root) {
                (Pattern::Reduce, root) => root.unwrap_or(0),
                (_, root) => u32::from(root == Some(rank)),
            };
            writeln!(out, "10:{rank}:{thread}:{operation}:{}:{root}:0:{sent}:{received}:1", number(communicator))
        }
        // The vocabulary has no others.
        Step::Wait { sent: true, .. } | Step::WaitAll { .. } | Step::Poll | Step::Init | Step::Finalize => Ok(()),
    }
}

fn write_message(out: &mut impl Write, record: (u8, u32, u16), message: Envelope, bytes: u64, how: u8) -> io::Result<()> {
    let ((kind, rank, thread), Envelope { peer, tag, communicator }) = (record, message);
    writeln!(out, "{kind}:{rank}:{thread}:{peer}:{bytes}:{tag}:{}:{how}", number(communicator))
}

/// The nearest operation that Dimemas has.
fn spoken(pattern: Pattern) -> Pattern {
    match pattern {
        Pattern::ReduceScatterBlock => Pattern::ReduceScatter,
        Pattern::Exscan => Pattern::Scan,
        other => other,
    }
}
