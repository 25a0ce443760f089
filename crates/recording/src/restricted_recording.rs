//! Reading a recording of which only a part counts: what is stored with times is cut by the windows of each thread.

use std::collections::BTreeMap;
use std::ops::Range;

use sintonia_mpi::FunctionId;

use crate::call_table::{CallDescriptor, CallTable, DescriptorTotals};
use crate::counters::{RankCounters, ThreadCounters};
use crate::error::Error;
use crate::excerpt::{RecordingExcerpt, ThreadExcerpt};
use crate::file_io::RankFileIo;
use crate::header::{CallSiteDefinition, RecordedRank};
use crate::host::{OffCpuSource, ThreadUsage};
use crate::off_cpu::{OffCpuInterval, ThreadOffCpu};
use crate::openmp::RegionExecution;
use crate::recording::Recording;
use crate::restricted_file_io;
use crate::samples::ThreadSamples;
use crate::totals::TotalsBuilder;

impl Recording {
    /// Only this part of the recording. Times are those of the whole run.
    pub fn restricted_to(mut self, excerpt: RecordingExcerpt) -> Result<Recording, Error> {
        self.header.ranks.retain(|rank| excerpt.get(&rank.rank).is_some_and(|threads| !threads.is_empty()));
        for rank in &mut self.header.ranks {
            let threads = &excerpt[&rank.rank];
            let windows = &threads[0].windows;
            (rank.begin_ns, rank.end_ns) = windows.first().zip(windows.last()).map_or((0, 0), |(first, last)| (first.start, last.end));
            rank.calls = threads.iter().map(ThreadExcerpt::counted_calls).sum();
            rank.threads = threads.len() as u32;
            rank.memory = None;
        }
        self.header.sites.push(CallSiteDefinition { module: "outside of the region".into(), ..CallSiteDefinition::default() });
        let mut part = self.with_excerpt(excerpt);
        let usage = part.header.ranks.iter().map(|rank| part.usage_in_windows(rank)).collect::<Result<Vec<_>, Error>>()?;
        part.header.ranks.iter_mut().zip(usage).for_each(|(rank, usage)| rank.usage = usage);
        Ok(part)
    }

    /// What the threads of a rank used of their host in the windows, as far as it is known when they were off the processor.
    fn usage_in_windows(&self, rank: &RecordedRank) -> Result<Vec<ThreadUsage>, Error> {
        if rank.off_cpu != Some(OffCpuSource::ContextSwitches) {
            return Ok(Vec::new());
        }
        let off_cpu = self.off_cpu(rank.rank)?;
        let threads = self.excerpt_threads(rank.rank).unwrap_or_default();
        // A thread without windows was not there.
        let in_windows = |whole: &ThreadUsage| {
            let own = threads.iter().find(|own| own.calls.thread == whole.thread)?;
            Some(usage_in(whole, &own.windows, off_cpu.iter().find(|off| off.thread == whole.thread)))
        };
        Ok(rank.usage.iter().filter_map(in_windows).collect())
    }

    /// Whether it is a part of a recording.
    pub fn is_excerpt(&self) -> bool {
        self.excerpt().is_some()
    }

    /// The threads of a rank in the part that this is; `None` if it is a whole recording.
    pub fn excerpt_threads(&self, rank: u32) -> Option<&[ThreadExcerpt]> {
        self.excerpt().map(|excerpt| excerpt.get(&rank).map_or(&[][..], Vec::as_slice))
    }

    /// The windows of a thread; those of the main thread for a thread that calls no MPI. `None` for a whole recording.
    fn windows(&self, rank: u32, thread: u16) -> Option<&[Range<i64>]> {
        let threads = self.excerpt_threads(rank)?;
        let own = threads.iter().find(|own| own.calls.thread == thread).or(threads.first());
        Some(own.map_or(&[][..], |own| &own.windows))
    }

    /// The calls of a rank that count in the part that this is, with all their communication; of a whole recording all calls.
    pub fn counted_tables(&self, rank: u32) -> Result<Vec<CallTable>, Error> {
        match self.excerpt_threads(rank) {
            Some(threads) => Ok(threads.iter().map(|thread| thread.counted.clone()).collect()),
            None => self.tables(rank),
        }
    }

