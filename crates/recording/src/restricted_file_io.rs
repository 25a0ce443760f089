//! What a rank did with files in a part of a recording.
//!
//! Counters have no times but those of the first and the last timed call. If both are in one window, all calls count; if no window overlaps the
//! time between them, none does. Otherwise, and where calls that only use the buffer of a stream are not timed, the accesses that took long count,
//! which have times; what is left is counted as unlocated. Accesses do not tell which of them failed: those of a record with failures are unlocated, too.

use std::ops::Range;

use crate::file_io::{
    FileAccess, FileCounters, FileInterface, FileOperation, FileRecord, RankFileIo, ThreadFileAccesses, UnlocatedCalls, size_class,
};

/// Where the calls of a record were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallRange {
    Inside,
    Outside,
    /// Some of them may be in the windows.
    Across,
}

/// What the accesses of a record tell.
#[derive(Clone, Copy, Default)]
struct TimedCalls {
    /// In the windows.
    inside: FileCounters,
    /// Everywhere.
    all: UnlocatedCalls,
}

/// What was done in the windows of each thread.
pub(crate) fn cut<'a>(io: RankFileIo, windows_of: impl Fn(u16) -> &'a [Range<i64>]) -> RankFileIo {
    let ranges: Vec<CallRange> = io.records.iter().map(|record| range_of(record, windows_of(record.thread))).collect();
    let mut timed = vec![TimedCalls::default(); io.records.len()];
    let mut threads: Vec<ThreadFileAccesses> =
        io.threads.iter().map(|thread| cut_thread(thread, windows_of(thread.thread), &io.records, &ranges, &mut timed)).collect();
    let mut part = RankFileIo { files: io.files, ..RankFileIo::default() };
    // By number in the whole: that in the part.
    let mut numbers: Vec<Option<u32>> = Vec::new();
    for ((record, range), timed) in io.records.into_iter().zip(ranges).zip(timed) {
        let counters = cut_counters(&record.counters, range, &timed, &mut part.unlocated);
        // A call that goes on after its window counts with its time only.
        let is_used = counters.calls.max(counters.failed).max(counters.time) > 0;
        numbers.push(is_used.then_some(part.records.len() as u32));
        part.records.extend(is_used.then_some(FileRecord { counters, ..record }));
    }
    for thread in &mut threads {
        let renumbered = |access: &FileAccess| Some(FileAccess { record: numbers[access.record as usize]?, ..*access });
        thread.accesses = thread.accesses.iter().filter_map(renumbered).collect();
    }
    threads.retain(|thread| !thread.accesses.is_empty());
    RankFileIo { threads, ..part }
}

/// The accesses of a thread in its windows; adds up what they tell of their records.
fn cut_thread(
    thread: &ThreadFileAccesses,
    windows: &[Range<i64>],
    records: &[FileRecord],
    ranges: &[CallRange],
    timed: &mut [TimedCalls],
) -> ThreadFileAccesses {
    let mut accesses = Vec::new();
    for access in &thread.accesses {
        let record = access.record as usize;
        if ranges[record] == CallRange::Across && records[record].counters.failed > 0 {
            continue;
        }
        timed[record].all.add(access.calls, access.time);
        if let Some(part) = part_in(access, windows) {
            add(&mut timed[record].inside, &part, records[record].operation);
            accesses.push(part);
        }
    }
    ThreadFileAccesses { thread: thread.thread, accesses }
}

/// The part of some counters in the windows.
fn cut_counters(whole: &FileCounters, range: CallRange, timed: &TimedCalls, unlocated: &mut UnlocatedCalls) -> FileCounters {
    match range {
        CallRange::Inside => *whole,
        CallRange::Outside => FileCounters::default(),
        CallRange::Across => {
            let calls = whole.calls.saturating_add(whole.failed).saturating_sub(timed.all.calls);
            unlocated.add(calls, whole.time.saturating_sub(timed.all.time));
            FileCounters { furthest: whole.furthest, ..timed.inside }
        }
    }
}

fn range_of(record: &FileRecord, windows: &[Range<i64>]) -> CallRange {
    let is_buffered = record.interface == FileInterface::Stdio && matches!(record.operation, FileOperation::Read | FileOperation::Write);
    if record.counters.first == 0 || is_buffered {
        return CallRange::Across;
    }
    let (first, last) = (record.counters.first as i64, record.counters.last as i64);
    let next = windows.partition_point(|window| window.end <= first);
    match windows.get(next) {
        Some(window) if window.start <= first && last <= window.end => CallRange::Inside,
        Some(window) if window.start < last => CallRange::Across,
        _ => CallRange::Outside,
    }
}

/// The part of an access in the windows: its time is divided, its calls and bytes count where it ends.
fn part_in(access: &FileAccess, windows: &[Range<i64>]) -> Option<FileAccess> {
    let next = windows.partition_point(|window| window.end <= access.begin);
    let overlapping = windows[next..].iter().take_while(|window| window.start < access.end);
    let ends = overlapping.clone().any(|window| access.end <= window.end);
    let parts = overlapping.map(|window| access.begin.max(window.start)..access.end.min(window.end)).filter(|part| part.start < part.end);
    let (begin, end, ns) = parts.fold((i64::MAX, i64::MIN, 0_u64), |(begin, end, ns), part| {
        (begin.min(part.start), end.max(part.end), ns.saturating_add(part.end.abs_diff(part.start)))
    });
    if ns == 0 {
        return None;
    }
    let share = ns as f64 / access.end.abs_diff(access.begin).max(1) as f64;
    let (calls, bytes) = if ends { (access.calls, access.bytes) } else { (0, 0) };
    Some(FileAccess { begin, end, time: (access.time as f64 * share).round() as u64, bytes, calls, record: access.record })
}

