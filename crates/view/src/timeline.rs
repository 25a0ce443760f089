//! Timeline queries: activity of every rank over time, from the whole run down to single calls.
//!
//! The row of a rank shows what most of its active threads do, as the efficiencies of a report count them. Lists of calls contain the calls
//! of all threads. The threads can also have a row each, with the OpenMP regions in which they take part.

mod activity_sums;
mod calls;
mod core_plane;
mod find;
mod messages;
mod params;
mod raster;
mod regions;
mod row_groups;
mod sums;
#[cfg(test)]
mod sums_tests;
#[cfg(test)]
mod tests;
mod thread_lanes;
mod thread_raster;
mod traffic;
#[cfg(test)]
mod traffic_tests;

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sintonia_recording::Recording;

pub(crate) use crate::analysis::RankRole;
use crate::analysis::TimelineAnalysis;
use crate::answer::{PageQuery, QueryAnswer, QueryError};
pub(crate) use crate::cache_file::{Error, FileStamp};
use crate::index::{ThreadPainter, TimelineIndex};
use core_plane::CoreIntervals;
use thread_lanes::OuterRegions;
pub(crate) use traffic::SelectedTraffic;

/// The timeline of one recording.
pub(crate) struct RecordingTimeline {
    recording: Arc<Recording>,
    /// `None` for a profile, which has no calls.
    index: Option<TimelineIndex>,
    analysis: Mutex<AnalysisState>,
    /// Ranks with the same behaviour, if known without the analysis.
    roles: Option<Vec<RankRole>>,
    cores: CoreIntervals,
    regions: OuterRegions,
}

/// When an analysis that failed for lack of memory is tried again.
const RETRY_INTERVAL: Duration = Duration::from_secs(30);

/// State of the analysis.
#[derive(Clone)]
enum AnalysisState {
    NotRequested,
    Scheduled,
    Running {
        activity: String,
        progress: f64,
    },
    Ready(Arc<TimelineAnalysis>),
    /// There was not enough memory at that time.
    OutOfMemory(String, Instant),
    Failed(String),
}

impl RecordingTimeline {
    /// Opens the timeline of a recording, and reads the whole recording if it is not indexed yet. `progress` is called with values from 0
    /// to 1.
    pub(crate) fn open(recording: Arc<Recording>, progress: &(dyn Fn(f64) + Sync)) -> Result<RecordingTimeline, Error> {
        let index = if recording.header.profile { None } else { Some(TimelineIndex::open(&recording, progress)?) };
        let made = index.as_ref().and_then(|index| TimelineAnalysis::find(&recording, index));
        let analysis = Mutex::new(made.map_or(AnalysisState::NotRequested, |analysis| AnalysisState::Ready(Arc::new(analysis))));
        Ok(RecordingTimeline { recording, index, analysis, roles: None, cores: CoreIntervals::default(), regions: OuterRegions::default() })
    }

    /// Sets the roles, so that they do not depend on the analysis.
    pub(crate) fn with_roles(self, roles: Vec<RankRole>) -> RecordingTimeline {
        RecordingTimeline { roles: Some(roles), ..self }
    }

    /// Whether the caller should now call [`RecordingTimeline::run_analysis`]. If so, answers that need it are pending from now on.
    pub(crate) fn schedule_analysis(&self) -> bool {
        let mut state = self.analysis.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = match &*state {
            AnalysisState::NotRequested => self.index.is_some(),
            AnalysisState::OutOfMemory(_, since) => since.elapsed() > RETRY_INTERVAL,
            _ => false,
        };
        if is_due {
            *state = AnalysisState::Scheduled;
        }
        is_due
    }

    /// Computes wait states, messages, the critical path and roles, unless already done. Slow and memory-intensive, so it is run in the
    /// background; answers use the results as soon as they are available. If it fails, answers that need it return the reason.
    pub(crate) fn run_analysis(&self) {
        let is_due =
            matches!(self.analysis_state(), AnalysisState::NotRequested | AnalysisState::Scheduled | AnalysisState::OutOfMemory(..));
        let Some(index) = self.index.as_ref().filter(|_| is_due) else { return };
        let report =
            |activity: &str, progress: f64| self.set_analysis_state(AnalysisState::Running { activity: activity.to_owned(), progress });
        report("analysing wait states and messages", 0.0);
        let run = || match TimelineAnalysis::memory_shortage(&self.recording) {
            Some(reason) => AnalysisState::OutOfMemory(reason, Instant::now()),
            None => match TimelineAnalysis::create(&self.recording, index, &report) {
                Ok(analysis) => AnalysisState::Ready(Arc::new(analysis)),
                Err(error) => AnalysisState::Failed(error.to_string()),
            },
        };
        // Clients must not wait forever after a panic.
        let panicked = |_| AnalysisState::Failed("the analysis failed with an internal error".to_owned());
        let state = std::panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(panicked);
        self.set_analysis_state(state);
    }

