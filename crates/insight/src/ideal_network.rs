//! Replays a run on an ideal network, on which transfers take no time.
//!
//! Computation takes its recorded time. A receive ends when its message is sent, a collective when the ranks it depends on have arrived.
//! Everything else in MPI takes no time, except file I/O. Sends complete at once unless they are synchronous.

use sintonia_mpi::FunctionRole;
use sintonia_program::history::{History, Location};
use sintonia_program::process_group::ProcessGroup;
use sintonia_recording::Recording;
use sintonia_replay::Error;
use sintonia_replay::call_times::CallTimes;
use sintonia_replay::changes::ReplayChanges;
use sintonia_replay::core_waits::CoreWaitRemoval;
use sintonia_replay::engine::{self, RecordedNetwork, ReplayCosts, ReplaySink};
use sintonia_replay::schedule::Schedule;

use crate::call_durations::CallDurations;
use crate::segment;

/// A run replayed on an ideal network.
pub struct IdealRun {
    /// Nanoseconds from the end of MPI_Init to the entry of the last rank into MPI_Finalize.
    pub elapsed_ns: i64,
    /// Duration of each call of the requested locations.
    pub call_durations: Vec<CallDurations>,
}

impl IdealRun {
    /// Replays a recording on an ideal network and keeps the durations of the calls of a history.
    pub fn replay(recording: &Recording, history: Option<&History>) -> Result<IdealRun, Error> {
        let network = RecordedNetwork { latency_factor: 0.0, per_byte_factor: 0.0, ..RecordedNetwork::default() };
        let changes = ReplayChanges { force_progress: true, core_waits: CoreWaitRemoval::Nothing, ..ReplayChanges::default() };
        let keep = |durations: &mut CallDurations, enter_s: f64, leave_s: f64| durations.push(((leave_s - enter_s) * 1e9) as i64);
        let collect = |history| Ok::<_, Error>(CallTimes::new(&recording.locations()?, history, CallDurations::with_capacity, keep));
        let mut durations = history.map(collect).transpose()?;
        let sink = durations.as_mut().map(|durations| durations as &mut dyn ReplaySink);
        let outcome = engine::replay(recording, &ReplayCosts::Recorded(network), &changes, sink)?;
        Ok(IdealRun {
            elapsed_ns: (outcome.replayed_s * 1e9) as i64,
            call_durations: durations.map(CallTimes::into_times).unwrap_or_default(),
        })
    }

    /// Nanoseconds of the location that takes longest in a part of a run: computation, and its calls on an ideal network. As in a phase, it does
    /// not count when a location begins.
    pub(crate) fn longest_ns(&self, history: &History, comm: &dyn ProcessGroup) -> i64 {
        let length_ns = |(location, durations): (&Location, &CallDurations)| {
            let rows = 0..location.len();
            let computation =
                rows.clone().filter_map(|row| segment::segment_before(location, row).map(|_| segment::segment_ns(location, row)));
            let is_inside = |row: &usize| {
                !segment::is_outside(location, *row) && !matches!(location.role(*row), FunctionRole::Init | FunctionRole::Finalize)
            };
            computation.sum::<i64>() + rows.filter(is_inside).filter_map(|row| durations.get(row)).sum::<i64>()
        };
        let longest = history.locations.iter().zip(&self.call_durations).map(length_ns).max().unwrap_or(0);
        comm.all_to_all(vec![vec![longest]; comm.size()]).into_iter().flatten().max().unwrap_or(0)
    }
}
