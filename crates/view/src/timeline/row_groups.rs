//! Rows of the raster: single ranks, adjacent ranks if there are many, or ranks grouped by host or role.

use super::TimelineContext;
use crate::answer::{PageQuery, QueryError};
use crate::rank_groups::{RankGroup, format_rank_ranges, group_by_host, group_by_role, merge_neighbours, partition_evenly};

/// The rows of a query, at most `max`.
pub(super) fn row_groups(context: TimelineContext, query: &PageQuery, ranks: &[u32], max: usize) -> Result<Vec<RankGroup>, QueryError> {
    match query.param("by").unwrap_or("rank") {
        "rank" => Ok(partition_evenly(ranks, max).map(|ranks| RankGroup::new(format_rank_ranges(ranks), ranks.to_vec())).collect()),
        "host" => Ok(merge_neighbours(group_by_host(context.recording, ranks), max)),
        "role" => {
            let roles = context.roles.unwrap_or_default().iter();
            Ok(merge_neighbours(group_by_role(roles.map(|role| (role.name.as_str(), role.ranks.as_slice())), ranks), max))
        }
        other => Err(QueryError::InvalidParameter {
            parameter: "by".to_owned(),
            reason: format!("`{other}` should be rank, thread, host or role"),
        }),
    }
}