    /// Totals of a rank's calls in a part; pieces of calls that count elsewhere have a time and no calls.
    pub(crate) fn excerpt_totals(threads: &[ThreadExcerpt]) -> Vec<(CallDescriptor, DescriptorTotals)> {
        let mut totals = TotalsBuilder::default();
        threads.iter().for_each(|thread| totals.add_calls(&thread.counted));
        let mut uncounted_ns: BTreeMap<(FunctionId, u32), u64> = BTreeMap::new();
        for ((function, site, _), ns) in threads.iter().flat_map(|thread| &thread.uncounted_ns) {
            *uncounted_ns.entry((*function, *site)).or_default() += ns;
        }
        let pieces = uncounted_ns.into_iter().map(|((function, site), ns)| {
            let call = CallDescriptor { site, ..CallDescriptor::new(function) };
            (call.uncounted_piece(), DescriptorTotals { total_ns: ns, ..DescriptorTotals::default() })
        });
        totals.into_totals().into_iter().chain(pieces).collect()
    }

    /// Cuts the time off the processor by the windows of each thread.
    pub(crate) fn cut_off_cpu(&self, rank: u32, threads: Vec<ThreadOffCpu>) -> Vec<ThreadOffCpu> {
        let cut = |thread: ThreadOffCpu| match self.windows(rank, thread.thread) {
            Some(windows) => cut_off_cpu(&thread, windows),
            None => thread,
        };
        threads.into_iter().map(cut).collect()
    }

    /// Keeps what was done with files in the windows of each thread.
    pub(crate) fn cut_file_io(&self, rank: u32, io: RankFileIo) -> RankFileIo {
        match self.excerpt_threads(rank) {
            Some(_) => restricted_file_io::cut(io, |thread| self.windows(rank, thread).unwrap_or_default()),
            None => io,
        }
    }

    /// Keeps the samples in the windows of each thread.
    pub(crate) fn cut_samples(&self, rank: u32, threads: &mut [ThreadSamples]) {
        for thread in threads {
            if let Some(windows) = self.windows(rank, thread.thread) {
                thread.samples.retain(|sample| contains(windows, sample.time));
            }
        }
    }

    /// Keeps the intervals whose middle is in the windows of each thread.
    pub(crate) fn cut_counters(&self, rank: u32, mut counters: RankCounters) -> RankCounters {
        for thread in &mut counters.threads {
            if let Some(windows) = self.windows(rank, thread.thread) {
                let mut kept = ThreadCounters::new(thread.thread);
                let inside = thread.iter().filter(|interval| contains(windows, interval.begin + (interval.end - interval.begin) / 2));
                inside.for_each(|interval| kept.push(interval.begin, interval.end, interval.values));
                *thread = kept;
            }
        }
        counters.threads.retain(|thread| !thread.is_empty());
        counters
    }

    /// Keeps the regions of OpenMP that end in the windows of the main thread.
    pub(crate) fn cut_openmp_regions(&self, rank: u32, regions: Vec<RegionExecution>) -> Vec<RegionExecution> {
        match self.excerpt_threads(rank) {
            Some(threads) => regions_in(regions, threads.first().map_or(&[][..], |main| &main.windows)),
            None => regions,
        }
    }
}

/// The regions that end in one of the windows. A nested region is a part of the one around it, which is named only by the order: both stay,
/// or none.
fn regions_in(mut regions: Vec<RegionExecution>, windows: &[Range<i64>]) -> Vec<RegionExecution> {
    let mut around: Vec<bool> = Vec::new();
    regions.retain(|region| {
        around.truncate(region.level.into());
        let is_inside = around.last().copied().unwrap_or_else(|| contains(windows, region.end()));
        around.push(is_inside);
        is_inside
    });
    regions
}

/// Whether a point in time is in one of the windows; a point on a border is in the earlier one.
fn contains(windows: &[Range<i64>], time: i64) -> bool {
    let index = windows.partition_point(|window| window.end < time);
    windows.get(index).is_some_and(|window| window.start < time)
}

