//! `report`: what `sintonia report --json` shows.

use sintonia_view::answer::Answer;

use super::open::not_there;
use super::subject::Subject;
use crate::report::{Shown, tuning};

pub const SUBJECT: Subject = Subject {
    name: "report",
    is_there: |_| true,
    answer: |open, question| {
        let opened = open.asked(question)?;
        let log = tuning::log(&opened.path).map_err(not_there)?;
        opened.with_summary(|summary| Ok(Answer::json(&Shown { summary, tuning: log.as_deref() })))
    },
};
