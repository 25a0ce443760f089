//! Counters of all ranks by segment: how many instructions, cycles or page faults the computation between two MPI calls took.

use std::collections::BTreeMap;

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use sintonia_program::history::{History, Location};
use sintonia_program::process_group::ProcessGroup;
use sintonia_program::samples::CallPosition;
use sintonia_recording::Recording;
use sintonia_recording::counters::{CounterDefinition, CounterIntervalKind, RankCounters};
use sintonia_replay::Error;

use crate::segment::{self, Segment};

/// What was counted in some time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CountedTime {
    /// Nanoseconds in which it was counted.
    pub ns: i64,
    /// One sum for each counter, in its unit; of a counter that is not a sum, the integral over nanoseconds.
    pub sums: Vec<f64>,
}

impl CountedTime {
    /// Adds another time, with the same counters.
    pub fn add(&mut self, other: &CountedTime) {
        self.ns += other.ns;
        self.sums.resize(self.sums.len().max(other.sums.len()), 0.0);
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, other)| *sum += other);
    }

    /// The sum of a counter, or its mean if it is not a sum.
    pub fn value(&self, counters: &[CounterDefinition], index: usize) -> f64 {
        let sum = self.sums.get(index).copied().unwrap_or(0.0);
        if counters[index].is_sum { sum } else { sum / self.ns.max(1) as f64 }
    }
}

/// What was counted in each segment of each rank; every process of the group has all of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CountedSegments {
    /// The counters of all ranks.
    pub counters: Vec<CounterDefinition>,
    /// By segment and rank.
    pub segments: BTreeMap<Segment, BTreeMap<u32, CountedTime>>,
}

/// The counters of all ranks, each once.
pub(crate) fn definitions(recording: &Recording, intervals: CounterIntervalKind) -> Result<Vec<CounterDefinition>, Error> {
    let mut all: Vec<CounterDefinition> = Vec::new();
    for rank in &recording.header.ranks {
        for counter in recording.counters(rank.rank, intervals)?.counters {
            if !all.contains(&counter) {
                all.push(counter);
            }
        }
    }
    Ok(all)
}

/// The values of an interval as sums over the counters of all ranks.
pub(crate) fn sums(all: &[CounterDefinition], own: &[CounterDefinition], values: &[i64], ns: i64) -> Vec<f64> {
    let mut sums = vec![0.0; all.len()];
    for (counter, value) in own.iter().zip(values) {
        if let Some(index) = all.iter().position(|known| known == counter) {
            sums[index] += *value as f64 * counter.scale * if counter.is_sum { 1.0 } else { ns as f64 };
        }
    }
    sums
}

/// The counters of all ranks by segment.
pub(crate) fn counted_segments(recording: &Recording, history: &History, comm: &dyn ProcessGroup) -> Result<CountedSegments, Error> {
    let counters = definitions(recording, CounterIntervalKind::Segments)?;
    if counters.is_empty() {
        return Ok(CountedSegments::default());
    }
    let of_location = |location: &Location| {
        let rank = recording.counters(location.rank, CounterIntervalKind::Segments)?;
        Ok(location_rows(&counters, &rank, location))
    };
    let rows: Vec<CountedRow> =
        history.locations.par_iter().map(of_location).collect::<Result<Vec<_>, Error>>()?.into_iter().flatten().collect();
    let mut segments: BTreeMap<Segment, BTreeMap<u32, CountedTime>> = BTreeMap::new();
    for row in comm.all_to_all(vec![rows; comm.size()]).into_iter().flatten() {
        let time = segments.entry(row.segment).or_default().entry(row.rank).or_default();
        time.sums.resize(counters.len(), 0.0);
        match time.sums.get_mut(row.counter as usize) {
            Some(sum) => *sum += row.value,
            None => time.ns += row.value as i64,
        }
    }
    Ok(CountedSegments { counters, segments })
}

/// A sum of a rank in a segment, exchanged between processes.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct CountedRow {
    value: f64,
    segment: Segment,
    rank: u32,
    /// The counter; [`TIME`] for the nanoseconds.
    counter: u32,
}

const TIME: u32 = u32::MAX;

fn location_rows(counters: &[CounterDefinition], rank: &RankCounters, location: &Location) -> Vec<CountedRow> {
    let mut segments: BTreeMap<Segment, CountedTime> = BTreeMap::new();
    let calls = &location.calls;
    for interval in rank.thread(calls.thread).into_iter().flat_map(|thread| thread.iter()) {
        // Its middle is inside of the segment even if the clocks of the calls were corrected by a little.
        let middle = interval.begin + (interval.end - interval.begin) / 2;
        let CallPosition::Before(row) = CallPosition::find(middle, &calls.enter, &calls.leave) else { continue };
        if let Some(segment) = segment::segment_before(location, row) {
            let ns = interval.end - interval.begin;
            let counted = CountedTime { ns, sums: sums(counters, &rank.counters, interval.values, ns) };
            segments.entry(segment).or_default().add(&counted);
        }
    }
    let rows = segments.into_iter().flat_map(|(segment, time)| {
        let values = (0..).zip(time.sums).chain([(TIME, time.ns as f64)]);
        values.map(move |(counter, value)| CountedRow { value, segment, rank: location.rank, counter })
    });
    rows.collect()
}
