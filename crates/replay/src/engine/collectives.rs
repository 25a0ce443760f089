//! Collectives in progress: who has arrived, and what each rank still waits for.
//!
//! A rank's part in a collective is a [`CollectivePart`]. It either has a fixed cost once the ranks it depends on have arrived, or executes
//! rounds of messages.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use sintonia_collective::{CollectiveAlgorithm, Participant, RankSet};
use sintonia_program::history::{MemberDependency, is_neighbourhood_op, member_dependency};
use sintonia_recording::comm_event::{CollectiveGroup, GroupOp};

use super::messages::{MessageId, NONE, TimePair, UNKNOWN_TIME, Waiter};
use crate::collective_plan::has_root;
use crate::schedule::CollectiveAction;

/// Index of a group member.
pub(super) type MemberId = u32;

/// Index of a collective part.
pub(super) type CollectivePartId = u32;

/// A location as a member of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupMember {
    /// Index of the group.
    pub group: u32,
    /// Rank in the group.
    pub index: u32,
    /// Sequence number of the next collective it joins.
    pub next_sequence: u64,
}

/// A group and its collectives in progress.
pub(super) struct GroupState {
    /// The group.
    pub group: CollectiveGroup,
    /// Its communicator.
    pub communicator: u32,
    /// Whether it is an intercommunicator.
    pub is_intercommunicator: bool,
    /// World ranks of the members, in order.
    pub ranks: Arc<[u32]>,
    pending: VecDeque<PendingCollective>,
    base: u64,
}

/// One collective in progress.
#[derive(Default)]
struct PendingCollective {
    n_arrived: u32,
    n_departed: u32,
    last_arrival: Option<TimePair>,
    root_arrival: Option<TimePair>,
    /// Arrival of each member, where a dependency needs it.
    arrivals: Vec<Option<TimePair>>,
    /// Parts that wait for all members or the root.
    waiting: Vec<CollectivePartId>,
    /// Parts that wait for certain members, by one of those that have not arrived.
    watchers: FxHashMap<u32, Vec<CollectivePartId>>,
}

/// A rank's part in a collective.
pub(super) struct CollectivePart {
    /// The location.
    pub location: u32,
    /// Index of the group.
    pub group: u32,
    /// Sequence number of the collective.
    pub sequence: u64,
    /// When the call was entered.
    pub entered: TimePair,
    /// Latest arrival it depends on, of those known so far.
    pub dependency: TimePair,
    /// When it completes.
    pub end_time: f64,
    /// The location that waits for it.
    pub waiter: Waiter,
    /// Whether no call will wait for it.
    pub is_detached: bool,
    /// How it proceeds.
    pub work: CollectiveWork,
}

/// How a collective part proceeds.
pub(super) enum CollectiveWork {
    /// Waits for others, then takes a fixed time.
    FixedCost {
        /// Which ranks it depends on.
        need: MemberDependency,
        /// Ranks in the group it depends on, if not all, whose arrival is not known yet.
        missing: RankSet,
        /// Duration after their arrival.
        seconds: f64,
    },
    /// Executes rounds of messages.
    Rounds(Box<RoundProgress>),
}

impl CollectiveWork {
    /// Waits for nobody and takes no time.
    pub(super) fn nothing() -> CollectiveWork {
        CollectiveWork::FixedCost { need: MemberDependency::None, missing: RankSet::default(), seconds: 0.0 }
    }
}

/// Progress through the rounds of an algorithm.
pub(super) struct RoundProgress {
    /// The algorithm.
    pub algorithm: CollectiveAlgorithm,
    /// The collective.
    pub op: sintonia_mpi::CollectiveOp,
    /// This rank's view.
    pub participant: Participant,
    /// Next round.
    pub round: u32,
    /// Simulated time.
    pub now: f64,
    /// Tag that separates concurrent collectives.
    pub tag: i32,
    /// Messages of the current round, and whether each is a receive.
    pub messages: Vec<(MessageId, bool)>,
    /// Operand bytes reduced at the end of the round.
    pub reduced_bytes: u64,
}

/// All groups and their collectives in progress.
#[derive(Default)]
pub(super) struct PendingCollectives {
    groups: Vec<GroupState>,
    group_ids: FxHashMap<CollectiveGroup, u32>,
    parts: Vec<CollectivePart>,
    free: Vec<CollectivePartId>,
    /// All group members.
    pub members: Vec<GroupMember>,
}

