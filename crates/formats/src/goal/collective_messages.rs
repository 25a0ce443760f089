//! Collectives expanded into one rank's messages, for formats that lack the operation or the group.
//!
//! The algorithms are those of the MPI library that was recorded. A rank knows only its own buffers, so where block sizes may differ
//! (gatherv, scatterv, alltoallv and similar), the two ends of a message may give different sizes.

use std::collections::HashMap;

use sintonia_collective::{CollectiveRound, LibraryRules, Participant, choose_algorithm, rounds};
use sintonia_mpi::CollectiveOp;
use sintonia_recording::Recording;
use sintonia_recording::comm_event::{self, CollectiveId, GroupOp};
use sintonia_recording::raw::PROC_NULL;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// The MPI library of the run, if the recording has it.
pub(crate) fn mpi_library(recording: &Recording) -> Option<LibraryRules> {
    LibraryRules::from_version_string(&recording.header.mpi.library)
}

/// Whether a rank may receive blocks of other sizes than it sends.
const fn has_independent_blocks(op: CollectiveOp) -> bool {
    matches!(op, CollectiveOp::Alltoallv | CollectiveOp::Alltoallw)
}

/// Expands the collectives of one rank.
pub(crate) struct CollectiveExpander<'a> {
    recording: &'a Recording,
    rank: u32,
    library: Option<LibraryRules>,
    /// This rank's index in each communicator.
    comm_ranks: HashMap<u32, Option<u32>>,
}

impl<'a> CollectiveExpander<'a> {
    pub(crate) fn new(recording: &'a Recording, rank: u32) -> CollectiveExpander<'a> {
        CollectiveExpander { recording, rank, library: mpi_library(recording), comm_ranks: HashMap::new() }
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
        let index = |wanted: i32| members.iter().position(|member| *member == wanted).map(|index| index as u32);
        let Some(own_index) = *self.comm_ranks.entry(communicator).or_insert_with(|| index(rank)) else { return Ok(Vec::new()) };
        let root = if collective.root >= 0 { index(collective.root).unwrap_or(0) } else { 0 };
        let op = match collective.op {
            GroupOp::Collective(op) => op,
            _ => CollectiveOp::Barrier,
        };
        let participant = |sent| Participant::new(op, members.len() as u32, own_index, root, sent, collective.received);
        let sender = participant(collective.sent);
        let Some(algorithm) = choose_algorithm(self.library, op, sender.size, sender.bytes) else { return Ok(Vec::new()) };
        // Blocks that a rank receives need not be as large as those it sends.
        let receiver = if has_independent_blocks(op) { participant(collective.received) } else { sender };
        let both = rounds(algorithm, op, sender).zip(rounds(algorithm, op, receiver));
        let directions = |(sender, receiver): (CollectiveRound, CollectiveRound)| {
            let member = |index: u32| members.get(index as usize).and_then(|member| u32::try_from(*member).ok());
            let sends = sender.sends.into_iter().filter_map(|message| Some((MessageDirection::To(member(message.peer)?), message.bytes)));
            let receives =
                receiver.receives.into_iter().filter_map(|message| Some((MessageDirection::From(member(message.peer)?), message.bytes)));
            sends.chain(receives).collect()
        };
        // Drop rounds whose peers are all outside the recording.
        Ok(both.map(directions).filter(|round: &Vec<_>| !round.is_empty()).collect())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::write_recording_with_worlds;
    use sintonia_collective::op_names;
    use sintonia_recording::comm_event::CollectiveGroup;

    /// The buffers of a rank when every vector or block has this size.
    fn buffers(op: CollectiveOp, size: u64, is_root: bool, bytes: u64) -> (u64, u64) {
        use CollectiveOp::*;
        match op {
            Gather | Gatherv => (bytes, if is_root { size * bytes } else { 0 }),
            Scatter | Scatterv => (if is_root { size * bytes } else { 0 }, bytes),
            Allgather | Allgatherv => (bytes, size * bytes),
            Alltoall | Alltoallv | Alltoallw => (size * bytes, size * bytes),
            ReduceScatter | ReduceScatterBlock => (size * bytes, bytes),
            _ => (bytes, bytes),
        }
    }

    /// What the algorithm that a library selects lets a rank send and receive.
    fn expected(library: &str, op: CollectiveOp, participant: Participant) -> Vec<Vec<(MessageDirection, u64)>> {
        let library = LibraryRules::from_version_string(library);
        let algorithm = choose_algorithm(library, op, participant.size, participant.bytes).unwrap();
        let directions = |round: CollectiveRound| {
            let sends = round.sends.into_iter().map(|message| (MessageDirection::To(message.peer), message.bytes));
            sends.chain(round.receives.into_iter().map(|message| (MessageDirection::From(message.peer), message.bytes))).collect()
        };
        rounds(algorithm, op, participant).map(directions).collect()
    }

    #[test]
    fn an_alltoallv_sends_and_receives_blocks_of_different_sizes() {
        let example = write_recording_with_worlds(&vec![Vec::new(); 3], &["0-2"]);
        let instance = CollectiveId { group: CollectiveGroup::Communicator(0), number: 0 };
        let call = RankCollective { instance, op: GroupOp::Collective(CollectiveOp::Alltoallv), root: -1, sent: 30, received: 6 };
        let pairwise = [(1, 2), (2, 1)].map(|(to, from)| vec![(MessageDirection::To(to), 10), (MessageDirection::From(from), 2)]);
        assert_eq!(CollectiveExpander::new(&example.recording, 0).rounds(0, &call), Ok(pairwise.to_vec()));
    }

    #[test]
    fn messages_are_those_of_the_algorithm_that_the_library_selects() {
        let instance = CollectiveId { group: CollectiveGroup::Communicator(0), number: 0 };
        for size in [1, 2, 3, 4, 5, 7, 8, 16, 17] {
            let mut example = write_recording_with_worlds(&vec![Vec::new(); size as usize], &[&format!("0-{}", size - 1)]);
            let root = size / 2;
            for library in ["Open MPI 4.1.4", "MPICH 4.0.2", "Intel(R) MPI Library 2021.9", ""] {
                example.recording.header.mpi.library = library.into();
                for (rank, op) in (0..size).flat_map(|rank| op_names::selectable_ops().map(move |op| (rank, op))) {
                    let mut expander = CollectiveExpander::new(&example.recording, rank);
                    for bytes in [0, 8, 3_000, 100_000] {
                        let (sent, received) = buffers(op, size.into(), rank == root, bytes);
                        let call = RankCollective { instance, op: GroupOp::Collective(op), root: root as i32, sent, received };
                        let bytes = if op == CollectiveOp::Barrier { 0 } else { bytes };
                        let promised = expected(library, op, Participant { size, rank, root, bytes });
                        assert_eq!(expander.rounds(0, &call), Ok(promised), "{library}: {op:?} of {bytes} bytes by {size}");
                    }
                }
            }
        }
    }
}
