//! The analysis: wait states, messages, the critical path and roles, stored beside the index.
//!
//! It takes some microseconds and about a hundred bytes per call ([`detect`]), so it runs once, in the background, and the result is stored
//! in delta-encoded blocks ([`delta`]) in `view.analysis`. Times are those of the history, in which contradicting clocks are corrected.

mod delta;
mod detect;
mod records;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sintonia_insight::RunSummary;
use sintonia_machine::free_memory;
use sintonia_recording::Recording;

use crate::cache_file::{self, CacheContents, CacheFile, Error, SectionWriter, is_in_bounds};
use crate::index::levels::{self, ActivityDensity, BinLevel};
use crate::index::prefix_sums::{PrefixSums, PrefixSumsBuilder, RecordSums};
use crate::index::{ActivityCanvas, SiteFunction, TimelineIndex};
use delta::{DeltaBlock, DeltaEncoded, decode_block, encode_blocks};
use detect::{AnalysisFindings, ThreadFindings};
pub(crate) use records::{MessageRecord, PathInterval, WaitRecord};

/// Called with the current activity and the overall progress, from 0 to 1.
pub(crate) type ProgressFn<'a> = &'a (dyn Fn(&str, f64) + Sync);

/// A group of ranks with the same behaviour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RankRole {
    /// Display name.
    pub name: String,
    /// The ranks of the group.
    pub ranks: Vec<u32>,
}

/// Contents of the analysis file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct AnalysisDirectory {
    /// Kinds of wait states that occur.
    kinds: Vec<String>,
    roles: Vec<RankRole>,
    /// Sorted by rank and thread.
    threads: Vec<ThreadDirectory>,
    path: Vec<DeltaBlock>,
}

/// Contents for one thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct ThreadDirectory {
    rank: u32,
    thread: u16,
    /// Shares of waiting time in bins.
    levels: Vec<BinLevel>,
    waits: Vec<DeltaBlock>,
    /// Sums over the wait states; positions are blocks of `waits`.
    wait_sums: PrefixSums<WaitKey>,
    messages: Vec<DeltaBlock>,
}

/// What wait states are added up by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct WaitKey {
    /// Index into the list of kinds.
    pub kind: u64,
    /// The waiting call.
    pub call: SiteFunction,
}

impl CacheContents for AnalysisDirectory {
    const FILE_NAME: &'static str = "view.analysis";
    const MAGIC: &'static [u8; 8] = b"SINFOUND";
    const FORMAT_VERSION: u32 = 3;

    fn is_valid(&self, length: u64) -> bool {
        let fits = |blocks: &[DeltaBlock]| blocks.iter().all(|block| is_in_bounds(block.at, block.bytes.into(), length));
        let thread = |thread: &ThreadDirectory| {
            thread.levels.iter().all(|level| level.is_valid(1, length))
                && thread.wait_sums.is_valid(length)
                && fits(&thread.waits)
                && fits(&thread.messages)
        };
        self.threads.iter().all(thread) && self.threads.is_sorted_by_key(|thread| (thread.rank, thread.thread)) && fits(&self.path)
    }
}

/// The analysis of a recording.
pub(crate) struct TimelineAnalysis {
    store: CacheFile<AnalysisDirectory>,
}

impl TimelineAnalysis {
    /// The stored analysis, if there is one for the current state of the recording.
    pub(crate) fn find(recording: &Recording, index: &TimelineIndex) -> Option<TimelineAnalysis> {
        cache_file::find(recording, index.identity()).map(|store| TimelineAnalysis { store })
    }

    /// Runs the analysis and stores it.
    pub(crate) fn create(recording: &Recording, index: &TimelineIndex, report: ProgressFn) -> Result<TimelineAnalysis, Error> {
        let findings = detect::detect_all(recording, report)?;
        report("storing the analysis", 0.95);
        let store = cache_file::create(recording, index.identity(), |file| write_findings(&findings, index, file))?;
        Ok(TimelineAnalysis { store })
    }

    /// Why there is not enough memory for the analysis, if so: running out would kill the process or make the machine swap.
    pub(crate) fn memory_shortage(recording: &Recording) -> Option<String> {
        let needed = RunSummary::memory_bytes(recording);
        let free = free_memory()?;
        let gigabytes = |bytes: u64| bytes as f64 / 1e9;
        (needed > free).then(|| {
            format!(
                "the analysis of wait states and messages needs about {:.0} GB of memory, {:.0} GB are free",
                gigabytes(needed),
                gigabytes(free)
            )
        })
    }

