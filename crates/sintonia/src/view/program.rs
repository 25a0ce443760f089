//! `program`: what `sintonia graph --program --json` writes: the program graph, its roles and phases.

use sintonia_view::answer::Answer;

use super::subject::Subject;
use crate::graph::json;

pub const SUBJECT: Subject = Subject {
    name: "program",
    is_there: |open| open.recordings.iter().any(|opened| opened.has_calls().is_ok()),
    answer: |open, question| {
        let opened = open.asked(question)?;
        opened.with_program(|graph| Ok(Answer::json(&json::value(graph, &opened.recording))))
    },
};
