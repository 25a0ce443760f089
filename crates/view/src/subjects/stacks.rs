//! `stacks` and `lines`: the time of functions and of source lines, from samples. Only files that sampled functions name are read.

use std::sync::Arc;

use serde_json::{Value, json};
use sintonia_recording::Recording;
use sintonia_recording::definitions::SamplingDefinition;
use sintonia_text::quantity::format_plural;

use crate::answer::{PageQuery, QueryAnswer, QueryError};
use crate::selected;
use crate::session::{OpenRecording, ViewSession};
use crate::source_text;
use crate::stacks::{LineTimes, RecordedStacks, SelectedStacks, StackSelection, StackTree};
use crate::subject::PageSubject;

pub(super) const STACKS: PageSubject = PageSubject { name: "stacks", is_available: has_samples, answer: answer_stacks };
pub(super) const LINES: PageSubject = PageSubject { name: "lines", is_available: has_samples, answer: answer_lines };

fn has_samples(open: &ViewSession) -> bool {
    open.recordings.iter().any(|opened| opened.has_samples())
}

fn answer_stacks(open: &Arc<ViewSession>, question: &PageQuery) -> Result<QueryAnswer, QueryError> {
    let opened = open.recording_of(question)?;
    let has_lines = flag(question, "lines")?.unwrap_or(false);
    let selection = selection(opened, question)?;
    opened.with_stacks(|stacks| {
        let selected = stacks.select(&selection);
        Ok(QueryAnswer::json(&json!({
            "samples": selected.samples,
            "truncated": selected.truncated,
            "ranks": selected.ranks,
            "threads": selected.threads,
            "last_thread": stacks.last_thread(),
            "not_recorded": not_recorded(&opened.recording, &selection.ranks),
            "functions": stacks.functions,
            "nodes": StackTree::new(stacks, &selected, has_lines),
        })))
    })
}

fn answer_lines(open: &Arc<ViewSession>, question: &PageQuery) -> Result<QueryAnswer, QueryError> {
    let opened = open.recording_of(question)?;
    let missing = || QueryError::InvalidParameter { parameter: "function".into(), reason: "a function number is required".into() };
    let function: u32 = question.parse_param("function")?.ok_or_else(missing)?;
    let most = question.parse_param("most")?.unwrap_or(source_text::MAX_LINES);
    let has_text = flag(question, "text")?.unwrap_or(true);
    let selection = selection(opened, question)?;
    opened.with_stacks(|stacks| lines_of(stacks, &stacks.select(&selection), function, has_text.then_some(most)))
}

/// The lines of the file of a function, with at most `most` lines of its text.
fn lines_of(stacks: &RecordedStacks, selected: &SelectedStacks, function: u32, most: Option<usize>) -> Result<QueryAnswer, QueryError> {
    let known = stacks.functions.get(function as usize).ok_or_else(|| QueryError::Unknown(format!("function {function}")))?;
    let no_file = || QueryError::Unavailable(format!("The source file of {} is unknown.", known.name));
    let file = known.file.as_deref().ok_or_else(no_file)?;
    let times = LineTimes::new(stacks, selected, function);
    let text = match most.map(|most| source_text::excerpt(file, times.hottest_line() as usize, most)) {
        Some(Ok(excerpt)) => json!({"first": excerpt.first, "lines": excerpt.lines}),
        Some(Err(why)) => json!({"why": why}),
        None => Value::Null,
    };
    Ok(QueryAnswer::json(&json!({"name": known.name, "file": file, "hottest": times.hottest_line(), "times": times, "text": text})))
}

/// What the samples of these ranks do not tell.
fn not_recorded(recording: &Recording, ranks: &[u32]) -> Vec<String> {
    let count = |lacks: fn(Option<SamplingDefinition>) -> bool| {
        ranks.iter().filter(|rank| lacks(recording.header.rank(**rank).and_then(|rank| rank.sampling))).count() as u64
    };
    let lacks = [
        ("no samples", count(|sampling| sampling.is_none())),
        ("samples without callers", count(|sampling| sampling.is_some_and(|sampling| !sampling.stacks))),
        ("no samples in the kernel", count(|sampling| sampling.is_some_and(|sampling| !sampling.kernel))),
    ];
    let present = lacks.into_iter().filter(|(_, count)| *count > 0);
    present.map(|(what, count)| format!("{what} of {}", format_plural(count, "rank"))).collect()
}

fn selection(opened: &OpenRecording, question: &PageQuery) -> Result<StackSelection, QueryError> {
    let ranks = selected::ranks(question, &opened.recording)?;
    Ok(StackSelection { range: selected::time_range(question, i64::MIN, i64::MAX)?, ranks, threads: selected::threads(question)? })
}

/// A parameter that is 0 or 1.
fn flag(question: &PageQuery, parameter: &str) -> Result<Option<bool>, QueryError> {
    match question.param(parameter) {
        None => Ok(None),
        Some("0") => Ok(Some(false)),
        Some("1") => Ok(Some(true)),
        Some(other) => Err(QueryError::InvalidParameter { parameter: parameter.into(), reason: format!("0 or 1, not `{other}`") }),
    }
}
