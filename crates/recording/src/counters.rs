//! Counters of the threads of a rank: how much they increased in each interval of computation.
//!
//! A rank without counters has no file. Otherwise `rank-00000.counters` (between MPI calls) and `rank-00000.sample-counters` (between
//! samples) hold the definitions of the counters as JSON, with its length before it; then, as LEB128 numbers, for each thread its number,
//! the number of intervals, and for each interval when it was, and one value for each counter (signed). When it was is the distance in
//! ticks from the end of the previous one (signed) and its length in ticks. Between samples a number comes before that: 0, or
//! `skipped << 1 | 1` in its place, for the interval before the next sample of the thread but this many. A CRC-32 of all that ends the
//! file.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::checked_file::{self, Magic};
use crate::error::Error;
use crate::samples::{self, Sample, ThreadSamples};
use crate::sealed::varint;

const MAGIC: &Magic = b"SINCOUNT";
/// A file between samples. The first version had [`MAGIC`], and all times in ticks.
const SAMPLES_MAGIC: &Magic = b"SINSMPCT";

/// Most counters of a rank; a file that claims more is damaged.
const MAX_COUNTERS: usize = 4096;

/// What a counter counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CounterDefinition {
    /// Its name: that of `perf list`, or that of the imported trace.
    pub name: String,
    /// Its unit; empty for a number of events.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// What a value is multiplied with.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub scale: f64,
    /// Whether values are increases in an interval, which can be added; otherwise they are what was read at its end.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub is_sum: bool,
}

fn one() -> f64 {
    1.0
}

fn is_one(scale: &f64) -> bool {
    *scale == 1.0
}

fn yes() -> bool {
    true
}

fn is_yes(value: &bool) -> bool {
    *value
}

impl CounterDefinition {
    /// A counter of events, by their name.
    pub fn event_count(name: impl Into<String>) -> CounterDefinition {
        CounterDefinition { name: name.into(), unit: String::new(), scale: 1.0, is_sum: true }
    }

    /// Whether it counts instructions: by the name of `perf list`, or of PAPI.
    pub fn counts_instructions(&self) -> bool {
        self.is_sum && matches!(self.name.as_str(), "instructions" | "PAPI_TOT_INS")
    }

    /// Whether it counts cycles of the processor.
    pub fn counts_cycles(&self) -> bool {
        self.is_sum && matches!(self.name.as_str(), "cycles" | "PAPI_TOT_CYC")
    }
}

/// The intervals of one thread, in order; they do not overlap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadCounters {
    /// The thread's number in its process.
    pub thread: u16,
    /// Begin and end, in nanoseconds since the start of the recording (in the file: in ticks).
    intervals: Vec<(i64, i64)>,
    /// For each interval one value of each counter.
    values: Vec<i64>,
}

impl ThreadCounters {
    /// A thread without intervals.
    pub fn new(thread: u16) -> ThreadCounters {
        ThreadCounters { thread, ..ThreadCounters::default() }
    }

    /// Adds an interval with one value for each counter. One that begins before the end of the last one is shortened.
    pub fn push(&mut self, begin: i64, end: i64, values: &[i64]) {
        let begin = self.intervals.last().map_or(begin, |(_, last)| begin.max(*last));
        self.intervals.push((begin, end.max(begin)));
        self.values.extend_from_slice(values);
    }

    /// Number of intervals.
    pub fn len(&self) -> usize {
        self.intervals.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    /// The intervals.
    pub fn iter(&self) -> impl Iterator<Item = CounterInterval<'_>> {
        (0..self.len()).map(|index| self.interval(index))
    }

    /// The interval that ends at a point in time.
    pub fn ending_at(&self, end: i64) -> Option<CounterInterval<'_>> {
        let index = self.intervals.partition_point(|(_, other)| *other < end);
        self.intervals.get(index).filter(|(_, found)| *found == end).map(|_| self.interval(index))
    }

    fn interval(&self, index: usize) -> CounterInterval<'_> {
        let ((begin, end), width) = (self.intervals[index], self.values.len() / self.intervals.len());
        CounterInterval { begin, end, values: &self.values[index * width..(index + 1) * width] }
    }

    fn map_times(mut self, convert: impl Fn(i64) -> i64) -> ThreadCounters {
        for (begin, end) in &mut self.intervals {
            (*begin, *end) = (convert(*begin), convert(*end));
        }
        self
    }
}

/// An interval of computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterInterval<'a> {
    /// Begin, in nanoseconds since the start of the recording.
    pub begin: i64,
    /// End.
    pub end: i64,
    /// One value for each counter.
    pub values: &'a [i64],
}

/// The counters of a rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankCounters {
    /// What was counted.
    pub counters: Vec<CounterDefinition>,
    /// Its threads.
    pub threads: Vec<ThreadCounters>,
}

impl RankCounters {
    /// The same with times that are converted.
    pub(crate) fn map_times(self, convert: impl Fn(i64) -> i64) -> RankCounters {
        RankCounters { threads: self.threads.into_iter().map(|thread| thread.map_times(&convert)).collect(), ..self }
    }

