//! The samples of all processes: their frames become one tree of functions, with inlined ones as frames of their own.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use rayon::prelude::*;

use crate::counter_event::MAX_EVENTS;
use crate::counters::{self, CounterDefinition, CounterIntervalKind, RankCounters, ThreadCounters};
use crate::error::{Error, WithPath};
use crate::header::{CallSiteDefinition, SourceFrame};
use crate::raw::samples::{MAGIC, RECORD_WORDS, RawFrame, RawSample, RawSampleRecord};
use crate::samples::{self, Sample, StackFrame, ThreadSamples};
use crate::seal::process::ProcessDefinitions;
use crate::seal::ranked_process::RankedProcess;
use crate::seal::raw_records::raw_records;
use crate::seal::site_table::SiteTable;

/// Writes the samples of all ranks.
pub(super) fn write(folder: &Path, members: &[RankedProcess]) -> Result<(), Error> {
    let raw = members.par_iter().map(|member| RawSamples::read(member.process())).collect::<Result<Vec<_>, Error>>()?;
    let mut sites = SiteTable::default();
    let sites_of_frames: Vec<Vec<u32>> =
        members.iter().zip(&raw).map(|(member, raw)| sites.add_frames(member.process(), &raw.frames)).collect();
    let mut tree = FunctionTree::default();
    let functions = tree.add_sites(&sites.into_resolved());
    let frame_of = |sites: &[u32], sample: &RawSample| functions.get(*sites.get(sample.frame as usize)? as usize).copied();
    let threads: Vec<Vec<ThreadSamples>> = members
        .par_iter()
        .zip(&raw)
        .zip(&sites_of_frames)
        .map(|((member, raw), sites)| raw.threads(member.process(), |sample| frame_of(sites, sample)))
        .collect();
    let used = threads.iter().flatten().flat_map(|thread| &thread.samples).map(|sample| sample.frame);
    let (frames, renumbered) = tree.into_used(used);
    members.par_iter().zip(&raw).zip(threads).try_for_each(|((member, raw), mut threads)| {
        for sample in threads.iter_mut().flat_map(|thread| &mut thread.samples) {
            sample.frame = renumbered[sample.frame as usize];
        }
        samples::write(folder, member.rank, &threads)?;
        counters::write(folder, member.rank, CounterIntervalKind::Samples, &raw.counters(member.process()))
    })?;
    samples::write_frames(folder, frames)
}

/// The raw file of a process. Damaged records are passed over.
#[derive(Default)]
struct RawSamples {
    /// By their number; numbers without a record have an address of zero.
    frames: Vec<RawFrame>,
    samples: Vec<RawSample>,
    /// What was counted before a sample, with its index.
    counts: Vec<(usize, [u64; MAX_EVENTS])>,
    /// By the system's id of the thread.
    lost: BTreeMap<u32, u64>,
}

impl RawSamples {
    fn read(process: &ProcessDefinitions) -> Result<RawSamples, Error> {
        let mut raw = RawSamples::default();
        let Some(path) = &process.samples else { return Ok(raw) };
        let bytes = fs::read(path).with_path(path)?;
        raw_records::<RECORD_WORDS>(&bytes, MAGIC).filter_map(RawSampleRecord::from_words).for_each(|record| raw.add(record));
        Ok(raw)
    }

    fn add(&mut self, record: RawSampleRecord) {
        match record {
            RawSampleRecord::Frame(frame) => {
                // Frames are numbered in order; a gap is a damaged record.
                let index = frame.id as usize;
                const LARGEST_GAP: usize = 10_000;
                if index < self.frames.len() + LARGEST_GAP {
                    let missing = |id: usize| RawFrame { id: id as u32, caller: None, address: 0, modules: 0 };
                    self.frames.extend((self.frames.len()..=index).map(missing));
                    self.frames[index] = frame;
                }
            }
            RawSampleRecord::Sample(sample) => self.samples.push(sample),
            RawSampleRecord::Counts(counts) => self.counts.extend(self.samples.len().checked_sub(1).map(|sample| (sample, counts))),
            RawSampleRecord::Lost { thread, samples, .. } => *self.lost.entry(thread).or_default() += u64::from(samples),
        }
    }