/// What a thread used in some windows, given when it was off the processor in them.
fn usage_in(whole: &ThreadUsage, windows: &[Range<i64>], off_cpu: Option<&ThreadOffCpu>) -> ThreadUsage {
    let sum = |of: &mut dyn Iterator<Item = u64>| of.fold(0, u64::saturating_add);
    let (intervals, absences) = off_cpu.map_or((&[][..], &[][..]), |off| (off.intervals(), off.absences()));
    let inside_ns = sum(&mut windows.iter().map(|window| window.end.abs_diff(window.start)));
    let absent_ns = sum(&mut absences.iter().map(|absence| absence.end.abs_diff(absence.begin)));
    let waiting_ns = sum(&mut intervals.iter().map(|interval| interval.waiting_ns));
    let blocked_ns = sum(&mut intervals.iter().map(|interval| interval.blocked_ns));
    let voluntary_switches = intervals.iter().filter(|interval| interval.blocked_ns > 0).count() as u64;
    let elapsed_ns = inside_ns.saturating_sub(absent_ns);
    ThreadUsage {
        elapsed_ns,
        cpu_ns: elapsed_ns.saturating_sub(waiting_ns).saturating_sub(blocked_ns),
        waiting_ns: Some(waiting_ns),
        voluntary_switches,
        involuntary_switches: intervals.len() as u64 - voluntary_switches,
        minor_faults: None,
        major_faults: None,
        ..whole.clone()
    }
}

fn cut_off_cpu(thread: &ThreadOffCpu, windows: &[Range<i64>]) -> ThreadOffCpu {
    let mut intervals = Vec::new();
    for window in windows {
        for interval in overlapping(thread.intervals(), window).chain(overlapping(thread.absences(), window)) {
            let (begin, end) = (interval.begin.max(window.start), interval.end.min(window.end));
            let share = (end - begin) as f64 / (interval.end - interval.begin).max(1) as f64;
            let part = |ns: u64| (ns as f64 * share).round() as u64;
            let (waiting_ns, blocked_ns) = (part(interval.waiting_ns), part(interval.blocked_ns));
            intervals.push(OffCpuInterval { begin, end, waiting_ns, blocked_ns, ..*interval });
        }
    }
    ThreadOffCpu::new(thread.thread, intervals)
}

/// Those of some intervals in order that overlap a window: there may be many windows, and many intervals.
fn overlapping<'a>(intervals: &'a [OffCpuInterval], window: &Range<i64>) -> impl Iterator<Item = &'a OffCpuInterval> {
    let (begin, end) = (window.start, window.end);
    let first = intervals.partition_point(|interval| interval.end <= begin);
    intervals[first..].iter().take_while(move |interval| interval.begin < end).filter(|interval| interval.begin < interval.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::off_cpu::NO_THREAD;

    #[test]
    fn each_window_has_its_share_of_an_interval() {
        let interval = |begin, end| OffCpuInterval { begin, end, waiting_ns: (end - begin) as u64, blocked_ns: 0, processor: None };
        let thread = ThreadOffCpu::new(3, vec![interval(0, 10), interval(20, 40), interval(50, 60)]);
        let cut = cut_off_cpu(&thread, &[8..22, 30..31, 60..70]);
        assert_eq!((cut.thread, cut.intervals()), (3, &[interval(8, 10), interval(20, 22), interval(30, 31)][..]));
    }

    #[test]
    fn a_thread_used_the_processor_in_its_windows_while_it_was_not_off() {
        let interval = |begin, end, blocked_ns| OffCpuInterval {
            begin,
            end,
            waiting_ns: (end - begin) as u64 - blocked_ns,
            blocked_ns,
            processor: None,
        };
        let whole = ThreadUsage { thread: 1, cpu_ns: 900, minor_faults: Some(7), affinity: "0-1".into(), ..ThreadUsage::default() };
        let absence = OffCpuInterval { begin: 0, end: 5, processor: Some(NO_THREAD), ..OffCpuInterval::default() };
        let off = ThreadOffCpu::new(1, vec![absence, interval(10, 20, 0), interval(120, 150, 25)]);
        let used = usage_in(&whole, &[0..50, 100..200], Some(&off));
        assert_eq!((used.elapsed_ns, used.cpu_ns, used.waiting_ns), (145, 105, Some(15)));
        assert_eq!((used.voluntary_switches, used.involuntary_switches, used.minor_faults), (1, 1, None));
        assert_eq!((used.thread, &*used.affinity), (1, "0-1"));
    }

    #[test]
    fn nested_regions_stay_with_the_one_around_them() {
        let region = |level, begin, span| RegionExecution { level, begin, span, ..RegionExecution::default() };
        // The first one ends behind the window, the second one in it.
        let first = [region(0, 0, 100), region(1, 10, 10), region(1, 30, 10), region(2, 31, 5)];
        let second = [region(0, 10, 20), region(1, 11, 1)];
        let kept = regions_in([&first[..], &second].concat(), std::slice::from_ref(&(5..50)));
        assert_eq!(kept, second);
    }
}
