//! The subjects of the page: each has its own file, and an entry here.

pub(crate) mod about;
mod communication;
mod comparison;
mod drawing;
mod machine;
mod monitored_schedule;
mod placement;
mod placement_data;
mod program;
mod replay;
mod replayed;
pub(crate) mod report;
mod scaling;
mod source;
mod stacks;
mod timeline;
mod tuning;

use std::sync::Arc;

use crate::answer::{PageQuery, QueryAnswer, QueryError, QueryHandler};
use crate::session::ViewSession;
use crate::subject::PageSubject;
use about::OmittedAnswers;

/// What is open: it lists the subjects, so it is not in a file below them.
const ABOUT: PageSubject = PageSubject {
    name: "about",
    is_available: |_| true,
    answer: |open, _| Ok(about::answer(open, &available_subjects(open), &OmittedAnswers::new())),
};

/// All subjects.
pub(crate) const SUBJECTS: &[PageSubject] = &[
    ABOUT,
    report::SUBJECT,
    timeline::TIMELINE,
    timeline::SUMS,
    timeline::CALLS,
    timeline::REGIONS,
    timeline::MESSAGES,
    timeline::FIND,
    communication::SUBJECT,
    program::SUBJECT,
    drawing::SUBJECT,
    source::SUBJECT,
    stacks::STACKS,
    stacks::LINES,
    comparison::SUBJECT,
    scaling::SUBJECT,
    machine::SUBJECT,
    replay::SUBJECT,
    replayed::SUBJECT,
    placement::SUBJECT,
    tuning::SUBJECT,
];

/// Answers questions about the open session.
pub struct QuestionHandler(pub Arc<ViewSession>);

impl QueryHandler for QuestionHandler {
    fn handle(&self, question: &PageQuery) -> Result<QueryAnswer, QueryError> {
        let subject = SUBJECTS.iter().find(|subject| subject.name == question.subject);
        let subject = subject.ok_or_else(|| QueryError::Unknown(format!("subject `{}`", question.subject)))?;
        self.0.recording_of(question)?;
        (subject.answer)(&self.0, question)
    }
}

/// The names of available subjects.
pub(crate) fn available_subjects(open: &ViewSession) -> Vec<&'static str> {
    SUBJECTS.iter().filter(|subject| (subject.is_available)(open)).map(|subject| subject.name).collect()
}