    /// Ranks with the same behaviour.
    pub(crate) fn roles(&self) -> &[RankRole] {
        &self.store.contents.roles
    }

    /// Kinds of wait states that occur.
    pub(crate) fn wait_kinds(&self) -> &[String] {
        &self.store.contents.kinds
    }

    pub(crate) fn wait_kind(&self, wait: &WaitRecord) -> &str {
        usize::try_from(wait.kind).ok().and_then(|kind| self.wait_kinds().get(kind)).map_or("", String::as_str)
    }

    /// Adds the waiting time of a thread inside the clip range of the canvas.
    pub(crate) fn draw_waits(&self, rank: u32, thread: u16, canvas: &mut ActivityCanvas<1>) -> Result<(), Error> {
        let Some(thread) = self.thread(rank, thread) else { return Ok(()) };
        if let Some(level) = levels::coarsest_fitting(&thread.levels, canvas.window()) {
            let (mut bytes, (first, at, length)) = (Vec::new(), level.bins_to_paint(1, canvas));
            self.store.read_at(at, length, &mut bytes)?;
            level.paint(first, &bytes, &[0], canvas);
            return Ok(());
        }
        let (from, to) = canvas.clip_range();
        self.for_each_record(thread.waits.iter().filter(|block| block.overlaps(from, to)), |wait: WaitRecord| {
            let (from, to) = wait.span();
            canvas.paint(from, to, 0);
        })
    }

    /// Sums over the wait states of a thread in a time range, by kind and call. One counts where it begins, and its time as far as it is in the
    /// range.
    pub(crate) fn wait_sums(&self, rank: u32, thread: u16, from: i64, to: i64) -> Result<Vec<(WaitKey, RecordSums)>, Error> {
        let Some(thread) = self.thread(rank, thread) else { return Ok(Vec::new()) };
        let (until, earlier) = (self.wait_sums_before(thread, to)?, self.wait_sums_before(thread, from)?);
        let sums = until.into_iter().zip(earlier).map(|(until, earlier)| until.since(earlier));
        Ok(thread.wait_sums.keys.iter().copied().zip(sums).filter(|(_, sums)| *sums != RecordSums::default()).collect())
    }

    fn wait_sums_before(&self, thread: &ThreadDirectory, time: i64) -> Result<Vec<RecordSums>, Error> {
        let (mut sums, (first, _)) = thread.wait_sums.before(time, &self.store)?;
        let indices = thread.wait_sums.key_indices();
        let blocks = thread.waits.iter().skip(first as usize).take_while(|block| block.span.0 < time);
        self.for_each_record(blocks, |wait: WaitRecord| {
            if let Some(key) = indices.get(&wait.key()).filter(|_| wait.from < time) {
                let ns = wait.span().1.min(time).saturating_sub(wait.from).max(0).unsigned_abs();
                sums[*key].add(RecordSums { count: 1, ns, bytes: 0 });
            }
        })?;
        Ok(sums)
    }

    /// Wait states of consecutive calls of a thread.
    pub(crate) fn waits(&self, rank: u32, thread: u16, first: u64, last: u64) -> Result<Vec<WaitRecord>, Error> {
        let mut waits = Vec::new();
        let Some(thread) = self.thread(rank, thread) else { return Ok(waits) };
        let begin = thread.waits.partition_point(|block| block.rows.1 < first);
        let end = thread.waits.partition_point(|block| block.rows.0 <= last);
        self.for_each_record(thread.waits.get(begin..end).unwrap_or_default().iter(), |wait: WaitRecord| {
            if (first..=last).contains(&wait.row) {
                waits.push(wait);
            }
        })?;
        Ok(waits)
    }

    /// The parts of the critical path that overlap a time range.
    pub(crate) fn critical_path(&self, from: i64, to: i64) -> Result<Vec<PathInterval>, Error> {
        let mut intervals = Vec::new();
        self.for_each_record(self.store.contents.path.iter().filter(|block| block.overlaps(from, to)), |interval: PathInterval| {
            if interval.from < to && from < interval.to {
                intervals.push(interval);
            }
        })?;
        Ok(intervals)
    }

    /// Lower and upper bound of the number of messages sent or received in a time range.
    pub(crate) fn message_count(&self, from: i64, to: i64) -> (u64, u64) {
        let blocks = self.store.contents.threads.iter().flat_map(|thread| &thread.messages).filter(|block| block.overlaps(from, to));
        blocks.fold((0, 0), |(min, max), block| {
            let (count, is_within) = (u64::from(block.count), from <= block.span.0 && block.span.1 < to);
            (min + if is_within { count } else { 0 }, max + count)
        })
    }

