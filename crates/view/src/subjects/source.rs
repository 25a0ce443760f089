//! `source`: the source code around a call site. Only files named by call sites of the recording are read.

use std::sync::Arc;

use serde_json::json;

use crate::answer::{PageQuery, QueryAnswer, QueryError};
use crate::session::ViewSession;
use crate::source_text::{self, SourceExcerpt};
use crate::subject::PageSubject;

pub(super) const SUBJECT: PageSubject = PageSubject { name: "source", is_available: |_| true, answer };

fn answer(open: &Arc<ViewSession>, question: &PageQuery) -> Result<QueryAnswer, QueryError> {
    let opened = open.recording_of(question)?;
    let missing = || QueryError::InvalidParameter { parameter: "site".into(), reason: "a call site number is required".into() };
    let number: usize = question.parse_param("site")?.ok_or_else(missing)?;
    let site = opened.recording.header.sites.get(number).ok_or_else(|| QueryError::Unknown(format!("call site {number}")))?;
    let frame = site.frames.iter().find(|frame| frame.file.is_some() && frame.line.is_some());
    let location = frame.and_then(|frame| frame.file.as_deref().zip(frame.line));
    let (file, line) = location.ok_or_else(|| QueryError::Unavailable("The source line of this call site is unknown.".into()))?;
    let most = question.parse_param("lines")?.unwrap_or(source_text::MAX_LINES);
    let SourceExcerpt { first, lines } = source_text::excerpt(file, line as usize, most).map_err(QueryError::Unavailable)?;
    Ok(QueryAnswer::json(&json!({"file": file, "first": first, "lines": lines, "line": line})))
}
