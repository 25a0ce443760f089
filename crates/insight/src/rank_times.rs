//! The time of each rank in MPI and computation, and the POP efficiencies of the whole run.

use std::collections::HashMap;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sintonia_program::RankActivity;
use sintonia_program::process_group::{ProcessGroup, RankDistribution};
use sintonia_recording::header::{RecordedRank, RecordingHeader};
use sintonia_recording::{Error, Recording};

use crate::Efficiency;
use crate::efficiency::ActiveThread;
use crate::gaps::RecordingGaps;
use crate::seconds::seconds;
use crate::tally::CallTally;
use crate::thread_times::ThreadTimes;

/// The time split of one rank, summed over its threads that call MPI.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankTimes {
    /// The rank.
    pub rank: u32,
    /// Its host.
    pub host: String,
    /// Seconds in MPI.
    pub mpi_s: f64,
    /// Seconds of computation.
    pub outside_s: f64,
    /// Seconds in MPI_Init, part of `mpi_s`.
    pub init_s: f64,
    /// Seconds in MPI_Finalize, part of `mpi_s`.
    pub finalize_s: f64,
    /// Number of MPI calls.
    pub calls: u64,
}

impl RankTimes {
    fn from_activity(header: &RecordingHeader, rank: &RecordedRank, activity: &RankActivity, tally: &CallTally) -> RankTimes {
        RankTimes {
            rank: rank.rank,
            host: header.hosts.get(rank.host as usize).cloned().unwrap_or_default(),
            mpi_s: seconds(activity.time.mpi_ns),
            outside_s: seconds(activity.time.compute_ns),
            init_s: seconds(activity.time.init_ns),
            finalize_s: seconds(activity.time.finalize_ns),
            calls: tally.sites.values().map(|sum| sum.calls).sum(),
        }
    }
}

/// The times of all ranks and of their threads, and the sums over their calls.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct RunTimes {
    pub ranks: Vec<RankTimes>,
    /// The threads that call MPI, by rank, the main thread of each first.
    pub threads: Vec<ThreadTimes>,
    pub tally: CallTally,
    /// Whether they are those of a part of the run.
    pub is_excerpt: bool,
}

impl RunTimes {
    /// Seconds of the rank that takes longest in a part of a run, without MPI_Init and MPI_Finalize if `without_ends`. As in a phase, it does
    /// not count when a rank begins.
    pub(crate) fn longest_s(&self, ranks: impl Fn(u32) -> bool, without_ends: bool) -> f64 {
        let ends = |times: &RankTimes| (times.rank, if without_ends { times.init_s + times.finalize_s } else { 0.0 });
        let ends_s: HashMap<u32, f64> = self.ranks.iter().map(ends).collect();
        let main = self.threads.iter().filter(|thread| thread.main && ranks(thread.rank));
        main.map(|thread| thread.active_s - ends_s.get(&thread.rank).unwrap_or(&0.0)).fold(0.0, f64::max)
    }

    fn add(&mut self, other: RunTimes) {
        self.ranks.extend(other.ranks);
        self.threads.extend(other.threads);
        self.tally.add(other.tally);
        self.is_excerpt |= other.is_excerpt;
    }
}

/// Reads the times of all ranks; `progress` is called after each rank this process reads.
pub(crate) fn read_rank_times(recording: &Recording, comm: &dyn ProcessGroup, progress: &(dyn Fn() + Sync)) -> Result<RunTimes, Error> {
    let header = &recording.header;
    let own = RankDistribution::new(recording, comm).own_ranks();
    let read = |rank: &RecordedRank| {
        let activity = RankActivity::read(recording, rank)?;
        let tally = CallTally::from_activity(&activity);
        progress();
        let threads = activity.threads.iter().map(|thread| ThreadTimes::new(rank.rank, thread)).collect();
        let ranks = vec![RankTimes::from_activity(header, rank, &activity, &tally)];
        Ok(RunTimes { ranks, threads, tally, is_excerpt: recording.is_excerpt() })
    };
    let own = header.ranks.par_iter().filter(|rank| own.contains(&rank.rank));
    let read: Vec<RunTimes> = own.map(read).collect::<Result<_, Error>>()?;
    let sum = |parts: Vec<RunTimes>| {
        let mut all = RunTimes::default();
        parts.into_iter().for_each(|part| all.add(part));
        all
    };
    Ok(sum(comm.all_gather(sum(read))))
}

