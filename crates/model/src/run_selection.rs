//! Which runs a study uses: those that failed, were cut short or were disturbed by the host are left out unless requested.
//!
//! Such a run did another amount of work than its parameters say, or its times are those of the host. One of them in a study spoils every
//! formula. Each run that is left out is named with the reason.

use std::collections::BTreeSet;
use std::fmt;

use sintonia_insight::gaps::RecordingGaps;
use sintonia_program::core_shortage::{CoreShortage, ShortageCause};
use sintonia_program::process_group::SingleProcess;
use sintonia_recording::Recording;
use sintonia_recording::header::{ProcessExit, RecordingHeader};

use crate::program_version::{ProgramVersion, find_different};
use crate::run::{MeasuredRun, RunError};
use crate::study::{ScalingStudy, StudyError};

/// A run that waited for cores for a larger share of its time, nobody knows when, says little about the program.
const MAX_KEPT_SHARE: f64 = 0.2;
/// More runs than this are not named one by one in an error.
const MAX_NAMED_RUNS: usize = 4;

/// Why a run is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunDefect {
    /// Its command ended with another exit status than 0, or a rank called `MPI_Abort`.
    Failed,
    /// Ranks or calls are missing.
    Truncated,
    /// Its ranks shared too few cores.
    Oversubscribed,
    /// Its ranks waited for cores for other reasons, and when is not known.
    Preempted,
    /// It is of another build of the program, of another MPI library, or had another number of threads than the other runs.
    Different,
}

impl RunDefect {
    /// All defects.
    pub const ALL: [RunDefect; 5] =
        [RunDefect::Failed, RunDefect::Truncated, RunDefect::Oversubscribed, RunDefect::Preempted, RunDefect::Different];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            RunDefect::Failed => "failed",
            RunDefect::Truncated => "truncated",
            RunDefect::Oversubscribed => "oversubscribed",
            RunDefect::Preempted => "preempted",
            RunDefect::Different => "different",
        }
    }

    /// The defect of this name.
    pub fn from_name(name: &str) -> Option<RunDefect> {
        RunDefect::ALL.into_iter().find(|defect| defect.name() == name)
    }
}

/// A defect of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunObjection {
    /// What it is.
    pub defect: RunDefect,
    /// What happened, as the end of a sentence.
    pub reason: String,
}

impl RunObjection {
    pub(crate) fn new(defect: RunDefect, reason: impl Into<String>) -> RunObjection {
        RunObjection { defect, reason: reason.into() }
    }
}

/// A run with defects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefectiveRun {
    /// Its name: the path of the recording.
    pub name: String,
    /// Its defects.
    pub objections: Vec<RunObjection>,
}

impl DefectiveRun {
    fn reasons(&self) -> String {
        self.objections.iter().map(|objection| objection.reason.as_str()).collect::<Vec<_>>().join(", and ")
    }

    fn note_if_left_out(&self) -> String {
        format!("warning: {} is left out: {} (`--include {}` fits it all the same)", self.name, self.reasons(), include_list([self]))
    }

    fn note_if_included(&self) -> String {
        format!("warning: {} is fitted although {}", self.name, self.reasons())
    }
}

/// The value of `--include` that takes these runs.
fn include_list<'a>(runs: impl IntoIterator<Item = &'a DefectiveRun>) -> String {
    let defects: BTreeSet<RunDefect> = runs.into_iter().flat_map(|run| &run.objections).map(|objection| objection.defect).collect();
    defects.into_iter().map(RunDefect::name).collect::<Vec<_>>().join(",")
}

/// Why the runs that are left have no model.
#[derive(Debug)]
pub struct SelectionError {
    /// What is wrong with them; `None` if none is left.
    error: Option<Box<StudyError>>,
    /// The runs that were left out.
    left_out: Vec<DefectiveRun>,
}

impl std::error::Error for SelectionError {}

impl fmt::Display for SelectionError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.error {
            Some(error) => write!(out, "{error}")?,
            None => write!(out, "no recording can be used")?,
        }
        if self.left_out.is_empty() {
            return Ok(());
        }
        let named = self.left_out.iter().take(MAX_NAMED_RUNS).map(|run| format!("{}: {}", run.name, run.reasons()));
        let more = self.left_out.len().saturating_sub(MAX_NAMED_RUNS);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        write!(
            out,
            ". Left out ({}{more}). Record these runs again, or fit them all the same with --include {}",
            named.collect::<Vec<_>>().join("; "),
            include_list(&self.left_out)
        )
    }
}

