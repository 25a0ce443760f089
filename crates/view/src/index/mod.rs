//! The index: what makes any moment of a long recording quick to find and to draw.
//!
//! It is built once, in one pass over the calls, and kept in a file beside them (`view.index`). For each thread it holds where
//! every 128th call stands and what kinds of calls take how long from there to the next ([`survey`]); and for threads with many calls the
//! shares of time in bins of the run, at several widths. Where columns of a picture are wide, bins are enough; where they are narrow, the
//! calls themselves are read, from the middle of the recording ([`draw`]).

mod canvas;
mod directory;
mod draw;
mod kind;
pub mod levels;
mod survey;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use rayon::prelude::*;
use sintonia_recording::Recording;

pub use canvas::{Canvas, Window};
pub use directory::{Block, STRETCH, Thread};
pub use draw::Drawer;
pub use kind::{KINDS, Kind};

use crate::store::{self, Appender, Error, Section, Stamp, Stamps, Store};
use directory::Directory;

/// The index of a recording.
pub struct Index {
    store: Store<Directory>,
    /// The files of ranks as they were when it was opened.
    stamps: HashMap<u32, Stamp>,
}

impl Index {
    /// Opens the index of a recording, and makes it if there is none, or one of another state of the recording. `progress` is told how
    /// much of that is done, from 0 to 1.
    pub fn open(recording: &Recording, progress: &(dyn Fn(f64) + Sync)) -> Result<Index, Error> {
        store::sweep(recording);
        let stamps = Stamps::of(recording);
        let identity = stamps.identity(recording);
        let found = store::find(recording, identity).map(Ok);
        let store = found.unwrap_or_else(|| store::make(recording, identity, |file| build(recording, identity, file, progress)))?;
        let stamps = recording.header.ranks.iter().zip(stamps.ranks).filter_map(|(rank, stamp)| Some((rank.rank, stamp?))).collect();
        Ok(Index { store, stamps })
    }

    /// The first and the last moment of the run.
    pub fn span(&self) -> (i64, i64) {
        self.store.contents.span
    }

    /// The threads of a rank.
    pub fn threads_of(&self, rank: u32) -> &[Thread] {
        self.store.contents.threads_of(rank)
    }

    /// A number that says which recording this is of, and in which state.
    pub fn identity(&self) -> u64 {
        self.store.contents.identity
    }
}

/// Goes through all ranks, several at a time, and writes what they contribute as they come.
fn build(recording: &Recording, identity: u64, file: &Appender, progress: &(dyn Fn(f64) + Sync)) -> Result<Directory, Error> {
    let span = span(recording);
    let all: u64 = recording.header.ranks.iter().map(|rank| rank.calls.min(1 << 40) + 1).sum();
    let done = std::sync::atomic::AtomicU64::new(0);
    let ranks = recording.header.ranks.par_iter().map(|rank| {
        let mut surveys = survey::survey(recording, rank, span)?;
        let (section, threads) = (file.append(&surveys.bytes)?, &mut surveys.threads);
        threads.iter_mut().for_each(|thread| shift(thread, section.at));
        let calls = rank.calls.min(1 << 40) + 1;
        progress((done.fetch_add(calls, std::sync::atomic::Ordering::Relaxed) + calls) as f64 / all as f64);
        Ok((section, surveys.threads))
    });
    let ranks: Vec<(Section, Vec<Thread>)> = ranks.collect::<Result<_, Error>>()?;
    let mut directory = Directory { identity, span, ..Directory::default() };
    for (section, threads) in ranks {
        directory.sections.push(section);
        directory.threads.extend(threads);
    }
    directory.threads.sort_by_key(|thread| (thread.rank, thread.thread));
    directory.threads.dedup_by_key(|thread| (thread.rank, thread.thread));
    let (mut from, mut to) = span;
    for block in directory.threads.iter().flat_map(|thread| &thread.blocks) {
        (from, to) = (from.min(block.begin), to.max(block.end));
    }
    directory.span = (from.max(*canvas::MOMENTS.start()), to.min(*canvas::MOMENTS.end()));
    Ok(directory)
}

/// The first and the last moment of a run, as its header tells.
fn span(recording: &Recording) -> (i64, i64) {
    let within = |ns: i64| ns.clamp(*canvas::MOMENTS.start(), *canvas::MOMENTS.end() - 1);
    let ranks = &recording.header.ranks;
    let from = ranks.iter().map(|rank| within(rank.begin_ns)).min().unwrap_or(0);
    let to = ranks.iter().map(|rank| within(rank.end_ns)).max().unwrap_or(0);
    (from, to.max(from + 1))
}

/// Counts places of the file from its beginning.
fn shift(thread: &mut Thread, by: u64) {
    thread.levels.iter_mut().for_each(|level| level.at += by);
    thread.blocks.iter_mut().for_each(|block| block.at += by);
}
