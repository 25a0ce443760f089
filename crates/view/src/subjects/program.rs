//! `program`: the program graph, its roles and phases, as from `sintonia graph --program --json`.

use crate::answer::QueryAnswer;
use crate::program_graph::graph_json;
use crate::subject::PageSubject;

pub(super) const SUBJECT: PageSubject = PageSubject {
    name: "program",
    is_available: |open| open.recordings.iter().any(|opened| opened.check_has_calls().is_ok()),
    answer: |open, question| {
        let opened = open.recording_of(question)?;
        opened.with_program(|graph| Ok(QueryAnswer::json(&graph_json(graph, &opened.recording))))
    },
};
