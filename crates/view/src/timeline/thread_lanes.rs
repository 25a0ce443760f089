//! Threads of ranks as rows of a timeline: those that call MPI, and the OpenMP teams that each of them starts.
//!
//! Which thread of a team calls MPI is not recorded, unless it started the team: a thread of a team that calls MPI has two rows.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use rayon::prelude::*;
use serde::Serialize;
use sintonia_recording::Recording;
use sintonia_recording::openmp::RegionExecution;

use crate::cache_file::Error;
use crate::index::TimelineIndex;

/// The OpenMP regions of all ranks, read when they are needed for the first time. Nested regions are a part of the outer ones.
#[derive(Default)]
pub(super) struct OuterRegions(OnceLock<HashMap<u32, Vec<RegionExecution>>>);

impl OuterRegions {
    /// The regions of each rank, by begin.
    pub(super) fn read(&self, recording: &Recording) -> Result<&HashMap<u32, Vec<RegionExecution>>, Error> {
        if let Some(read) = self.0.get() {
            return Ok(read);
        }
        let outer = |rank: u32| {
            let mut regions = recording.openmp_regions(rank)?;
            regions.retain(|region| region.level == 0);
            regions.sort_by_key(|region| region.begin);
            Ok((rank, regions))
        };
        let ranks: Vec<(u32, Vec<RegionExecution>)> =
            recording.header.ranks.par_iter().map(|rank| outer(rank.rank)).collect::<Result<_, Error>>()?;
        Ok(self.0.get_or_init(|| ranks.into_iter().collect()))
    }
}

/// The thread that starts a region. Before its first MPI call, a thread has no number: that is the first one in nearly all programs.
pub(super) fn starting_thread(region: &RegionExecution) -> u16 {
    region.caller.unwrap_or(0)
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct ThreadLane {
    /// Display name.
    pub label: String,
    /// Its rank; a text as in other rows.
    pub ranks: String,
    #[serde(skip)]
    pub rank: u32,
    /// The thread that calls MPI and starts the team.
    pub mpi_thread: u16,
    /// Number in the team: 0 is `mpi_thread` itself.
    pub thread: usize,
}

impl ThreadLane {
    fn new(rank: u32, mpi_thread: u16, thread: usize) -> ThreadLane {
        let label = match (mpi_thread, thread) {
            (0, thread) => format!("{rank} thread {thread}"),
            (mpi_thread, 0) => format!("{rank} MPI thread {mpi_thread}"),
            (mpi_thread, thread) => format!("{rank} MPI thread {mpi_thread}.{thread}"),
        };
        ThreadLane { label, ranks: rank.to_string(), rank, mpi_thread, thread }
    }
}

/// The threads of ranks: of as many of the first ranks as have at most `max` threads together. If already the first one has more, its first
/// threads.
pub(super) fn lanes(index: &TimelineIndex, regions: &HashMap<u32, Vec<RegionExecution>>, ranks: &[u32], max: usize) -> Vec<ThreadLane> {
    let mut lanes = Vec::new();
    for rank in ranks {
        let more = rank_lanes(index, regions.get(rank).map_or(&[], Vec::as_slice), *rank);
        if !lanes.is_empty() && lanes.len() + more.len() > max {
            break;
        }
        lanes.extend(more);
    }
    lanes.truncate(max);
    lanes
}

fn rank_lanes(index: &TimelineIndex, regions: &[RegionExecution], rank: u32) -> Vec<ThreadLane> {
    let mut sizes: BTreeMap<u16, usize> = index.threads_of(rank).iter().map(|thread| (thread.thread, 1)).collect();
    sizes.entry(0).or_insert(1);
    for region in regions {
        let size = sizes.entry(starting_thread(region)).or_insert(1);
        *size = (*size).max(region.threads.len());
    }
    sizes.into_iter().flat_map(|(mpi_thread, size)| (0..size).map(move |thread| ThreadLane::new(rank, mpi_thread, thread))).collect()
}
