//! `drawing`: the picture of `sintonia graph --program`; `?overview=1` for that of the phases.

use std::path::Path;

use serde_json::json;
use sintonia_view::answer::{QueryAnswer, QueryError};

use super::session::to_refusal;
use super::subjects::PageSubject;
use crate::graph;

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
            let title = graph::graph_title(Path::new(&opened.name()), &opened.recording);
            graph::write_drawing(program, &opened.recording, title, overview, &mut svg).map_err(to_refusal)?;
            Ok(QueryAnswer::json(&json!({"svg": String::from_utf8_lossy(&svg)})))
        })
    },
};
