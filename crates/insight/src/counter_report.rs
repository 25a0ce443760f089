//! Counters of the computation, as shown in reports and JSON.

use std::collections::BTreeMap;

use serde::Serialize;
use sintonia_program::samples::{CallPosition, CallTree, SampleActivity, activity};
use sintonia_recording::Recording;
use sintonia_recording::counters::{CounterDefinition, CounterIntervalKind};
use sintonia_replay::Error;

use crate::SourceLocation;
use crate::counted_time::{self, CountedSegments, CountedTime};
use crate::seconds::seconds;

/// Segments and functions with less than this share of the counted time are not listed.
const MIN_SHARE: f64 = 0.01;

/// What was counted in the computation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CounterReport {
    /// Names of the counters; the order of all values.
    pub counters: Vec<CounterHeading>,
    /// Seconds of computation in which they were counted, over all ranks.
    pub counted_s: f64,
    /// Share of the computation.
    pub share: f64,
    /// All ranks.
    pub total: CounterValues,
    /// Each rank.
    pub ranks: Vec<RankCounterRow>,
    /// The segments, longest first.
    pub segments: Vec<SegmentCounterRow>,
    /// The functions with their own time, longest first; empty if samples have no counters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<FunctionCounterRow>,
}

/// A counter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CounterHeading {
    /// Its name.
    pub name: String,
    /// Its unit; empty for a number of events.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Whether values are sums; otherwise they are means over time.
    pub is_sum: bool,
}

/// Values of all counters.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CounterValues {
    /// One value for each counter.
    pub values: Vec<f64>,
    /// Instructions per cycle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipc: Option<f64>,
    /// Cycles per nanosecond of computation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ghz: Option<f64>,
}

/// The counters of a rank.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankCounterRow {
    /// The rank.
    pub rank: u32,
    /// Seconds in which they were counted.
    pub counted_s: f64,
    /// The values.
    #[serde(flatten)]
    pub values: CounterValues,
}

/// The counters of a segment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SegmentCounterRow {
    /// The call before it.
    pub from: SourceLocation,
    /// The call after it.
    pub to: SourceLocation,
    /// Seconds in which they were counted, over all ranks.
    pub counted_s: f64,
    /// The values.
    #[serde(flatten)]
    pub values: CounterValues,
}

/// The counters of a function, from samples.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FunctionCounterRow {
    /// Its name.
    pub function: String,
    /// Its source file.
    pub file: Option<String>,
    /// Seconds between samples that were taken in it.
    pub counted_s: f64,
    /// The values.
    #[serde(flatten)]
    pub values: CounterValues,
}

/// Instructions, cycles and the time in which they were counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct InstructionCounts {
    pub instructions: f64,
    pub cycles: f64,
    pub seconds: f64,
}

impl CounterValues {
    fn new(counters: &[CounterDefinition], time: &CountedTime) -> CounterValues {
        let sum = |is_it: fn(&CounterDefinition) -> bool| counters.iter().position(is_it).map(|index| time.value(counters, index));
        let (instructions, cycles) = (sum(CounterDefinition::counts_instructions), sum(CounterDefinition::counts_cycles));
        CounterValues {
            values: (0..counters.len()).map(|index| time.value(counters, index)).collect(),
            ipc: instructions.zip(cycles).filter(|(_, cycles)| *cycles > 0.0).map(|(instructions, cycles)| instructions / cycles),
            ghz: cycles.filter(|_| time.ns > 0).map(|cycles| cycles / time.ns as f64),
        }
    }
}

impl CounterReport {
    /// `None` if nothing was counted. `computation_s` is the computation of all ranks.
    pub(crate) fn from_segments(
        recording: &Recording,
        counted: &CountedSegments,
        computation_s: f64,
    ) -> Result<Option<CounterReport>, Error> {
        let CountedSegments { counters, segments } = counted;
        let mut ranks: BTreeMap<u32, CountedTime> = BTreeMap::new();
        let mut total = CountedTime::default();
        for (rank, time) in segments.values().flatten() {
            ranks.entry(*rank).or_default().add(time);
            total.add(time);
        }
        if total.ns == 0 {
            return Ok(None);
        }
        let name =
            |counter: &CounterDefinition| CounterHeading { name: counter.name.clone(), unit: counter.unit.clone(), is_sum: counter.is_sum };
        let rank_row = |(rank, time): (u32, CountedTime)| RankCounterRow {
            rank,
            counted_s: seconds(time.ns),
            values: CounterValues::new(counters, &time),
        };
        Ok(Some(CounterReport {
            counters: counters.iter().map(name).collect(),
            counted_s: seconds(total.ns),
            share: (seconds(total.ns) / computation_s.max(f64::MIN_POSITIVE)).min(1.0),
            total: CounterValues::new(counters, &total),
            ranks: ranks.into_iter().map(rank_row).collect(),
            segments: segment_rows(recording, counted, total.ns),
            functions: function_rows(recording)?,
        }))
    }
}

