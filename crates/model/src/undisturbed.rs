//! A run as if each of its threads had had a core: the recorded calls at the times of a replay without waiting for a core.

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

/// A run without waiting for a core.
pub(crate) struct UndisturbedRun {
    /// Its calls.
    pub history: History,
    /// Seconds from the end of `MPI_Init` to the beginning of `MPI_Finalize` as recorded.
    pub recorded_s: f64,
    /// Whether the times of its communication are known.
    pub has_communication: bool,
}

/// Whether a recording says when its threads waited for a core.
pub(crate) fn knows_when(recording: &Recording) -> bool {
    let knows = |source: &OffCpuSource| matches!(source, OffCpuSource::ContextSwitches | OffCpuSource::RunQueue);
    recording.header.ranks.iter().any(|rank| rank.off_cpu.as_ref().is_some_and(knows))
}

/// Replays a run without waiting for a core and gives its calls the times of the replay.
pub(crate) fn remove_core_waits(recording: &Recording, history: History) -> Result<UndisturbedRun, Error> {
    let dependencies = Arc::new(CollectiveDependencies::gather(recording, &history, &SingleProcess));
    let changes = ReplayChanges { force_progress: true, collective_dependencies: Some(dependencies), ..ReplayChanges::default() };
    let network = replay(recording, &ReplayCosts::Recorded(RecordedNetwork::default()), &changes, None)?.network;
    let keep = |times: &mut Vec<(i64, i64)>, enter_s, leave_s| times.push((to_ns(enter_s), to_ns(leave_s)));
    let mut times = CallTimes::new(&recording.locations()?, &history, Vec::with_capacity, keep);
    let outcome = replay(recording, &ReplayCosts::Recorded(network), &changes, Some(&mut times))?;
    Ok(UndisturbedRun {
        history: history.with_times(recording, &SingleProcess, times.into_times()),
        recorded_s: outcome.recorded_s,
        has_communication: !network.transfers.are_too_few(),
    })
}

fn to_ns(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}
