//! Operations of groups as one rank's messages to others, for formats that do not know the operation or the group.

use std::collections::HashMap;

use sintonia_recording::Recording;
use sintonia_recording::deed::{self, Meeting, Purpose};
use sintonia_recording::raw::PROC_NULL;

use super::collective::{self, Party, Round};

/// A rank's part in an operation of a group.
#[derive(Clone, Copy)]
pub(crate) struct Joined {
    pub meeting: Meeting,
    pub purpose: Purpose,
    /// The rank of the root; below zero where there is none.
    pub root: i32,
    pub sent: u64,
    pub received: u64,
}

/// Where a message goes.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    To(u32),
    From(u32),
}

/// Why there are no messages though there was an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Untold {
    /// The recording does not tell the neighbours.
    Neighbourhood,
    /// It was between two groups.
    BetweenGroups,
}

/// The groups of one rank.
pub(crate) struct Groups<'a> {
    recording: &'a Recording,
    rank: u32,
    /// The place of this rank in communicators.
    places: HashMap<u32, Option<usize>>,
}

impl<'a> Groups<'a> {
    /// Those of this rank.
    pub fn of(recording: &'a Recording, rank: u32) -> Groups<'a> {
        Groups { recording, rank, places: HashMap::new() }
    }

    /// The communicator on which an operation was, if it is known.
    pub fn communicator(&self, joined: &Joined) -> Option<u32> {
        deed::communicator(&self.recording.header, joined.meeting.group)
    }

    /// The messages of this rank in an operation on a communicator, round by round.
    pub fn rounds(&mut self, communicator: u32, joined: &Joined) -> Result<Vec<Vec<(Way, u64)>>, Untold> {
        if !self.recording.remote(communicator).is_empty() {
            return Err(Untold::BetweenGroups);
        }
        if let Purpose::Collective(pattern) = joined.purpose
            && pattern.is_among_neighbours()
        {
            return self.neighbourhood(communicator, joined);
        }
        let members = self.recording.members(communicator);
        let rank = self.rank as i32;
        let place = |wanted: i32| members.iter().position(|member| *member == wanted);
        let Some(here) = *self.places.entry(communicator).or_insert_with(|| place(rank)) else { return Ok(Vec::new()) };
        let root = if joined.root >= 0 { place(joined.root).unwrap_or(0) } else { 0 };
        let party = Party { size: members.len(), here, root, sent: joined.sent, received: joined.received };
        let rounds = match joined.purpose {
            Purpose::Collective(pattern) => collective::rounds(pattern, &party),
            _ => collective::barrier(&party),
        };
        let ways = |round: Round| {
            let member = |place: usize| members.get(place).and_then(|member| u32::try_from(*member).ok());
            let sends = round.sends.into_iter().filter_map(|(to, bytes)| Some((Way::To(member(to)?), bytes)));
            let receives = round.receives.into_iter().filter_map(|(from, bytes)| Some((Way::From(member(from)?), bytes)));
            sends.chain(receives).collect()
        };
        // A round whose other ends are all outside the recording leaves nothing to wait for.
        Ok(rounds.into_iter().map(ways).filter(|round: &Vec<_>| !round.is_empty()).collect())
    }

    /// One round: to all destinations and from all sources at once.
    fn neighbourhood(&self, communicator: u32, joined: &Joined) -> Result<Vec<Vec<(Way, u64)>>, Untold> {
        let neighbours = self.recording.neighbours(communicator, self.rank).ok_or(Untold::Neighbourhood)?;
        // No data goes where a grid ends, and the bytes are those of all the others.
        let share = |bytes: u64, others: &[i32]| bytes / others.iter().filter(|other| **other != PROC_NULL).count().max(1) as u64;
        let (sent, received) = (share(joined.sent, &neighbours.destinations), share(joined.received, &neighbours.sources));
        let there = |other: &i32| u32::try_from(*other).ok();
        let sends = neighbours.destinations.iter().filter_map(there).map(|to| (Way::To(to), sent));
        let receives = neighbours.sources.iter().filter_map(there).map(|from| (Way::From(from), received));
        let round: Vec<_> = sends.chain(receives).collect();
        Ok(if round.is_empty() { Vec::new() } else { vec![round] })
    }
}
