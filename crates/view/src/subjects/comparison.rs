//! `comparison`: the comparison of recordings, as from `sintonia report A B --json`; `?weak=1` for weak scaling.

use std::sync::Arc;

use sintonia_insight::{RunComparison, RunEfficiency, ScalingMode};
use sintonia_program::process_group::SingleProcess;

use crate::answer::{PageQuery, QueryAnswer, QueryError};
use crate::jobs::{JobProgress, JobRequest};
use crate::session::{ViewSession, to_refusal};
use crate::subject::PageSubject;

pub(super) const SUBJECT: PageSubject = PageSubject { name: "comparison", is_available: |open| open.recordings.len() > 1, answer };

fn answer(open: &Arc<ViewSession>, question: &PageQuery) -> Result<QueryAnswer, QueryError> {
    if open.recordings.len() < 2 {
        return Err(QueryError::Unavailable("only one recording is open: open several to compare them".into()));
    }
    let growth = match question.param("weak") {
        None | Some("0") => ScalingMode::Strong,
        Some("1") => ScalingMode::Weak,
        Some(other) => return Err(QueryError::InvalidParameter { parameter: "weak".into(), reason: format!("0 or 1, not `{other}`") }),
    };
    let recordings = open.recordings.clone();
    let steps = recordings.iter().map(|opened| RunEfficiency::progress_steps(&opened.recording)).sum();
    let work = move |progress: &JobProgress| {
        let read = recordings
            .iter()
            .map(|opened| RunEfficiency::from_recording(&opened.name(), &opened.recording, &SingleProcess, &|| progress.step()));
        let runs = read.collect::<Result<Vec<RunEfficiency>, _>>().map_err(to_refusal)?;
        Ok(QueryAnswer::json(&RunComparison::new(&runs, growth)))
    };
    open.answers
        .answer(&format!("comparison {growth:?}"), JobRequest { description: "comparing recordings".into(), steps, permit: None, work })
}