    /// The numbers of the threads, by the system's id; threads that never called MPI get numbers after those of the others.
    fn thread_numbers(&self, process: &ProcessDefinitions) -> BTreeMap<u32, u16> {
        let mut next = process.thread_numbers.values().max().map_or(0, |number| number + 1);
        let mut numbers: BTreeMap<u32, u16> = BTreeMap::new();
        for thread in self.samples.iter().map(|sample| sample.thread).chain(self.lost.keys().copied()) {
            numbers.entry(thread).or_insert_with(|| {
                process.thread_numbers.get(&i64::from(thread)).copied().unwrap_or_else(|| {
                    next = next.saturating_add(1);
                    next - 1
                })
            });
        }
        numbers
    }

    /// The samples of each thread.
    fn threads(&self, process: &ProcessDefinitions, frame_of: impl Fn(&RawSample) -> Option<u32>) -> Vec<ThreadSamples> {
        let numbers = self.thread_numbers(process);
        let mut threads: BTreeMap<u16, ThreadSamples> = BTreeMap::new();
        for raw in &self.samples {
            let (Some(frame), Ok(time)) = (frame_of(raw), i64::try_from(raw.ticks)) else { continue };
            let RawSample { in_kernel, in_mpi, is_truncated, .. } = *raw;
            threads.entry(numbers[&raw.thread]).or_default().samples.push(Sample { time, frame, in_kernel, in_mpi, is_truncated });
        }
        for (thread, lost) in &self.lost {
            threads.entry(numbers[thread]).or_default().lost += lost;
        }
        let finished = |(thread, mut found): (u16, ThreadSamples)| {
            found.samples.sort_by_key(|sample| sample.time);
            ThreadSamples { thread, ..found }
        };
        threads.into_iter().map(finished).collect()
    }

    /// What was counted of each thread between its samples.
    fn counters(&self, process: &ProcessDefinitions) -> RankCounters {
        let Some(definition) = &process.counters else { return RankCounters::default() };
        let (numbers, events) = (self.thread_numbers(process), definition.events.len());
        let mut previous: BTreeMap<u32, i64> = BTreeMap::new();
        let mut threads: BTreeMap<u16, ThreadCounters> = BTreeMap::new();
        let mut counts = self.counts.iter().peekable();
        for (index, sample) in self.samples.iter().enumerate() {
            let Ok(end) = i64::try_from(sample.ticks) else { continue };
            let begin = previous.insert(sample.thread, end);
            let counted = counts.next_if(|(sample, _)| *sample == index).filter(|_| begin.is_none_or(|begin| begin < end));
            if let Some((_, counts)) = counted {
                let values = counts.map(|count| count as i64);
                let number = numbers[&sample.thread];
                let thread = threads.entry(number).or_insert_with(|| ThreadCounters::new(number));
                thread.push(begin.unwrap_or(end), end, &values[..events.min(MAX_EVENTS)]);
            }
        }
        let counters = definition.events.iter().take(MAX_EVENTS).map(CounterDefinition::event_count).collect();
        RankCounters { counters, threads: threads.into_values().collect() }
    }
}

/// The frames of all stacks.
#[derive(Default)]
struct FunctionTree {
    frames: Vec<StackFrame>,
    ids: HashMap<StackFrame, u32>,
}

impl FunctionTree {
    /// Adds the frames of call sites, and returns the innermost one of each.
    fn add_sites(&mut self, sites: &[CallSiteDefinition]) -> Vec<u32> {
        let mut innermost: Vec<u32> = Vec::with_capacity(sites.len());
        for site in sites {
            let caller = site.caller.and_then(|caller| innermost.get(caller as usize).copied());
            let unknown = [SourceFrame::default()];
            let functions = if site.frames.is_empty() { &unknown } else { &site.frames[..] };
            let found = functions.iter().rev().fold(caller, |caller, frame| Some(self.id(caller, frame, &site.module)));
            innermost.push(found.unwrap_or(0));
        }
        innermost
    }

    fn id(&mut self, caller: Option<u32>, frame: &SourceFrame, module: &str) -> u32 {
        let SourceFrame { function, file, line } = frame.clone();
        let frame = StackFrame { caller, function, file, line, module: module.to_owned() };
        let new = self.frames.len() as u32;
        *self.ids.entry(frame).or_insert_with_key(|frame| {
            self.frames.push(frame.clone());
            new
        })
    }

