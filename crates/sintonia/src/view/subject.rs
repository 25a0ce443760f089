//! The subjects that can be asked about: each has a file of its own, and a line here.

use std::sync::Arc;

use sintonia_view::answer::{Answer, Answers, Question, Refusal};

use super::open::Open;
use super::{
    about, communication, comparison, drawing, machine, placement, program, replay, replayed, report, scaling, source, timeline, tuning,
};

/// A subject.
pub struct Subject {
    /// Its name in a question.
    pub name: &'static str,
    /// Whether it can be answered with what is open: a question for it may still have to be refused.
    pub is_there: fn(&Open) -> bool,
    /// Answers a question; that it is about this subject is certain.
    pub answer: fn(&Arc<Open>, &Question) -> Result<Answer, Refusal>,
}

/// All subjects.
pub const SUBJECTS: &[Subject] = &[
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

/// Answers questions from what is open.
pub struct Asked(pub Arc<Open>);

impl Answers for Asked {
    fn answer(&self, question: &Question) -> Result<Answer, Refusal> {
        let subject = SUBJECTS.iter().find(|subject| subject.name == question.subject);
        let subject = subject.ok_or_else(|| Refusal::Unknown(format!("subject `{}`", question.subject)))?;
        self.0.asked(question)?;
        (subject.answer)(&self.0, question)
    }
}

/// The names of subjects that can be answered.
pub fn names(open: &Open) -> Vec<&'static str> {
    SUBJECTS.iter().filter(|subject| (subject.is_there)(open)).map(|subject| subject.name).collect()
}
