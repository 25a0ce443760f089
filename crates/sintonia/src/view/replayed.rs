//! `replayed`: the timeline of a replay. It is asked for as a timeline is, with what `replay` may be asked besides: a replay is a recording too,
//! in a folder that is gone when the question is answered.

use std::sync::Arc;

use sintonia_recording::Recording;
use sintonia_view::answer::{Answer, Question, Refusal};
use sintonia_view::timeline::{Role, Timeline};

use super::open::{Open, not_there};
use super::replay::Wish;
use super::slow::{Progress, Task};
use super::subject::Subject;
use crate::replay;

pub const SUBJECT: Subject =
    Subject { name: "replayed", is_there: |open| open.recordings.iter().any(|opened| opened.has_calls().is_ok()), answer };

/// Every picture takes a whole replay: of longer runs nobody would wait for it.
const MOST_CALLS: u64 = 5_000_000;

fn answer(open: &Arc<Open>, question: &Question) -> Result<Answer, Refusal> {
    let wish = Wish::of(open, question)?;
    if wish.opened().calls() > MOST_CALLS {
        let most = MOST_CALLS / 1_000_000;
        return Err(Refusal::NotThere(format!(
            "runs of more than {most} million calls are replayed without a picture: `sintonia replay -o NAME.sin` makes a recording to look at"
        )));
    }
    if question.get("by") != Some("role") {
        return picture(open, question, wish, None);
    }
    // Whoever behaves alike in the recording does so in its replay.
    let opened = Arc::clone(wish.opened());
    opened.with_program(|program| {
        let roles = program.roles.iter().map(|role| Role { name: role.name.clone(), ranks: role.ranks.clone() });
        picture(open, question, wish, Some(roles.collect()))
    })
}

fn picture(open: &Open, question: &Question, wish: Wish, roles: Option<Vec<Role>>) -> Result<Answer, Refusal> {
    let mut query = question.query.clone();
    query.retain(|name, _| name != "what-if" && name != "machine");
    let key = format!("{} {query:?}", wish.key(question.recording));
    let picture = Question { recording: 0, subject: "timeline".into(), query };
    let (steps, turn) = (wish.calls(), Some(Arc::clone(&open.replays)));
    let work = move |progress: &Progress| {
        let folder = tempfile::tempdir().map_err(not_there)?;
        let path = folder.path().join("replayed.sin");
        let header = wish.opened().recording.header.clone();
        replay::write(&wish.case(&wish.watched(progress)), header, &path).map_err(not_there)?;
        let recording = Arc::new(Recording::open(&path).map_err(not_there)?);
        let timeline = Timeline::open(recording, &|_| {}).map_err(not_there)?;
        roles.into_iter().fold(timeline, Timeline::with_roles).answer(&picture)
    };
    open.kept.answer(&key, Task { doing: "drawing the replay".into(), steps, turn, work })
}
