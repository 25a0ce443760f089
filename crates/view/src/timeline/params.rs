//! Parameters of timeline queries: times, ranks, counts.

use super::TimelineContext;
use crate::answer::{PageQuery, QueryError};
use crate::selected;

/// The time range of a query; the whole run by default.
pub(super) fn time_range(context: TimelineContext, query: &PageQuery) -> Result<(i64, i64), QueryError> {
    let (begin, end) = context.index.span();
    selected::time_range(query, begin, end)
}

/// The ranks of a query, sorted and without duplicates; all ranks by default.
pub(super) fn selected_ranks(context: TimelineContext, query: &PageQuery) -> Result<Vec<u32>, QueryError> {
    selected::ranks(query, context.recording)
}

/// A count between 1 and `max`.
pub(super) fn bounded_count(query: &PageQuery, parameter: &str, default: usize, max: usize) -> Result<usize, QueryError> {
    let count = query.parse_param(parameter)?.unwrap_or(default);
    if (1..=max).contains(&count) {
        return Ok(count);
    }
    Err(QueryError::InvalidParameter { parameter: parameter.to_owned(), reason: format!("{count} is not between 1 and {max}") })
}
