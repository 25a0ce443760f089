//! Query `regions`: the OpenMP regions of a window, with what each of their threads did.

use serde::Serialize;
use sintonia_recording::openmp::RegionExecution;

use super::thread_lanes::starting_thread;
use super::{TimelineContext, params};
use crate::answer::{PageQuery, QueryAnswer, QueryError};

/// Default maximum number of regions in an answer, as in a standalone file.
const DEFAULT_LIMIT: usize = 4000;
const MAX_LIMIT: usize = 50_000;

/// Regions as columns of equal length; `times` has seven durations for each of their threads.
#[derive(Default, Serialize)]
struct RegionColumns {
    /// All regions of the window.
    count: usize,
    rank: Vec<u32>,
    mpi_thread: Vec<u16>,
    site: Vec<u32>,
    executions: Vec<u64>,
    begin: Vec<i64>,
    end: Vec<i64>,
    duration: Vec<u64>,
    unfinished: Vec<bool>,
    threads: Vec<usize>,
    times: Vec<u64>,
}

/// Answers the query.
pub(super) fn answer(context: TimelineContext, query: &PageQuery) -> Result<QueryAnswer, QueryError> {
    let (from, to) = params::time_range(context, query)?;
    let limit = params::bounded_count(query, "most", DEFAULT_LIMIT, MAX_LIMIT)?;
    let regions = context.regions.read(context.recording)?;
    let mut found: Vec<(u32, &RegionExecution)> = Vec::new();
    for rank in params::selected_ranks(context, query)? {
        let of_rank = regions.get(&rank).map_or(&[][..], Vec::as_slice);
        found.extend(of_rank.iter().filter(|region| region.begin < to && region.end() > from).map(|region| (rank, region)));
    }
    let mut columns = RegionColumns { count: found.len(), ..RegionColumns::default() };
    if found.len() > limit {
        found.select_nth_unstable_by_key(limit, |(_, region)| std::cmp::Reverse(region.span));
        found.truncate(limit);
        found.sort_by_key(|(rank, region)| (*rank, region.begin));
    }
    found.into_iter().for_each(|(rank, region)| columns.add(rank, region));
    Ok(QueryAnswer::json(&columns))
}

impl RegionColumns {
    fn add(&mut self, rank: u32, region: &RegionExecution) {
        self.rank.push(rank);
        self.mpi_thread.push(starting_thread(region));
        self.site.push(region.site);
        self.executions.push(region.executions);
        self.begin.push(region.begin);
        self.end.push(region.end());
        self.duration.push(region.duration);
        self.unfinished.push(region.is_unfinished);
        self.threads.push(region.threads.len());
        self.times.extend(region.threads.iter().flat_map(|thread| thread.to_array()));
    }
}
