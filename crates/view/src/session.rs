//! The open recordings of a session, and what was given with them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use sintonia_insight::{ProgressSink, RunSummary};
use sintonia_machine::{Machine, free_memory};
use sintonia_model::model::PerformanceModel;
use sintonia_model::study::ScalingStudy;
use sintonia_placement::Host;
use sintonia_program::RankTraffic;
use sintonia_program::graph::ProgramGraph;
use sintonia_program::process_group::{ProcessGroup, SingleProcess};
use sintonia_recording::header::RecordedRank;
use sintonia_recording::{Error, Recording, header};
use sintonia_text::quantity::format_bytes;

use crate::answer::{PageQuery, QueryAnswer, QueryError};
use crate::jobs::{BackgroundValue, ExclusivePermit, JobAnswerCache, JobProgress, JobRequest};
use crate::report_store;
use crate::stacks::RecordedStacks;
use crate::timeline::{self, FileStamp, RecordingTimeline};

/// Analyses that need more memory than this run one at a time.
const LARGE_MEMORY: u64 = 128 << 20;
/// The maximum number of rank pairs in a report, heaviest first; `communication` has all, which may be a million for a thousand ranks.
const MAX_PAIRS: usize = 64;

/// Everything that questions can be about.
#[derive(Default)]
pub struct ViewSession {
    /// The recordings, in the order of the command line.
    pub recordings: Vec<Arc<OpenRecording>>,
    /// The machine file, if given.
    pub machine: Option<Machine>,
    /// The model, if given.
    pub model: Option<PerformanceModel>,
    /// The hosts to place ranks on, if given.
    pub hosts: Option<Vec<Host>>,
    /// The model of all recordings.
    pub(crate) fitted_model: Arc<BackgroundValue<ScalingStudy>>,
    /// Cached answers to questions that take long.
    pub(crate) answers: JobAnswerCache,
    /// Permit to replay: every turn of a dial requests another one.
    pub(crate) replay_permit: Arc<ExclusivePermit>,
    /// Permit for analyses that need much memory.
    memory_permit: Arc<ExclusivePermit>,
}

/// An open recording with cached analyses.
pub struct OpenRecording {
    /// Its path.
    pub path: PathBuf,
    /// The recording.
    pub recording: Arc<Recording>,
    /// The report as JSON.
    report: Arc<BackgroundValue<String>>,
    program: Arc<BackgroundValue<ProgramGraph>>,
    traffic: Arc<BackgroundValue<Vec<RankTraffic>>>,
    timeline: Arc<BackgroundValue<Arc<RecordingTimeline>>>,
    stacks: Arc<BackgroundValue<RecordedStacks>>,
    openmp_threads: OnceLock<usize>,
    /// The permit shared by all recordings.
    memory_permit: Arc<ExclusivePermit>,
    /// Its header file when it was opened.
    stamp: Option<FileStamp>,
}

impl ViewSession {
    /// Opens recordings.
    pub fn open(paths: &[PathBuf]) -> Result<ViewSession, Error> {
        let memory = Arc::default();
        let open = |(path, recording): (&PathBuf, Recording)| Arc::new(OpenRecording::new(path, recording, &memory));
        Ok(ViewSession {
            recordings: paths.iter().zip(Recording::open_all(paths)?).map(open).collect(),
            memory_permit: Arc::clone(&memory),
            ..ViewSession::default()
        })
    }

    /// The recording that a question is about, if it is still the one that was opened.
    pub(crate) fn recording_of(&self, question: &PageQuery) -> Result<&Arc<OpenRecording>, QueryError> {
        let opened = self.recordings.get(question.recording);
        let opened = opened.ok_or_else(|| QueryError::Unknown(format!("recording {}", question.recording)))?;
        match (header_stamp(&opened.recording), opened.stamp) {
            (Some(now), Some(then)) if now != then => Err(to_refusal(timeline::Error::Changed)),
            // Without a header the run may still be in progress; reading a rank's file detects changes.
            _ => Ok(opened),
        }
    }

    /// The permit to read the histories of recordings, if that needs much memory.
    pub(crate) fn read_permit(&self, recordings: &[Arc<OpenRecording>]) -> Option<Arc<ExclusivePermit>> {
        recordings.iter().any(|opened| opened.needs_much_memory()).then(|| Arc::clone(&self.memory_permit))
    }
}

/// Identifies a recording by its header file.
fn header_stamp(recording: &Recording) -> Option<FileStamp> {
    std::fs::metadata(recording.folder().join(header::FILE_NAME)).ok().map(|file| FileStamp::from_metadata(&file))
}

impl OpenRecording {
    fn new(path: &Path, recording: Recording, memory: &Arc<ExclusivePermit>) -> OpenRecording {
        let recording = Arc::new(recording);
        OpenRecording {
            path: path.to_owned(),
            stamp: header_stamp(&recording),
            recording,
            report: Arc::default(),
            program: Arc::default(),
            traffic: Arc::default(),
            timeline: Arc::default(),
            stacks: Arc::default(),
            openmp_threads: OnceLock::new(),
            memory_permit: Arc::clone(memory),
        }
    }

