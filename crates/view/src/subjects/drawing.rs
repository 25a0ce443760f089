//! `drawing`: the picture of `sintonia graph --program`; `?overview=1` for that of the phases.

use std::path::Path;

use serde_json::json;

use crate::answer::{QueryAnswer, QueryError};
use crate::program_graph;
use crate::session::to_refusal;
use crate::subject::PageSubject;

pub(super) const SUBJECT: PageSubject = PageSubject {
    name: "drawing",
    is_available: |open| open.recordings.iter().any(|opened| opened.check_has_calls().is_ok()),
    answer: |open, question| {
        let opened = open.recording_of(question)?;
        let overview = match question.param("overview") {
            None | Some("0") => false,
            Some("1") => true,
            Some(other) => {
                return Err(QueryError::InvalidParameter { parameter: "overview".into(), reason: format!("0 or 1, not `{other}`") });
            }
        };
        opened.with_program(|program| {
            let mut svg = Vec::new();
            let title = program_graph::title(Path::new(&opened.name()), &opened.recording);
            program_graph::write_drawing(program, &opened.recording, title, overview, &mut svg).map_err(to_refusal)?;
            Ok(QueryAnswer::json(&json!({"svg": String::from_utf8_lossy(&svg)})))
        })
    },
};
