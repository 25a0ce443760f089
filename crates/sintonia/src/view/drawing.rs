//! `drawing`: the picture that `sintonia graph --program` draws; `?overview=1` for that of the phases.

use std::path::Path;

use serde_json::json;
use sintonia_view::answer::{Answer, Refusal};

use super::open::not_there;
use super::subject::Subject;
use crate::graph;

pub const SUBJECT: Subject = Subject {
    name: "drawing",
    is_there: |open| open.recordings.iter().any(|opened| opened.has_calls().is_ok()),
    answer: |open, question| {
        let opened = open.asked(question)?;
        let overview = match question.get("overview") {
            None | Some("0") => false,
            Some("1") => true,
            Some(other) => return Err(Refusal::Query { parameter: "overview".into(), reason: format!("0 or 1, not `{other}`") }),
        };
        opened.with_program(|program| {
            let mut svg = Vec::new();
            let title = graph::title(Path::new(&opened.name()), &opened.recording);
            graph::draw(program, &opened.recording, title, overview, &mut svg).map_err(not_there)?;
            Ok(Answer::json(&json!({"svg": String::from_utf8_lossy(&svg)})))
        })
    },
};