/// The focus of analysis: the run between MPI_Init and MPI_Finalize. Starting and stopping MPI can take longer than the program itself.
pub(crate) struct FocusOfAnalysis {
    /// Seconds from the first exit from MPI_Init to the last entry into MPI_Finalize.
    pub elapsed_s: f64,
    /// Mean computation per rank in seconds, over all its threads.
    pub mean_compute_s: f64,
    /// POP efficiencies; `None` if no rank computed.
    pub efficiency: Option<Efficiency>,
    /// The same without communication threads; `None` if there are none.
    pub efficiency_without_communication_threads: Option<Efficiency>,
}

impl FocusOfAnalysis {
    /// The focus of analysis over all ranks without missing calls.
    pub(crate) fn from_times(header: &RecordingHeader, times: &RunTimes, gaps: &RecordingGaps) -> FocusOfAnalysis {
        let nanoseconds = |seconds: f64| (seconds * 1e9) as i64;
        let known: HashMap<u32, &RankTimes> =
            times.ranks.iter().filter(|time| !gaps.missing_calls.contains(&time.rank)).map(|time| (time.rank, time)).collect();
        let own = || header.ranks.iter().filter_map(|rank| Some((rank, *known.get(&rank.rank)?)));
        let span = |(rank, time): (&RecordedRank, &RankTimes)| {
            (rank.begin_ns.saturating_add(nanoseconds(time.init_s)), rank.end_ns.saturating_sub(nanoseconds(time.finalize_s)))
        };
        let elapsed_s = match times.is_excerpt {
            true => times.longest_s(|rank| known.contains_key(&rank), true),
            false => elapsed_s(own().map(span)),
        };
        let compute: Vec<f64> = own().map(|(_, time)| time.outside_s).collect();
        let mean_compute_s = compute.iter().sum::<f64>() / compute.len().max(1) as f64;
        if times.threads.len() == times.ranks.len() {
            let efficiency = Efficiency::new(&compute, elapsed_s);
            return FocusOfAnalysis { elapsed_s, mean_compute_s, efficiency, efficiency_without_communication_threads: None };
        }
        let counts = |thread: &&ThreadTimes| known.contains_key(&thread.rank) && (thread.main || !header.profile);
        let counted: Vec<&ThreadTimes> = times.threads.iter().filter(counts).collect();
        let of = |keep: fn(&ThreadTimes) -> bool| {
            let active = |thread: &&&ThreadTimes| keep(thread);
            let threads: Vec<ActiveThread> = counted.iter().filter(active).map(|thread| thread.in_focus(elapsed_s)).collect();
            Efficiency::from_threads(&threads, elapsed_s)
        };
        let has_communication_threads = counted.iter().any(|thread| thread.only_communicates);
        FocusOfAnalysis {
            elapsed_s,
            mean_compute_s,
            efficiency: of(|_| true),
            efficiency_without_communication_threads: of(|thread| !thread.only_communicates).filter(|_| has_communication_threads),
        }
    }
}

/// Seconds from the earliest begin to the latest end, both in nanoseconds.
pub(crate) fn elapsed_s(spans: impl Iterator<Item = (i64, i64)>) -> f64 {
    let whole = spans.reduce(|(begin, end), (b, e)| (begin.min(b), end.max(e)));
    whole.map_or(0.0, |(begin, end)| seconds(u64::try_from(end.saturating_sub(begin)).unwrap_or(0)))
}