    /// What each rank sent in the time range of a query, and what is not known of it.
    pub(crate) fn traffic(&self, query: &PageQuery) -> Result<SelectedTraffic, QueryError> {
        let index = self.index.as_ref().ok_or_else(no_calls)?;
        let context =
            TimelineContext { recording: &self.recording, index, analysis: None, roles: None, cores: &self.cores, regions: &self.regions };
        SelectedTraffic::read(context, query)
    }

    /// Answers a query about `timeline`, `sums`, `calls`, `regions`, `messages` or `find`.
    pub(crate) fn answer(&self, query: &PageQuery) -> Result<QueryAnswer, QueryError> {
        let index = self.index.as_ref().ok_or_else(no_calls)?;
        let state = self.analysis_state();
        let analysis = match &state {
            AnalysisState::Ready(analysis) => Some(&**analysis),
            _ => None,
        };
        let roles = self.roles.as_deref().or_else(|| analysis.map(TimelineAnalysis::roles));
        let context = TimelineContext { recording: &self.recording, index, analysis, roles, cores: &self.cores, regions: &self.regions };
        match (query.subject.as_str(), analysis) {
            ("timeline", None) if query.param("by") == Some("role") && roles.is_none() => state.into_answer(),
            ("timeline", _) => raster::answer(context, query),
            ("sums", None) if query.param("waits") == Some("1") => state.into_answer(),
            ("sums", _) => sums::answer(context, query),
            ("calls", _) => calls::answer(context, query),
            ("regions", _) => regions::answer(context, query),
            ("find", None) if query.param("wait").is_some() => state.into_answer(),
            ("find", _) => find::answer(context, query),
            ("messages", None) => state.into_answer(),
            ("messages", Some(analysis)) => messages::answer(context, analysis, query),
            (other, _) => Err(QueryError::Unknown(other.to_owned())),
        }
    }

    fn analysis_state(&self) -> AnalysisState {
        self.analysis.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_analysis_state(&self, state: AnalysisState) {
        *self.analysis.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}

fn no_calls() -> QueryError {
    QueryError::Unavailable(
        "the recording is a profile and has no single calls: record again without --profile to get a timeline".to_owned(),
    )
}

impl AnalysisState {
    /// The answer to a query that needs the missing analysis.
    fn into_answer(self) -> Result<QueryAnswer, QueryError> {
        match self {
            AnalysisState::Scheduled => {
                Ok(QueryAnswer::Pending { activity: "waiting for the analysis of wait states and messages".to_owned(), progress: 0.0 })
            }
            AnalysisState::Running { activity, progress } => Ok(QueryAnswer::Pending { activity, progress }),
            AnalysisState::Failed(reason) | AnalysisState::OutOfMemory(reason, _) => Err(QueryError::Unavailable(reason)),
            AnalysisState::NotRequested | AnalysisState::Ready(_) => {
                Err(QueryError::Unavailable("wait states and messages were not analysed".to_owned()))
            }
        }
    }
}

/// What queries are answered from.
#[derive(Clone, Copy)]
struct TimelineContext<'a> {
    recording: &'a Recording,
    index: &'a TimelineIndex,
    analysis: Option<&'a TimelineAnalysis>,
    roles: Option<&'a [RankRole]>,
    cores: &'a CoreIntervals,
    regions: &'a OuterRegions,
}

impl<'a> TimelineContext<'a> {
    fn painter(self) -> ThreadPainter<'a> {
        ThreadPainter::new(self.index, self.recording)
    }
}

/// A file cannot be read.
impl From<Error> for QueryError {
    fn from(error: Error) -> QueryError {
        QueryError::Unavailable(error.to_string())
    }
}
