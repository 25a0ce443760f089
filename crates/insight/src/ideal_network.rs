//! Replays a run on an ideal network, on which transfers take no time.
//!
//! Computation takes its recorded time. A receive ends when its message is sent, a collective when the ranks it depends on have arrived.
//! Everything else in MPI takes no time, except file I/O. Sends complete at once unless they are synchronous.

use sintonia_program::history::History;
use sintonia_recording::Recording;
use sintonia_replay::Error;
use sintonia_replay::changes::ReplayChanges;
use sintonia_replay::core_waits::CoreWaitRemoval;
use sintonia_replay::engine::{self, RecordedNetwork, ReplayCosts, ReplaySink};
use sintonia_replay::schedule::{DescribedAction, LocationId, Schedule};

use crate::call_durations::CallDurations;

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
        let mut durations = match history {
            Some(history) => DurationSink::new(recording.locations()?, history),
            None => DurationSink::default(),
        };
        let sink = history.map(|_| &mut durations as &mut dyn ReplaySink);
        let outcome = engine::replay(recording, &ReplayCosts::Recorded(network), &changes, sink)?;
        Ok(IdealRun { elapsed_ns: (outcome.replayed_s * 1e9) as i64, call_durations: durations.durations })
    }
}

/// Collects the durations of calls.
#[derive(Default)]
struct DurationSink {
    /// Index of each replayed location among the kept ones.
    location_indices: Vec<Option<usize>>,
    durations: Vec<CallDurations>,
}

impl DurationSink {
    fn new(locations: Vec<LocationId>, history: &History) -> DurationSink {
        let own = |location: &LocationId| {
            let mut threads = history.locations_of_rank(location.rank);
            threads.find(|index| history.locations[*index].calls.thread == location.thread)
        };
        let durations = history.locations.iter().map(|location| CallDurations::with_capacity(location.len())).collect();
        DurationSink { location_indices: locations.iter().map(own).collect(), durations }
    }
}

impl ReplaySink for DurationSink {
    fn actions(&mut self, _: usize, _: &[DescribedAction]) -> Result<(), Error> {
        Ok(())
    }

    fn requests(&mut self, _: usize, _: u64) -> Result<(), Error> {
        Ok(())
    }

    fn call(&mut self, location: usize, _: u32, enter_s: f64, leave_s: f64) -> Result<(), Error> {
        if let Some(index) = self.location_indices.get(location).copied().flatten() {
            self.durations[index].push(((leave_s - enter_s) * 1e9) as i64);
        }
        Ok(())
    }
}
