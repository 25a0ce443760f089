//! All operations of a collective, and one possible execution.

use sintonia_mpi::CollectiveOp;

use crate::Participant;
use crate::algorithm::{CollectiveAlgorithm, build_round};
use crate::byte_range::{ByteRange, RoundBuilder};

/// An operation of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RoundOp {
    Send { to: u32, range: ByteRange },
    Forward { to: u32, range: ByteRange },
    Receive { from: u32, range: ByteRange },
    Combine { from: u32, range: ByteRange },
}

/// The operations of one rank in one round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RoundOps {
    pub ops: Vec<RoundOp>,
    pub reduced_bytes: u64,
}

impl RoundBuilder for RoundOps {
    fn send(&mut self, to: u32, range: ByteRange) {
        self.ops.push(RoundOp::Send { to, range });
    }

    fn forward(&mut self, to: u32, range: ByteRange) {
        self.ops.push(RoundOp::Forward { to, range });
    }

    fn receive(&mut self, from: u32, range: ByteRange) {
        self.ops.push(RoundOp::Receive { from, range });
    }

    fn combine(&mut self, from: u32, range: ByteRange) {
        self.ops.push(RoundOp::Combine { from, range });
        self.reduced_bytes += range.bytes;
    }

    fn compute(&mut self, bytes: u64) {
        self.reduced_bytes += bytes;
    }
}

/// The operations of all ranks.
pub(super) struct CollectiveTrace {
    pub algorithm: CollectiveAlgorithm,
    pub op: CollectiveOp,
    pub size: u32,
    pub root: u32,
    pub bytes: u64,
    /// By rank and round.
    pub rounds: Vec<Vec<RoundOps>>,
}

/// A message with the rounds in which it is sent and received.
#[derive(Clone, Copy, Debug)]
pub(super) struct TracedMessage {
    pub id: usize,
    pub from: u32,
    pub send_round: usize,
    pub to: u32,
    pub receive_round: usize,
    pub range: ByteRange,
    pub is_forwarded: bool,
    pub is_combined: bool,
}

/// Progress of a rank.
pub(super) enum RoundEvent {
    /// A round starts: messages carry the current data.
    Begin { sends: Vec<TracedMessage> },
    /// A round ends: these messages were received.
    End { receives: Vec<TracedMessage> },
}

impl CollectiveTrace {
    pub(super) fn new(algorithm: CollectiveAlgorithm, op: CollectiveOp, size: u32, root: u32, bytes: u64) -> CollectiveTrace {
        let rounds = (0..size).map(|rank| {
            let participant = Participant { size, rank, root, bytes };
            let mut rounds = Vec::new();
            loop {
                let mut round_ops = RoundOps::default();
                if !build_round(algorithm, op, &participant, rounds.len() as u32, &mut round_ops) {
                    assert!(round_ops.ops.is_empty(), "there is something after the last round");
                    return rounds;
                }
                rounds.push(round_ops);
                assert!(rounds.len() < 10_000, "rounds without end");
            }
        });
        CollectiveTrace { algorithm, op, size, root, bytes, rounds: rounds.collect() }
    }

    /// Matches sends with receives in order and checks that both ends agree.
    pub(super) fn matched_messages(&self, case: &str) -> impl Iterator<Item = TracedMessage> {
        let (mut sent, mut received) = (Vec::new(), Vec::new());
        for (rank, rounds) in (0..).zip(&self.rounds) {
            for (round, op) in rounds.iter().enumerate().flat_map(|(round, round_ops)| round_ops.ops.iter().map(move |op| (round, *op))) {
                match op {
                    RoundOp::Send { to, range } => sent.push((rank, to, round, range, false)),
                    RoundOp::Forward { to, range } => sent.push((rank, to, round, range, true)),
                    RoundOp::Receive { from, range } => received.push((from, rank, round, range, false)),
                    RoundOp::Combine { from, range } => received.push((from, rank, round, range, true)),
                }
            }
        }
        // Stable, so that messages between the same ranks keep their order.
        sent.sort_by_key(|(from, to, ..)| (*from, *to));
        received.sort_by_key(|(from, to, ..)| (*from, *to));
        let ends = |(from, to): (u32, u32)| format!("{case}: from {from} to {to}");
        let mut messages = Vec::new();
        assert_eq!(sent.len(), received.len(), "{case}");
        for ((from, to, sent_in, range, is_forwarded), (source, target, received_in, expected, is_combined)) in
            sent.into_iter().zip(received)
        {
            assert!((from, to) == (source, target) && from != to && from.max(to) < self.size, "{}", ends((from, to)));
            assert_eq!(range, expected, "{}", ends((from, to)));
            messages.push(TracedMessage {
                id: messages.len(),
                from,
                send_round: sent_in,
                to,
                receive_round: received_in,
                range,
                is_forwarded,
                is_combined,
            });
        }
        messages.into_iter()
    }

    /// Executes the collective: a rank finishes a round when all its peers have started the round of the matching message.
    pub(super) fn run(&self, case: &str, mut happens: impl FnMut(u32, RoundEvent)) {
        let mut sends = self.empty_lists();
        let mut receives = self.empty_lists();
        for message in self.matched_messages(case) {
            sends[message.from as usize][message.send_round].push(message);
            receives[message.to as usize][message.receive_round].push(message);
        }
        let mut at = vec![0; self.rounds.len()];
        for member in 0..self.size {
            begin(member, &sends, 0, &mut happens);
        }
        loop {
            let mut moved = false;
            for member in 0..self.size {
                let rank = member as usize;
                let round = at[rank];
                let others_are_there = round < self.rounds[rank].len()
                    && sends[rank][round].iter().all(|message| at[message.to as usize] >= message.receive_round)
                    && receives[rank][round].iter().all(|message| at[message.from as usize] >= message.send_round);
                if others_are_there {
                    happens(member, RoundEvent::End { receives: receives[rank][round].clone() });
                    at[rank] += 1;
                    begin(member, &sends, at[rank], &mut happens);
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
        let ends: Vec<usize> = self.rounds.iter().map(Vec::len).collect();
        assert_eq!(at, ends, "{case}: members wait for each other");
    }

    fn empty_lists(&self) -> Vec<Vec<Vec<TracedMessage>>> {
        self.rounds.iter().map(|rounds| vec![Vec::new(); rounds.len()]).collect()
    }

    /// Total message size.
    pub(super) fn volume(&self) -> u64 {
        let ops = self.rounds.iter().flatten().flat_map(|round_ops| &round_ops.ops);
        ops.map(|op| if let RoundOp::Send { range, .. } | RoundOp::Forward { range, .. } = op { range.bytes } else { 0 }).sum()
    }

    /// Total operand size.
    pub(super) fn reduced_bytes(&self) -> u64 {
        self.rounds.iter().flatten().map(|round_ops| round_ops.reduced_bytes).sum()
    }
}

fn begin(member: u32, sends: &[Vec<Vec<TracedMessage>>], round: usize, happens: &mut impl FnMut(u32, RoundEvent)) {
    if let Some(sends) = sends[member as usize].get(round) {
        happens(member, RoundEvent::Begin { sends: sends.clone() });
    }
}
