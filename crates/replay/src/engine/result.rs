//! Result of a replay.

use sintonia_mpi::{FunctionId, FunctionRole};

use super::location::LocationState;
use super::state::ReplayState;
use crate::Error;
use crate::schedule::{DescribedAction, Schedule};

/// Gets every replayed call.
pub trait ReplaySink {
    /// Sets the actions of a location's next calls.
    fn actions(&mut self, location: usize, actions: &[DescribedAction]) -> Result<(), Error> {
        let _ = (location, actions);
        Ok(())
    }

    /// Sets the number of a location's next request.
    fn requests(&mut self, location: usize, next: u64) -> Result<(), Error> {
        let _ = (location, next);
        Ok(())
    }

    /// A call with its enter and exit time in seconds since `MPI_Init`.
    fn call(&mut self, location: usize, action: u32, enter_s: f64, leave_s: f64) -> Result<(), Error>;
}

/// Totals of one function at one call site.
#[derive(Clone, Copy, Debug)]
pub(super) struct SiteTally {
    /// The call site.
    pub site: u32,
    /// Function number.
    pub function: u16,
    /// How many.
    pub calls: u64,
    /// Recorded seconds.
    pub recorded_s: f64,
    /// Replayed seconds.
    pub replayed_s: f64,
}

impl SiteTally {
    pub(super) fn new(site: u32, function: u16) -> SiteTally {
        SiteTally { site, function, calls: 0, recorded_s: 0.0, replayed_s: 0.0 }
    }
}

/// Run time of a rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankReplayTime {
    /// The rank.
    pub rank: u32,
    /// Recorded seconds from `MPI_Init` to `MPI_Finalize`.
    pub recorded_s: f64,
    /// Replayed seconds.
    pub replayed_s: f64,
}

/// Time of one function at one call site.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteReplayTime {
    /// Call site as text.
    pub site_name: String,
    /// Index of the call site.
    pub site: u32,
    /// The MPI function.
    pub function: &'static str,
    /// Number of calls.
    pub calls: u64,
    /// Recorded seconds, sum over all ranks.
    pub recorded_s: f64,
    /// Replayed seconds, sum over all ranks.
    pub replayed_s: f64,
}

/// Unmatched sends and receives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnmatchedSummary {
    /// Sends without a receive.
    pub sends: u64,
    /// Receives without a send.
    pub receives: u64,
    /// Source and destination of the first few.
    pub rank_pairs: Vec<(u32, u32)>,
}

/// Result of a replay.
#[derive(Clone, Debug)]
pub struct ReplayResult {
    /// Recorded seconds from `MPI_Init` until the last rank reaches `MPI_Finalize`.
    pub recorded_s: f64,
    /// Replayed seconds.
    pub replayed_s: f64,
    /// Times per rank.
    pub ranks: Vec<RankReplayTime>,
    /// Times per call site, largest change first.
    pub sites: Vec<SiteReplayTime>,
    /// Number of replayed calls.
    pub calls: u64,
    /// Messages without a match.
    pub unmatched: UnmatchedSummary,
    /// Calls that completed without their dependency.
    pub forced_calls: u64,
    /// The estimated recorded network, if that was replayed.
    pub network: super::RecordedNetwork,
    /// Removed waiting for a core.
    pub core_waits: RemovedCoreWaits,
}

/// Waiting for a core that a replay removed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RemovedCoreWaits {
    /// Its share of the recorded time of all locations between `MPI_Init` and `MPI_Finalize`.
    pub share: f64,
    /// Number of calls in which a communication partner waited for a core.
    pub disturbed_calls: u64,
}

/// Share of the recorded time in which locations waited for a core.
fn core_wait_share(locations: &[LocationState], state: &ReplayState) -> f64 {
    if state.core_waits.is_empty() {
        return 0.0;
    }
    let (mut waits, mut elapsed) = (0.0, 0.0);
    for (index, location) in locations.iter().enumerate().filter(|(_, location)| location.recorded_end_time > state.recorded_start) {
        waits += state.core_waits.within(index as u32, state.recorded_start, location.recorded_end_time);
        elapsed += location.recorded_end_time - state.recorded_start;
    }
    if elapsed > 0.0 { waits / elapsed } else { 0.0 }
}

/// Collects the result after the last event.
pub(super) fn collect_result(schedule: &dyn Schedule, locations: Vec<LocationState>, state: ReplayState) -> ReplayResult {
    let mut ranks: Vec<RankReplayTime> = Vec::new();
    for location in &locations {
        let (recorded_s, replayed_s) = ((location.recorded_end_time - state.recorded_start).max(0.0), location.end_time);
        match ranks.last_mut().filter(|last| last.rank == location.id.rank) {
            Some(last) => {
                (last.recorded_s, last.replayed_s) = (last.recorded_s.max(recorded_s), last.replayed_s.max(replayed_s));
            }
            None => ranks.push(RankReplayTime { rank: location.id.rank, recorded_s, replayed_s }),
        }
    }
    let operation = |tally: &SiteTally| FunctionId::from_index(tally.function);
    // Times only count between MPI_Init and MPI_Finalize.
    let is_between = |tally: &&SiteTally| {
        operation(tally).is_none_or(|operation| !matches!(operation.role(), FunctionRole::Init | FunctionRole::Finalize))
    };
    let site = |tally: &SiteTally| SiteReplayTime {
        site_name: schedule.site_name(tally.site),
        site: tally.site,
        function: operation(tally).map_or("", FunctionId::name),
        calls: tally.calls,
        recorded_s: tally.recorded_s,
        replayed_s: tally.replayed_s,
    };
    let mut sites: Vec<SiteReplayTime> = state.tallies.iter().filter(|tally| tally.calls > 0).filter(is_between).map(site).collect();
    let change = |site: &SiteReplayTime| (site.replayed_s - site.recorded_s).abs();
    sites.sort_by(|a, b| change(b).total_cmp(&change(a)).then_with(|| a.site_name.cmp(&b.site_name)));
    let (sends, receives, keys) = state.messages.unmatched();
    let network = state.samples.fit_network();
    let core_waits = RemovedCoreWaits { share: core_wait_share(&locations, &state), disturbed_calls: state.core_waits.n_disturbed_calls };
    ReplayResult {
        network,
        core_waits,
        recorded_s: ranks.iter().map(|rank| rank.recorded_s).fold(0.0, f64::max),
        replayed_s: ranks.iter().map(|rank| rank.replayed_s).fold(0.0, f64::max),
        ranks,
        sites,
        calls: state.n_calls,
        forced_calls: state.n_forced,
        unmatched: UnmatchedSummary { sends, receives, rank_pairs: keys.into_iter().map(|(from, to, ..)| (from, to)).collect() },
    }
}
