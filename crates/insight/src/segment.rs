//! Segments: the computation between two MPI calls, identified by the call sites around it; and the time of each rank in them.

use std::collections::BTreeMap;

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use sintonia_program::history::{History, Location};
use sintonia_program::process_group::ProcessGroup;

use crate::off_cpu::OffCpuIntervals;

/// The computation between two call sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
#[repr(C)]
pub struct Segment {
    /// The preceding call site.
    pub from: u32,
    /// The following call site.
    pub to: u32,
}

/// The time of one rank in a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct SegmentTime {
    /// Nanoseconds.
    pub ns: i64,
    /// Number of executions.
    pub count: u64,
    /// The part of `ns` in which the rank had no core, as far as that is known.
    pub no_core_ns: i64,
}

/// The time of each rank in each segment.
pub type SegmentTimes = BTreeMap<Segment, BTreeMap<u32, SegmentTime>>;

/// The call site of a call.
pub fn call_site(location: &Location, row: usize) -> u32 {
    location.calls.descriptors[location.calls.descriptor_ids[row] as usize].site
}

/// The segment before a call; none before the first, nor next to time outside of the part of the run that counts.
pub fn segment_before(location: &Location, row: usize) -> Option<Segment> {
    let before = row.checked_sub(1).filter(|before| !is_outside(location, *before) && !is_outside(location, row))?;
    Some(Segment { from: call_site(location, before), to: call_site(location, row) })
}

/// Whether a row is no call, but time between two windows of the part of the run that counts.
pub(crate) fn is_outside(location: &Location, row: usize) -> bool {
    location.descriptor(row).is_outside_excerpt()
}

/// Duration of the segment before a call, in nanoseconds.
pub fn segment_ns(location: &Location, row: usize) -> i64 {
    location.calls.enter[row] - location.compute_begin(row)
}

/// The part of the segments before some consecutive calls in which the location had no core, in nanoseconds by segment.
pub(crate) fn preempted_by_segment(off_cpu: &OffCpuIntervals, location: &Location, first: usize, last: usize) -> FxHashMap<Segment, i64> {
    let mut sums = FxHashMap::default();
    let first = first.max(1);
    let thread = location.calls.thread.into();
    if first > last || off_cpu.waiting_ns(location.rank, thread, location.compute_begin(first), location.calls.enter[last]) == 0 {
        return sums;
    }
    for row in first..=last {
        let ns = off_cpu.preempted_ns(location, row);
        if let Some(segment) = segment_before(location, row).filter(|_| ns > 0) {
            *sums.entry(segment).or_default() += ns;
        }
    }
    sums
}

/// The segments of all ranks; every process of the group gets all of them.
pub fn segment_times(history: &History, off_cpu: Option<&OffCpuIntervals>, comm: &dyn ProcessGroup) -> SegmentTimes {
    let locations: Vec<FxHashMap<Segment, SegmentTime>> =
        history.locations.par_iter().map(|location| location_segments(location, off_cpu)).collect();
    let mut rows: Vec<SegmentRow> = Vec::new();
    for (location, segments) in history.locations.iter().zip(locations) {
        rows.extend(segments.into_iter().map(|(segment, spent)| SegmentRow { segment, time: spent, rank: location.rank, padding: 0 }));
    }
    let mut all = SegmentTimes::new();
    for row in comm.all_to_all(vec![rows; comm.size()]).into_iter().flatten() {
        let spent = all.entry(row.segment).or_default().entry(row.rank).or_default();
        spent.ns += row.time.ns;
        spent.count += row.time.count;
        spent.no_core_ns += row.time.no_core_ns;
    }
    all
}

#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct SegmentRow {
    time: SegmentTime,
    segment: Segment,
    rank: u32,
    padding: u32,
}

fn location_segments(location: &Location, off_cpu: Option<&OffCpuIntervals>) -> FxHashMap<Segment, SegmentTime> {
    let mut segments: FxHashMap<Segment, SegmentTime> = FxHashMap::default();
    for row in 1..location.len() {
        if let Some(segment) = segment_before(location, row) {
            let spent = segments.entry(segment).or_default();
            spent.ns += segment_ns(location, row);
            spent.count += 1;
            spent.no_core_ns += off_cpu.map_or(0, |off_cpu| off_cpu.preempted_ns(location, row));
        }
    }
    segments
}
