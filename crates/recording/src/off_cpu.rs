//! When the threads of a rank were off the processor: ready to run without one, or blocked.
//!
//! A rank that was always on its processor has no file. Otherwise `rank-00000.offcpu` holds, as LEB128 numbers: for each thread its number,
//! the number of intervals, and for each interval the distance in ticks from the end of the previous one (signed), its length in ticks, the
//! time waiting and the time blocked in nanoseconds, and the processor plus one (65535: no thread had the number). A CRC-32 of all that
//! ends the file.

use std::path::Path;

use crate::checked_file::{self, Magic};
use crate::error::Error;
use crate::raw::off_cpu::NO_THREAD;
use crate::sealed::varint;

const MAGIC: &Magic = b"SINOFCPU";

/// An interval at the end of which a thread had been off the processor for a part of it, or for all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OffCpuInterval {
    /// Begin, in nanoseconds since the start of the recording (in the file: in ticks).
    pub begin: i64,
    /// End.
    pub end: i64,
    /// Time for which the thread was ready to run and had no processor.
    pub waiting_ns: u64,
    /// Time for which it was blocked in the kernel.
    pub blocked_ns: u64,
    /// Processor on which it ran at the end, if known.
    pub processor: Option<u32>,
}

impl OffCpuInterval {
    /// Whether no thread had the number in this interval.
    fn is_absence(&self) -> bool {
        self.processor == Some(NO_THREAD)
    }
}

/// Time off the processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OffCpuTime {
    /// Ready to run without a processor.
    pub waiting_ns: u64,
    /// Blocked in the kernel.
    pub blocked_ns: u64,
}

/// The intervals of one thread, in order; they do not overlap. A number is given to another thread after its thread has ended; the
/// intervals in between, in which there was no thread, are kept apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadOffCpu {
    /// The thread's number in its process.
    pub thread: u16,
    absences: Vec<OffCpuInterval>,
    intervals: Vec<OffCpuInterval>,
    /// Sums over the intervals before each one.
    before: Vec<OffCpuTime>,
}

impl ThreadOffCpu {
    /// Puts intervals in order.
    pub fn new(thread: u16, mut intervals: Vec<OffCpuInterval>) -> ThreadOffCpu {
        intervals.sort_by_key(|interval| (interval.end, interval.begin));
        let (absences, intervals): (Vec<_>, Vec<_>) = intervals.into_iter().partition(OffCpuInterval::is_absence);
        let mut sum = OffCpuTime::default();
        let mut before = Vec::with_capacity(intervals.len());
        for interval in &intervals {
            before.push(sum);
            sum = sum.plus(interval.waiting_ns, interval.blocked_ns);
        }
        ThreadOffCpu { thread, absences, intervals, before }
    }

    /// Whether one thread ended and another one got its number between two points in time.
    pub fn is_reused_between(&self, begin: i64, end: i64) -> bool {
        let next = self.absences.partition_point(|absence| absence.end <= begin);
        self.absences.get(next).is_some_and(|absence| absence.begin < end)
    }

    /// The same with times that are converted.
    pub(crate) fn map_times(&self, convert: impl Fn(i64) -> i64) -> ThreadOffCpu {
        let converted =
            |interval: &OffCpuInterval| OffCpuInterval { begin: convert(interval.begin), end: convert(interval.end), ..*interval };
        ThreadOffCpu::new(self.thread, self.intervals.iter().chain(&self.absences).map(converted).collect())
    }

    /// The intervals in which no thread had the number.
    pub(crate) fn absences(&self) -> &[OffCpuInterval] {
        &self.absences
    }

    /// The intervals.
    pub fn intervals(&self) -> &[OffCpuInterval] {
        &self.intervals
    }

    /// Time off the processor between two points in time. Of an interval that lies in it only partly, the same part counts.
    pub fn within(&self, begin: i64, end: i64) -> OffCpuTime {
        let from = self.intervals.partition_point(|interval| interval.end <= begin);
        let to = from + self.intervals[from..].partition_point(|interval| interval.begin < end);
        let Some(last) = to.checked_sub(1).filter(|last| *last >= from) else { return OffCpuTime::default() };
        let inner = OffCpuTime {
            waiting_ns: self.before[last].waiting_ns - self.before[from].waiting_ns,
            blocked_ns: self.before[last].blocked_ns - self.before[from].blocked_ns,
        };
        let whole = inner.plus(self.intervals[last].waiting_ns, self.intervals[last].blocked_ns);
        let outside = |interval: &OffCpuInterval, before: i64, behind: i64| {
            let length = (interval.end - interval.begin).max(1) as f64;
            let share = ((before.max(0) + behind.max(0)) as f64 / length).min(1.0);
            ((interval.waiting_ns as f64 * share) as u64, (interval.blocked_ns as f64 * share) as u64)
        };
        let (first, latest) = (&self.intervals[from], &self.intervals[last]);
        if from == last {
            let (waiting, blocked) = outside(first, begin - first.begin, first.end - end);
            return whole.minus(waiting, blocked);
        }
        let (early, late) = (outside(first, begin - first.begin, 0), outside(latest, 0, latest.end - end));
        whole.minus(early.0, early.1).minus(late.0, late.1)
    }

    /// Time off the processor in all intervals.
    pub fn total(&self) -> OffCpuTime {
        self.intervals.iter().fold(OffCpuTime::default(), |sum, interval| sum.plus(interval.waiting_ns, interval.blocked_ns))
    }
}

impl OffCpuTime {
    fn plus(self, waiting: u64, blocked: u64) -> OffCpuTime {
        OffCpuTime { waiting_ns: self.waiting_ns.saturating_add(waiting), blocked_ns: self.blocked_ns.saturating_add(blocked) }
    }

