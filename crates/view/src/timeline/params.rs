//! Parameters of timeline queries: times, ranks, counts.

use sintonia_recording::definitions::parse_ranks;

use super::TimelineContext;
use crate::answer::{PageQuery, QueryError};

/// The time range of a query; the whole run by default.
pub(super) fn time_range(context: TimelineContext, query: &PageQuery) -> Result<(i64, i64), QueryError> {
    let (begin, end) = context.index.span();
    let (from, to) = (query.parse_param("from")?.unwrap_or(begin), query.parse_param("to")?.unwrap_or(end));
    if to <= from {
        let reason = format!("{to} is not after `from`, which is {from}");
        return Err(QueryError::InvalidParameter { parameter: "to".to_owned(), reason });
    }
    Ok((from, to))
}

/// The ranks of a query, sorted and without duplicates; all ranks by default.
pub(super) fn selected_ranks(context: TimelineContext, query: &PageQuery) -> Result<Vec<u32>, QueryError> {
    let count = context.recording.header.rank_count();
    let Some(text) = query.param("ranks") else { return Ok((0..count).collect()) };
    let error = |reason: String| QueryError::InvalidParameter { parameter: "ranks".to_owned(), reason };
    let numbers = parse_ranks(text).ok_or_else(|| error(format!("`{text}` should be numbers and ranges of them, such as 0-3,7")))?;
    let rank = |number: i32| u32::try_from(number).ok().filter(|rank| *rank < count).ok_or(number);
    let mut ranks: Vec<u32> = numbers
        .into_iter()
        .map(rank)
        .collect::<Result<_, i32>>()
        .map_err(|number| error(format!("there is no rank {number}: the recording has {count}, counted from 0")))?;
    ranks.sort_unstable();
    ranks.dedup();
    Ok(ranks)
}

/// A count between 1 and `max`.
pub(super) fn bounded_count(query: &PageQuery, parameter: &str, default: usize, max: usize) -> Result<usize, QueryError> {
    let count = query.parse_param(parameter)?.unwrap_or(default);
    if (1..=max).contains(&count) {
        return Ok(count);
    }
    Err(QueryError::InvalidParameter { parameter: parameter.to_owned(), reason: format!("{count} is not between 1 and {max}") })
}