/// Arrival of a rank at a collective.
pub(super) struct CollectiveArrival {
    /// The location.
    pub location: u32,
    /// Its member id.
    pub member: MemberId,
    /// The operation.
    pub op: GroupOp,
    /// World rank of the root.
    pub root: Option<u32>,
    /// Arrival time.
    pub time: TimePair,
    /// Duration after the required arrivals.
    pub seconds: f64,
}

/// The members that one needs beyond what MPI requires, if there are any, and whether arrivals are kept for others that do.
#[derive(Default)]
pub(super) struct AlgorithmNeeds {
    /// Ranks in the group.
    pub required: Option<RankSet>,
    /// Whether other members of the collective may need some.
    pub others_need: bool,
}

impl GroupState {
    /// Rank in the group of a world rank.
    pub(super) fn index_of(&self, rank: u32) -> Option<u32> {
        // Members are mostly in rank order, often all of them.
        let guess = self.ranks.get(rank as usize).filter(|at| **at == rank).map(|_| rank as usize);
        let found = guess.or_else(|| self.ranks.binary_search(&rank).ok()).or_else(|| self.ranks.iter().position(|at| *at == rank));
        found.map(|index| index as u32)
    }
}

impl PendingCollectives {
    /// Index of a group, created on first use.
    pub(super) fn group_id(
        &mut self,
        group: CollectiveGroup,
        (communicator, is_intercommunicator): (u32, bool),
        members: impl FnOnce() -> Vec<u32>,
    ) -> u32 {
        let next = self.groups.len() as u32;
        let id = *self.group_ids.entry(group).or_insert(next);
        if id == next {
            self.groups.push(GroupState {
                group,
                communicator,
                is_intercommunicator,
                ranks: members().into(),
                pending: VecDeque::new(),
                base: 0,
            });
        }
        id
    }

    /// Rank in the group of a world rank.
    pub(super) fn index_in_group(&self, group: u32, rank: u32) -> Option<u32> {
        self.groups[group as usize].index_of(rank)
    }

    pub(super) fn group(&self, group: u32) -> &GroupState {
        &self.groups[group as usize]
    }

    pub(super) fn part(&self, id: CollectivePartId) -> &CollectivePart {
        &self.parts[id as usize]
    }

    pub(super) fn part_mut(&mut self, id: CollectivePartId) -> &mut CollectivePart {
        &mut self.parts[id as usize]
    }

    /// A location joins the next collective of its group; parts that complete now are added to `over`.
    pub(super) fn join(
        &mut self,
        arrival: &CollectiveArrival,
        neighbours: impl FnOnce(&GroupState) -> RankSet,
        by_algorithm: AlgorithmNeeds,
        over: &mut Vec<CollectivePartId>,
    ) -> CollectivePartId {
        let member = &mut self.members[arrival.member as usize];
        let (group, index, sequence) = (member.group, member.index, member.next_sequence);
        member.next_sequence += 1;
        let members = &self.groups[group as usize];
        let is_root =
            arrival.root.is_some_and(|root| root == CollectiveAction::SELF_ROOT || members.ranks.get(index as usize) == Some(&root));
        let by_mpi = match members.is_intercommunicator && arrival.root.is_none() && has_root(arrival.op) {
            true => MemberDependency::None,
            false => member_dependency(arrival.op, is_root),
        };
        // Even of a member that needs all: another one may need it.
        let keeps_each = by_mpi == MemberDependency::Subset || by_algorithm.others_need;
        let mpi_members = match by_mpi {
            MemberDependency::Subset if is_neighbourhood_op(arrival.op) => neighbours(members),
            MemberDependency::Subset => RankSet::from(0..index),
            MemberDependency::Root if by_algorithm.required.is_some() => {
                arrival.root.and_then(|root| members.index_of(root)).into_iter().collect()
            }
            _ => RankSet::default(),
        };
        let (need, missing) = needed_members(by_mpi, mpi_members, by_algorithm.required, index, members.ranks.len());
        let work = CollectiveWork::FixedCost { need, missing, seconds: arrival.seconds };
        let id = self.add_part(arrival.location, group, sequence, arrival.time, work);
        self.record_arrival(group, sequence, index, arrival.time, is_root, keeps_each);
        let size = self.groups[group as usize].ranks.len() as u32;
        let instance = self.instance(group, sequence);
        let watching = instance.watchers.remove(&index).unwrap_or_default();
        // Most collectives need all ranks: they are checked once, at the last arrival.
        let all_ready = instance.n_arrived >= size || is_root;
        watching.into_iter().for_each(|id| self.complete_or_wait(group, sequence, id, over));
        if all_ready {
            self.complete_ready(group, sequence, over);
        }
        match need {
            MemberDependency::All if !all_ready => self.instance(group, sequence).waiting.push(id),
            _ => self.complete_or_wait(group, sequence, id, over),
        }
        id
    }

