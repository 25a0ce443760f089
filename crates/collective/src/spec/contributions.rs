//! Data flow check: for every byte of a rank, whose contributions it contains. Each may occur only once.

use std::collections::HashMap;

use sintonia_mpi::CollectiveOp;

use super::trace::{CollectiveTrace, RoundEvent, RoundOp, TracedMessage};
use crate::algorithm::CollectiveAlgorithm;
use crate::byte_range::DataPartition;

/// Set of ranks, one bit each.
type MemberSet = u64;

fn all_members(size: u32) -> MemberSet {
    (1 << size) - 1
}

/// The data of all ranks during a collective.
struct ContributionTracker<'a> {
    trace: &'a CollectiveTrace,
    /// By rank and byte.
    has: Vec<Vec<MemberSet>>,
    /// As last received.
    last_received: Vec<Vec<MemberSet>>,
    in_flight: HashMap<usize, Vec<MemberSet>>,
}

impl<'a> ContributionTracker<'a> {
    fn new(trace: &'a CollectiveTrace) -> ContributionTracker<'a> {
        use CollectiveOp::*;
        let (size, bytes) = (trace.size, trace.bytes as usize);
        let blocks = bytes * size as usize;
        let mut has: Vec<Vec<MemberSet>> = (0..size)
            .map(|rank| match trace.op {
                Broadcast => vec![if rank == trace.root { 1 << rank } else { 0 }; bytes],
                Scatter | Scatterv => vec![if rank == trace.root { 1 << rank } else { 0 }; blocks],
                Reduce | Allreduce => vec![1 << rank; bytes],
                ReduceScatter | ReduceScatterBlock => vec![1 << rank; blocks],
                _ => vec![0; blocks],
            })
            .collect();
        if matches!(trace.op, Gather | Gatherv | Allgather | Allgatherv) {
            for (rank, has) in has.iter_mut().enumerate() {
                has[rank * bytes..(rank + 1) * bytes].fill(1 << rank);
            }
        }
        ContributionTracker { trace, last_received: has.clone(), has, in_flight: HashMap::new() }
    }

    fn apply(&mut self, member: u32, event: RoundEvent, case: &str) {
        match event {
            RoundEvent::Begin { sends } => sends.iter().for_each(|message| self.send(member, message, case)),
            RoundEvent::End { receives } => receives.iter().for_each(|message| self.receive(member, message, case)),
        }
    }

    fn send(&mut self, member: u32, message: &TracedMessage, case: &str) {
        let from = if message.is_forwarded { &self.last_received } else { &self.has };
        let has = &from[member as usize];
        let data: Vec<MemberSet> = positions(message, has.len()).map(|at| has[at]).collect();
        assert!(data.iter().all(|members| *members != 0), "{case}: {member} sends what it does not have");
        self.in_flight.insert(message.id, data);
    }

    fn receive(&mut self, member: u32, message: &TracedMessage, case: &str) {
        let data = self.in_flight.remove(&message.id).expect("it has left");
        let has = &mut self.has[member as usize];
        for (at, received) in positions(message, has.len()).zip(data) {
            self.last_received[member as usize][at] = received;
            if message.is_combined {
                assert_eq!(has[at] & received, 0, "{case}: {member} combines a contribution twice");
                has[at] |= received;
            } else {
                assert_eq!(has[at] & !received, 0, "{case}: {member} loses a contribution");
                has[at] = received;
            }
        }
    }

    /// Compares the final data with what MPI specifies.
    fn assert_result(&self, case: &str) {
        use CollectiveOp::*;
        let (size, root, all) = (self.trace.size, self.trace.root, all_members(self.trace.size));
        let blocks = DataPartition::blocks(self.trace.bytes, size);
        for rank in 0..size {
            let has = &self.has[rank as usize];
            let own = || {
                let range = blocks.part(self.block_of(rank));
                &has[range.start as usize..(range.start + range.bytes) as usize]
            };
            let is_kept = match self.trace.op {
                Broadcast => has.iter().all(|members| *members == 1 << root),
                Scatter | Scatterv => own().iter().all(|members| *members == 1 << root),
                Reduce => rank != root || has.iter().all(|members| *members == all),
                Allreduce => has.iter().all(|members| *members == all),
                ReduceScatter | ReduceScatterBlock => own().iter().all(|members| *members == all),
                Gather | Gatherv if rank != root => true,
                _ => has.iter().enumerate().all(|(at, members)| *members == 1 << (at as u64 / self.trace.bytes)),
            };
            assert!(is_kept, "{case}: {rank} ends with {has:x?}");
        }
        assert!(self.in_flight.is_empty(), "{case}: something never arrives");
    }

    /// Position of the block of a rank. The butterfly for equal blocks and powers of two stores them bit-reversed.
    fn block_of(&self, member: u32) -> u32 {
        let is_mirrored = self.trace.algorithm == CollectiveAlgorithm::Butterfly
            && self.trace.op == CollectiveOp::ReduceScatterBlock
            && self.trace.size.is_power_of_two();
        match is_mirrored {
            true if self.trace.size > 1 => member.reverse_bits() >> (32 - self.trace.size.ilog2()),
            _ => member,
        }
    }
}

fn positions(message: &TracedMessage, length: usize) -> impl Iterator<Item = usize> + use<> {
    let (start, bytes) = (message.range.start as usize, message.range.bytes as usize);
    assert!(bytes <= length, "more than there is");
    (start..start + bytes).map(move |at| at % length)
}

/// Every rank ends with the data that MPI specifies.
pub(super) fn check_result(trace: &CollectiveTrace, case: &str) {
    let mut tracker = ContributionTracker::new(trace);
    trace.run(case, |member, event| tracker.apply(member, event, case));
    tracker.assert_result(case);
}

/// Every rank has heard from all.
pub(super) fn check_barrier(trace: &CollectiveTrace, case: &str) {
    let (heard, all) = (transitive_senders(trace, case), all_members(trace.size));
    assert!(heard.iter().all(|heard| *heard == all), "{case}: {heard:x?}");
}

/// From which ranks each rank has heard, directly or indirectly.
fn transitive_senders(trace: &CollectiveTrace, case: &str) -> Vec<MemberSet> {
    let mut heard: Vec<MemberSet> = (0..trace.size).map(|rank| 1 << rank).collect();
    let mut sent = HashMap::new();
    trace.run(case, |member, event| match event {
        RoundEvent::Begin { sends } => {
            for message in sends {
                assert_eq!(message.range.bytes, 0, "{case}: a barrier has no data");
                sent.insert(message.id, heard[member as usize]);
            }
        }
        RoundEvent::End { receives } => {
            let news = receives.iter().map(|message| sent[&message.id]).fold(0, |all, one| all | one);
            heard[member as usize] |= news;
        }
    });
    heard
}

/// A rank forwards its partial result and keeps what came from lower ranks.
pub(super) fn check_scan(trace: &CollectiveTrace, case: &str) {
    let mut so_far: Vec<MemberSet> = (0..trace.size).map(|rank| 1 << rank).collect();
    let mut result = vec![0; trace.size as usize];
    let mut sent = HashMap::new();
    trace.run(case, |member, event| match event {
        RoundEvent::Begin { sends } => sends.iter().for_each(|message| {
            sent.insert(message.id, so_far[member as usize]);
        }),
        RoundEvent::End { receives } => {
            for message in receives {
                assert_eq!(message.range.bytes, trace.bytes, "{case}");
                let (received, rank) = (sent[&message.id], member as usize);
                assert_eq!(so_far[rank] & received, 0, "{case}: {member} combines a contribution twice");
                so_far[rank] |= received;
                if message.from < member {
                    assert_eq!(result[rank] & received, 0, "{case}: {member} combines a contribution twice");
                    result[rank] |= received;
                }
            }
        }
    });
    let promised: Vec<MemberSet> = (0..trace.size).map(all_members).collect();
    assert_eq!(result, promised, "{case}");
}

/// Blocks go directly to their destination; with Bruck, in round k those that still have to move by 2^k.
pub(super) fn check_alltoall(trace: &CollectiveTrace, case: &str) {
    let size = trace.size;
    let goes_on = |round: usize, far: u32| trace.algorithm != CollectiveAlgorithm::Bruck || far & (1 << round) != 0;
    // By rank: destinations of the blocks it holds.
    let mut has: Vec<Vec<u32>> = (0..size).map(|rank| (0..size).filter(|to| *to != rank).collect()).collect();
    let mut got = vec![0; size as usize];
    for round in 0..trace.rounds.iter().map(Vec::len).max().unwrap_or(0) {
        let mut moved = Vec::new();
        for rank in 0..size {
            for op in trace.rounds[rank as usize].get(round).map_or(&[][..], |round_ops| &round_ops.ops) {
                let RoundOp::Send { to, range } = *op else { continue };
                let is_for = |block: &u32| match trace.algorithm {
                    CollectiveAlgorithm::Bruck => goes_on(round, (block + size - rank) % size),
                    _ => *block == to,
                };
                let (sent, kept): (Vec<u32>, Vec<u32>) = has[rank as usize].iter().partition(|block| is_for(block));
                assert_eq!(range.bytes, trace.bytes * sent.len() as u64, "{case}: {rank} in round {round}");
                has[rank as usize] = kept;
                moved.push((to, sent));
            }
        }
        for (to, blocks) in moved {
            got[to as usize] += blocks.iter().filter(|block| **block == to).count();
            has[to as usize].extend(blocks.into_iter().filter(|block| *block != to));
        }
    }
    assert!(has.iter().all(Vec::is_empty), "{case}: {has:?} is left");
    assert!(got.iter().all(|got| *got == size as usize - 1), "{case}: {got:?}");
}
