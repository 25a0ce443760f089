//! Functions of the program as sampled stacks.
//!
//! A trace has the enter and leave of each region; what tells functions in a recording are samples. So the stack of regions of each
//! location is sampled at regular times of the trace.

use sintonia_recording::samples::Sample;

use crate::otf2::read::call_path_tree::{CallPathTree, MAX_DEPTH, OpenRegion};

/// Samples of a location in the whole time of a trace.
const SAMPLES_PER_TRACE: u64 = 10_000;
/// Limit of samples of a location, if the trace is longer than it says.
const MAX_SAMPLES: usize = 2 * SAMPLES_PER_TRACE as usize;

/// Time between two samples, in nanoseconds, for a trace of this length.
pub(super) fn sample_period_ns(length_ns: u64) -> u64 {
    (length_ns / SAMPLES_PER_TRACE).max(1)
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
    pub(super) fn sample_until(&mut self, time: u64, regions: &[u32], in_mpi: bool, stacks: &mut CallPathTree) {
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

    fn innermost_frame(&mut self, regions: &[u32], stacks: &mut CallPathTree) -> Option<u32> {
        // Inner regions count to the innermost one within the limit.
        for region in regions.iter().take(MAX_DEPTH).skip(self.open_frames.len()) {
            let Some(frame) = stacks.intern(self.open_frames.last().copied(), OpenRegion::in_region(*region)) else { break };
            self.open_frames.push(frame);
        }
        self.open_frames.last().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_that_is_longer_than_it_says_has_a_limit() {
        let (mut sampler, mut stacks) = (RegionSampler::new(1), CallPathTree::default());
        sampler.sample_until(0, &[], false, &mut stacks);
        sampler.sample_until(1 << 60, &[1], false, &mut stacks);
        assert_eq!(sampler.into_samples().len(), MAX_SAMPLES);
    }

    #[test]
    fn nothing_is_sampled_where_no_region_is_open() {
        let (mut sampler, mut stacks) = (RegionSampler::new(10), CallPathTree::default());
        sampler.sample_until(0, &[], false, &mut stacks);
        sampler.sample_until(1 << 60, &[], false, &mut stacks);
        sampler.sample_until((1 << 60) + 100, &[1], false, &mut stacks);
        assert_eq!(sampler.into_samples().len(), 10);
    }
}