    /// Messages sent or received in a time range that match a filter.
    pub(crate) fn messages(&self, from: i64, to: i64, filter: impl Fn(&MessageRecord) -> bool + Sync) -> Result<Vec<MessageRecord>, Error> {
        let messages_of_thread = |thread: &ThreadDirectory| {
            let mut messages = Vec::new();
            self.for_each_record(thread.messages.iter().filter(|block| block.overlaps(from, to)), |message: MessageRecord| {
                let inside = (from..to).contains(&message.send_time) || (from..to).contains(&message.receive_time);
                if inside && filter(&message) {
                    messages.push(message);
                }
            })?;
            Ok(messages)
        };
        let threads: Vec<Vec<MessageRecord>> =
            self.store.contents.threads.par_iter().map(messages_of_thread).collect::<Result<_, Error>>()?;
        Ok(threads.concat())
    }

    fn thread(&self, rank: u32, thread: u16) -> Option<&ThreadDirectory> {
        let threads = &self.store.contents.threads;
        threads.binary_search_by_key(&(rank, thread), |thread| (thread.rank, thread.thread)).ok().map(|index| &threads[index])
    }

    fn for_each_record<'a, T: DeltaEncoded>(
        &self,
        blocks: impl Iterator<Item = &'a DeltaBlock>,
        mut visit: impl FnMut(T),
    ) -> Result<(), Error> {
        let mut bytes = Vec::new();
        for block in blocks {
            self.store.read_at(block.at, block.bytes as usize, &mut bytes)?;
            decode_block(&bytes, &mut visit);
        }
        Ok(())
    }
}

fn write_findings(findings: &AnalysisFindings, index: &TimelineIndex, file: &SectionWriter) -> Result<AnalysisDirectory, Error> {
    let (kinds, roles) = (findings.kinds.clone(), findings.roles.clone());
    let threads = findings.threads.par_iter().map(|thread| write_thread(thread, index, file));
    let mut threads = threads.collect::<Result<Vec<ThreadDirectory>, Error>>()?;
    threads.sort_by_key(|thread| (thread.rank, thread.thread));
    let mut bytes = Vec::new();
    let mut path = encode_blocks(&findings.path, &mut bytes);
    let at = file.append(&bytes)?;
    path.iter_mut().for_each(|block| block.at += at);
    Ok(AnalysisDirectory { kinds, roles, threads, path })
}

fn write_thread(thread: &ThreadFindings, index: &TimelineIndex, file: &SectionWriter) -> Result<ThreadDirectory, Error> {
    let mut bytes = Vec::new();
    // A bin takes one byte here, and reading a wait state costs more than reading a call.
    let density = ActivityDensity { count: thread.waits.len() as u64, min_per_bin: 1 };
    let window = levels::finest_window(index.span(), density);
    let mut canvas = ActivityCanvas::<1>::new(&window);
    for wait in &thread.waits {
        let (from, to) = wait.span();
        canvas.paint(from, to, 0);
    }
    let mut levels = levels::write_levels(&canvas, density, &[0], &mut bytes);
    let (mut waits, mut messages) = (encode_blocks(&thread.waits, &mut bytes), encode_blocks(&thread.messages, &mut bytes));
    let mut wait_sums = sum_waits(&thread.waits, &waits).finish(&mut bytes);
    let at = file.append(&bytes)?;
    levels.iter_mut().for_each(|level| level.at += at);
    waits.iter_mut().chain(&mut messages).for_each(|block| block.at += at);
    wait_sums.shift(at);
    Ok(ThreadDirectory { rank: thread.rank, thread: thread.thread, levels, waits, wait_sums, messages })
}

/// Sums over the wait states of a thread, stored between blocks that have no call in common.
fn sum_waits(mut waits: &[WaitRecord], blocks: &[DeltaBlock]) -> PrefixSumsBuilder<WaitKey> {
    let mut sums = PrefixSumsBuilder::new();
    let mut last_row = None;
    for (index, block) in blocks.iter().enumerate() {
        if sums.is_due() && last_row != Some(block.rows.0) {
            sums.store((index as u32, 0), block.span.0);
        }
        let (own, rest) = waits.split_at(block.count as usize);
        for wait in own {
            let key = sums.key(wait.key());
            sums.add(key, RecordSums { count: 1, ns: wait.ns.max(0).unsigned_abs(), bytes: 0 });
        }
        (waits, last_row) = (rest, Some(block.rows.1));
    }
    let end = blocks.iter().map(|block| block.span.1).max().unwrap_or(0);
    sums.store((blocks.len() as u32, 0), end);
    sums
}
