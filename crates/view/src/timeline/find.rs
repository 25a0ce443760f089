//! Query `find`: the next or previous call that matches a search.

use rayon::prelude::*;
use serde::Serialize;
use sintonia_recording::call_table::CallDescriptor;

use super::{TimelineContext, params};
use crate::analysis::{TimelineAnalysis, WaitRecord};
use crate::answer::{PageQuery, QueryAnswer, QueryError};
use crate::cache_file::Error;
use crate::index::{BlockIndex, ThreadIndex, ThreadPainter};

/// Search criteria.
struct CallSearch<'a> {
    operation: Option<&'a str>,
    site: Option<u32>,
    wait: Option<WaitFilter<'a>>,
    /// Minimum duration of the call, or of its wait if `wait` is set.
    min_ns: i64,
    backwards: bool,
}

/// Wait states of one kind, or of any.
struct WaitFilter<'a> {
    analysis: &'a TimelineAnalysis,
    kind: Option<u64>,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct FoundCall {
    rank: u32,
    thread: u16,
    enter: i64,
    leave: i64,
    operation: &'static str,
    site: u32,
}

/// Answers the query.
pub(super) fn answer(context: TimelineContext, query: &PageQuery) -> Result<QueryAnswer, QueryError> {
    let search = CallSearch {
        operation: query.param("operation"),
        site: query.parse_param("site")?,
        wait: context.analysis.zip(query.param("wait")).map(|(analysis, kind)| WaitFilter::from_param(analysis, kind)).transpose()?,
        min_ns: query.parse_param("longer")?.unwrap_or(i64::MIN),
        backwards: query.param("back").is_some_and(|back| back != "0"),
    };
    let (begin, end) = context.index.span();
    // The last call may have zero duration, at the very end.
    let (begin, end) = (begin, end.saturating_add(1));
    let from: i64 = query.parse_param("from")?.unwrap_or(if search.backwards { end } else { begin }).clamp(begin, end);
    let ranks = params::selected_ranks(context, query)?;
    let threads: Vec<&ThreadIndex> = ranks.iter().flat_map(|rank| context.index.threads_of(*rank)).collect();
    let limit = if search.backwards { begin } else { end };
    let (mut start_of_step, mut width) = (from, ((end - begin) / 1000).max(1));
    // Matches are usually close, so the searched range doubles in each step.
    while start_of_step != limit {
        let end_of_step =
            if search.backwards { start_of_step.saturating_sub(width).max(limit) } else { start_of_step.saturating_add(width).min(limit) };
        let between = (start_of_step.min(end_of_step), start_of_step.max(end_of_step));
        let found = threads.par_iter().map_init(|| context.painter(), |painter, thread| search.first_match(painter, thread, between));
        let found = found.collect::<Result<Vec<Option<FoundCall>>, Error>>()?.into_iter().flatten();
        let key = |found: &FoundCall| (found.enter, found.rank, found.thread);
        let found = if search.backwards { found.max_by_key(key) } else { found.min_by_key(key) };
        if found.is_some() {
            return Ok(QueryAnswer::json(&found));
        }
        (start_of_step, width) = (end_of_step, width.saturating_mul(2));
    }
    Ok(QueryAnswer::json(&None::<FoundCall>))
}

fn starts_with_ignoring_case(name: &str, prefix: &str) -> bool {
    name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

impl CallSearch<'_> {
    fn matches_descriptor(&self, descriptor: &CallDescriptor) -> bool {
        self.operation.is_none_or(|prefix| starts_with_ignoring_case(descriptor.function.name(), prefix))
            && self.site.is_none_or(|site| site == descriptor.site)
    }

    /// The first call of a thread that matches and is entered in a time range; the last one when searching backwards.
    fn first_match(&self, painter: &mut ThreadPainter, thread: &ThreadIndex, (from, to): (i64, i64)) -> Result<Option<FoundCall>, Error> {
        let mut best: Option<FoundCall> = None;
        for block in thread.blocks_between(from, to) {
            let descriptors = painter.call_descriptors(thread.rank, block)?;
            let matches: Vec<bool> = descriptors.iter().map(|descriptor| self.matches_descriptor(descriptor)).collect();
            if !matches.contains(&true) {
                continue;
            }
            let waiting = self.wait.as_ref().map(|wait| wait.matching_calls(thread, block, self.min_ns)).transpose()?;
            if waiting.as_ref().is_some_and(Vec::is_empty) {
                continue;
            }
            painter.for_each_call(thread, block, from, to, |index, row| {
                let descriptor_id = usize::from(row.descriptor);
                let is_long = match &waiting {
                    Some(waiting) => waiting.binary_search(&index).is_ok(),
                    None => row.leave.saturating_sub(row.enter) >= self.min_ns,
                };
                let is_match = is_long && matches.get(descriptor_id) == Some(&true) && (from..to).contains(&row.enter);
                if is_match && (self.backwards || best.is_none()) {
                    let (descriptor, ThreadIndex { rank, thread, .. }) = (&descriptors[descriptor_id], thread);
                    let (rank, thread, operation) = (*rank, *thread, descriptor.function.name());
                    best = Some(FoundCall { rank, thread, enter: row.enter, leave: row.leave, operation, site: descriptor.site });
                }
            })?;
        }
        Ok(best)
    }
}

impl<'a> WaitFilter<'a> {
    fn from_param(analysis: &'a TimelineAnalysis, kind: &str) -> Result<WaitFilter<'a>, QueryError> {
        if kind == "any" {
            return Ok(WaitFilter { analysis, kind: None });
        }
        let index = analysis.wait_kinds().iter().position(|other| other == kind).map(|index| index as u64);
        let error = || QueryError::InvalidParameter {
            parameter: "wait".to_owned(),
            reason: format!(
                "`{kind}` does not occur; it should be one of {}",
                [&["any".to_owned()], analysis.wait_kinds()].concat().join(", ")
            ),
        };
        index.map(|kind| WaitFilter { analysis, kind: Some(kind) }).ok_or_else(error)
    }

    /// Calls of a block with a matching wait of some duration, as indices in the thread.
    fn matching_calls(&self, thread: &ThreadIndex, block: &BlockIndex, min_ns: i64) -> Result<Vec<u64>, Error> {
        let last = (block.first_row + u64::from(block.location.calls)).saturating_sub(1);
        let waits = self.analysis.waits(thread.rank, thread.thread, block.first_row, last)?;
        let is_match = |wait: &WaitRecord| wait.ns >= min_ns && self.kind.is_none_or(|kind| kind == wait.kind);
        Ok(waits.iter().filter(|wait| is_match(wait)).map(|wait| wait.row).collect())
    }
}
