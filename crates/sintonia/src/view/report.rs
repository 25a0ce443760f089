//! `report`: the report, as from `sintonia report --json`.

use sintonia_view::answer::QueryAnswer;

use super::session::to_refusal;
use super::subjects::PageSubject;
use crate::report::{ReportJson, tuning};

pub(super) const SUBJECT: PageSubject = PageSubject {
    name: "report",
    is_available: |_| true,
    answer: |open, question| {
        let opened = open.recording_of(question)?;
        let log = tuning::read_log(&opened.path).map_err(to_refusal)?;
        opened.with_summary(|summary| Ok(QueryAnswer::json(&ReportJson { summary, tuning: log.as_deref() })))
    },
};