    /// The intervals of a thread, if it has any.
    pub fn thread(&self, thread: u16) -> Option<&ThreadCounters> {
        self.threads.iter().find(|known| known.thread == thread)
    }
}

/// Where the intervals of a file begin and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterIntervalKind {
    /// At MPI calls.
    Segments,
    /// At samples.
    Samples,
}

impl CounterIntervalKind {
    /// Both kinds.
    pub const ALL: [CounterIntervalKind; 2] = [CounterIntervalKind::Segments, CounterIntervalKind::Samples];

    /// File name of a rank inside a recording.
    pub fn file_name(self, rank: u32) -> String {
        match self {
            CounterIntervalKind::Segments => format!("rank-{rank:05}.counters"),
            CounterIntervalKind::Samples => format!("rank-{rank:05}.sample-counters"),
        }
    }
}

/// Writes a file of a rank, with times in ticks; none if there are no intervals.
pub fn write(folder: &Path, rank: u32, intervals: CounterIntervalKind, counters: &RankCounters) -> Result<(), Error> {
    let threads = || counters.threads.iter().filter(|thread| !thread.is_empty());
    let mut bytes = Vec::new();
    if threads().next().is_some() {
        let definitions = serde_json::to_vec(&counters.counters).expect("definitions can be written as JSON");
        varint::encode(&mut bytes, definitions.len() as u64);
        bytes.extend(definitions);
        let samples = SampleTimes::read(folder, rank, intervals)?;
        threads().for_each(|thread| encode(&mut bytes, thread, samples.as_ref().map(|samples| samples.thread(thread.thread))));
    }
    let magic = if intervals == CounterIntervalKind::Samples { SAMPLES_MAGIC } else { MAGIC };
    checked_file::write(&folder.join(intervals.file_name(rank)), magic, &bytes).map(drop)
}

/// The times of the samples of a rank, in ticks, which its intervals refer to.
struct SampleTimes(Vec<ThreadSamples>);

impl SampleTimes {
    /// `None` if the intervals are not between samples.
    fn read(folder: &Path, rank: u32, intervals: CounterIntervalKind) -> Result<Option<SampleTimes>, Error> {
        let is_between = intervals == CounterIntervalKind::Samples;
        is_between.then(|| samples::read(folder, rank).map(SampleTimes)).transpose()
    }

    fn thread(&self, thread: u16) -> &[Sample] {
        self.0.iter().find(|found| found.thread == thread).map_or(&[], |found| &found.samples)
    }
}

/// Begin and end of the interval before a sample. Before the first one there is none, so it has no length.
fn interval_before(samples: &[Sample], index: usize) -> Option<(i64, i64)> {
    let end = samples.get(index)?.time;
    Some((index.checked_sub(1).map_or(end, |previous| samples[previous].time), end))
}

fn encode(bytes: &mut Vec<u8>, thread: &ThreadCounters, samples: Option<&[Sample]>) {
    varint::encode(bytes, thread.thread.into());
    varint::encode(bytes, thread.len() as u64);
    let (mut previous, mut next_sample) = (0, 0);
    for interval in thread.iter() {
        let index = samples.map(|samples| samples.partition_point(|sample| sample.time < interval.end));
        let found = index.filter(|index| interval_before(samples.unwrap_or_default(), *index) == Some((interval.begin, interval.end)));
        if let Some(skipped) = found.and_then(|index| index.checked_sub(next_sample)) {
            varint::encode(bytes, (skipped as u64) << 1 | 1);
            next_sample += skipped + 1;
        } else {
            if samples.is_some() {
                varint::encode(bytes, 0);
            }
            varint::encode_signed(bytes, interval.begin.wrapping_sub(previous));
            varint::encode(bytes, interval.end.wrapping_sub(interval.begin) as u64);
        }
        interval.values.iter().for_each(|value| varint::encode_signed(bytes, *value));
        previous = interval.end;
    }
}

fn decode(mut rest: &[u8], samples: Option<&SampleTimes>) -> Option<RankCounters> {
    let length = usize::try_from(varint::decode(&mut rest)?).ok()?;
    let (definitions, mut rest) = rest.split_at_checked(length)?;
    let counters: Vec<CounterDefinition> = serde_json::from_slice(definitions).ok()?;
    if counters.is_empty() || counters.len() > MAX_COUNTERS {
        return None;
    }
    let mut threads = Vec::new();
    let mut values = vec![0; counters.len()];
    while !rest.is_empty() {
        let mut thread = ThreadCounters::new(u16::try_from(varint::decode(&mut rest)?).ok()?);
        let count = varint::decode(&mut rest)?;
        let samples = samples.map(|samples| samples.thread(thread.thread));
        let (mut previous, mut next_sample) = (0_i64, 0_usize);
        for _ in 0..count {
            let word = if samples.is_some() { varint::decode(&mut rest)? } else { 0 };
            let (begin, end) = if word & 1 == 1 {
                let index = next_sample.checked_add(usize::try_from(word >> 1).ok()?)?;
                next_sample = index + 1;
                interval_before(samples?, index)?
            } else {
                let begin = previous.wrapping_add(varint::decode_signed(&mut rest)?);
                (begin, begin.wrapping_add_unsigned(varint::decode(&mut rest)?))
            };
            for value in &mut values {
                *value = varint::decode_signed(&mut rest)?;
            }
            thread.push(begin, end, &values);
            previous = end;
        }
        threads.push(thread);
    }
    Some(RankCounters { counters, threads })
}

