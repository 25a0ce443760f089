//! `replay`: a replay with changes, as from `sintonia replay --json`; `?what-if=latency=x2` as on the command line, `?machine=given` for the
//! given machine file instead of the network as recorded.

use std::sync::Arc;

use sintonia_machine::Machine;
use sintonia_replay::core_shortage_note::KnownCoreWaits;
use sintonia_replay::report::ReplayReport;
use sintonia_replay::scenario::{ReplayScenario, ScenarioResult};
use sintonia_replay::what_if::WhatIf;
use sintonia_text::quantity::format_count;

use super::monitored_schedule::MonitoredSchedule;
use crate::answer::{PageQuery, QueryAnswer, QueryError};
use crate::jobs::{JobProgress, JobRequest};
use crate::session::{OpenRecording, ViewSession, to_refusal};
use crate::subject::PageSubject;

pub(super) const SUBJECT: PageSubject =
    PageSubject { name: "replay", is_available: |open| open.recordings.iter().any(|opened| opened.check_has_calls().is_ok()), answer };

/// A requested replay.
pub(super) struct ReplayQuery {
    opened: Arc<OpenRecording>,
    machine: Option<Machine>,
    /// The changes, as given.
    change_text: String,
    what_ifs: Vec<WhatIf>,
}

impl ReplayQuery {
    /// Parses a question.
    pub(super) fn from_question(open: &ViewSession, question: &PageQuery) -> Result<ReplayQuery, QueryError> {
        let opened = open.recording_of(question)?;
        opened.check_has_calls()?;
        let wrong = |parameter: &str, reason: String| QueryError::InvalidParameter { parameter: parameter.into(), reason };
        let machine = match question.param("machine") {
            None | Some("recorded") => None,
            Some("given") => {
                Some(open.machine.clone().map(Machine::widened).ok_or_else(|| wrong("machine", "no machine file was given".into()))?)
            }
            Some(other) => return Err(wrong("machine", format!("recorded or given, not `{other}`"))),
        };
        let change_text = question.param("what-if").unwrap_or_default().to_owned();
        let what_ifs = WhatIf::parse(&change_text).map_err(|error| wrong("what-if", error.to_string()))?;
        Ok(ReplayQuery { opened: Arc::clone(opened), machine, change_text, what_ifs })
    }

    /// Its cache key.
    pub(super) fn cache_key(&self, recording: usize) -> String {
        format!("replay {recording} {} {}", self.machine.is_some(), self.change_text)
    }

    /// The recording.
    pub(super) fn opened(&self) -> &Arc<OpenRecording> {
        &self.opened
    }

    /// The recording as a schedule that can be cancelled.
    pub(super) fn monitored<'a>(&'a self, progress: &'a JobProgress) -> MonitoredSchedule<'a> {
        MonitoredSchedule { recording: &self.opened.recording, progress }
    }

    /// The case to replay.
    pub(super) fn case<'a>(&self, watched: &'a MonitoredSchedule<'a>) -> ReplayScenario<'a> {
        ReplayScenario { schedule: watched, bounds: None, machine: self.machine.clone(), what_ifs: self.what_ifs.clone() }
    }

    /// The number of calls over all replays: most cases need more than one.
    pub(super) fn replayed_calls(&self) -> usize {
        let replays = match (&self.machine, self.what_ifs.is_empty()) {
            (Some(_), is_plain) => 3 + usize::from(!is_plain),
            (None, is_plain) => 1 + usize::from(!is_plain),
        };
        usize::try_from(self.opened.calls()).unwrap_or(usize::MAX).saturating_mul(replays)
    }

    fn to_json(&self, mut findings: ScenarioResult) -> serde_json::Value {
        // An unreadable file has already been an error of the replay.
        let core_waits = KnownCoreWaits::from_recording(&self.opened.recording, &self.what_ifs).unwrap_or_default();
        findings.seconds[0] *= 1.0 - core_waits.kept_share;
        ReplayReport {
            name: self.opened.name(),
            was_executed: true,
            ranks: self.opened.recording.header.rank_count(),
            machine: self.machine.as_ref(),
            changes: std::slice::from_ref(&self.change_text),
            findings,
            sensitivity: None,
            written: None,
            notes: core_waits.notes,
        }
        .to_json()
    }
}

fn answer(open: &Arc<ViewSession>, question: &PageQuery) -> Result<QueryAnswer, QueryError> {
    let query = ReplayQuery::from_question(open, question)?;
    let key = query.cache_key(question.recording);
    let (steps, permit) = (query.replayed_calls(), Some(Arc::clone(&open.replay_permit)));
    let doing = format!("replaying {} calls", format_count(steps as u64)).into();
    let work = move |progress: &JobProgress| {
        let findings = query.case(&query.monitored(progress)).run().map_err(to_refusal)?;
        Ok(QueryAnswer::json(&query.to_json(findings)))
    };
    open.answers.answer(&key, JobRequest { description: doing, steps, permit, work })
}