    fn minus(self, waiting: u64, blocked: u64) -> OffCpuTime {
        OffCpuTime { waiting_ns: self.waiting_ns.saturating_sub(waiting), blocked_ns: self.blocked_ns.saturating_sub(blocked) }
    }
}

/// File name of a rank inside a recording.
pub fn file_name(rank: u32) -> String {
    format!("rank-{rank:05}.offcpu")
}

/// Writes the file of a rank, with begin and end in ticks, and returns its size in bytes; none if there are no intervals.
pub fn write(folder: &Path, rank: u32, threads: &[ThreadOffCpu]) -> Result<u64, Error> {
    let mut bytes = Vec::new();
    for thread in threads.iter().filter(|thread| !thread.intervals.is_empty() || !thread.absences.is_empty()) {
        encode(&mut bytes, thread);
    }
    checked_file::write(&folder.join(file_name(rank)), MAGIC, &bytes)
}

fn encode(bytes: &mut Vec<u8>, thread: &ThreadOffCpu) {
    varint::encode(bytes, thread.thread.into());
    varint::encode(bytes, (thread.intervals.len() + thread.absences.len()) as u64);
    let mut previous = 0;
    for interval in thread.intervals.iter().chain(&thread.absences) {
        varint::encode_signed(bytes, interval.begin - previous);
        varint::encode(bytes, (interval.end - interval.begin) as u64);
        varint::encode(bytes, interval.waiting_ns);
        varint::encode(bytes, interval.blocked_ns);
        varint::encode(bytes, interval.processor.map_or(0, |processor| u64::from(processor) + 1));
        previous = interval.end;
    }
}

fn decode(mut rest: &[u8]) -> Option<Vec<ThreadOffCpu>> {
    let mut threads = Vec::new();
    while !rest.is_empty() {
        let thread = varint::decode(&mut rest)? as u16;
        let count = varint::decode(&mut rest)?;
        let mut previous = 0_i64;
        let mut intervals = Vec::new();
        for _ in 0..count {
            let begin = previous.checked_add(varint::decode_signed(&mut rest)?)?;
            let end = begin.checked_add_unsigned(varint::decode(&mut rest)?)?;
            let (waiting_ns, blocked_ns) = (varint::decode(&mut rest)?, varint::decode(&mut rest)?);
            let processor = varint::decode(&mut rest)?.checked_sub(1).map(|processor| processor as u32);
            intervals.push(OffCpuInterval { begin, end, waiting_ns, blocked_ns, processor });
            previous = end;
        }
        threads.push(ThreadOffCpu::new(thread, intervals));
    }
    Some(threads)
}

/// The file of a rank, with begin and end in ticks; empty if there is none, or if it is damaged.
pub(crate) fn read(folder: &Path, rank: u32) -> Result<Vec<ThreadOffCpu>, Error> {
    checked_file::read(&folder.join(file_name(rank)), MAGIC, decode)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(begin: i64, end: i64, waiting_ns: u64, blocked_ns: u64) -> OffCpuInterval {
        OffCpuInterval { begin, end, waiting_ns, blocked_ns, processor: Some(3) }
    }

    fn absence(begin: i64, end: i64) -> OffCpuInterval {
        OffCpuInterval { processor: Some(NO_THREAD), ..interval(begin, end, 0, (end - begin) as u64) }
    }

    #[test]
    fn while_no_thread_has_a_number_it_is_not_blocked() {
        let thread = ThreadOffCpu::new(0, vec![absence(300, 400), interval(100, 200, 0, 50), absence(500, 501)]);
        assert_eq!((thread.intervals().len(), thread.total().blocked_ns, thread.within(0, 1000).blocked_ns), (1, 50, 50));
        assert_eq!(
            [(0, 250), (0, 350), (350, 360), (400, 500), (450, 550)].map(|(b, e)| thread.is_reused_between(b, e)),
            [false, true, true, false, true]
        );
        let doubled = thread.map_times(|time| 2 * time);
        assert!(doubled.is_reused_between(600, 700) && !doubled.is_reused_between(300, 600));
    }

    #[test]
    fn of_an_interval_that_lies_in_it_only_partly_the_same_part_counts() {
        let thread = ThreadOffCpu::new(0, vec![interval(100, 200, 100, 0), interval(300, 400, 40, 60), interval(500, 600, 0, 10)]);
        let within = |begin, end| {
            let time = thread.within(begin, end);
            (time.waiting_ns, time.blocked_ns)
        };
        assert_eq!(within(0, 1000), (140, 70));
        assert_eq!(within(0, 100), (0, 0));
        assert_eq!(within(150, 160), (10, 0));
        assert_eq!(within(150, 350), (70, 30));
        assert_eq!(within(200, 300), (0, 0));
        assert_eq!(within(600, 700), (0, 0));
        assert_eq!(within(350, 550), (20, 35));
    }

    #[test]
    fn intervals_survive_the_file() {
        let threads = vec![
            ThreadOffCpu::new(0, vec![interval(-5, 200, 7, 0)]),
            ThreadOffCpu::new(4, vec![interval(1, 2, 1, 0), interval(9, 90, 0, 80)]),
            ThreadOffCpu::new(5, vec![absence(70, 80), interval(1, 2, 1, 0), absence(10, 20)]),
        ];
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), 3, &threads).unwrap();
        assert_eq!(read(folder.path(), 3).unwrap(), threads);
        assert_eq!(write(folder.path(), 4, &[ThreadOffCpu::default()]).unwrap(), 0);
        assert!(!folder.path().join(file_name(4)).exists());
    }
}
