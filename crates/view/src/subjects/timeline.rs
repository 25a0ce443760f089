//! `timeline`, `sums`, `calls`, `regions`, `messages` and `find`: what every rank did when.

use std::sync::Arc;

use crate::answer::{PageQuery, QueryAnswer, QueryError};
use crate::session::ViewSession;
use crate::subject::PageSubject;

pub(super) const TIMELINE: PageSubject = timeline_subject("timeline");
pub(super) const SUMS: PageSubject = timeline_subject("sums");
pub(super) const CALLS: PageSubject = timeline_subject("calls");
pub(super) const REGIONS: PageSubject = PageSubject { is_available: has_regions, ..timeline_subject("regions") };
pub(super) const MESSAGES: PageSubject = timeline_subject("messages");
pub(super) const FIND: PageSubject = timeline_subject("find");

const fn timeline_subject(name: &'static str) -> PageSubject {
    PageSubject { name, is_available: |open| open.recordings.iter().any(|opened| opened.check_has_calls().is_ok()), answer }
}

fn answer(open: &Arc<ViewSession>, question: &PageQuery) -> Result<QueryAnswer, QueryError> {
    let opened = open.recording_of(question)?;
    opened.with_timeline(|timeline| {
        opened.analyse_in_background(timeline);
        timeline.answer(question)
    })
}

fn has_regions(open: &ViewSession) -> bool {
    open.recordings.iter().any(|opened| opened.has_regions())
}
