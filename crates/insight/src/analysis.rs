//! The order of the analyses of a run: its history, the waits in it, what is found with them, and the advice that follows.

use sintonia_program::history::History;
use sintonia_program::process_group::ProcessGroup;
use sintonia_recording::Recording;
use sintonia_replay::Error;

use crate::advice::AdviceCandidates;
use crate::core_time::CoreFindings;
use crate::findings::RunFindings;
use crate::wait_states;

/// All results of the analysis of a run; every process of the group has all of them.
pub struct RunAnalysis {
    /// What was found.
    pub findings: RunFindings,
    /// What to do about it.
    pub candidates: AdviceCandidates,
    /// Whether the ranks had cores.
    pub cores: CoreFindings,
}

impl RunAnalysis {
    /// Reads the history of a recording and runs all analyses; `progress` is called after each rank that was read.
    pub fn from_recording(recording: &Recording, comm: &dyn ProcessGroup, progress: &(dyn Fn() + Sync)) -> Result<RunAnalysis, Error> {
        let mut history = History::read(recording, comm, progress)?;
        let waits = wait_states::find_waits(&history);
        let cores = CoreFindings::from_history(recording, &history, &waits, comm)?;
        let findings = RunFindings::from_history(recording, &history, &waits, &cores, comm, progress)?;
        let candidates = AdviceCandidates::find(recording, &findings, &cores, &mut history, &waits, comm)?;
        Ok(RunAnalysis { findings, candidates, cores })
    }
}