/// The runs of a study, and those that were left out.
#[derive(Debug, Default)]
pub struct RunSelection {
    included: BTreeSet<RunDefect>,
    runs: Vec<(MeasuredRun, ProgramVersion)>,
    left_out: Vec<DefectiveRun>,
    notes: Vec<String>,
}

impl RunSelection {
    /// No runs yet; those with these defects will be used.
    pub fn including(defects: impl IntoIterator<Item = RunDefect>) -> RunSelection {
        RunSelection { included: defects.into_iter().collect(), ..RunSelection::default() }
    }

    /// Reads a run, or leaves it out. `progress` is called [`MeasuredRun::progress_steps`] times.
    pub fn read(&mut self, name: &str, recording: &Recording, progress: &(dyn Fn() + Sync)) -> Result<(), RunError> {
        let known = find_defects(recording)?;
        if !self.takes(name, known.clone()) {
            (0..MeasuredRun::progress_steps(recording)).for_each(|_| progress());
            return Ok(());
        }
        let run = MeasuredRun::from_recording(name, recording, progress)?;
        // Some damage shows only when the calls are read.
        let found_late = truncation(recording).filter(|_| known.iter().all(|objection| objection.defect != RunDefect::Truncated));
        if self.takes(name, found_late.into_iter().collect()) {
            self.runs.push((run, ProgramVersion::from_recording(recording)?));
        }
        Ok(())
    }

    /// Whether a run with these defects is used; notes it either way.
    fn takes(&mut self, name: &str, objections: Vec<RunObjection>) -> bool {
        if objections.is_empty() {
            return true;
        }
        let is_included = objections.iter().all(|objection| self.included.contains(&objection.defect));
        let run = DefectiveRun { name: name.to_owned(), objections };
        if is_included {
            self.notes.push(run.note_if_included());
        } else {
            self.notes.push(run.note_if_left_out());
            self.left_out.push(run);
        }
        is_included
    }

    /// Leaves out the runs that differ from most others in what no parameter says.
    fn leave_out_different(&mut self) {
        let different = find_different(&self.runs);
        let all = std::mem::take(&mut self.runs);
        for ((run, version), reason) in all.into_iter().zip(different) {
            let objections = reason.map(|reason| RunObjection::new(RunDefect::Different, reason)).into_iter().collect();
            if self.takes(&run.name, objections) {
                self.runs.push((run, version));
            }
        }
    }

    /// Fits a model to the runs that are left.
    pub fn into_study(
        mut self,
        fit: impl FnOnce(Vec<MeasuredRun>) -> Result<ScalingStudy, StudyError>,
    ) -> Result<ScalingStudy, SelectionError> {
        self.leave_out_different();
        let RunSelection { runs, left_out, mut notes, .. } = self;
        if runs.is_empty() && !left_out.is_empty() {
            return Err(SelectionError { error: None, left_out });
        }
        let runs = runs.into_iter().map(|(run, _)| run).collect();
        match fit(runs) {
            Ok(mut study) => {
                notes.append(&mut study.model.notes);
                study.model.notes = notes;
                Ok(study)
            }
            Err(error) => Err(SelectionError { error: Some(Box::new(error)), left_out }),
        }
    }
}

/// The defects of a run that show without its calls.
fn find_defects(recording: &Recording) -> Result<Vec<RunObjection>, RunError> {
    let failure = failure(&recording.header);
    Ok(failure.into_iter().chain(truncation(recording)).chain(missing_cores(recording)?).collect())
}

/// Whether the command failed.
fn failure(header: &RecordingHeader) -> Option<RunObjection> {
    // By convention of shells and of `sintonia record`, a signal counts from here.
    const SIGNALS: i32 = 128;
    let reason = match header.exit_status {
        Some(0) | None => {
            let aborted = header.ranks.iter().find(|rank| rank.end == ProcessExit::Aborted)?;
            format!("rank {} called MPI_Abort", aborted.rank)
        }
        Some(status) if (SIGNALS + 1..SIGNALS + 65).contains(&status) => {
            format!("its command ended with exit status {status} (signal {})", status - SIGNALS)
        }
        Some(status) => format!("its command ended with exit status {status}"),
    };
    Some(RunObjection::new(RunDefect::Failed, reason))
}

