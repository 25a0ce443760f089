//! A run with more ranks than were recorded, as a schedule: nothing of it is in memory but the rules.

use sintonia_mpi::Role;

use super::Scaling;
use super::communicators::WORLD;
use super::grid::{Grid, Spot};
use super::line::Line;
use super::pattern::Pattern;
use super::peer::Peer;
use super::times::{Laws, Segment, Taken};
use crate::Error;
use crate::platform::End;
use crate::schedule::{LineId, Neighbours, Schedule, Stretches};

/// A run that nobody has made.
#[derive(Debug)]
pub struct Extrapolated<'a> {
    pub(super) pattern: &'a Pattern,
    pub(super) ranks: u32,
    pub(super) grid: Grid,
    /// What segments take, by class and node; the last class stands for all.
    taken: Vec<Vec<[Taken; 2]>>,
    /// What messages shrink to, if the problem stays as large as it was.
    shrinks: f64,
}

impl<'a> Extrapolated<'a> {
    pub(super) fn new(pattern: &'a Pattern, ranks: u32, grid: Grid, which: End) -> Extrapolated<'a> {
        let nodes = pattern.program.steps.len();
        let of_class =
            |class| (0..nodes).map(|node| [false, true].map(|again| pattern.laws.at(class, (node, again), ranks, which))).collect();
        let taken = (0..pattern.classes.len()).chain([Laws::EVERYONE]).map(of_class).collect();
        Extrapolated { pattern, ranks, shrinks: shrinks(pattern, ranks, &grid), grid, taken }
    }

    pub(super) fn spot(&self, rank: u32) -> Spot<'_> {
        Spot { rank, ranks: self.ranks, grid: &self.grid }
    }

    /// What a segment takes on a rank of a class.
    pub(super) fn taken(&self, class: usize, (node, again): Segment) -> Taken {
        self.taken[class.min(self.taken.len() - 1)][node][usize::from(again)]
    }

    /// The number of the communicator of a kind that a rank belongs to.
    pub(super) fn communicator(&self, kind: usize, spot: Spot) -> u32 {
        kind as u32 * self.ranks + self.pattern.program.kinds[kind].first(spot)
    }

    /// Communicators have numbers below this one; not all numbers stand for one.
    pub(super) fn communicators(&self) -> u32 {
        self.pattern.program.kinds.len() as u32 * self.ranks
    }

    /// The bytes of a message that the rules say, if the problem grows as it did.
    pub(super) fn bytes(&self, role: Role, bytes: i64) -> u64 {
        let bytes = if bytes < -1 { 0 } else { bytes };
        let message = matches!(role, Role::Send | Role::Receive | Role::SendReceive);
        if message && self.shrinks != 1.0 && bytes > 0 { (bytes as f64 * self.shrinks).round().max(1.0) as u64 } else { bytes as u64 }
    }
}

/// With one recording and a problem that stays as large as it is, messages are surfaces of ever smaller blocks.
fn shrinks(pattern: &Pattern, ranks: u32, grid: &Grid) -> f64 {
    match (&pattern.recorded[..], pattern.options.scaling) {
        ([recorded], Scaling::Strong) => {
            let dimensions = grid.dimensions() as f64;
            (f64::from(*recorded) / f64::from(ranks)).powf((dimensions - 1.0) / dimensions)
        }
        _ => 1.0,
    }
}

impl Schedule for Extrapolated<'_> {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn lines(&self) -> Result<Vec<LineId>, Error> {
        Ok((0..self.ranks).map(|rank| LineId { rank, thread: 0 }).collect())
    }

    fn open(&self, line: LineId) -> Result<Box<dyn Stretches + '_>, Error> {
        if line.rank >= self.ranks || line.thread != 0 {
            return Err(Error::NoSuchLine { rank: line.rank });
        }
        Ok(Box::new(Line::new(self, line.rank)))
    }

    fn members(&self, communicator: u32) -> Vec<u32> {
        let Some(part) = self.pattern.program.kinds.get((communicator / self.ranks) as usize) else { return Vec::new() };
        let spot = self.spot(communicator % self.ranks);
        // A group is numbered by its first member.
        if part.first(spot) != spot.rank {
            return Vec::new();
        }
        (0..part.size(spot)).filter_map(|place| part.member(spot, place)).collect()
    }

    fn neighbours(&self, communicator: u32, rank: u32) -> Neighbours {
        let spot = self.spot(rank);
        let there = |peers: &[Peer]| peers.iter().filter_map(|peer| peer.of(spot)).collect();
        let known = self.pattern.program.neighbours.get((communicator / self.ranks) as usize);
        known.map_or_else(Neighbours::default, |[sources, destinations]| Neighbours {
            sources: there(sources),
            destinations: there(destinations),
        })
    }

    fn sites(&self) -> u32 {
        self.pattern.program.places.len() as u32
    }

    fn site(&self, site: u32) -> String {
        self.pattern.program.places.get(site as usize).map_or_else(|| "?".into(), |place| place.name.clone())
    }
}

const _: () = assert!(WORLD == 0, "the world must be communicator 0");
