//! The time of each rank in MPI and computation, and the POP efficiencies of the whole run.

use std::collections::HashMap;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sintonia_program::RankActivity;
use sintonia_program::process_group::{ProcessGroup, RankDistribution};
use sintonia_recording::header::{RecordedRank, RecordingHeader};
use sintonia_recording::{Error, Recording};

use crate::Efficiency;
use crate::gaps::RecordingGaps;
use crate::tally::CallTally;

/// The time split of one rank.
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

/// The times of all ranks and the sums over their calls; `progress` is called after each rank this process reads.
pub(crate) fn read_rank_times(
    recording: &Recording,
    comm: &dyn ProcessGroup,
    progress: &(dyn Fn() + Sync),
) -> Result<(Vec<RankTimes>, CallTally), Error> {
    let header = &recording.header;
    let own = RankDistribution::new(recording, comm).own_ranks();
    let read = |rank: &RecordedRank| {
        let activity = RankActivity::read(recording, rank)?;
        let tally = CallTally::from_activity(&activity);
        progress();
        Ok((RankTimes::from_activity(header, rank, &activity, &tally), tally))
    };
    let own = header.ranks.par_iter().filter(|rank| own.contains(&rank.rank));
    let read: Vec<(RankTimes, CallTally)> = own.map(read).collect::<Result<_, Error>>()?;
    let (own_times, tallies): (Vec<RankTimes>, Vec<CallTally>) = read.into_iter().unzip();
    let mut own_tally = CallTally::default();
    tallies.into_iter().for_each(|tally| own_tally.add(tally));
    let (mut times, mut all) = (Vec::new(), CallTally::default());
    for (more, tally) in comm.all_gather((own_times, own_tally)) {
        times.extend(more);
        all.add(tally);
    }
    Ok((times, all))
}

/// The focus of analysis: the run between MPI_Init and MPI_Finalize. Starting and stopping MPI can take longer than the program itself.
pub(crate) struct FocusOfAnalysis {
    /// Seconds from the first exit from MPI_Init to the last entry into MPI_Finalize.
    pub elapsed_s: f64,
    /// Mean computation per rank in seconds.
    pub mean_compute_s: f64,
    /// POP efficiencies; `None` if no rank computed.
    pub efficiency: Option<Efficiency>,
}

impl FocusOfAnalysis {
    /// The focus of analysis over all ranks without missing calls.
    pub(crate) fn from_rank_times(header: &RecordingHeader, times: &[RankTimes], gaps: &RecordingGaps) -> FocusOfAnalysis {
        let nanoseconds = |seconds: f64| (seconds * 1e9) as i64;
        let known: HashMap<u32, &RankTimes> =
            times.iter().filter(|time| !gaps.missing_calls.contains(&time.rank)).map(|time| (time.rank, time)).collect();
        let own = || header.ranks.iter().filter_map(|rank| Some((rank, *known.get(&rank.rank)?)));
        let span = |(rank, time): (&RecordedRank, &RankTimes)| {
            (rank.begin_ns.saturating_add(nanoseconds(time.init_s)), rank.end_ns.saturating_sub(nanoseconds(time.finalize_s)))
        };
        let elapsed_s = elapsed_s(own().map(span));
        let compute: Vec<f64> = own().map(|(_, time)| time.outside_s).collect();
        let mean_compute_s = compute.iter().sum::<f64>() / compute.len().max(1) as f64;
        FocusOfAnalysis { elapsed_s, mean_compute_s, efficiency: Efficiency::new(&compute, elapsed_s) }
    }
}

pub(crate) fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

/// Seconds from the earliest begin to the latest end, both in nanoseconds.
pub(crate) fn elapsed_s(spans: impl Iterator<Item = (i64, i64)>) -> f64 {
    let whole = spans.reduce(|(begin, end), (b, e)| (begin.min(b), end.max(e)));
    whole.map_or(0.0, |(begin, end)| seconds(u64::try_from(end.saturating_sub(begin)).unwrap_or(0)))
}
