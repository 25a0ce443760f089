//! The samples of a rank as events between its calls.
//!
//! A sample in an MPI call has the calling context of the call, as readers expect of what happens between its enter and leave; an attribute
//! has its frame if that is not the call site.

use std::collections::BTreeMap;

use sintonia_recording::Recording;
use sintonia_recording::header::RecordedRank;
use sintonia_recording::samples::{Sample, ThreadSamples};

use crate::error::Error;
use crate::otf2::attributes::CallAttributeList;
use crate::otf2::event::MpiEvent;
use crate::otf2::write::calling_contexts::CallingContexts;

/// The samples of a rank that have not been written yet, and where each thread is.
#[derive(Default)]
pub(super) struct PendingSamples {
    threads: BTreeMap<u16, PendingThread>,
    generator: u32,
}

#[derive(Default)]
struct PendingThread {
    samples: Vec<Sample>,
    /// The first one that has not been written.
    next: usize,
    lost: u64,
    /// The calling context after the latest event.
    context: Option<u32>,
}

impl PendingSamples {
    pub(super) fn read(recording: &Recording, rank: u32) -> Result<PendingSamples, Error> {
        let state = |ThreadSamples { thread, lost, samples }| (thread, PendingThread { samples, lost, ..PendingThread::default() });
        let generator = recording.header.rank(rank).map_or(0, |rank| generator_id(&sample_periods(&recording.header.ranks), rank));
        Ok(PendingSamples { threads: recording.samples(rank)?.into_iter().map(state).collect(), generator })
    }

    pub(super) fn threads(&self) -> Vec<u16> {
        self.threads.keys().copied().collect()
    }

    /// How many samples of a thread were lost.
    pub(super) fn lost(&self, thread: u16) -> u64 {
        self.threads.get(&thread).map_or(0, |state| state.lost)
    }

    /// The time of a thread's next sample.
    pub(super) fn next_time(&self, thread: u16) -> Option<i64> {
        let state = self.threads.get(&thread)?;
        state.samples.get(state.next).map(|sample| sample.time)
    }

    /// The next sample of a thread, in a call with this context or in none, as an event.
    pub(super) fn next(
        &mut self,
        thread: u16,
        call: Option<u32>,
        contexts: &CallingContexts,
    ) -> Option<(i64, MpiEvent, CallAttributeList)> {
        let state = self.threads.get_mut(&thread)?;
        let sample = *state.samples.get(state.next)?;
        state.next += 1;
        let frame_of = |context: u32| contexts.contexts[context as usize].frame;
        let (context, frame) = match call {
            Some(call) => (call, contexts.parent(call).and_then(frame_of)),
            None => (contexts.context_of_frame(sample.frame), Some(sample.frame)),
        };
        let mut attributes = CallAttributeList::default();
        attributes.add_sample_differences(frame, call.is_some(), &sample);
        let distance = contexts.unwind_distance(state.context.replace(context), context);
        Some((sample.time, MpiEvent::CallingContextSample(context, distance, self.generator), attributes))
    }

    /// Enters a call; returns its unwind distance.
    pub(super) fn enter(&mut self, thread: u16, call: u32, contexts: &CallingContexts) -> u32 {
        let state = self.threads.entry(thread).or_default();
        contexts.unwind_distance(state.context.replace(call), call)
    }

    pub(super) fn leave(&mut self, thread: u16, call: u32, contexts: &CallingContexts) {
        self.threads.entry(thread).or_default().context = contexts.parent(call);
    }
}

/// The different times between two samples, each of which is an interrupt generator.
pub(super) fn sample_periods(ranks: &[RecordedRank]) -> Vec<u64> {
    let mut periods: Vec<u64> = ranks.iter().filter_map(|rank| rank.sampling).map(|sampling| sampling.period_ns).collect();
    periods.sort_unstable();
    periods.dedup();
    periods
}

fn generator_id(periods: &[u64], rank: &RecordedRank) -> u32 {
    let period = rank.sampling.map(|sampling| sampling.period_ns);
    periods.iter().position(|known| Some(*known) == period).unwrap_or(0) as u32
}
