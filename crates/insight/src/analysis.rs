//! The order of the analyses of a run: its history, the waits in it, what is found with them, and the advice that follows.

use sintonia_program::history::History;
use sintonia_program::process_group::ProcessGroup;
use sintonia_recording::Recording;
use sintonia_replay::Error;

use crate::advice::{AdviceCandidates, what_if};
use crate::core_time::CoreFindings;
use crate::findings::RunFindings;
use crate::phase_efficiency::PhasesOfExcerpt;
use crate::progress::{self, ProgressSink, ShareProgress, report_activity};
use crate::region_of_interest::RegionOfInterest;
use crate::wait_states::{self, WaitInstance};

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
    /// Reads the history of a recording and runs all analyses.
    pub fn from_recording(recording: &Recording, comm: &dyn ProcessGroup, progress: &ProgressSink) -> Result<RunAnalysis, Error> {
        RunAnalysis::with_waits(recording, wait_states::find_waits, None, comm, progress)
    }

    /// The same of a part of a run: its waits are those of the whole run, cut by its windows.
    pub(crate) fn from_region(region: &RegionOfInterest, comm: &dyn ProcessGroup, progress: &ProgressSink) -> Result<RunAnalysis, Error> {
        RunAnalysis::with_waits(&region.recording, |history| region.waits(history), Some(&region.phases), comm, progress)
    }

    fn with_waits(
        recording: &Recording,
        find_waits: impl Fn(&History) -> Vec<Vec<WaitInstance>>,
        excerpt_phases: Option<&PhasesOfExcerpt>,
        comm: &dyn ProcessGroup,
        progress: &ProgressSink,
    ) -> Result<RunAnalysis, Error> {
        let mut history = History::read(recording, comm, &|| progress("matching messages and collectives", progress::MATCHING_STEPS))?;
        let ranks = recording.header.ranks.len();
        let waits = find_waits(&history);
        let cores = CoreFindings::from_history(recording, &history, &waits, comm)?;
        // A single process never waits, and gets no advice.
        if recording.header.size <= 1 {
            let findings = RunFindings::from_history(recording, &history, &waits, excerpt_phases, &cores, comm, progress)?;
            progress("reporting", (progress::OWN_TIME_STEPS + progress::WHAT_IF_STEPS) * ranks);
            return Ok(RunAnalysis { findings, candidates: AdviceCandidates::default(), cores });
        }
        what_if::mark_waiting_sends(&mut history, &waits);
        let findings =
            |comm: &dyn ProcessGroup| RunFindings::from_history(recording, &history, &waits, excerpt_phases, &cores, comm, progress);
        let (findings, own_times) = comm.join(findings, |comm| {
            let steps = progress::OWN_TIME_STEPS * ranks;
            report_activity(progress, "measuring calls without their waits", steps, || what_if::own_times(&history, comm))
        });
        let findings = findings?;
        let replays = ShareProgress::begin(progress, "replaying the run with changes", progress::WHAT_IF_STEPS * ranks);
        let candidates = AdviceCandidates::find(recording, &findings, &cores, (&history, &waits, own_times), comm, &replays)?;
        replays.end();
        Ok(RunAnalysis { findings, candidates, cores })
    }
}
