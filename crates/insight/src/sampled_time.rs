//! Samples of all ranks by segment: where in the program the time between two MPI calls was spent.

use std::collections::BTreeMap;

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use sintonia_program::history::{History, Location};
use sintonia_program::process_group::ProcessGroup;
use sintonia_program::samples::{CallPosition, SampleActivity, activity, sample_ns};
use sintonia_recording::Recording;
use sintonia_recording::samples::ThreadSamples;
use sintonia_replay::Error;

use crate::segment::{self, Segment};

/// A stack of a rank in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SampledStack {
    /// The segment; none in a thread that does not call MPI, and before the first and after the last call.
    pub segment: Option<Segment>,
    /// The rank.
    pub rank: u32,
    /// The innermost frame, by its index in [`Recording::stack_frames`].
    pub frame: u32,
    /// What the thread did.
    pub activity: SampleActivity,
}

/// Nanoseconds of all ranks in each stack; every process of the group has all of them.
pub type SampledTimes = BTreeMap<SampledStack, u64>;

/// The samples of all ranks by segment.
pub(crate) fn sampled_times(recording: &Recording, history: &History, comm: &dyn ProcessGroup) -> Result<SampledTimes, Error> {
    let mut ranks: BTreeMap<u32, Vec<&Location>> = BTreeMap::new();
    for location in &history.locations {
        ranks.entry(location.rank).or_default().push(location);
    }
    let of_rank = |(rank, locations): (&u32, &Vec<&Location>)| rank_times(recording, *rank, locations);
    let times = ranks.par_iter().map(of_rank).collect::<Result<Vec<_>, Error>>()?;
    let rows: Vec<SampledRow> = times.into_iter().flatten().map(SampledRow::new).collect();
    let mut all = SampledTimes::new();
    for row in comm.all_to_all(vec![rows; comm.size()]).into_iter().flatten() {
        if let Some((stack, ns)) = row.into_stack() {
            *all.entry(stack).or_default() += ns;
        }
    }
    Ok(all)
}

/// The samples of all ranks without segments.
pub(crate) fn without_segments(recording: &Recording) -> Result<SampledTimes, Error> {
    let ranks = recording.header.ranks.par_iter().map(|rank| rank_times(recording, rank.rank, &[]));
    let mut all = SampledTimes::new();
    for (stack, ns) in ranks.collect::<Result<Vec<_>, Error>>()?.into_iter().flatten() {
        *all.entry(stack).or_default() += ns;
    }
    Ok(all)
}

fn rank_times(recording: &Recording, rank: u32, locations: &[&Location]) -> Result<FxHashMap<SampledStack, u64>, Error> {
    let mut times = FxHashMap::default();
    let Some(sampling) = recording.header.rank(rank).and_then(|rank| rank.sampling) else { return Ok(times) };
    for thread in recording.samples(rank)? {
        let location = locations.iter().copied().find(|location| location.calls.thread == thread.thread);
        add_thread(&mut times, rank, &thread, sample_ns(&thread, sampling.period_ns), location);
    }
    Ok(times)
}

fn add_thread(times: &mut FxHashMap<SampledStack, u64>, rank: u32, thread: &ThreadSamples, ns: u64, location: Option<&Location>) {
    for sample in &thread.samples {
        let position = location.map(|location| CallPosition::find(sample.time, &location.calls.enter, &location.calls.leave));
        let segment = location.zip(position).and_then(|(location, position)| match position {
            CallPosition::Before(row) => segment::segment_before(location, row),
            CallPosition::Inside(_) | CallPosition::Last => None,
        });
        let stack = SampledStack { segment, rank, frame: sample.frame, activity: activity(sample, position) };
        *times.entry(stack).or_default() += ns;
    }
}

/// A stack as it is exchanged between processes.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct SampledRow {
    ns: u64,
    segment: Segment,
    has_segment: u32,
    rank: u32,
    frame: u32,
    activity: u32,
}

const ACTIVITIES: [SampleActivity; 3] = [SampleActivity::Computation, SampleActivity::Kernel, SampleActivity::Mpi];

impl SampledRow {
    fn new((stack, ns): (SampledStack, u64)) -> SampledRow {
        let SampledStack { segment, rank, frame, activity } = stack;
        let activity = ACTIVITIES.iter().position(|known| *known == activity).unwrap_or(0) as u32;
        SampledRow {
            ns,
            segment: segment.unwrap_or(Segment { from: 0, to: 0 }),
            has_segment: segment.is_some().into(),
            rank,
            frame,
            activity,
        }
    }

    fn into_stack(self) -> Option<(SampledStack, u64)> {
        let segment = (self.has_segment == 1).then_some(self.segment);
        let activity = *ACTIVITIES.get(self.activity as usize)?;
        Some((SampledStack { segment, rank: self.rank, frame: self.frame, activity }, self.ns))
    }
}