    /// The frames that are used and their callers, and the new number of each.
    fn into_used(self, used: impl Iterator<Item = u32>) -> (Vec<StackFrame>, Vec<u32>) {
        let mut is_used = vec![false; self.frames.len()];
        for frame in used {
            let mut next = Some(frame);
            while let Some(frame) = next.filter(|frame| !std::mem::replace(&mut is_used[*frame as usize], true)) {
                next = self.frames[frame as usize].caller;
            }
        }
        let mut renumbered = vec![0; self.frames.len()];
        let mut kept: Vec<StackFrame> = Vec::new();
        for (index, mut frame) in self.frames.into_iter().enumerate().filter(|(index, _)| is_used[*index]) {
            frame.caller = frame.caller.map(|caller| renumbered[caller as usize]);
            renumbered[index] = kept.len() as u32;
            kept.push(frame);
        }
        (kept, renumbered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definitions::CountersDefinition;

    fn site(functions: &[(&str, u32)], caller: Option<u32>) -> CallSiteDefinition {
        let frame = |(function, line): &(&str, u32)| SourceFrame { function: Some((*function).into()), file: None, line: Some(*line) };
        CallSiteDefinition { frames: functions.iter().map(frame).collect(), caller, ..CallSiteDefinition::default() }
    }

    #[test]
    fn inlined_functions_are_frames_and_equal_places_are_one() {
        let sites = [
            site(&[("start", 1)], None),
            site(&[("main", 5)], None),
            site(&[("inlined", 8), ("work", 20)], Some(1)),
            site(&[("inlined", 8), ("work", 20)], Some(1)),
            site(&[("inlined", 9), ("work", 20)], Some(1)),
        ];
        let mut tree = FunctionTree::default();
        let innermost = tree.add_sites(&sites);
        assert_eq!(innermost[2], innermost[3]);
        let (frames, renumbered) = tree.into_used([innermost[2], innermost[4]].into_iter());
        let shown: Vec<_> = frames.iter().map(|frame| (frame.function.as_deref().unwrap(), frame.line.unwrap(), frame.caller)).collect();
        assert_eq!(shown, [("main", 5, None), ("work", 20, Some(0)), ("inlined", 8, Some(1)), ("inlined", 9, Some(1))]);
        assert_eq!([innermost[2], innermost[4]].map(|frame| renumbered[frame as usize]), [2, 3]);
    }

    #[test]
    fn threads_without_calls_are_numbered_after_the_others() {
        let process = ProcessDefinitions { thread_numbers: [(100, 0), (101, 1)].into(), ..ProcessDefinitions::default() };
        let sample = |ticks, thread| RawSample { ticks, thread, frame: 0, in_kernel: false, in_mpi: false, is_truncated: false };
        let raw = RawSamples {
            samples: vec![sample(5, 555), sample(9, 101), sample(7, 101), sample(6, 100)],
            lost: [(101, 4)].into(),
            ..RawSamples::default()
        };
        let found: Vec<_> = raw
            .threads(&process, |_| Some(0))
            .iter()
            .map(|thread| (thread.thread, thread.lost, thread.samples.iter().map(|sample| sample.time).collect::<Vec<_>>()))
            .collect();
        assert_eq!(found, [(0, 0, vec![6]), (1, 4, vec![7, 9]), (2, 0, vec![5])]);
    }

    #[test]
    fn counts_belong_to_the_interval_before_their_sample() {
        let definition = CountersDefinition { events: vec!["page-faults".into(), "major-faults".into()], shortest_ns: 0 };
        let process = ProcessDefinitions { thread_numbers: [(100, 0)].into(), counters: Some(definition), ..ProcessDefinitions::default() };
        let sample = |ticks, thread| {
            RawSampleRecord::Sample(RawSample { ticks, thread, frame: 0, in_kernel: false, in_mpi: false, is_truncated: false })
        };
        let counts = |first| RawSampleRecord::Counts([first, 1, 0, 0]);
        let mut raw = RawSamples::default();
        let records = [counts(9), sample(5, 100), counts(3), sample(6, 555), sample(8, 100), counts(4), sample(11, 100)];
        records.into_iter().for_each(|record| raw.add(record));
        let rank = raw.counters(&process);
        let found: Vec<_> = rank.thread(0).unwrap().iter().map(|interval| (interval.begin, interval.end, interval.values)).collect();
        assert_eq!(found, [(5, 5, &[3, 1][..]), (5, 8, &[4, 1][..])]);
        assert_eq!(rank.counters.len(), 2);
    }

    #[test]
    fn damaged_frames_do_not_fill_the_memory() {
        let mut raw = RawSamples::default();
        let frame = |id| RawSampleRecord::Frame(RawFrame { id, caller: None, address: 9, modules: 0 });
        [frame(3), frame(u32::MAX), frame(1)].into_iter().for_each(|record| raw.add(record));
        assert_eq!(raw.frames.iter().map(|frame| frame.address).collect::<Vec<_>>(), [0, 9, 0, 9]);
    }
}
