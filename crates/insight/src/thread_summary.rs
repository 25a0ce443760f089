//! The threads that call MPI, summed up over all ranks, where ranks have several of them.

use serde::Serialize;
use sintonia_recording::header::RecordingHeader;

use crate::Efficiency;
use crate::rank_times::{FocusOfAnalysis, RunTimes};
use crate::thread_times::ThreadTimes;

/// Threads that only communicate are helpers of the others as long as they have at most this share of the active time. If they are the
/// majority, what the others do without them says nothing about the program.
const MAX_HELPER_SHARE: f64 = 0.5;

/// The threads that call MPI, over all ranks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThreadSummary {
    /// Their number.
    pub threads: usize,
    /// The fewest of one rank.
    pub min_per_rank: usize,
    /// The most of one rank.
    pub max_per_rank: usize,
    /// Seconds for which they were active, summed.
    pub active_s: f64,
    /// Whether only the main threads are in the efficiencies: a profile does not tell when others were active.
    pub main_only: bool,
    /// Whether it is known of all of them when they were blocked outside MPI. Otherwise such time counts as computation.
    pub blocked_known: bool,
    /// Helpers that spend at least 95 % of their active time in MPI.
    pub communication_threads: usize,
    /// Their share of the active time.
    pub communication_share: f64,
    /// The efficiencies without them; `None` if there are none, if they have more than half of the active time, or if no other thread
    /// computed.
    pub efficiency_without: Option<Efficiency>,
    /// Each thread.
    pub per_thread: Vec<ThreadTimes>,
}

impl ThreadSummary {
    /// The threads of a run; `None` if each rank has one.
    pub(crate) fn new(header: &RecordingHeader, times: &RunTimes, focus: &FocusOfAnalysis) -> Option<ThreadSummary> {
        if times.threads.len() == times.ranks.len() {
            return None;
        }
        let per_rank = || times.threads.chunk_by(|a, b| a.rank == b.rank).map(<[ThreadTimes]>::len);
        let active =
            |keep: fn(&ThreadTimes) -> bool| times.threads.iter().filter(|time| keep(time)).fold(0.0, |sum, time| sum + time.active_s);
        let active_s = active(|_| true);
        let communication_s = if header.profile { 0.0 } else { active(|time| time.only_communicates) };
        let communication_share = communication_s / active_s.max(f64::MIN_POSITIVE);
        Some(ThreadSummary {
            threads: times.threads.len(),
            min_per_rank: per_rank().min().unwrap_or(0),
            max_per_rank: per_rank().max().unwrap_or(0),
            active_s,
            main_only: header.profile,
            blocked_known: times.threads.iter().all(|time| time.blocked_known),
            communication_threads: times.threads.iter().filter(|time| time.only_communicates && !header.profile).count(),
            communication_share,
            efficiency_without: focus.efficiency_without_communication_threads.filter(|_| communication_share <= MAX_HELPER_SHARE),
            per_thread: times.threads.clone(),
        })
    }
}
