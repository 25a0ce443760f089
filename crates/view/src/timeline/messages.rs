//! Query `messages`: the messages of a window, if they are few.

use std::collections::HashSet;

use serde::Serialize;

use super::{TimelineContext, params};
use crate::analysis::{MessageRecord, TimelineAnalysis};
use crate::answer::{PageQuery, QueryAnswer, QueryError};
use crate::cache_file::Error;

/// Default maximum number of messages in an answer.
pub(super) const DEFAULT_LIMIT: usize = 2000;
const MAX_LIMIT: usize = 200_000;
/// With more messages than this, the count is estimated.
const MAX_EXAMINED: u64 = 400_000;

#[derive(Default, Serialize)]
struct MessageColumns {
    many: Option<u64>,
    from: Vec<u32>,
    sent: Vec<i64>,
    to: Vec<u32>,
    received: Vec<i64>,
    bytes: Vec<u64>,
    tag: Vec<i64>,
}

/// Messages of a window.
pub(super) enum SelectedMessages {
    /// Approximate number, if there are too many.
    TooMany(u64),
    /// The messages.
    Listed(Vec<MessageRecord>),
}

/// Answers the query.
pub(super) fn answer(context: TimelineContext, analysis: &TimelineAnalysis, query: &PageQuery) -> Result<QueryAnswer, QueryError> {
    let (from, to) = params::time_range(context, query)?;
    let limit = params::bounded_count(query, "most", DEFAULT_LIMIT, MAX_LIMIT)?;
    let columns = match select_messages(context, analysis, (from, to), &params::selected_ranks(context, query)?, limit)? {
        SelectedMessages::TooMany(many) => MessageColumns { many: Some(many), ..MessageColumns::default() },
        SelectedMessages::Listed(messages) => MessageColumns {
            many: None,
            from: messages.iter().map(|message| message.source).collect(),
            sent: messages.iter().map(|message| message.send_time).collect(),
            to: messages.iter().map(|message| message.dest).collect(),
            received: messages.iter().map(|message| message.receive_time).collect(),
            bytes: messages.iter().map(|message| message.bytes).collect(),
            tag: messages.iter().map(|message| message.tag).collect(),
        },
    };
    Ok(QueryAnswer::json(&columns))
}

/// Messages sent or received in a time range with an end in `ranks`, unless there are more than `limit`.
pub(super) fn select_messages(
    context: TimelineContext,
    analysis: &TimelineAnalysis,
    (from, to): (i64, i64),
    ranks: &[u32],
    limit: usize,
) -> Result<SelectedMessages, Error> {
    let all = context.recording.header.rank_count() as usize;
    let (lower_bound, upper_bound) = analysis.message_count(from, to);
    if upper_bound > MAX_EXAMINED || (ranks.len() == all && lower_bound > limit as u64) {
        return Ok(SelectedMessages::TooMany((upper_bound as f64 * ranks.len() as f64 / all.max(1) as f64) as u64));
    }
    let selected: HashSet<u32> = ranks.iter().copied().collect();
    let has_end = |message: &MessageRecord| ranks.len() == all || selected.contains(&message.source) || selected.contains(&message.dest);
    let messages = analysis.messages(from, to, has_end)?;
    Ok(if messages.len() > limit { SelectedMessages::TooMany(messages.len() as u64) } else { SelectedMessages::Listed(messages) })
}