/// Adds an access to the counters of its record. Several short ones have one size, their mean.
fn add(counters: &mut FileCounters, access: &FileAccess, operation: FileOperation) {
    counters.calls = counters.calls.saturating_add(access.calls);
    counters.bytes = counters.bytes.saturating_add(access.bytes);
    counters.time = counters.time.saturating_add(access.time);
    if matches!(operation, FileOperation::Read | FileOperation::Write) && access.calls > 0 {
        let calls = &mut counters.sizes[size_class(access.bytes / access.calls)];
        *calls = calls.saturating_add(access.calls);
    }
    let (begin, end) = (access.begin.max(1) as u64, access.end.max(1) as u64);
    counters.first = if counters.first == 0 { begin } else { counters.first.min(begin) };
    counters.last = counters.last.max(end);
    if access.calls == 1 && access.time > counters.longest {
        (counters.longest, counters.longest_bytes) = (access.time, access.bytes);
    }
}

impl UnlocatedCalls {
    fn add(&mut self, calls: u64, time: u64) {
        (self.calls, self.time) = (self.calls.saturating_add(calls), self.time.saturating_add(time));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(first: u64, last: u64, calls: u64, time: u64) -> FileRecord {
        let counters = FileCounters { calls, time, first, last, bytes: 10 * calls, ..FileCounters::default() };
        let (operation, interface) = (FileOperation::Write, FileInterface::Posix);
        FileRecord { file: 0, operation, interface, thread: 0, site: None, counters }
    }

    fn access(begin: i64, end: i64, calls: u64, record: u32) -> FileAccess {
        FileAccess { begin, end, time: (end - begin) as u64, bytes: 10 * calls, calls, record }
    }

    #[test]
    fn records_inside_count_wholly_those_outside_not_and_others_by_their_accesses() {
        let io = RankFileIo {
            files: vec!["a".into()],
            records: vec![record(10, 90, 7, 50), record(200, 300, 3, 20), record(50, 250, 9, 40)],
            threads: vec![ThreadFileAccesses {
                thread: 0,
                accesses: vec![access(60, 70, 2, 2), access(95, 115, 1, 2), access(240, 250, 1, 2)],
            }],
            ..RankFileIo::default()
        };
        let part = cut(io, |_| std::slice::from_ref(&(5..100)));
        let found: Vec<(u64, u64, u64)> =
            part.records.iter().map(|record| (record.counters.calls, record.counters.bytes, record.counters.time)).collect();
        // The second access ends after the window, which has a quarter of its time.
        assert_eq!(found, [(7, 70, 50), (2, 20, 15)]);
        assert_eq!(part.unlocated, UnlocatedCalls { calls: 5, time: 0 });
        let accesses: Vec<(i64, i64, u32)> =
            part.threads[0].accesses.iter().map(|access| (access.begin, access.end, access.record)).collect();
        assert_eq!(accesses, [(60, 70, 1), (95, 100, 1)]);
    }

    #[test]
    fn a_long_call_has_its_time_in_every_part() {
        let io = RankFileIo {
            files: vec!["a".into()],
            records: vec![record(10, 310, 1, 300)],
            threads: vec![ThreadFileAccesses { thread: 0, accesses: vec![access(10, 310, 1, 0)] }],
            ..RankFileIo::default()
        };
        let parts: Vec<(u64, u64, usize)> = [0..110, 110..210, 210..400]
            .iter()
            .map(|window| cut(io.clone(), |_| std::slice::from_ref(window)))
            .map(|part| (part.records[0].counters.calls, part.records[0].counters.time, part.threads[0].accesses.len()))
            .collect();
        assert_eq!(parts, [(0, 100, 1), (0, 100, 1), (1, 100, 1)]);
    }

    #[test]
    fn failures_and_calls_that_only_use_a_buffer_are_unlocated() {
        let one = |record| RankFileIo {
            files: vec!["a".into()],
            records: vec![record],
            threads: vec![ThreadFileAccesses { thread: 0, accesses: vec![access(20, 40, 1, 0)] }],
            ..RankFileIo::default()
        };
        let window = 0..100;
        let unlocated = |record| {
            let part = cut(one(record), |_| std::slice::from_ref(&window));
            (part.unlocated.calls, part.unlocated.time, part.records.first().map_or(0, |record| record.counters.calls))
        };
        let mut failing = record(20, 240, 4, 60);
        failing.counters.failed = 2;
        assert_eq!(unlocated(failing), (6, 60, 0));
        // Five calls filled the buffer, and one of them wrote it.
        let buffered = FileRecord { interface: FileInterface::Stdio, ..record(20, 40, 5, 20) };
        assert_eq!(unlocated(buffered), (4, 0, 1));
    }

    #[test]
    fn the_parts_of_an_access_add_up_to_it() {
        let whole = access(10, 110, 1, 0);
        let parts: Vec<FileAccess> =
            [0..40, 40..80, 80..200].iter().filter_map(|window| part_in(&whole, std::slice::from_ref(window))).collect();
        assert_eq!(parts.iter().map(|part| part.time).sum::<u64>(), whole.time);
        assert_eq!(parts.iter().map(|part| part.calls).collect::<Vec<_>>(), [0, 0, 1]);
        assert_eq!(part_in(&whole, &[0..40, 80..200]).map(|part| (part.time, part.begin, part.end)), Some((60, 10, 110)));
        assert_eq!(part_in(&whole, &[0..10, 110..200]), None);
    }
}
