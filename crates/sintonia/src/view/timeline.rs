//! `timeline`, `calls`, `messages` and `find`: what every rank did when.

use std::sync::Arc;

use sintonia_view::answer::{Answer, Question, Refusal};

use super::open::Open;
use super::subject::Subject;

pub const TIMELINE: Subject = about("timeline");
pub const CALLS: Subject = about("calls");
pub const MESSAGES: Subject = about("messages");
pub const FIND: Subject = about("find");

const fn about(name: &'static str) -> Subject {
    Subject { name, is_there: |open| open.recordings.iter().any(|opened| opened.has_calls().is_ok()), answer }
}

fn answer(open: &Arc<Open>, question: &Question) -> Result<Answer, Refusal> {
    let opened = open.asked(question)?;
    opened.with_timeline(|timeline| {
        opened.analyse_aside(timeline);
        timeline.answer(question)
    })
}
