//! `drawing`: the picture of `sintonia graph --program`, folded to a screenful; `?depth=N` for another depth, `?open=3,7` for the scopes
//! that are open; `?overview=1` for that of the phases.

use std::path::Path;

use serde_json::json;
use sintonia_program::graph::{FoldedGraph, ProgramGraph};

use crate::answer::{PageQuery, QueryAnswer, QueryError};
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
            Some(other) => return Err(invalid("overview", format!("0 or 1, not `{other}`"))),
        };
        opened.with_program(|program| {
            let mut svg = Vec::new();
            let title = program_graph::title(Path::new(&opened.name()), &opened.recording);
            if overview {
                program_graph::write_overview(program, title, &mut svg).map_err(to_refusal)?;
                return Ok(QueryAnswer::json(&json!({"svg": String::from_utf8_lossy(&svg)})));
            }
            let folded = FoldedGraph::new(program, &open_scopes(program, question)?);
            program_graph::write_drawing(&folded, &opened.recording, title, &mut svg).map_err(to_refusal)?;
            let depths: Vec<usize> = (0..program.scopes.list.len()).map(|scope| program.scopes.depth(scope)).collect();
            Ok(QueryAnswer::json(&json!({
                "svg": String::from_utf8_lossy(&svg), "open": folded.open, "depths": depths,
                "default_depth": program_graph::default_depth(program),
            })))
        })
    },
};

/// Which scopes are open.
fn open_scopes(program: &ProgramGraph, question: &PageQuery) -> Result<Vec<bool>, QueryError> {
    let scopes = &program.scopes;
    if let Some(list) = question.param("open") {
        let mut open = vec![false; scopes.list.len()];
        for number in list.split(',').filter(|number| !number.is_empty()) {
            let scope = number.parse().ok().and_then(|number: usize| open.get_mut(number));
            *scope.ok_or_else(|| invalid("open", format!("numbers of scopes below {}, not `{number}`", scopes.list.len())))? = true;
        }
        return Ok(open);
    }
    let depth = match question.param("depth") {
        Some(text) => {
            text.parse().ok().filter(|depth| *depth > 0).ok_or_else(|| invalid("depth", format!("a number from 1 on, not `{text}`")))?
        }
        None => program_graph::default_depth(program),
    };
    Ok(scopes.open_at_depth(depth))
}

fn invalid(parameter: &str, reason: String) -> QueryError {
    QueryError::InvalidParameter { parameter: parameter.into(), reason }
}