    /// The name of its folder.
    pub fn name(&self) -> String {
        let path = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        path.file_name().map_or_else(|| self.path.display().to_string(), |name| name.to_string_lossy().into_owned())
    }

    /// The number of calls, from its header.
    pub(crate) fn calls(&self) -> u64 {
        self.recording.header.ranks.iter().map(|rank| rank.calls).fold(0, u64::saturating_add)
    }

    /// Answers from the report, given as JSON.
    pub(crate) fn with_report(
        self: &Arc<OpenRecording>,
        then: impl FnOnce(&str) -> Result<QueryAnswer, QueryError>,
    ) -> Result<QueryAnswer, QueryError> {
        let this = Arc::clone(self);
        let work = move |progress: &JobProgress| {
            if let Some(stored) = report_store::find(&this.recording) {
                return Ok(stored);
            }
            let is_complete = this.check_memory().is_ok();
            let summary =
                summarise(&this.recording, &SingleProcess, &|_, steps| (0..steps).for_each(|_| progress.step())).map_err(to_refusal)?;
            let json = report_json(summary)?;
            if is_complete {
                report_store::store(&this.recording, &json);
            }
            Ok(json)
        };
        let (doing, steps) = ("finding wait states and their causes".into(), RunSummary::progress_steps(&self.recording));
        self.report.answer(JobRequest { description: doing, steps, permit: self.read_permit(), work }, |json| then(json))
    }

    /// Sets the report if it is known already.
    pub fn set_summary(&self, summary: RunSummary) {
        if let Ok(json) = report_json(summary) {
            self.report.set_value(json);
        }
    }

    /// Answers from the program graph; a profile has none.
    pub(crate) fn with_program(
        self: &Arc<OpenRecording>,
        then: impl FnOnce(&ProgramGraph) -> Result<QueryAnswer, QueryError>,
    ) -> Result<QueryAnswer, QueryError> {
        self.check_has_calls()?;
        let this = Arc::clone(self);
        let work = move |progress: &JobProgress| ProgramGraph::from_recording(&this.recording, || progress.step()).map_err(to_refusal);
        let steps = ProgramGraph::PASSES_WITH_HISTORY * self.recording.header.ranks.len();
        self.program.answer(JobRequest { description: "building the program graph".into(), steps, permit: None, work }, then)
    }

    /// The depth at which nothing of the program graph is folded, if the graph has been built.
    pub(crate) fn program_depth(&self) -> Option<usize> {
        self.program.value().map(|program| program.scopes.max_depth())
    }

    /// Answers from the traffic between ranks.
    pub(crate) fn with_traffic(
        self: &Arc<OpenRecording>,
        then: impl FnOnce(&[RankTraffic]) -> Result<QueryAnswer, QueryError>,
    ) -> Result<QueryAnswer, QueryError> {
        let recording = Arc::clone(&self.recording);
        let work = move |progress: &JobProgress| {
            let read = |rank| RankTraffic::read(&recording, rank).inspect(|_| progress.step());
            recording.header.ranks.par_iter().map(read).collect::<Result<Vec<RankTraffic>, _>>().map_err(to_refusal)
        };
        let steps = self.recording.header.ranks.len();
        self.traffic
            .answer(JobRequest { description: "reading traffic between ranks".into(), steps, permit: None, work }, |traffic| then(traffic))
    }

    /// Answers from the timeline.
    pub(crate) fn with_timeline(
        self: &Arc<OpenRecording>,
        then: impl FnOnce(&Arc<RecordingTimeline>) -> Result<QueryAnswer, QueryError>,
    ) -> Result<QueryAnswer, QueryError> {
        self.check_has_calls()?;
        let recording = Arc::clone(&self.recording);
        let work = move |progress: &JobProgress| {
            RecordingTimeline::open(recording, &|share| progress.set_fraction(share)).map(Arc::new).map_err(to_refusal)
        };
        self.timeline.answer(JobRequest { description: "building an index of the calls".into(), steps: 1000, permit: None, work }, then)
    }

    /// Whether it has samples.
    pub(crate) fn has_samples(&self) -> bool {
        self.recording.stack_frames().is_ok_and(|frames| !frames.is_empty())
    }

    /// Whether it has a timeline with OpenMP regions.
    pub(crate) fn has_regions(&self) -> bool {
        !self.recording.header.profile && self.recording.header.ranks.iter().any(|rank| self.recording.has_openmp_regions(rank.rank))
    }

    /// The most threads of an OpenMP region of any rank, not counting nested regions; 0 if there are none.
    pub(crate) fn openmp_threads(&self) -> usize {
        let of_rank = |rank: &RecordedRank| {
            let regions = self.recording.openmp_regions(rank.rank).unwrap_or_default();
            regions.iter().filter(|region| region.level == 0).map(|region| region.threads.len()).max().unwrap_or(0)
        };
        let count = || if self.has_regions() { self.recording.header.ranks.par_iter().map(of_rank).max().unwrap_or(0) } else { 0 };
        *self.openmp_threads.get_or_init(count)
    }

