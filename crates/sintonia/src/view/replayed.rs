//! `replayed`: the timeline of a replay. It is asked for as a timeline is, with what `replay` may be asked besides: a replay is a recording too,
//! in a folder that is gone when the question is answered.

use std::sync::Arc;

use sintonia_recording::Recording;
use sintonia_view::answer::{Answer, Question, Refusal};
use sintonia_view::timeline::Timeline;

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
    let header = wish.opened().recording.header.clone();
    let calls: u64 = header.ranks.iter().map(|rank| rank.calls).sum();
    if calls > MOST_CALLS {
        let most = MOST_CALLS / 1_000_000;
        return Err(Refusal::NotThere(format!(
            "runs of more than {most} million calls are replayed without a picture: `sintonia replay -o NAME.sin` makes a recording to look at"
        )));
    }
    let mut query = question.query.clone();
    query.retain(|name, _| name != "what-if" && name != "machine");
    let key = format!("{} {query:?}", wish.key(question.recording));
    let picture = Question { recording: 0, subject: "timeline".into(), query };
    let work = move |_: &Progress| {
        let folder = tempfile::tempdir().map_err(not_there)?;
        let path = folder.path().join("replayed.sin");
        replay::write(&wish.case(), header, &path).map_err(not_there)?;
        let recording = Arc::new(Recording::open(&path).map_err(not_there)?);
        Timeline::open(recording, &|_| {}).map_err(not_there)?.answer(&picture)
    };
    open.kept.answer(&key, Task { doing: "drawing the replay", steps: 1, work })
}
