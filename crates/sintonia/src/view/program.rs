//! `program`: the program graph, its roles and phases, as from `sintonia graph --program --json`.

use sintonia_view::answer::QueryAnswer;

use super::subjects::PageSubject;
use crate::graph::json;

pub(super) const SUBJECT: PageSubject = PageSubject {
    name: "program",
    is_available: |open| open.recordings.iter().any(|opened| opened.check_has_calls().is_ok()),
    answer: |open, question| {
        let opened = open.recording_of(question)?;
        opened.with_program(|graph| Ok(QueryAnswer::json(&json::graph_json(graph, &opened.recording))))
    },
};
