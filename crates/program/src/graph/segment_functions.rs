//! The function that took most of the time of each segment, from samples: its name.

use std::collections::BTreeMap;

use sintonia_recording::call_table::CallTable;
use sintonia_recording::{Error, Recording};

use crate::samples::{CallPosition, CallTree, SampleActivity, activity, openmp_runtime_frames, sample_ns};

/// The call sites around a segment, and a function of its samples.
type SegmentFunction = ((u32, u32), u32);

/// Nanoseconds of a rank in the functions of each segment.
pub(super) fn of_rank(recording: &Recording, rank: u32) -> Result<Vec<(SegmentFunction, u64)>, Error> {
    let Some(sampling) = recording.header.rank(rank).and_then(|rank| rank.sampling) else { return Ok(Vec::new()) };
    let threads = recording.samples(rank)?;
    if threads.iter().all(|thread| thread.samples.is_empty()) {
        return Ok(Vec::new());
    }
    let (tree, tables) = (CallTree::of(recording)?, recording.tables(rank)?);
    let is_runtime = openmp_runtime_frames(recording.stack_frames()?);
    let mut times: BTreeMap<SegmentFunction, u64> = BTreeMap::new();
    for thread in &threads {
        let Some(calls) = tables.iter().find(|table| table.thread == thread.thread) else { continue };
        for sample in &thread.samples {
            let position = CallPosition::find(sample.time, &calls.enter, &calls.leave);
            if let CallPosition::Before(row @ 1..) = position
                && activity(sample, Some(position)) != SampleActivity::Mpi
                && !is_runtime[sample.frame as usize]
            {
                let segment = (site(recording, calls, row - 1), site(recording, calls, row));
                *times.entry((segment, tree.function_of_frame(sample.frame))).or_default() += sample_ns(thread, sampling.period_ns);
            }
        }
    }
    Ok(times.into_iter().collect())
}

/// The site of the graph's node of a call.
fn site(recording: &Recording, calls: &CallTable, row: usize) -> u32 {
    recording.call_paths().canonical(calls.descriptors[calls.descriptor_ids[row] as usize].site)
}

/// The name of the function that took most of each segment, given by the call sites around it.
pub(super) fn hottest(recording: &Recording, ranks: &[Vec<(SegmentFunction, u64)>]) -> Result<BTreeMap<(u32, u32), String>, Error> {
    let mut times: BTreeMap<SegmentFunction, u64> = BTreeMap::new();
    for (segment, ns) in ranks.iter().flatten() {
        *times.entry(*segment).or_default() += ns;
    }
    let mut most: BTreeMap<(u32, u32), (u64, u32)> = BTreeMap::new();
    for ((segment, function), ns) in times {
        let found = most.entry(segment).or_default();
        *found = (*found).max((ns, function));
    }
    let tree = CallTree::of(recording)?;
    let name = |function: u32| tree.functions.get(function as usize).map(|function| function.short_name());
    Ok(most.into_iter().filter_map(|(segment, (_, function))| Some((segment, name(function)?))).collect())
}
