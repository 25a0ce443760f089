//! Collectives in a replay: with a fixed cost, or as rounds of messages.

use std::sync::Arc;

use sintonia_collective::{CollectiveRound, Participant, RankSet, RoundMessage, fill_round};
use sintonia_mpi::CollectiveOp;
use sintonia_recording::comm_event::GroupOp;

use super::COLLECTIVE_TAG;
use super::collectives::{AlgorithmNeeds, CollectiveArrival, CollectivePartId, CollectiveWork, MemberId, RoundProgress};
use super::location::LocationState;
use super::messages::{ChannelKey, NONE, TimePair, UNKNOWN_TIME};
use super::state::ReplayState;
use crate::collective_plan::{CollectivePlan, plan_collective};
use crate::schedule::{CallCompletion, CollectiveAction, SendMode};

/// Default cost of reducing one byte of operands.
const DEFAULT_REDUCE_S_PER_BYTE: f64 = 0.25e-9;

/// Concurrent collectives on one communicator that get distinct tags.
const MAX_CONCURRENT: u64 = 64;

impl ReplayState<'_> {
    /// Starts a rank's part in a collective.
    pub(super) fn join_collective(
        &mut self,
        index: u32,
        location: &mut LocationState,
        member: MemberId,
        call: &CollectiveAction,
    ) -> CollectivePartId {
        if call.op == GroupOp::Fence {
            self.complete_accesses(location, call);
        }
        let time = ReplayState::enter_time_pair(location);
        if member == NONE {
            return self.join_alone(index, time);
        }
        match self.plan(member, location.id.rank, call) {
            CollectivePlan::FixedCost(seconds) => self.join_with_fixed_cost(index, member, call, time, seconds),
            CollectivePlan::Rounds(algorithm, op) => {
                let participant = self.participant(member, call, op);
                let at = &mut self.collectives.members[member as usize];
                let (group, number) = (at.group, at.next_sequence);
                at.next_sequence += 1;
                // Persistent collectives of a communicator are groups of their own.
                let under_way = (u64::from(group) * MAX_CONCURRENT + number % MAX_CONCURRENT) % (1 << 30);
                let tag = if call.completion == CallCompletion::Blocking { 0 } else { 1 + under_way as i32 };
                let rounds = RoundProgress {
                    algorithm,
                    op,
                    participant,
                    round: 0,
                    now: time.simulated,
                    tag,
                    messages: Vec::new(),
                    reduced_bytes: 0,
                };
                let id = self.collectives.add_part(index, group, number, time, CollectiveWork::Rounds(Box::new(rounds)));
                self.run_rounds(id);
                id
            }
        }
    }

    /// A collective whose other members are unknown.
    fn join_alone(&mut self, index: u32, time: TimePair) -> CollectivePartId {
        let group = self.collectives.group_id(sintonia_recording::comm_event::CollectiveGroup::World(NONE), (NONE, false), Vec::new);
        let id = self.collectives.add_part(index, group, 0, time, CollectiveWork::nothing());
        self.collectives.part_mut(id).end_time = time.simulated;
        id
    }

    fn plan(&self, member: MemberId, rank: u32, call: &CollectiveAction) -> CollectivePlan {
        let Some(platform) = self.platform() else { return CollectivePlan::FixedCost(0.0) };
        let members = self.collectives.group(self.collectives.members[member as usize].group);
        plan_collective(platform, self.changes, call, &members.ranks, members.is_intercommunicator, rank)
    }

    fn participant(&self, member: MemberId, call: &CollectiveAction, op: CollectiveOp) -> Participant {
        let member = &self.collectives.members[member as usize];
        let members = self.collectives.group(member.group);
        let root = call.root.and_then(|root| self.collectives.index_in_group(member.group, root)).unwrap_or(0);
        Participant::new(op, members.ranks.len() as u32, member.index, root, call.sent, call.received)
    }

    fn join_with_fixed_cost(
        &mut self,
        index: u32,
        member: MemberId,
        call: &CollectiveAction,
        time: TimePair,
        seconds: f64,
    ) -> CollectivePartId {
        let arrival = CollectiveArrival { location: index, member, op: call.op, root: call.root, time, seconds };
        let mut over = std::mem::take(&mut self.completed_parts);
        over.clear();
        let (schedule, rank) = (self.schedule, self.location_ranks[index as usize]);
        let neighbours = |members: &super::collectives::GroupState| {
            let sources = schedule.neighbours(members.communicator, rank).sources;
            sources.iter().filter_map(|source| members.index_of(*source)).collect::<RankSet>()
        };
        let needs = self.algorithm_needs(member);
        let id = self.collectives.join(&arrival, neighbours, needs, &mut over);
        for part in &over {
            self.finish_part(*part);
        }
        self.completed_parts = over;
        id
    }

    /// What a member needs beyond what MPI requires, if the collective takes place as recorded.
    fn algorithm_needs(&self, member: MemberId) -> AlgorithmNeeds {
        let Some(known) = self.changes.collective_dependencies.as_deref().filter(|_| self.platform().is_none()) else {
            return AlgorithmNeeds::default();
        };
        let member = &self.collectives.members[member as usize];
        let (group, number) = (self.collectives.group(member.group).group, member.next_sequence);
        AlgorithmNeeds { required: known.required(group, number, member.index), others_need: known.has_instance(group, number) }
    }

    /// Advances the rounds of a part until it has to wait or is complete.
    pub(super) fn run_rounds(&mut self, id: CollectivePartId) {
        let part = self.collectives.part_mut(id);
        let (location, group, entered) = (part.location, part.group, part.entered);
        let CollectiveWork::Rounds(mut rounds) = std::mem::replace(&mut part.work, CollectiveWork::nothing()) else { return };
        let over = loop {
            if !self.is_round_complete(id, location, &mut rounds) {
                break false;
            }
            if !self.begin_round(location, group, entered, &mut rounds) {
                break true;
            }
        };
        let part = self.collectives.part_mut(id);
        if over {
            part.end_time = rounds.now;
            part.dependency = TimePair { simulated: rounds.now, ..entered };
        }
        part.work = CollectiveWork::Rounds(rounds);
        if over {
            self.finish_part(id);
        }
    }

    /// Wakes the waiter of a completed part; frees the part if no call will wait for it.
    fn finish_part(&mut self, id: CollectivePartId) {
        let part = self.collectives.part_mut(id);
        let (waiter, forgotten) = (std::mem::replace(&mut part.waiter, NONE), part.is_detached);
        self.wake(waiter);
        if forgotten {
            self.collectives.release_part(id);
        }
    }

    /// Whether the current round is complete; if not, the part will be woken.
    fn is_round_complete(&mut self, id: CollectivePartId, location: u32, rounds: &mut RoundProgress) -> bool {
        for (message, received) in &rounds.messages {
            let at = self.messages.get_mut(*message);
            let needs = *received || self.message_costs[at.cost_id as usize].rendezvous;
            if needs && at.arrival_time == UNKNOWN_TIME {
                if *received {
                    at.receive_waiter = COLLECTIVE_TAG | id
                } else {
                    at.send_waiter = COLLECTIVE_TAG | id
                };
                return false;
            }
        }
        rounds.messages.sort_by(|a, b| self.messages.get(a.0).arrival_time.total_cmp(&self.messages.get(b.0).arrival_time));
        let (mut now, mut away) = (rounds.now, rounds.now);
        for (message, received) in std::mem::take(&mut rounds.messages) {
            if received {
                now = self.receive_message(location, message, now);
            } else if self.message_costs[self.messages.get(message).cost_id as usize].rendezvous {
                away = away.max(self.sender_done_time(message, rounds.now, true));
            } else {
                self.messages.release(message);
            }
        }
        let combines = self.platform().map_or(DEFAULT_REDUCE_S_PER_BYTE, |platform| platform.reduce_s_per_byte(DEFAULT_REDUCE_S_PER_BYTE));
        rounds.now = now.max(away) + std::mem::take(&mut rounds.reduced_bytes) as f64 * combines;
        true
    }

    /// Starts the next round; `false` if there is none.
    fn begin_round(&mut self, location: u32, group: u32, entered: TimePair, rounds: &mut RoundProgress) -> bool {
        let mut round = std::mem::take(&mut self.scratch_round);
        round.sends.clear();
        round.receives.clear();
        round.reduced_bytes = 0;
        let has_round = match rounds.op.is_neighborhood() {
            true => rounds.round == 0 && self.neighbour_round(location, group, rounds.participant.bytes, &mut round),
            false => fill_round(rounds.algorithm, rounds.op, &rounds.participant, rounds.round, &mut round),
        };
        if has_round {
            rounds.round += 1;
            rounds.reduced_bytes = round.reduced_bytes;
            self.post_round(location, group, entered, rounds, &round);
        }
        self.scratch_round = round;
        has_round
    }

    /// The only round of a neighbourhood collective.
    fn neighbour_round(&self, location: u32, group: u32, bytes: u64, round: &mut CollectiveRound) -> bool {
        let members = self.collectives.group(group);
        let neighbours = self.schedule.neighbours(members.communicator, self.location_ranks[location as usize]);
        // The recorded bytes are those for all neighbours.
        let bytes = bytes / neighbours.destinations.len().max(1) as u64;
        let planned = |rank: &u32| self.collectives.index_in_group(group, *rank).map(|peer| RoundMessage { peer, bytes });
        round.sends.extend(neighbours.destinations.iter().filter_map(planned));
        round.receives.extend(neighbours.sources.iter().filter_map(planned));
        true
    }

    fn post_round(&mut self, location: u32, group: u32, entered: TimePair, rounds: &mut RoundProgress, round: &CollectiveRound) {
        let (communicator, ranks) = {
            let members = self.collectives.group(group);
            (members.communicator, Arc::clone(&members.ranks))
        };
        let own = self.location_ranks[location as usize];
        let tag = i32::MIN + rounds.tag;
        let rank = |index: u32| ranks.get(index as usize).copied().unwrap_or(own);
        for planned in &round.receives {
            let time = TimePair { simulated: rounds.now, ..entered };
            let message = self.post_receive(ChannelKey::Transient((rank(planned.peer), own, communicator, tag)), time, true);
            rounds.messages.push((message, true));
        }
        for planned in &round.sends {
            let to = rank(planned.peer);
            let cost = self.message_cost_id(own, to, planned.bytes, SendMode::Standard);
            let time = TimePair { simulated: rounds.now, ..entered };
            let message = self.send_message(location, ChannelKey::Transient((own, to, communicator, tag)), cost, to, time, true);
            rounds.messages.push((message, false));
            // The CPU posts them one after the other.
            rounds.now += self.message_costs[cost as usize].start;
        }
    }
}
