//! An extrapolated run as a schedule; only the rules are in memory.

use sintonia_mpi::FunctionRole;

use super::ProblemScaling;
use super::communicators::COMM_WORLD;
use super::pattern::ProgramPattern;
use super::peer_rule::PeerRule;
use super::process_grid::{ProcessGrid, RankPosition};
use super::reader::ExtrapolatedReader;
use super::segment_times::{PredictedSegmentTime, SegmentId, TimeLaws};
use crate::Error;
use crate::platform::IntervalBound;
use crate::schedule::{CallReader, LocationId, NeighbourRanks, Schedule};

/// A run with more ranks than were recorded.
#[derive(Debug)]
pub struct ExtrapolatedRun<'a> {
    pub(super) pattern: &'a ProgramPattern,
    pub(super) ranks: u32,
    pub(super) grid: ProcessGrid,
    /// Segment times by rank class and node; the last class is the average.
    taken: Vec<Vec<[PredictedSegmentTime; 2]>>,
    /// Factor on message sizes under strong scaling.
    message_scale: f64,
}

impl<'a> ExtrapolatedRun<'a> {
    pub(super) fn new(pattern: &'a ProgramPattern, ranks: u32, grid: ProcessGrid, which: IntervalBound) -> ExtrapolatedRun<'a> {
        let nodes = pattern.program.calls.len();
        let of_class = |class| {
            (0..nodes).map(|node| [false, true].map(|again| pattern.time_laws.segment_time(class, (node, again), ranks, which))).collect()
        };
        let taken = (0..pattern.rank_classes.len()).chain([TimeLaws::ALL_RANKS]).map(of_class).collect();
        ExtrapolatedRun { pattern, ranks, message_scale: message_scale(pattern, ranks, &grid), grid, taken }
    }

    pub(super) fn position(&self, rank: u32) -> RankPosition<'_> {
        RankPosition { rank, rank_count: self.ranks, grid: &self.grid }
    }

    /// Time of a segment on ranks of a class.
    pub(super) fn taken(&self, class: usize, (node, again): SegmentId) -> PredictedSegmentTime {
        self.taken[class.min(self.taken.len() - 1)][node][usize::from(again)]
    }

    /// Index of the communicator of a class that a rank belongs to.
    pub(super) fn communicator(&self, class: usize, position: RankPosition) -> u32 {
        class as u32 * self.ranks + self.pattern.program.communicator_groups[class].first(position)
    }

    /// Upper bound of communicator indices; not all are in use.
    pub(super) fn communicator_limit(&self) -> u32 {
        self.pattern.program.communicator_groups.len() as u32 * self.ranks
    }

    /// Size of a message, from the value of its rule.
    pub(super) fn bytes(&self, role: FunctionRole, bytes: i64) -> u64 {
        let bytes = if bytes < -1 { 0 } else { bytes };
        let message = matches!(role, FunctionRole::Send | FunctionRole::Receive | FunctionRole::SendReceive);
        if message && self.message_scale != 1.0 && bytes > 0 {
            (bytes as f64 * self.message_scale).round().max(1.0) as u64
        } else {
            bytes as u64
        }
    }
}

/// Strong scaling from one recording: messages are surfaces of shrinking blocks.
fn message_scale(pattern: &ProgramPattern, ranks: u32, grid: &ProcessGrid) -> f64 {
    match (&pattern.recorded_rank_counts[..], pattern.options.scaling) {
        ([recorded], ProblemScaling::Strong) => {
            let dimensions = grid.dimensions() as f64;
            (f64::from(*recorded) / f64::from(ranks)).powf((dimensions - 1.0) / dimensions)
        }
        _ => 1.0,
    }
}

impl Schedule for ExtrapolatedRun<'_> {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn locations(&self) -> Result<Vec<LocationId>, Error> {
        Ok((0..self.ranks).map(|rank| LocationId { rank, thread: 0 }).collect())
    }

    fn open(&self, location: LocationId) -> Result<Box<dyn CallReader + '_>, Error> {
        if location.rank >= self.ranks || location.thread != 0 {
            return Err(Error::NoSuchLocation { rank: location.rank });
        }
        Ok(Box::new(ExtrapolatedReader::new(self, location.rank)))
    }

    fn members(&self, communicator: u32) -> Vec<u32> {
        let Some(group) = self.pattern.program.communicator_groups.get((communicator / self.ranks) as usize) else { return Vec::new() };
        let position = self.position(communicator % self.ranks);
        // A group is identified by its first member.
        if group.first(position) != position.rank {
            return Vec::new();
        }
        (0..group.size(position)).filter_map(|index| group.member(position, index)).collect()
    }

    fn neighbours(&self, communicator: u32, rank: u32) -> NeighbourRanks {
        let position = self.position(rank);
        let existing = |peers: &[PeerRule]| peers.iter().filter_map(|peer| peer.evaluate(position)).collect();
        let known = self.pattern.program.neighbours.get((communicator / self.ranks) as usize);
        known.map_or_else(NeighbourRanks::default, |[sources, destinations]| NeighbourRanks {
            sources: existing(sources),
            destinations: existing(destinations),
        })
    }

    fn site_count(&self) -> u32 {
        self.pattern.program.sites.len() as u32
    }

    fn site_name(&self, site: u32) -> String {
        self.pattern.program.sites.get(site as usize).map_or_else(|| "?".into(), |site| site.name.clone())
    }
}

const _: () = assert!(COMM_WORLD == 0, "the world must be communicator 0");