    /// Adds a part.
    pub(super) fn add_part(
        &mut self,
        location: u32,
        group: u32,
        sequence: u64,
        entered: TimePair,
        work: CollectiveWork,
    ) -> CollectivePartId {
        let part = CollectivePart {
            location,
            group,
            sequence,
            entered,
            dependency: entered,
            end_time: UNKNOWN_TIME,
            waiter: NONE,
            is_detached: false,
            work,
        };
        match self.free.pop() {
            Some(index) => {
                self.parts[index as usize] = part;
                index
            }
            None => {
                self.parts.push(part);
                (self.parts.len() - 1) as CollectivePartId
            }
        }
    }

    /// Frees a completed part.
    pub(super) fn release_part(&mut self, id: CollectivePartId) {
        let part = &mut self.parts[id as usize];
        let (group, sequence) = (part.group, part.sequence);
        part.work = CollectiveWork::nothing();
        self.free.push(id);
        self.record_departure(group, sequence);
    }

    fn instance(&mut self, group: u32, sequence: u64) -> &mut PendingCollective {
        let members = &mut self.groups[group as usize];
        let index = sequence.saturating_sub(members.base) as usize;
        while members.pending.len() <= index {
            members.pending.push_back(PendingCollective::default());
        }
        &mut members.pending[index]
    }

    fn record_arrival(&mut self, group: u32, sequence: u64, index: u32, time: TimePair, is_root: bool, keeps_each: bool) {
        let size = self.groups[group as usize].ranks.len();
        let instance = self.instance(group, sequence);
        instance.n_arrived += 1;
        let last = instance.last_arrival.get_or_insert(time);
        *last = last.max(time);
        if is_root {
            instance.root_arrival = Some(time);
        }
        if keeps_each {
            instance.arrivals.resize(size, None);
            if let Some(slot) = instance.arrivals.get_mut(index as usize) {
                *slot = Some(time);
            }
        }
    }

    fn record_departure(&mut self, group: u32, sequence: u64) {
        let size = self.groups[group as usize].ranks.len() as u32;
        self.instance(group, sequence).n_departed += 1;
        let members = &mut self.groups[group as usize];
        while members.pending.front().is_some_and(|instance| instance.n_departed >= size) {
            members.pending.pop_front();
            members.base += 1;
        }
    }

    /// Completes the parts that waited for all members or the root and whose dependencies have arrived.
    fn complete_ready(&mut self, group: u32, sequence: u64, over: &mut Vec<CollectivePartId>) {
        let waiting = std::mem::take(&mut self.instance(group, sequence).waiting);
        waiting.into_iter().for_each(|id| self.complete_or_wait(group, sequence, id, over));
    }

    /// Completes a part, or lets it wait for a member that has not arrived.
    fn complete_or_wait(&mut self, group: u32, sequence: u64, id: CollectivePartId, over: &mut Vec<CollectivePartId>) {
        match self.try_complete(group, sequence, id, over) {
            PartProgress::Complete => {}
            PartProgress::Waits => self.instance(group, sequence).waiting.push(id),
            PartProgress::Misses(member) => self.instance(group, sequence).watchers.entry(member).or_default().push(id),
        }
    }

    fn try_complete(&mut self, group: u32, sequence: u64, id: CollectivePartId, over: &mut Vec<CollectivePartId>) -> PartProgress {
        let members = &self.groups[group as usize];
        let size = members.ranks.len() as u32;
        let Some(instance) = sequence.checked_sub(members.base).and_then(|index| members.pending.get(index as usize)) else {
            return PartProgress::Complete;
        };
        let CollectivePart { entered, dependency, end_time, work, .. } = &mut self.parts[id as usize];
        let CollectiveWork::FixedCost { need, missing, seconds } = work else { return PartProgress::Complete };
        let needed = match need {
            MemberDependency::All => instance.last_arrival.filter(|_| instance.n_arrived >= size),
            MemberDependency::Root => instance.root_arrival,
            MemberDependency::Subset | MemberDependency::Member => {
                while let Some(member) = missing.last() {
                    let Some(arrival) = instance.arrivals.get(member as usize).copied().flatten() else {
                        return PartProgress::Misses(member);
                    };
                    *dependency = dependency.max(arrival);
                    missing.pop();
                }
                Some(*dependency)
            }
            MemberDependency::None => Some(*entered),
        };
        let Some(needed) = needed else { return PartProgress::Waits };
        *dependency = needed;
        *end_time = entered.simulated.max(needed.simulated) + *seconds;
        over.push(id);
        PartProgress::Complete
    }
}

