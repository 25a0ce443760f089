//! How far an analysis is.
//!
//! Progress is counted in steps. Every activity has a number of steps per rank, roughly in proportion to its share of the time of a report
//! on two cores, so that a progress bar moves evenly.

use std::sync::atomic::{AtomicUsize, Ordering};

use sintonia_program::graph::ProgramGraph;

/// Steps per rank: totals of calls.
pub(crate) const READING_STEPS: usize = 1;
/// Steps per rank: matching messages and collectives, and finding waits.
pub(crate) const MATCHING_STEPS: usize = 5;
/// Steps per rank: each pass for the program graph.
pub(crate) const GRAPH_PASS_STEPS: usize = 1;
/// Steps per rank: the replay on an ideal network.
pub(crate) const IDEAL_STEPS: usize = 2;
/// Steps per rank: the own times of calls.
pub(crate) const OWN_TIME_STEPS: usize = 1;
/// Steps per rank: root causes.
pub(crate) const DELAY_STEPS: usize = 3;
/// Steps per rank: what-if replays.
pub(crate) const WHAT_IF_STEPS: usize = 7;
/// Steps per rank: all activities after reading.
pub(crate) const ANALYSIS_STEPS: usize =
    MATCHING_STEPS + ProgramGraph::PASSES * GRAPH_PASS_STEPS + IDEAL_STEPS + OWN_TIME_STEPS + DELAY_STEPS + WHAT_IF_STEPS;

/// Gets what the analysis does, and how many steps of it are done since the last call; 0 when it begins.
pub type ProgressSink<'a> = dyn Fn(&'static str, usize) + Sync + 'a;

/// Does something that counts as this number of steps.
pub(crate) fn report_activity<T>(progress: &ProgressSink, activity: &'static str, steps: usize, work: impl FnOnce() -> T) -> T {
    progress(activity, 0);
    let result = work();
    progress(activity, steps);
    result
}

/// Reports the progress of an activity of which only the completed share is known.
pub(crate) struct ShareProgress<'a> {
    progress: &'a ProgressSink<'a>,
    activity: &'static str,
    steps: usize,
    reported: AtomicUsize,
}

impl<'a> ShareProgress<'a> {
    /// Begins an activity that counts as this number of steps.
    pub(crate) fn begin(progress: &'a ProgressSink<'a>, activity: &'static str, steps: usize) -> ShareProgress<'a> {
        progress(activity, 0);
        ShareProgress { progress, activity, steps, reported: AtomicUsize::new(0) }
    }

    /// Reports that this part of the whole is done.
    pub(crate) fn reached(&self, part: usize, whole: usize) {
        let now = self.steps * part.min(whole) / whole.max(1);
        let before = self.reported.fetch_max(now, Ordering::Relaxed);
        (self.progress)(self.activity, now.saturating_sub(before));
    }

    /// Reports that all is done.
    pub(crate) fn end(&self) {
        self.reached(1, 1);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn shares_add_up_to_all_steps() {
        let reported = Mutex::new(Vec::new());
        let sink = |activity, steps| reported.lock().unwrap().push((activity, steps));
        let progress = ShareProgress::begin(&sink, "replaying", 10);
        progress.reached(1, 3);
        progress.reached(1, 3);
        progress.reached(2, 3);
        progress.end();
        assert_eq!(*reported.lock().unwrap(), [0, 3, 0, 3, 4].map(|steps| ("replaying", steps)));
    }
}
