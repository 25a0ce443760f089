//! Changes to the program: compute times, collective algorithms, call overrides.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use sintonia_collective::{CollectiveAlgorithm, LibraryRules};
use sintonia_fit::SplitMix64;
use sintonia_machine::CollectiveKind;
use sintonia_program::history::CollectiveDependencies;

use crate::Error;
use crate::call_overrides::{CallIndex, CallOverrides};
use crate::core_waits::CoreWaitRemoval;
use crate::schedule::{CallChunk, ChunkStatus, LocationId, Schedule};

/// No computation is changed at this site.
const NO_CHANGE: u32 = u32::MAX;

/// All changes of a replay. The default changes nothing.
#[derive(Clone, Debug, Default)]
pub struct ReplayChanges {
    /// Changes of computation at certain call sites.
    pub segments: Vec<SegmentChange>,
    /// Changed compute times per rank between two call sites.
    pub loads: RankLoads,
    /// Seconds by which the computation before individual calls is longer, or shorter if negative; each list in the order of the calls.
    pub moved_work: Vec<Arc<MovedWork>>,
    /// Random noise added to computation.
    pub noise: Option<ComputeNoise>,
    /// Messages do not contend for links.
    pub no_contention: bool,
    /// Wildcard receives match the message that arrives first, not the recorded one.
    pub wildcards_by_arrival: bool,
    /// How certain collectives are simulated.
    pub algorithms: BTreeMap<CollectiveKind, CollectiveModel>,
    /// How all other collectives are simulated.
    pub default_algorithm: Option<CollectiveModel>,
    /// Calls that behave differently; only on the recorded network.
    pub call_overrides: Option<CallOverrides>,
    /// Which waiting for a core is removed.
    pub core_waits: CoreWaitRemoval,
    /// Which ranks made members of collectives wait, beyond what MPI requires; only on the recorded network.
    pub collective_dependencies: Option<Arc<CollectiveDependencies>>,
    /// Calls whose dependency never arrives complete anyway: a truncated recording is not complete.
    pub force_progress: bool,
}

/// Seconds by which the computation before calls of each location changes, in the order of the calls.
pub type MovedWork = FxHashMap<LocationId, Vec<(CallIndex, f64)>>;

/// How a collective is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CollectiveModel {
    /// Measured time or closed formula, once the ranks it depends on have arrived.
    ClosedForm,
    /// Messages of an algorithm.
    Algorithm(CollectiveAlgorithm),
    /// The algorithm this MPI library selects.
    Library(LibraryRules),
}

/// A change of the computation between certain calls.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentChange {
    /// Call sites before the segment; `None` for any.
    pub from: Option<FxHashSet<u32>>,
    /// Call sites after the segment; `None` for any.
    pub to: Option<FxHashSet<u32>>,
    /// The new duration.
    pub duration: DurationChange,
}

/// A change of a duration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DurationChange {
    /// Multiply by a factor.
    Scale(f64),
    /// Replace by a fixed number of seconds.
    Fixed(f64),
}

/// Random noise: every computation takes longer by an exponentially distributed share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComputeNoise {
    /// Mean relative slowdown.
    pub share: f64,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// Changed compute times by segment (pair of call sites) and rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankLoads(FxHashMap<(u32, u32), FxHashMap<u32, DurationChange>>);

impl ReplayChanges {
    /// Whether every segment can be affected.
    #[inline]
    pub fn affects_all_segments(&self) -> bool {
        !self.loads.0.is_empty() || self.noise.is_some()
    }

    /// Compute time before a call of a location after work was moved to or from there.
    #[inline]
    pub(crate) fn with_moved_work(&self, location: LocationId, call: CallIndex, seconds: f64) -> f64 {
        let changes = self.moved_work.iter().filter_map(|moved| moved.get(&location));
        let at_call = changes.filter_map(|calls| calls.binary_search_by_key(&call, |(index, _)| *index).ok().map(|found| calls[found].1));
        at_call.fold(seconds, |seconds, change| (seconds + change).max(0.0))
    }

    /// Index of the first change that applies before a call site, for [`ReplayChanges::compute_time`].
    pub fn first_change_before(&self, site: u32) -> u32 {
        self.segments.iter().position(|change| change.applies_before(site)).map_or(NO_CHANGE, |index| index as u32)
    }

