//! Where the time of each rank went, and how well the whole run used it.

use std::collections::HashMap;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sintonia_program::Activity;
use sintonia_program::company::{Company, Share};
use sintonia_recording::header::{Header, Rank};
use sintonia_recording::{Error, Recording};

use crate::Efficiency;
use crate::gaps::Gaps;
use crate::tally::Tally;

/// Where the time of one rank went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankTime {
    /// The rank.
    pub rank: u32,
    /// Its host.
    pub host: String,
    /// Seconds in MPI.
    pub mpi_s: f64,
    /// Seconds outside MPI.
    pub outside_s: f64,
    /// Seconds in MPI_Init, part of those in MPI.
    pub init_s: f64,
    /// Seconds in MPI_Finalize, part of those in MPI.
    pub finalize_s: f64,
    /// How many MPI calls it made.
    pub calls: u64,
}

impl RankTime {
    fn of(header: &Header, rank: &Rank, activity: &Activity, tally: &Tally) -> RankTime {
        RankTime {
            rank: rank.rank,
            host: header.hosts.get(rank.host as usize).cloned().unwrap_or_default(),
            mpi_s: seconds(activity.time.mpi_ns),
            outside_s: seconds(activity.time.outside_ns),
            init_s: seconds(activity.time.init_ns),
            finalize_s: seconds(activity.time.finalize_ns),
            calls: tally.sites.values().map(|sum| sum.calls).sum(),
        }
    }
}

/// The times of all ranks, and what their calls add up to; `progress` is called after each rank that this process reads.
pub(crate) fn count(recording: &Recording, company: &dyn Company, progress: &(dyn Fn() + Sync)) -> Result<(Vec<RankTime>, Tally), Error> {
    let header = &recording.header;
    let own = Share::new(recording, company).own();
    let read = |rank: &Rank| {
        let activity = Activity::read(recording, rank)?;
        let tally = Tally::of(&activity);
        progress();
        Ok((RankTime::of(header, rank, &activity, &tally), tally))
    };
    let own = header.ranks.par_iter().filter(|rank| own.contains(&rank.rank));
    let read: Vec<(RankTime, Tally)> = own.map(read).collect::<Result<_, Error>>()?;
    let (own_times, tallies): (Vec<RankTime>, Vec<Tally>) = read.into_iter().unzip();
    let mut own_tally = Tally::default();
    tallies.into_iter().for_each(|tally| own_tally.add(tally));
    let (mut times, mut all) = (Vec::new(), Tally::default());
    for (more, tally) in company.gather((own_times, own_tally)) {
        times.extend(more);
        all.add(tally);
    }
    Ok((times, all))
}

/// The run between MPI_Init and MPI_Finalize: starting and ending MPI is no part of what a program does, but can take longer.
pub(crate) struct Work {
    /// Seconds from the moment the first rank left MPI_Init to the moment the last one entered MPI_Finalize.
    pub elapsed_s: f64,
    /// Seconds that a rank computed on average.
    pub computed_s: f64,
    /// How well the time was used; `None` if nobody computed.
    pub efficiency: Option<Efficiency>,
}

impl Work {
    /// The work of those ranks whose calls are all there.
    pub fn of(header: &Header, times: &[RankTime], gaps: &Gaps) -> Work {
        let nanoseconds = |seconds: f64| (seconds * 1e9) as i64;
        let known: HashMap<u32, &RankTime> =
            times.iter().filter(|time| !gaps.patchy.contains(&time.rank)).map(|time| (time.rank, time)).collect();
        let own = || header.ranks.iter().filter_map(|rank| Some((rank, *known.get(&rank.rank)?)));
        let span = |(rank, time): (&Rank, &RankTime)| {
            (rank.begin_ns.saturating_add(nanoseconds(time.init_s)), rank.end_ns.saturating_sub(nanoseconds(time.finalize_s)))
        };
        let elapsed_s = elapsed_s(own().map(span));
        let outside: Vec<f64> = own().map(|(_, time)| time.outside_s).collect();
        let computed_s = outside.iter().sum::<f64>() / outside.len().max(1) as f64;
        Work { elapsed_s, computed_s, efficiency: Efficiency::new(&outside, elapsed_s) }
    }
}

pub(crate) fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

/// Seconds from the first of some beginnings to the last of the ends, both in nanoseconds.
pub(crate) fn elapsed_s(spans: impl Iterator<Item = (i64, i64)>) -> f64 {
    let whole = spans.reduce(|(begin, end), (b, e)| (begin.min(b), end.max(e)));
    whole.map_or(0.0, |(begin, end)| seconds(u64::try_from(end.saturating_sub(begin)).unwrap_or(0)))
}