    /// Answers from sampled stacks.
    pub(crate) fn with_stacks(
        self: &Arc<OpenRecording>,
        then: impl FnOnce(&RecordedStacks) -> Result<QueryAnswer, QueryError>,
    ) -> Result<QueryAnswer, QueryError> {
        if !self.has_samples() {
            return Err(QueryError::Unavailable("This recording has no samples.".into()));
        }
        let recording = Arc::clone(&self.recording);
        let work = move |progress: &JobProgress| RecordedStacks::read(&recording, &|| progress.step()).map_err(to_refusal);
        let steps = self.recording.header.ranks.len();
        self.stacks.answer(JobRequest { description: "reading samples".into(), steps, permit: None, work }, then)
    }

    /// Runs the timeline's analysis of waits and messages once, in the background.
    pub(crate) fn analyse_in_background(self: &Arc<OpenRecording>, timeline: &Arc<RecordingTimeline>) {
        if timeline.schedule_analysis() {
            let (permit, timeline) = (self.read_permit(), Arc::clone(timeline));
            std::thread::spawn(move || {
                let progress = Arc::new(JobProgress::new("analysing waits and messages".into(), 1));
                let _held = permit.map(|permit| permit.acquire(&progress));
                timeline.run_analysis();
            });
        }
    }

    /// The permit to read its whole history, if that needs much memory.
    fn read_permit(&self) -> Option<Arc<ExclusivePermit>> {
        self.needs_much_memory().then(|| Arc::clone(&self.memory_permit))
    }

    fn needs_much_memory(&self) -> bool {
        RunSummary::memory_bytes(&self.recording) > LARGE_MEMORY
    }

    /// Fails if there is not enough memory to read its history, which some answers require.
    pub(crate) fn check_memory(&self) -> Result<(), QueryError> {
        let needed = RunSummary::memory_bytes(&self.recording);
        match free_memory().filter(|free| *free < needed) {
            None => Ok(()),
            Some(free) => {
                Err(QueryError::Unavailable(format!("this needs {} of memory, and {} are free", format_bytes(needed), format_bytes(free))))
            }
        }
    }

    /// Fails for a profile, which has no order of calls.
    pub(crate) fn check_has_calls(&self) -> Result<(), QueryError> {
        match self.recording.header.profile {
            true => Err(QueryError::Unavailable("This is a profile (record --profile): the order of its calls is unknown.".into())),
            false => Ok(()),
        }
    }
}

/// A report as JSON, with a limited number of rank pairs.
fn report_json(mut summary: RunSummary) -> Result<String, QueryError> {
    summary.pairs.truncate(MAX_PAIRS);
    serde_json::to_string(&summary).map_err(to_refusal)
}

/// The report of a recording; without wait states if there is not enough memory.
pub fn summarise(recording: &Recording, group: &dyn ProcessGroup, progress: &ProgressSink) -> Result<RunSummary, sintonia_insight::Error> {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    // All processes must decide the same, and those on one host share its memory.
    let hosts: Vec<(String, Option<u64>)> = group.all_gather((host, free_memory()));
    let needed = |host: &str| {
        RunSummary::memory_bytes(recording) / hosts.len().max(1) as u64 * hosts.iter().filter(|(other, _)| other == host).count() as u64
    };
    let scarce = hosts.iter().find_map(|(host, free)| free.filter(|free| *free < needed(host)).map(|free| (needed(host), free)));
    let Some((needed, free)) = scarce else { return RunSummary::from_recording(recording, group, progress) };
    let mut summary = RunSummary::without_history(recording, group, progress)?;
    summary.not_recorded.push(format!(
        "wait states were not analysed: that needs {} of memory, and {} are free; several hosts can share the analysis: mpirun -n 16 \
         sintonia report --html FILE NAME.sin",
        format_bytes(needed),
        format_bytes(free)
    ));
    Ok(summary)
}

/// Converts an error to a refusal.
pub(crate) fn to_refusal(error: impl std::fmt::Display) -> QueryError {
    QueryError::Unavailable(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_recording::openmp::{self, RegionExecution, RegionThread};
    use sintonia_recording::testing::{finalize, init};

    #[test]
    fn the_rank_with_the_most_threads_counts() {
        let folder = tempfile::tempdir().unwrap();
        let calls = vec![init().at(0, 10), finalize().at(20, 30)];
        crate::sample::recording(folder.path(), &[calls.clone(), calls.clone(), calls]);
        let region =
            |level, threads| RegionExecution { level, threads: vec![RegionThread::default(); threads], ..RegionExecution::default() };
        openmp::write(folder.path(), 0, &[region(0, 1)]).unwrap();
        openmp::write(folder.path(), 1, &[region(0, 4), region(1, 9)]).unwrap();
        let open = ViewSession::open(&[folder.path().to_owned()]).unwrap();
        assert_eq!(open.recordings[0].openmp_threads(), 4);
        std::fs::remove_file(folder.path().join("rank-00001.omp")).unwrap();
        assert_eq!(open.recordings[0].openmp_threads(), 4, "files are read once");
    }
}
