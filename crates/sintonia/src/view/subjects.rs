//! The subjects of the page: each has its own file, and an entry here.

use std::sync::Arc;

use sintonia_view::answer::{PageQuery, QueryAnswer, QueryError, QueryHandler};

use super::session::ViewSession;
use super::{
    about, communication, comparison, drawing, machine, placement, program, replay, replayed, report, scaling, source, timeline, tuning,
};

/// A subject that can be asked about.
pub(crate) struct PageSubject {
    /// Its name in a question.
    pub name: &'static str,
    /// Whether it is available for what is open; a question may still be refused.
    pub is_available: fn(&ViewSession) -> bool,
    /// Answers a question about this subject.
    pub answer: fn(&Arc<ViewSession>, &PageQuery) -> Result<QueryAnswer, QueryError>,
}

/// All subjects.
pub(crate) const SUBJECTS: &[PageSubject] = &[
    about::SUBJECT,
    report::SUBJECT,
    timeline::TIMELINE,
    timeline::CALLS,
    timeline::MESSAGES,
    timeline::FIND,
    communication::SUBJECT,
    program::SUBJECT,
    drawing::SUBJECT,
    source::SUBJECT,
    comparison::SUBJECT,
    scaling::SUBJECT,
    machine::SUBJECT,
    replay::SUBJECT,
    replayed::SUBJECT,
    placement::SUBJECT,
    tuning::SUBJECT,
];

/// Answers questions about the open session.
pub(crate) struct QuestionHandler(pub Arc<ViewSession>);

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
