//! The index: makes any part of a long recording fast to find and to paint.
//!
//! It is built once, in one pass over the calls, and stored in the recording (`view.index`). For each thread it has the offset of every
//! 128th call and the time per kind of activity between them ([`builder`]), and for threads with many calls also shares of time in bins of
//! several widths. Wide columns are painted from bins. For narrow columns the calls themselves are read, starting at the stored offsets
//! ([`draw`]). Sums by call site up to every few thousandth call give the sums of any time range ([`call_sums`]).

mod activity;
mod builder;
mod call_sums;
mod canvas;
mod directory;
mod draw;
pub(crate) mod levels;
pub(crate) mod prefix_sums;
mod site_function;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use rayon::prelude::*;
use sintonia_recording::Recording;

pub(crate) use activity::{ActivityKind, KIND_COUNT};
pub(crate) use canvas::{ActivityCanvas, TimeWindow};
pub(crate) use directory::{BlockIndex, CALLS_PER_CHUNK, ThreadIndex};
pub(crate) use draw::ThreadPainter;
pub(crate) use site_function::SiteFunction;

use crate::cache_file::{self, CacheFile, Error, FileStamp, RecordingStamps, SectionWriter};
use directory::IndexDirectory;

/// The index of a recording.
pub(crate) struct TimelineIndex {
    store: CacheFile<IndexDirectory>,
    /// State of the rank files when the index was opened.
    stamps: HashMap<u32, FileStamp>,
}

impl TimelineIndex {
    /// Opens the index of a recording, and builds it if it is missing or outdated. `progress` is called with values from 0 to 1.
    pub(crate) fn open(recording: &Recording, progress: &(dyn Fn(f64) + Sync)) -> Result<TimelineIndex, Error> {
        cache_file::remove_stale(recording);
        let stamps = RecordingStamps::from_recording(recording);
        let identity = stamps.identity(recording);
        let found = cache_file::find(recording, identity).map(Ok);
        let store = found.unwrap_or_else(|| cache_file::create(recording, identity, |file| build_index(recording, file, progress)))?;
        let stamps = recording.header.ranks.iter().zip(stamps.ranks).filter_map(|(rank, stamp)| Some((rank.rank, stamp?))).collect();
        Ok(TimelineIndex { store, stamps })
    }

    /// Start and end time of the run.
    pub(crate) fn span(&self) -> (i64, i64) {
        self.store.contents.span
    }

    /// The threads of a rank.
    pub(crate) fn threads_of(&self, rank: u32) -> &[ThreadIndex] {
        self.store.contents.threads_of(rank)
    }

    /// Identifies the recording and its state.
    pub(crate) fn identity(&self) -> u64 {
        self.store.identity
    }
}

/// Indexes all ranks in parallel and writes their sections.
fn build_index(recording: &Recording, file: &SectionWriter, progress: &(dyn Fn(f64) + Sync)) -> Result<IndexDirectory, Error> {
    let span = header_span(recording);
    let all: u64 = recording.header.ranks.iter().map(|rank| rank.calls.min(1 << 40) + 1).sum();
    let done = std::sync::atomic::AtomicU64::new(0);
    let ranks = recording.header.ranks.par_iter().map(|rank| {
        let mut part = builder::index_rank(recording, rank, span)?;
        let at = file.append(&part.bytes)?;
        part.threads.iter_mut().for_each(|thread| shift_offsets(thread, at));
        let calls = rank.calls.min(1 << 40) + 1;
        progress((done.fetch_add(calls, std::sync::atomic::Ordering::Relaxed) + calls) as f64 / all as f64);
        Ok(part.threads)
    });
    let mut threads = ranks.collect::<Result<Vec<Vec<ThreadIndex>>, Error>>()?.concat();
    threads.sort_by_key(|thread| (thread.rank, thread.thread));
    threads.dedup_by_key(|thread| (thread.rank, thread.thread));
    let (mut from, mut to) = span;
    for block in threads.iter().flat_map(|thread| &thread.blocks) {
        (from, to) = (from.min(block.begin), to.max(block.end));
    }
    let span = (from.max(*canvas::TIME_RANGE.start()), to.min(*canvas::TIME_RANGE.end()));
    Ok(IndexDirectory { span, threads })
}

/// Start and end time of a run according to its header.
fn header_span(recording: &Recording) -> (i64, i64) {
    let within = |ns: i64| ns.clamp(*canvas::TIME_RANGE.start(), *canvas::TIME_RANGE.end() - 1);
    let ranks = &recording.header.ranks;
    let from = ranks.iter().map(|rank| within(rank.begin_ns)).min().unwrap_or(0);
    let to = ranks.iter().map(|rank| within(rank.end_ns)).max().unwrap_or(0);
    (from, to.max(from + 1))
}

/// Makes offsets relative to the start of the file.
fn shift_offsets(thread: &mut ThreadIndex, by: u64) {
    thread.levels.iter_mut().for_each(|level| level.at += by);
    thread.blocks.iter_mut().for_each(|block| block.at += by);
    thread.sums.shift(by);
    thread.traffic.iter_mut().for_each(|traffic| traffic.shift(by));
}
