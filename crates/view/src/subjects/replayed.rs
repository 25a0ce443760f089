//! `replayed`: the timeline of a replay, with the options of `timeline` and `replay`. The replay is written as a
//! recording into a temporary folder.

use std::sync::Arc;

use sintonia_recording::Recording;

use super::replay::ReplayQuery;
use crate::answer::{PageQuery, QueryAnswer, QueryError};
use crate::jobs::{JobProgress, JobRequest};
use crate::session::{ViewSession, to_refusal};
use crate::subject::PageSubject;
use crate::timeline::{RankRole, RecordingTimeline};

pub(super) const SUBJECT: PageSubject =
    PageSubject { name: "replayed", is_available: |open| open.recordings.iter().any(|opened| opened.check_has_calls().is_ok()), answer };

/// Every picture takes a whole replay, which is too slow for longer runs.
const MAX_CALLS: u64 = 5_000_000;

fn answer(open: &Arc<ViewSession>, question: &PageQuery) -> Result<QueryAnswer, QueryError> {
    let query = ReplayQuery::from_question(open, question)?;
    if query.opened().calls() > MAX_CALLS {
        let most = MAX_CALLS / 1_000_000;
        return Err(QueryError::Unavailable(format!(
            "there is no timeline for replays of more than {most} million calls: use `sintonia replay -o NAME.sin` and view that recording"
        )));
    }
    if question.param("by") != Some("role") {
        return timeline_answer(open, question, query, None);
    }
    // Ranks with the same role in the recording have it in the replay.
    let opened = Arc::clone(query.opened());
    opened.with_program(|program| {
        let roles = program.roles.iter().map(|role| RankRole { name: role.name.clone(), ranks: role.ranks.clone() });
        timeline_answer(open, question, query, Some(roles.collect()))
    })
}

fn timeline_answer(
    open: &ViewSession,
    question: &PageQuery,
    query: ReplayQuery,
    roles: Option<Vec<RankRole>>,
) -> Result<QueryAnswer, QueryError> {
    let mut params = question.params.clone();
    params.retain(|name, _| name != "what-if" && name != "machine");
    let key = format!("{} {params:?}", query.cache_key(question.recording));
    let picture = PageQuery { recording: 0, subject: "timeline".into(), params };
    let (steps, permit) = (query.replayed_calls(), Some(Arc::clone(&open.replay_permit)));
    let work = move |progress: &JobProgress| {
        let folder = tempfile::tempdir().map_err(to_refusal)?;
        let path = folder.path().join("replayed.sin");
        let header = query.opened().recording.header.clone();
        query.case(&query.monitored(progress)).write_recording(header, &path).map_err(to_refusal)?;
        let recording = Arc::new(Recording::open(&path).map_err(to_refusal)?);
        let timeline = RecordingTimeline::open(recording, &|_| {}).map_err(to_refusal)?;
        roles.into_iter().fold(timeline, RecordingTimeline::with_roles).answer(&picture)
    };
    open.answers.answer(&key, JobRequest { description: "drawing the replay".into(), steps, permit, work })
}
