//! `placement`: current and proposed placement, as from `sintonia place --json`, with data for its picture.

use std::sync::Arc;

use super::placement_data::placement_data;
use crate::answer::{PageQuery, QueryAnswer, QueryError};
use crate::jobs::{JobProgress, JobRequest};
use crate::session::{ViewSession, to_refusal};
use crate::subject::PageSubject;

pub(super) const SUBJECT: PageSubject =
    PageSubject { name: "placement", is_available: |open| open.recordings.iter().any(|opened| opened.recording.header.size > 1), answer };

fn answer(open: &Arc<ViewSession>, question: &PageQuery) -> Result<QueryAnswer, QueryError> {
    let opened = Arc::clone(open.recording_of(question)?);
    let permit = open.read_permit(std::slice::from_ref(&opened));
    let (machine, hosts) = (open.machine.clone(), open.hosts.clone());
    let work = move |_: &JobProgress| {
        opened.check_memory()?;
        placement_data(&opened.path, machine, hosts).map(|view| QueryAnswer::json(&view)).map_err(to_refusal)
    };
    let task = JobRequest { description: "searching for a better placement".into(), steps: 1, permit, work };
    open.answers.answer(&format!("placement {}", question.recording), task)
}