/// A file of a rank, with times in ticks; empty if there is none, or if it is damaged.
pub(crate) fn read(folder: &Path, rank: u32, intervals: CounterIntervalKind) -> Result<RankCounters, Error> {
    let samples = SampleTimes::read(folder, rank, intervals)?;
    let versions: [checked_file::FileVersion<_>; 2] =
        [(MAGIC, &|bytes| decode(bytes, None)), (SAMPLES_MAGIC, &|bytes| decode(bytes, samples.as_ref()))];
    checked_file::read_versions(&folder.join(intervals.file_name(rank)), &versions)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank() -> RankCounters {
        let power = CounterDefinition { name: "power".into(), unit: "W".into(), scale: 1e-6, is_sum: false };
        let mut first = ThreadCounters::new(0);
        first.push(-5, 200, &[7, -1]);
        first.push(200, 300, &[1 << 50, 0]);
        let mut second = ThreadCounters::new(4);
        second.push(1, 2, &[0, 0]);
        RankCounters { counters: vec![CounterDefinition::event_count("instructions"), power], threads: vec![first, second] }
    }

    #[test]
    fn counters_survive_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let read = |rank, intervals| read(folder.path(), rank, intervals).unwrap();
        write(folder.path(), 3, CounterIntervalKind::Segments, &rank()).unwrap();
        assert_eq!(read(3, CounterIntervalKind::Segments), rank());
        assert_eq!(read(3, CounterIntervalKind::Samples), RankCounters::default());
        let without = RankCounters { threads: vec![ThreadCounters::new(1)], ..rank() };
        write(folder.path(), 4, CounterIntervalKind::Segments, &without).unwrap();
        assert!(!folder.path().join(CounterIntervalKind::Segments.file_name(4)).exists());
    }

    #[test]
    fn intervals_between_samples_take_one_byte_and_their_values() {
        let folder = tempfile::tempdir().unwrap();
        let time = |number: i64| 30_000_000 * number + 5_000_000_000_000;
        let sample = |number| Sample { time: time(number), frame: 3, in_kernel: false, in_mpi: false, is_truncated: false };
        samples::write(folder.path(), 0, &[ThreadSamples { thread: 4, lost: 0, samples: (0..1000).map(sample).collect() }]).unwrap();
        let mut thread = ThreadCounters::new(4);
        thread.push(time(0), time(0), &[1, 0]);
        // Of one sample there are no counts, and one interval is not between two of them.
        (1..1000).filter(|number| *number != 500).for_each(|number| thread.push(time(number - 1), time(number), &[number % 60, 0]));
        thread.push(time(999) + 5, time(999) + 9, &[7, 7]);
        let counters = RankCounters { threads: vec![thread], ..rank() };
        write(folder.path(), 0, CounterIntervalKind::Samples, &counters).unwrap();
        assert_eq!(read(folder.path(), 0, CounterIntervalKind::Samples).unwrap(), counters);
        let bytes = |name: String| folder.path().join(name).metadata().unwrap().len();
        let size = bytes(CounterIntervalKind::Samples.file_name(0));
        assert!(size < 3 * 1000 + 200, "{size}");
        assert!(size + bytes("rank-00000.samples".into()) <= 12 * 1000);
    }

    #[test]
    fn files_between_samples_with_all_times_are_read() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), 0, CounterIntervalKind::Segments, &rank()).unwrap();
        let name = |intervals: CounterIntervalKind| folder.path().join(intervals.file_name(0));
        std::fs::rename(name(CounterIntervalKind::Segments), name(CounterIntervalKind::Samples)).unwrap();
        assert_eq!(read(folder.path(), 0, CounterIntervalKind::Samples).unwrap(), rank());
    }

    #[test]
    fn an_interval_is_found_by_its_end() {
        let rank = rank();
        let thread = rank.thread(0).unwrap();
        assert_eq!(thread.ending_at(300), Some(CounterInterval { begin: 200, end: 300, values: &[1 << 50, 0] }));
        assert_eq!([250, 301].map(|end| thread.ending_at(end)), [None, None]);
        assert_eq!(rank.thread(1), None);
    }

    #[test]
    fn intervals_do_not_overlap() {
        let mut thread = ThreadCounters::new(0);
        [(0, 10), (8, 20), (15, 18)].into_iter().for_each(|(begin, end)| thread.push(begin, end, &[1]));
        assert_eq!(thread.iter().map(|interval| (interval.begin, interval.end)).collect::<Vec<_>>(), [(0, 10), (10, 20), (20, 20)]);
    }
}