fn segment_rows(recording: &Recording, CountedSegments { counters, segments }: &CountedSegments, total_ns: i64) -> Vec<SegmentCounterRow> {
    // Segments of several paths may lie between the same lines.
    let mut places: BTreeMap<[SourceLocation; 2], CountedTime> = BTreeMap::new();
    for (segment, ranks) in segments {
        let place = [segment.from, segment.to].map(|site| SourceLocation::of(recording, site));
        ranks.values().for_each(|time| places.entry(place.clone()).or_default().add(time));
    }
    let listed = places.into_iter().filter(|(_, time)| time.ns as f64 >= MIN_SHARE * total_ns as f64);
    let row = |([from, to], time): ([SourceLocation; 2], CountedTime)| SegmentCounterRow {
        from,
        to,
        counted_s: seconds(time.ns),
        values: CounterValues::new(counters, &time),
    };
    let mut rows: Vec<SegmentCounterRow> = listed.map(row).collect();
    rows.sort_by(|a, b| b.counted_s.total_cmp(&a.counted_s));
    rows
}

fn function_rows(recording: &Recording) -> Result<Vec<FunctionCounterRow>, Error> {
    let counters = counted_time::definitions(recording, CounterIntervalKind::Samples)?;
    if counters.is_empty() {
        return Ok(Vec::new());
    }
    let tree = CallTree::of(recording)?;
    let mut functions: BTreeMap<u32, CountedTime> = BTreeMap::new();
    for rank in &recording.header.ranks {
        let counted = recording.counters(rank.rank, CounterIntervalKind::Samples)?;
        for thread in recording.samples(rank.rank)? {
            let Some(intervals) = counted.thread(thread.thread) else { continue };
            for sample in thread.samples.iter().filter(|sample| activity(sample, None::<CallPosition>) != SampleActivity::Mpi) {
                let Some(interval) = intervals.ending_at(sample.time) else { continue };
                let ns = interval.end - interval.begin;
                let time = CountedTime { ns, sums: counted_time::sums(&counters, &counted.counters, interval.values, ns) };
                functions.entry(tree.function_of_frame(sample.frame)).or_default().add(&time);
            }
        }
    }
    let total: i64 = functions.values().map(|time| time.ns).sum();
    let listed = functions.into_iter().filter(|(_, time)| time.ns as f64 >= MIN_SHARE * total as f64);
    let row = |(function, time): (u32, CountedTime)| FunctionCounterRow {
        function: tree.functions[function as usize].name.clone(),
        file: tree.functions[function as usize].file.clone(),
        counted_s: seconds(time.ns),
        values: CounterValues::new(&counters, &time),
    };
    let mut rows: Vec<FunctionCounterRow> = listed.map(row).collect();
    rows.sort_by(|a, b| b.counted_s.total_cmp(&a.counted_s));
    Ok(rows)
}

/// Instructions and cycles of all ranks; `None` unless both were counted on every rank.
pub(crate) fn instruction_counts(recording: &Recording) -> Result<Option<InstructionCounts>, Error> {
    let mut all = InstructionCounts::default();
    for rank in &recording.header.ranks {
        let counted = recording.counters(rank.rank, CounterIntervalKind::Segments)?;
        let find = |is_it: fn(&CounterDefinition) -> bool| counted.counters.iter().position(is_it);
        let both = find(CounterDefinition::counts_instructions).zip(find(CounterDefinition::counts_cycles));
        let Some((instructions, cycles)) = both else { return Ok(None) };
        for interval in counted.threads.iter().flat_map(|thread| thread.iter()) {
            all.instructions += interval.values[instructions] as f64 * counted.counters[instructions].scale;
            all.cycles += interval.values[cycles] as f64 * counted.counters[cycles].scale;
            all.seconds += seconds(interval.end - interval.begin);
        }
    }
    Ok((all.instructions > 0.0 && all.cycles > 0.0 && all.seconds > 0.0).then_some(all))
}