/// Whether ranks or calls are missing.
fn truncation(recording: &Recording) -> Option<RunObjection> {
    let gaps = RecordingGaps::from_recording(recording, &SingleProcess);
    let incomplete = gaps.incomplete.iter().next().map(|(rank, why)| format!("rank {rank} is incomplete ({why})"));
    let lost = || gaps.missing_calls.first().map(|rank| format!("calls of rank {rank} were lost"));
    Some(RunObjection::new(RunDefect::Truncated, incomplete.or_else(lost)?))
}

/// Whether the ranks had too few cores.
fn missing_cores(recording: &Recording) -> Result<Option<RunObjection>, RunError> {
    let Some(shortage) = CoreShortage::from_recording(recording)? else { return Ok(None) };
    let is_shared = |cause: &ShortageCause| matches!(cause, ShortageCause::Oversubscribed { .. } | ShortageCause::SharedProcessors { .. });
    let statement = as_clause(&shortage.statement(&recording.header));
    if shortage.causes.first().is_some_and(is_shared) {
        return Ok(Some(RunObjection::new(RunDefect::Oversubscribed, statement)));
    }
    let is_unknown_when = !CoreShortage::has_intervals(&recording.header) && shortage.share() > MAX_KEPT_SHARE;
    Ok(is_unknown_when.then(|| RunObjection::new(RunDefect::Preempted, format!("{statement}; when that was is not recorded"))))
}

/// The first of some sentences as a part of another one.
fn as_clause(sentences: &str) -> String {
    let first = sentences.split(". ").next().unwrap_or_default().trim_end_matches('.');
    let mut letters = first.chars();
    letters.next().map_or_else(String::new, |letter| letter.to_lowercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(exit_status: Option<i32>) -> RecordingHeader {
        RecordingHeader { exit_status, ..RecordingHeader::default() }
    }

    #[test]
    fn a_command_fails_by_its_status() {
        let reason = |status| failure(&header(status)).map(|objection| objection.reason);
        assert_eq!((reason(Some(0)), reason(None)), (None, None));
        assert_eq!(reason(Some(3)).as_deref(), Some("its command ended with exit status 3"));
        assert_eq!(reason(Some(143)).as_deref(), Some("its command ended with exit status 143 (signal 15)"));
        assert_eq!(reason(Some(255)).as_deref(), Some("its command ended with exit status 255"));
    }

    #[test]
    fn a_sentence_becomes_a_clause() {
        let said = "A CPU quota of 0.5 cores stopped 2 ranks: 70 % of their time they waited for a core. 1 more cause.";
        assert_eq!(as_clause(said), "a CPU quota of 0.5 cores stopped 2 ranks: 70 % of their time they waited for a core");
    }

    #[test]
    fn defects_are_named_as_on_the_command_line() {
        assert!(RunDefect::ALL.iter().all(|defect| RunDefect::from_name(defect.name()) == Some(*defect)));
        assert_eq!(RunDefect::from_name("broken"), None);
    }

    #[test]
    fn a_run_is_left_out_unless_all_its_defects_are_included() {
        let objections =
            || vec![RunObjection::new(RunDefect::Failed, "it failed"), RunObjection::new(RunDefect::Truncated, "rank 1 is missing")];
        let takes = |defects: &[RunDefect]| RunSelection::including(defects.iter().copied()).takes("a.sin", objections());
        assert!(!takes(&[]) && !takes(&[RunDefect::Failed]) && takes(&[RunDefect::Failed, RunDefect::Truncated]));
        let mut selection = RunSelection::default();
        selection.takes("a.sin", objections());
        let note = "warning: a.sin is left out: it failed, and rank 1 is missing (`--include failed,truncated` fits it all the same)";
        assert_eq!(selection.notes, [note]);
        let error = selection.into_study(|runs| ScalingStudy::from_runs(runs, None, None, None)).unwrap_err().to_string();
        assert_eq!(
            error,
            "no recording can be used. Left out (a.sin: it failed, and rank 1 is missing). \
             Record these runs again, or fit them all the same with --include failed,truncated"
        );
    }
}
