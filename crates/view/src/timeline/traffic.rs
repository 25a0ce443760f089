//! What each rank sent in a part of the run: from prefix sums, so that it takes the same time for any part.

use rayon::prelude::*;
use sintonia_mpi::FunctionRole;
use sintonia_program::{RankTraffic, TrafficKey, TrafficSums};

use super::{TimelineContext, params};
use crate::answer::{PageQuery, QueryError};
use crate::cache_file::Error;
use crate::index::{ThreadIndex, ThreadPainter};

/// The messages of all ranks in a time range; a call counts where it begins.
pub(crate) struct SelectedTraffic {
    /// One entry for each rank.
    pub ranks: Vec<RankTraffic>,
    /// What is not counted, as sentences.
    pub left_out: Vec<&'static str>,
}

const PERSISTENT: &str =
    "persistent operations are not counted in a part of the run: the index does not say which of them were started when";
const TOO_MANY_SIZES: &str =
    "the messages of threads with thousands of different partners or sizes of collectives are not counted in a part of the run";

impl SelectedTraffic {
    pub(super) fn read(context: TimelineContext, query: &PageQuery) -> Result<SelectedTraffic, QueryError> {
        let (from, to) = params::time_range(context, query)?;
        let ranks: Vec<u32> = context.recording.header.ranks.iter().map(|rank| rank.rank).collect();
        let read = |painter: &mut ThreadPainter, rank: &u32| traffic_of_rank(context, painter, *rank, from, to);
        let found = ranks.par_iter().map_init(|| context.painter(), read).collect::<Result<_, Error>>()?;
        let threads = || ranks.iter().flat_map(|rank| context.index.threads_of(*rank));
        let left_out = [(threads().any(starts_persistent), PERSISTENT), (threads().any(|thread| thread.traffic.is_none()), TOO_MANY_SIZES)];
        Ok(SelectedTraffic { ranks: found, left_out: left_out.into_iter().filter(|(is, _)| *is).map(|(_, what)| what).collect() })
    }
}

fn traffic_of_rank(context: TimelineContext, painter: &mut ThreadPainter, rank: u32, from: i64, to: i64) -> Result<RankTraffic, Error> {
    let mut all: Vec<(TrafficKey, TrafficSums)> = Vec::new();
    for thread in context.index.threads_of(rank) {
        let keys = thread.traffic.iter().flat_map(|traffic| &traffic.keys).copied();
        let sums = painter.traffic_sums(thread, from, to)?.unwrap_or_default();
        all.extend(keys.zip(sums.into_iter().map(|sums| TrafficSums { calls: sums.count, bytes: sums.bytes })));
    }
    Ok(RankTraffic::from_sums(rank, all))
}

fn starts_persistent(thread: &ThreadIndex) -> bool {
    let roles = thread.sums.keys.iter().filter_map(|key| key.function()).map(|function| function.role());
    roles.into_iter().any(|role| matches!(role, FunctionRole::Start | FunctionRole::StartAll))
}
