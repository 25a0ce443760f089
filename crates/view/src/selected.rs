//! Parameters that select a part of a run: a time range, ranks, threads.

use sintonia_recording::Recording;
use sintonia_recording::definitions::parse_ranks;

use crate::answer::{PageQuery, QueryError};

/// The time range of a query; the whole run, from `begin` to `end`, by default.
pub(crate) fn time_range(query: &PageQuery, begin: i64, end: i64) -> Result<(i64, i64), QueryError> {
    let (from, to) = (query.parse_param("from")?.unwrap_or(begin), query.parse_param("to")?.unwrap_or(end));
    if to <= from {
        return Err(invalid("to", format!("{to} is not after `from`, which is {from}")));
    }
    Ok((from, to))
}

/// The ranks of a query, sorted and without duplicates; all ranks by default.
pub(crate) fn ranks(query: &PageQuery, recording: &Recording) -> Result<Vec<u32>, QueryError> {
    let count = recording.header.rank_count();
    let Some(numbers) = numbers(query, "ranks")? else { return Ok((0..count).collect()) };
    let rank = |number: i32| u32::try_from(number).ok().filter(|rank| *rank < count).ok_or(number);
    let mut ranks: Vec<u32> = numbers
        .into_iter()
        .map(rank)
        .collect::<Result<_, i32>>()
        .map_err(|number| invalid("ranks", format!("there is no rank {number}: the recording has {count}, counted from 0")))?;
    ranks.sort_unstable();
    ranks.dedup();
    Ok(ranks)
}

/// The threads of a query, by their number in a rank; `None` for all.
pub(crate) fn threads(query: &PageQuery) -> Result<Option<Vec<u16>>, QueryError> {
    let Some(numbers) = numbers(query, "threads")? else { return Ok(None) };
    Ok(Some(numbers.into_iter().filter_map(|number| u16::try_from(number).ok()).collect()))
}

fn numbers(query: &PageQuery, parameter: &str) -> Result<Option<Vec<i32>>, QueryError> {
    let parse = |text: &str| {
        parse_ranks(text).ok_or_else(|| invalid(parameter, format!("`{text}` should be numbers and ranges of them, such as 0-3,7")))
    };
    query.param(parameter).map(parse).transpose()
}

fn invalid(parameter: &str, reason: String) -> QueryError {
    QueryError::InvalidParameter { parameter: parameter.to_owned(), reason }
}
