//! `report`: the report, as from `sintonia report --json`.

use sintonia_insight::RunSummary;
use sintonia_tune::decision::{self, TuningLogEntry};

use crate::answer::QueryAnswer;
use crate::session::to_refusal;
use crate::subject::PageSubject;

pub(super) const SUBJECT: PageSubject = PageSubject {
    name: "report",
    is_available: |_| true,
    answer: |open, question| {
        let opened = open.recording_of(question)?;
        let log = decision::read_run_log(&opened.path).map_err(to_refusal)?;
        opened.with_report(|report| Ok(QueryAnswer::Json(with_tuning(report, log.as_deref()))))
    },
};

/// A report with the tuning log, if the run was tuned.
fn with_tuning(report: &str, log: Option<&[TuningLogEntry]>) -> String {
    let tuning = log.and_then(|log| serde_json::to_string(log).ok());
    match (tuning, report.strip_suffix('}')) {
        (Some(tuning), Some(fields)) => format!("{fields},\"tuning\":{tuning}}}"),
        _ => report.to_owned(),
    }
}

/// The report of a recording as JSON.
#[derive(serde::Serialize)]
pub struct ReportJson<'a> {
    /// The findings.
    #[serde(flatten)]
    pub summary: &'a RunSummary,
    /// The tuning log, if the run was tuned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tuning: Option<&'a [TuningLogEntry]>,
}