/// What a member of a group of this size needs, given which members MPI and its algorithm require, and which of them if not all.
fn needed_members(
    by_mpi: MemberDependency,
    mut members: RankSet,
    by_algorithm: Option<RankSet>,
    index: u32,
    size: usize,
) -> (MemberDependency, RankSet) {
    let need = match by_algorithm {
        Some(required) if by_mpi != MemberDependency::All => {
            members.insert_all(&required);
            MemberDependency::Subset
        }
        _ => by_mpi,
    };
    let n_others = members.len() - usize::from(members.contains(index));
    match need {
        // To count all is less work than to look at each.
        MemberDependency::Subset if n_others + 1 == size => (MemberDependency::All, RankSet::default()),
        MemberDependency::Subset | MemberDependency::Member => (need, members),
        MemberDependency::All | MemberDependency::Root | MemberDependency::None => (need, RankSet::default()),
    }
}

/// Result of an attempt to complete a part.
enum PartProgress {
    Complete,
    /// It waits for all members or the root.
    Waits,
    /// It waits for this member, and perhaps for others.
    Misses(u32),
}

#[cfg(test)]
mod tests {
    use sintonia_mpi::CollectiveOp;

    use super::*;

    /// Members that join one collective with root 0, each with the members that it needs; the parts that each arrival completes.
    fn join_in_order(
        collectives: &mut PendingCollectives,
        op: CollectiveOp,
        order: impl IntoIterator<Item = u32>,
        needed: impl Fn(u32) -> RankSet,
    ) -> Vec<usize> {
        let is_rooted = op == CollectiveOp::Broadcast;
        let join = |index: u32| {
            let seconds = f64::from(index);
            let arrival = CollectiveArrival {
                location: index,
                member: index,
                op: GroupOp::Collective(op),
                root: is_rooted.then_some(0),
                time: TimePair { simulated: seconds, recorded: seconds, computed_from: 0.0 },
                seconds: 0.0,
            };
            let by_algorithm = AlgorithmNeeds { required: is_rooted.then(|| needed(index)), others_need: is_rooted };
            let mut over = Vec::new();
            collectives.join(&arrival, |_| needed(index), by_algorithm, &mut over);
            over.len()
        };
        order.into_iter().map(join).collect()
    }

    fn group_of(size: u32) -> PendingCollectives {
        let mut collectives = PendingCollectives::default();
        let group = collectives.group_id(CollectiveGroup::Communicator(0), (0, false), || (0..size).collect());
        collectives.members = (0..size).map(|index| GroupMember { group, index, next_sequence: 0 }).collect();
        collectives
    }

    fn others(index: u32, size: u32) -> RankSet {
        (0..size).filter(|other| *other != index).collect()
    }

    #[test]
    fn members_that_need_all_others_are_counted_not_watched() {
        let mut collectives = group_of(64);
        let completed = join_in_order(&mut collectives, CollectiveOp::Broadcast, 0..63, |index| others(index, 64));
        assert_eq!(completed, [0; 63]);
        assert!(collectives.instance(0, 0).watchers.is_empty());
        assert_eq!(join_in_order(&mut collectives, CollectiveOp::Broadcast, [63], |index| others(index, 64)), [64]);
        assert!((0..64).all(|id| collectives.part(id).end_time == 63.0));
    }

    #[test]
    fn a_member_looks_at_each_arrival_once() {
        let mut collectives = group_of(5);
        let needed = |index| if index == 0 { [2, 3, 4].into_iter().collect() } else { RankSet::default() };
        join_in_order(&mut collectives, CollectiveOp::Broadcast, [0, 4], needed);
        let CollectiveWork::FixedCost { missing, .. } = &collectives.part(0).work else { panic!("no messages") };
        assert_eq!((missing.iter().collect::<Vec<_>>(), collectives.part(0).dependency.simulated), (vec![2, 3], 4.0));
        assert_eq!(join_in_order(&mut collectives, CollectiveOp::Broadcast, [2, 3], needed), [1, 2], "2 by itself; 3 and 0");
        assert_eq!(collectives.part(0).end_time, 4.0);
    }

    #[test]
    fn neighbours_of_all_are_seen_by_those_with_one_neighbour() {
        let mut collectives = group_of(4);
        let star = |index| if index == 0 { RankSet::from(1..4) } else { RankSet::from(0..1) };
        assert_eq!(join_in_order(&mut collectives, CollectiveOp::NeighborAllgather, [3, 0, 1, 2], star), [0, 1, 1, 2]);
    }
}
