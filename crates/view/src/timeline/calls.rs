//! Query `calls`: the calls of a window.

use std::collections::HashMap;

use rayon::prelude::*;
use serde::Serialize;
use sintonia_recording::call_table::CallDescriptor;

use super::{TimelineContext, params};
use crate::analysis::WaitRecord;
use crate::answer::{PageQuery, QueryAnswer, QueryError};
use crate::cache_file::Error;
use crate::index::{ActivityKind, CALLS_PER_CHUNK, ThreadIndex};

/// Default maximum number of calls in an answer.
const DEFAULT_LIMIT: usize = 20_000;
const MAX_LIMIT: usize = 200_000;

/// Calls as columns of equal length.
#[derive(Default, Serialize)]
struct CallColumns<'a> {
    many: Option<u64>,
    rank: Vec<u32>,
    thread: Vec<u16>,
    enter: Vec<i64>,
    leave: Vec<i64>,
    operation: Vec<usize>,
    site: Vec<u32>,
    peer: Vec<i32>,
    tag: Vec<i32>,
    sent: Vec<u64>,
    received: Vec<u64>,
    communicator: Vec<i64>,
    wait: Vec<i64>,
    cause: Vec<i64>,
    kind: Vec<u8>,
    names: Vec<&'a str>,
}

/// A call of the window.
struct ListedCall {
    thread: u16,
    /// Index in its thread.
    index: u64,
    enter: i64,
    leave: i64,
    descriptor: usize,
    /// Total waiting time.
    wait_ns: i64,
    longest_wait: Option<WaitRecord>,
}

/// The calls of one rank, and their descriptors.
#[derive(Default)]
struct RankCalls {
    rank: u32,
    calls: Vec<ListedCall>,
    descriptors: Vec<CallDescriptor>,
}

/// Answers the query.
pub(super) fn answer(context: TimelineContext, query: &PageQuery) -> Result<QueryAnswer, QueryError> {
    let (from, to) = params::time_range(context, query)?;
    let limit = params::bounded_count(query, "most", DEFAULT_LIMIT, MAX_LIMIT)?;
    let ranks = params::selected_ranks(context, query)?;
    let threads: Vec<&ThreadIndex> = ranks.iter().flat_map(|rank| context.index.threads_of(*rank)).collect();
    let counts = threads.par_iter().map_init(|| context.painter(), |painter, thread| painter.count_calls(thread, from, to));
    let estimate: u64 = counts.collect::<Result<Vec<u64>, Error>>()?.into_iter().sum();
    // The first and last chunk of each thread, and one that only touches the window, are counted as a whole.
    if estimate > (limit + 3 * CALLS_PER_CHUNK * threads.len()) as u64 {
        return Ok(QueryAnswer::json(&CallColumns { many: Some(estimate), ..CallColumns::default() }));
    }
    let found = ranks.par_iter().map(|rank| calls_of_rank(context, *rank, from, to));
    let found: Vec<RankCalls> = found.collect::<Result<_, Error>>()?;
    let count: usize = found.iter().map(|rank| rank.calls.len()).sum();
    if count > limit {
        return Ok(QueryAnswer::json(&CallColumns { many: Some(count as u64), ..CallColumns::default() }));
    }
    let mut columns = CallColumns::default();
    let mut names = HashMap::new();
    found.iter().for_each(|rank| columns.add(context, rank, from, &mut names));
    Ok(QueryAnswer::json(&columns))
}

/// The calls of a rank, of all threads, sorted by enter time.
fn calls_of_rank(context: TimelineContext, rank: u32, from: i64, to: i64) -> Result<RankCalls, Error> {
    let mut painter = context.painter();
    let mut found = RankCalls { rank, ..RankCalls::default() };
    for thread in context.index.threads_of(rank) {
        let begin = found.calls.len();
        for block in thread.blocks_between(from, to) {
            let (first, before) = (found.descriptors.len(), found.calls.len());
            painter.for_each_call(thread, block, from, to, |index, row| {
                let (descriptor, thread) = (first + usize::from(row.descriptor), thread.thread);
                found.calls.push(ListedCall {
                    thread,
                    index,
                    enter: row.enter,
                    leave: row.leave,
                    descriptor,
                    wait_ns: 0,
                    longest_wait: None,
                });
            })?;
            if found.calls.len() > before {
                found.descriptors.extend(painter.call_descriptors(rank, block)?);
            }
        }
        add_waits(context, thread, &mut found.calls[begin..])?;
    }
    found.calls.sort_by_key(|call| call.enter);
    Ok(found)
}

/// Adds the waiting times to consecutive calls of a thread.
fn add_waits(context: TimelineContext, thread: &ThreadIndex, calls: &mut [ListedCall]) -> Result<(), Error> {
    let (Some(analysis), Some(first)) = (context.analysis, calls.first().map(|call| call.index)) else { return Ok(()) };
    for wait in analysis.waits(thread.rank, thread.thread, first, first + calls.len() as u64 - 1)? {
        if let Some(call) = calls.get_mut((wait.row - first) as usize) {
            call.wait_ns += wait.ns;
            call.longest_wait = call.longest_wait.filter(|longest| longest.ns >= wait.ns).or(Some(wait));
        }
    }
    Ok(())
}

impl<'a> CallColumns<'a> {
    fn add(&mut self, context: TimelineContext<'a>, found: &RankCalls, from: i64, names: &mut HashMap<&'a str, usize>) {
        for call in &found.calls {
            let Some(descriptor) = found.descriptors.get(call.descriptor) else { continue };
            let operation = self.intern_name(descriptor.function.name(), names);
            self.rank.push(found.rank);
            self.thread.push(call.thread);
            self.enter.push(call.enter.saturating_sub(from));
            self.leave.push(call.leave.saturating_sub(from));
            self.operation.push(operation);
            self.site.push(descriptor.site);
            self.peer.push(descriptor.peer.max(-1));
            self.tag.push(descriptor.tag.max(-1));
            self.sent.push(descriptor.bytes_sent());
            self.received.push(descriptor.bytes_received());
            self.communicator.push(descriptor.communicator().map_or(-1, i64::from));
            self.wait.push(call.wait_ns);
            let cause =
                context.analysis.zip(call.longest_wait).map(|(analysis, wait)| self.intern_name(analysis.wait_kind(&wait), names) as i64);
            self.cause.push(cause.unwrap_or(-1));
            self.kind.push(ActivityKind::from_role(descriptor.function.role()) as u8);
        }
    }

    fn intern_name(&mut self, name: &'a str, names: &mut HashMap<&'a str, usize>) -> usize {
        *names.entry(name).or_insert_with(|| {
            self.names.push(name);
            self.names.len() - 1
        })
    }
}
