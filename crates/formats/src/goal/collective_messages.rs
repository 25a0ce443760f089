//! Collectives expanded into one rank's messages, for formats that lack the operation or the group.

use std::collections::HashMap;

use sintonia_recording::Recording;
use sintonia_recording::comm_event::{self, CollectiveId, GroupOp};
use sintonia_recording::raw::PROC_NULL;

use super::collective::{self, MessageRound, Participant};

/// A rank's call of a collective.
#[derive(Clone, Copy)]
pub(crate) struct RankCollective {
    pub instance: CollectiveId,
    pub op: GroupOp,
    /// The rank of the root; negative if there is none.
    pub root: i32,
    pub sent: u64,
    pub received: u64,
}

/// Direction and peer of a message.
#[derive(Clone, Copy)]
pub(crate) enum MessageDirection {
    To(u32),
    From(u32),
}

/// Why a collective cannot be expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpansionError {
    /// The recording does not have the neighbours.
    UnknownNeighbours,
    Intercommunicator,
}

/// Expands the collectives of one rank.
pub(crate) struct CollectiveExpander<'a> {
    recording: &'a Recording,
    rank: u32,
    /// This rank's index in each communicator.
    comm_ranks: HashMap<u32, Option<usize>>,
}

impl<'a> CollectiveExpander<'a> {
    pub(crate) fn new(recording: &'a Recording, rank: u32) -> CollectiveExpander<'a> {
        CollectiveExpander { recording, rank, comm_ranks: HashMap::new() }
    }

    /// The communicator of a collective, if known.
    pub(crate) fn communicator(&self, collective: &RankCollective) -> Option<u32> {
        comm_event::group_communicator(&self.recording.header, collective.instance.group)
    }

    /// The messages of this rank in a collective, by round.
    pub(crate) fn rounds(
        &mut self,
        communicator: u32,
        collective: &RankCollective,
    ) -> Result<Vec<Vec<(MessageDirection, u64)>>, ExpansionError> {
        if !self.recording.remote(communicator).is_empty() {
            return Err(ExpansionError::Intercommunicator);
        }
        if let GroupOp::Collective(pattern) = collective.op
            && pattern.is_neighborhood()
        {
            return self.neighbourhood(communicator, collective);
        }
        let members = self.recording.members(communicator);
        let rank = self.rank as i32;
        let index = |wanted: i32| members.iter().position(|member| *member == wanted);
        let Some(own_index) = *self.comm_ranks.entry(communicator).or_insert_with(|| index(rank)) else { return Ok(Vec::new()) };
        let root = if collective.root >= 0 { index(collective.root).unwrap_or(0) } else { 0 };
        let participant = Participant { size: members.len(), index: own_index, root, sent: collective.sent, received: collective.received };
        let rounds = match collective.op {
            GroupOp::Collective(pattern) => collective::rounds(pattern, &participant),
            _ => collective::dissemination_barrier(&participant),
        };
        let directions = |round: MessageRound| {
            let member = |index: usize| members.get(index).and_then(|member| u32::try_from(*member).ok());
            let sends = round.sends.into_iter().filter_map(|(to, bytes)| Some((MessageDirection::To(member(to)?), bytes)));
            let receives = round.receives.into_iter().filter_map(|(from, bytes)| Some((MessageDirection::From(member(from)?), bytes)));
            sends.chain(receives).collect()
        };
        // Drop rounds whose peers are all outside the recording.
        Ok(rounds.into_iter().map(directions).filter(|round: &Vec<_>| !round.is_empty()).collect())
    }

    /// One round: all destinations and sources at once.
    fn neighbourhood(&self, communicator: u32, collective: &RankCollective) -> Result<Vec<Vec<(MessageDirection, u64)>>, ExpansionError> {
        let neighbours = self.recording.neighbours(communicator, self.rank).ok_or(ExpansionError::UnknownNeighbours)?;
        // PROC_NULL neighbours get no data; the bytes are divided among the others.
        let share = |bytes: u64, others: &[i32]| bytes / others.iter().filter(|other| **other != PROC_NULL).count().max(1) as u64;
        let (sent, received) = (share(collective.sent, &neighbours.destinations), share(collective.received, &neighbours.sources));
        let there = |other: &i32| u32::try_from(*other).ok();
        let sends = neighbours.destinations.iter().filter_map(there).map(|to| (MessageDirection::To(to), sent));
        let receives = neighbours.sources.iter().filter_map(there).map(|from| (MessageDirection::From(from), received));
        let round: Vec<_> = sends.chain(receives).collect();
        Ok(if round.is_empty() { Vec::new() } else { vec![round] })
    }
}
