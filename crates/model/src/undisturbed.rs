//! A run as if each of its threads had had a core: the recorded calls at the times of a replay without waiting for a core.
//!
//! A segment of computation then takes the time that the thread was on a processor or blocked by what the program itself did (a sleep, a
//! file), however little it was preempted.

use std::sync::Arc;

use sintonia_program::history::{CollectiveDependencies, History};
use sintonia_program::process_group::SingleProcess;
use sintonia_recording::Recording;
use sintonia_recording::host::OffCpuSource;
use sintonia_replay::Error;
use sintonia_replay::call_times::CallTimes;
use sintonia_replay::changes::ReplayChanges;
use sintonia_replay::engine::{RecordedNetwork, ReplayCosts, replay};
use sintonia_replay::schedule::Schedule;

/// The times of the calls of a run without waiting for a core.
pub(crate) struct UndisturbedTimes {
    /// Enter and leave of each call of each location of the history, in nanoseconds.
    times: Vec<Vec<(i64, i64)>>,
    /// Whether the times of its communication are known.
    pub has_communication: bool,
}

impl UndisturbedTimes {
    /// Whether a recording says when its threads waited for a core.
    pub(crate) fn are_known(recording: &Recording) -> bool {
        let knows = |source: &OffCpuSource| matches!(source, OffCpuSource::ContextSwitches | OffCpuSource::RunQueue);
        recording.header.ranks.iter().any(|rank| rank.off_cpu.as_ref().is_some_and(knows))
    }

    /// Replays a run without waiting for a core.
    pub(crate) fn replay(recording: &Recording, history: &History) -> Result<UndisturbedTimes, Error> {
        let dependencies = Arc::new(CollectiveDependencies::gather(recording, history, &SingleProcess));
        let changes = ReplayChanges { force_progress: true, collective_dependencies: Some(dependencies), ..ReplayChanges::default() };
        let network = replay(recording, &ReplayCosts::Recorded(RecordedNetwork::default()), &changes, None)?.network;
        let keep = |times: &mut Vec<(i64, i64)>, enter_s, leave_s| times.push((to_ns(enter_s), to_ns(leave_s)));
        let mut times = CallTimes::new(&recording.locations()?, history, Vec::with_capacity, keep);
        replay(recording, &ReplayCosts::Recorded(network), &changes, Some(&mut times))?;
        Ok(UndisturbedTimes { times: times.into_times(), has_communication: !network.transfers.are_too_few() })
    }

    /// The calls of the run at these times.
    pub(crate) fn apply(self, recording: &Recording, history: History) -> History {
        history.with_times(recording, &SingleProcess, self.times)
    }
}

fn to_ns(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}
