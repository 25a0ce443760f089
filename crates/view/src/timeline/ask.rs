//! What a question about the timeline asks for: moments, and ranks.

use sintonia_recording::definitions::read_ranks;

use super::View;
use crate::answer::{Question, Refusal};

/// The two moments that are asked for; those of the whole run if none is.
pub fn moments(view: View, question: &Question) -> Result<(i64, i64), Refusal> {
    let (begin, end) = view.index.span();
    let (from, to) = (question.number("from")?.unwrap_or(begin), question.number("to")?.unwrap_or(end));
    if to <= from {
        let reason = format!("{to} is not after `from`, which is {from}");
        return Err(Refusal::Query { parameter: "to".to_owned(), reason });
    }
    Ok((from, to))
}

/// The ranks that are asked for, each once and in order; all if none is.
pub fn ranks(view: View, question: &Question) -> Result<Vec<u32>, Refusal> {
    let count = view.recording.header.rank_count();
    let Some(text) = question.get("ranks") else { return Ok((0..count).collect()) };
    let refuse = |reason: String| Refusal::Query { parameter: "ranks".to_owned(), reason };
    let numbers = read_ranks(text).ok_or_else(|| refuse(format!("`{text}` should be numbers and ranges of them, such as 0-3,7")))?;
    let rank = |number: i32| u32::try_from(number).ok().filter(|rank| *rank < count).ok_or(number);
    let mut ranks: Vec<u32> = numbers
        .into_iter()
        .map(rank)
        .collect::<Result<_, i32>>()
        .map_err(|number| refuse(format!("there is no rank {number}: the recording has {count}, counted from 0")))?;
    ranks.sort_unstable();
    ranks.dedup();
    Ok(ranks)
}

/// How many of something are asked for, which must be some but not more than `most`.
pub fn count(question: &Question, parameter: &str, usual: usize, most: usize) -> Result<usize, Refusal> {
    let count = question.number(parameter)?.unwrap_or(usual);
    if (1..=most).contains(&count) {
        return Ok(count);
    }
    Err(Refusal::Query { parameter: parameter.to_owned(), reason: format!("{count} is not between 1 and {most}") })
}
