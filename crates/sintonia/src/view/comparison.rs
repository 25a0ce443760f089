//! `comparison`: the recordings side by side, as `sintonia report A B --json` shows them; `?weak=1` where each rank has as much work as before.

use std::sync::Arc;

use sintonia_insight::{Growth, Run, Scaled};
use sintonia_program::company::Alone;
use sintonia_view::answer::{Answer, Question, Refusal};

use super::open::{Open, not_there};
use super::slow::{Progress, Task};
use super::subject::Subject;
use crate::report::compare::Comparison;

pub const SUBJECT: Subject = Subject { name: "comparison", is_there: |open| open.recordings.len() > 1, answer };

fn answer(open: &Arc<Open>, question: &Question) -> Result<Answer, Refusal> {
    if open.recordings.len() < 2 {
        return Err(Refusal::NotThere("one recording is open: open several to compare them".into()));
    }
    let growth = match question.get("weak") {
        None | Some("0") => Growth::Strong,
        Some("1") => Growth::Weak,
        Some(other) => return Err(Refusal::Query { parameter: "weak".into(), reason: format!("0 or 1, not `{other}`") }),
    };
    let recordings = open.recordings.clone();
    let steps = recordings.iter().map(|opened| Run::steps(&opened.recording)).sum();
    let work = move |progress: &Progress| {
        let read = recordings.iter().map(|opened| Run::of(&opened.name(), &opened.recording, &Alone, &|| progress.step()));
        let runs = read.collect::<Result<Vec<Run>, _>>().map_err(not_there)?;
        Ok(Answer::json(&Comparison { growth, runs: Scaled::all(&runs, growth) }))
    };
    open.kept.answer(&format!("comparison {growth:?}"), Task { doing: "comparing recordings".into(), steps, turn: None, work })
}
