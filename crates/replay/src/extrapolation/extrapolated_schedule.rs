//! An extrapolated run as a schedule: its ranks are read one by one, from rules alone.

use super::communicators::COMM_WORLD;
use super::extrapolated::ExtrapolatedRun;
use super::peer_rule::PeerRule;
use super::reader::ExtrapolatedReader;
use crate::Error;
use crate::schedule::{CallReader, LocationId, NeighbourRanks, Schedule};

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
