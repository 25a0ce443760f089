//! Functions of the program as sampled stacks.
//!
//! A trace has the enter and leave of each region; what tells functions in a recording are samples. So the stack of regions of each location
//! is sampled at regular times of the trace. Ranks are read at the same time, each with its own numbers of frames, which become common ones
//! in the order of ranks.

use std::collections::HashMap;

use sintonia_recording::samples::{Sample, StackFrame};

use crate::otf2::read::call_sites::TextBudget;
use crate::otf2::read::definitions::ArchiveDefinitions;

/// Samples of a location in the whole time of a trace.
const SAMPLES_PER_TRACE: u64 = 10_000;
/// Limit of samples of a location, if the trace is longer than it says.
const MAX_SAMPLES: usize = 2 * SAMPLES_PER_TRACE as usize;
/// Limit of frames in a stack; inner regions count to the innermost one of these.
const MAX_FRAMES: usize = 256;

/// Time between two samples, in nanoseconds, for a trace of this length.
pub(super) fn sample_period_ns(length_ns: u64) -> u64 {
    (length_ns / SAMPLES_PER_TRACE).max(1)
}

/// Stacks of regions as a tree.
#[derive(Default)]
pub(super) struct RegionStacks {
    /// Caller and region of each frame.
    frames: Vec<(Option<u32>, u32)>,
    ids: HashMap<(Option<u32>, u32), u32>,
}

impl RegionStacks {
    fn intern(&mut self, caller: Option<u32>, region: u32) -> u32 {
        *self.ids.entry((caller, region)).or_insert_with_key(|frame| {
            self.frames.push(*frame);
            self.frames.len() as u32 - 1
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Adds the frames of another tree; returns the index of each here.
    pub(super) fn merge(&mut self, other: &RegionStacks) -> Vec<u32> {
        let mut indices: Vec<u32> = Vec::with_capacity(other.frames.len());
        for (caller, region) in &other.frames {
            let caller = caller.map(|caller| indices[caller as usize]);
            indices.push(self.intern(caller, *region));
        }
        indices
    }

    /// The frames of a recording.
    pub(super) fn to_stack_frames(&self, definitions: &ArchiveDefinitions) -> Vec<StackFrame> {
        let mut budget = TextBudget::new();
        let mut frame = |(caller, region): &(Option<u32>, u32)| {
            let region = definitions.regions.get(*region);
            let function = region.and_then(|region| budget.copy_text(&region.name));
            let file = region.and_then(|region| budget.copy_text(region.file.as_deref()?));
            StackFrame { caller: *caller, function, file, line: None, module: String::new() }
        };
        self.frames.iter().map(&mut frame).collect()
    }
}

/// Samples the stack of regions of a location.
pub(super) struct RegionSampler {
    period_ns: u64,
    next_time: Option<u64>,
    /// The frames of the outermost open regions, as far as they have been sampled.
    open_frames: Vec<u32>,
    samples: Vec<Sample>,
}

impl RegionSampler {
    pub(super) fn new(period_ns: u64) -> RegionSampler {
        RegionSampler { period_ns, next_time: None, open_frames: Vec::new(), samples: Vec::new() }
    }

    /// Takes the samples before an event, until which these regions were open.
    pub(super) fn sample_until(&mut self, time: u64, regions: &[u32], in_mpi: bool, stacks: &mut RegionStacks) {
        let mut next = self.next_time.unwrap_or(time.saturating_add(self.period_ns / 2));
        while next < time && self.samples.len() < MAX_SAMPLES {
            if let Some(frame) = self.innermost_frame(regions, stacks) {
                self.samples.push(Sample { time: next as i64, frame, in_kernel: false, in_mpi, is_truncated: false });
            } else {
                // Nothing is open until the event.
                next += (time - next) / self.period_ns * self.period_ns;
            }
            next = next.saturating_add(self.period_ns);
        }
        self.next_time = Some(next);
    }

    /// Closes all open regions but the outermost ones of the given number.
    pub(super) fn leave_to(&mut self, depth: usize) {
        self.open_frames.truncate(depth);
    }

    pub(super) fn into_samples(self) -> Vec<Sample> {
        self.samples
    }

    fn innermost_frame(&mut self, regions: &[u32], stacks: &mut RegionStacks) -> Option<u32> {
        for region in regions.iter().take(MAX_FRAMES).skip(self.open_frames.len()) {
            let frame = stacks.intern(self.open_frames.last().copied(), *region);
            self.open_frames.push(frame);
        }
        self.open_frames.last().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_two_ranks_become_one_tree() {
        let (mut all, mut rank) = (RegionStacks::default(), RegionStacks::default());
        let main = all.intern(None, 7);
        all.intern(Some(main), 8);
        let other = rank.intern(None, 9);
        let main = rank.intern(None, 7);
        rank.intern(Some(main), 8);
        rank.intern(Some(other), 8);
        assert_eq!(all.merge(&rank), [2, 0, 1, 3]);
    }

    #[test]
    fn a_trace_that_is_longer_than_it_says_has_a_limit() {
        let (mut sampler, mut stacks) = (RegionSampler::new(1), RegionStacks::default());
        sampler.sample_until(0, &[], false, &mut stacks);
        sampler.sample_until(1 << 60, &[1], false, &mut stacks);
        assert_eq!(sampler.into_samples().len(), MAX_SAMPLES);
    }

    #[test]
    fn nothing_is_sampled_where_no_region_is_open() {
        let (mut sampler, mut stacks) = (RegionSampler::new(10), RegionStacks::default());
        sampler.sample_until(0, &[], false, &mut stacks);
        sampler.sample_until(1 << 60, &[], false, &mut stacks);
        sampler.sample_until((1 << 60) + 100, &[1], false, &mut stacks);
        assert_eq!(sampler.into_samples().len(), 10);
    }
}