    /// Compute time of a rank between two call sites, given the recorded time; `turn` selects the random number.
    pub fn compute_time(&self, first: u32, rank: u32, (from, to): (u32, u32), turn: u64, seconds: f64) -> f64 {
        let mut seconds = seconds;
        if let Some(duration) = self.loads.0.get(&(from, to)).and_then(|ranks| ranks.get(&rank)) {
            seconds = duration.apply(seconds);
        }
        for change in self.segments.iter().skip(first as usize) {
            if change.applies_before(to) && change.from.as_ref().is_none_or(|sites| sites.contains(&from)) {
                seconds = change.duration.apply(seconds);
            }
        }
        match &self.noise {
            // Exponential distribution with mean 1: mostly small, sometimes large, like OS noise.
            Some(noise) => seconds * (1.0 + noise.share * -(1.0 - SplitMix64::uniform_at(noise.seed ^ (u64::from(rank) << 32), turn)).ln()),
            None => seconds,
        }
    }
}

impl SegmentChange {
    /// Whether the change can apply to the segment before this call site.
    fn applies_before(&self, site: u32) -> bool {
        self.to.as_ref().is_none_or(|sites| sites.contains(&site))
    }
}

impl DurationChange {
    /// The changed duration.
    fn apply(self, seconds: f64) -> f64 {
        match self {
            DurationChange::Scale(factor) => seconds * factor,
            DurationChange::Fixed(each) => each,
        }
    }

    /// Composition of two changes.
    fn then(self, next: DurationChange) -> DurationChange {
        match self {
            DurationChange::Scale(factor) => match next {
                DurationChange::Scale(more) => DurationChange::Scale(factor * more),
                each => each,
            },
            DurationChange::Fixed(each) => DurationChange::Fixed(next.apply(each)),
        }
    }
}

impl RankLoads {
    /// Adds a change for one rank and segment, after those already there.
    pub fn change(&mut self, segment: (u32, u32), rank: u32, duration: DurationChange) {
        self.0.entry(segment).or_default().entry(rank).and_modify(|known| *known = known.then(duration)).or_insert(duration);
    }

    /// Scales compute times so that every rank computes as long as the mean of all ranks that execute the segment.
    pub fn balanced(schedule: &dyn Schedule) -> Result<RankLoads, Error> {
        let ranks = schedule.ranks() as usize;
        let mut sums: FxHashMap<(u32, u32), Vec<f64>> = FxHashMap::default();
        for location in schedule.locations()? {
            sum_compute_times(schedule, location, ranks, &mut sums)?;
        }
        let evened = |sums: Vec<f64>| {
            let computing: Vec<(u32, f64)> = (0..).zip(sums).filter(|(_, sum)| *sum > 0.0).collect();
            let mean = computing.iter().map(|(_, sum)| sum).sum::<f64>() / computing.len().max(1) as f64;
            computing.into_iter().map(|(rank, sum)| (rank, DurationChange::Scale(mean / sum))).collect()
        };
        Ok(RankLoads(sums.into_iter().map(|(segment, sums)| (segment, evened(sums))).collect()))
    }
}

fn sum_compute_times(
    schedule: &dyn Schedule,
    location: LocationId,
    ranks: usize,
    sums: &mut FxHashMap<(u32, u32), Vec<f64>>,
) -> Result<(), Error> {
    let mut source = schedule.open(location)?;
    let (mut chunk, mut from) = (CallChunk::default(), NO_CHANGE);
    while source.read_chunk(&mut chunk)? != ChunkStatus::End {
        for call in &chunk.calls {
            let to = chunk.actions[call.action as usize].call.site;
            let sum = sums.entry((from, to)).or_insert_with(|| vec![0.0; ranks]);
            if let Some(sum) = sum.get_mut(location.rank as usize) {
                *sum += call.compute_ns as f64 * 1e-9;
            }
            from = to;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_a_computation_follow_each_other() {
        let (third, double) = (DurationChange::Scale(1.0 / 3.0), DurationChange::Scale(2.0));
        assert!((third.then(double).apply(3.0) - 2.0).abs() < 1e-12, "two thirds");
        assert_eq!(DurationChange::Fixed(8.0).then(DurationChange::Scale(0.25)), DurationChange::Fixed(2.0));
        assert_eq!(double.then(DurationChange::Fixed(7.0)), DurationChange::Fixed(7.0));
    }
}
