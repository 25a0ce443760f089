//! When ranks were ready to run and had no core, as shares of the cells of a timeline.

use std::collections::HashMap;
use std::sync::OnceLock;

use rayon::prelude::*;
use sintonia_recording::Recording;
use sintonia_recording::header::RecordedRank;
use sintonia_recording::off_cpu::ThreadOffCpu;

use crate::cache_file::Error;
use crate::index::TimeWindow;
use crate::rank_groups::RankGroup;

/// The intervals of the first thread of each rank, read when they are needed for the first time.
#[derive(Default)]
pub(super) struct CoreIntervals(OnceLock<HashMap<u32, ThreadOffCpu>>);

impl CoreIntervals {
    /// The intervals of all ranks that have some.
    pub(super) fn read(&self, recording: &Recording) -> Result<&HashMap<u32, ThreadOffCpu>, Error> {
        if let Some(read) = self.0.get() {
            return Ok(read);
        }
        let known = recording.header.ranks.par_iter().filter(|rank| rank.off_cpu.is_some());
        let first = |rank: &RecordedRank| {
            Ok(recording.off_cpu(rank.rank)?.into_iter().find(|thread| thread.thread == 0).map(|thread| (rank.rank, thread)))
        };
        let threads: Vec<Option<(u32, ThreadOffCpu)>> = known.map(first).collect::<Result<_, Error>>()?;
        Ok(self.0.get_or_init(|| threads.into_iter().flatten().collect()))
    }
}

/// The share of each cell of a row, from 0 to 1.
pub(super) fn shares(intervals: &HashMap<u32, ThreadOffCpu>, row: &RankGroup, window: &TimeWindow) -> Vec<f32> {
    let threads: Vec<&ThreadOffCpu> = row.ranks.iter().filter_map(|rank| intervals.get(rank)).collect();
    let share = |column: usize| {
        let (begin, end) = window.column(column);
        let waiting: u64 = threads.iter().map(|thread| thread.within(begin, end).waiting_ns).sum();
        waiting as f32 / ((end - begin) as f32 * row.ranks.len() as f32).max(1.0)
    };
    (0..window.columns()).map(share).collect()
}
