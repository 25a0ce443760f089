//! Matches the participants of collectives: the n-th collective of every member of a group is the same instance.

use std::collections::BTreeMap;
use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use rustc_hash::FxHashMap;
use sintonia_mpi::CollectiveOp;
use sintonia_recording::Recording;
use sintonia_recording::comm_event::{CollectiveGroup, GroupOp, group_communicator};
use sintonia_recording::raw;

use super::neighbour_topology::{NeighbourTopology, is_neighbourhood_op};
use super::rank_scan::CollectiveJoin;
use super::{CallId, Location, NO_ROW, SubsetDependency};
use crate::process_group::{ProcessGroup, RankDistribution};

/// A collective operation with its participants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CollectiveInstance {
    /// The group of participants.
    pub group: CollectiveGroup,
    /// Sequence number among the collectives of that group.
    pub number: u64,
    /// The operation. If members disagree, because calls are missing from the recording, the one with the smallest code.
    pub op: GroupOp,
    /// Number of recorded participants.
    pub members: u32,
    /// The call of the last rank to enter, and when.
    pub last: (CallId, i64),
    /// When the first completing call returned; [`i64::MAX`] if none did.
    pub first_leave: i64,
    /// The root's call and when it was entered; [`CallId::NONE`] if there is none or it was not recorded.
    pub root: (CallId, i64),
}

impl CollectiveInstance {
    fn merge(&mut self, other: &CollectiveInstance) {
        self.members += other.members;
        if other.op != self.op && other.op.to_word() < self.op.to_word() {
            self.op = other.op;
        }
        if is_later(other.last, self.last) {
            self.last = other.last;
        }
        self.first_leave = self.first_leave.min(other.first_leave);
        self.root = first_root(self.root, other.root);
    }

    fn apply(&mut self, part: &PartialInstance) {
        (self.members, self.first_leave) = (part.members, part.first_leave);
        self.op = GroupOp::from_word(part.op).unwrap_or(self.op);
        (self.last, self.root) = ((part.last, part.last_enter), (part.root, part.root_enter));
    }
}

/// Matches the collectives of a process's ranks. The joins are given by rank.
pub(super) fn match_collectives(
    recording: &Recording,
    comm: &dyn ProcessGroup,
    distribution: &RankDistribution,
    locations: &mut [Location],
    ranges: &[Range<u32>],
    joins: Vec<FxHashMap<CollectiveGroup, Vec<CollectiveJoin>>>,
) -> Vec<CollectiveInstance> {
    let mut instances: Vec<CollectiveInstance> = Vec::new();
    let mut queries: Vec<DependencyQuery> = Vec::new();
    let mut groups: BTreeMap<CollectiveGroup, Vec<(usize, Vec<CollectiveJoin>)>> = BTreeMap::new();
    for (rank, joins) in joins.into_iter().enumerate() {
        joins.into_iter().for_each(|(group, joins)| groups.entry(group).or_default().push((rank, joins)));
    }
    for (group, members) in groups {
        let first = instances.len();
        let places_in_group = CommRanks::from_group(recording, group);
        for (rank, joins) in members {
            for (number, join) in joins.iter().enumerate() {
                let index = ranges[rank].start as usize + join.location as usize;
                let part = instance_from_call(group, number as u64, join, &locations[index]);
                match instances.get_mut(first + number) {
                    Some(instance) => instance.merge(&part),
                    None => instances.push(part),
                }
                let Some(collective) = locations[index].collectives.get_mut(join.index as usize) else { continue };
                collective.instance = (first + number) as u32;
                let neighbours = is_neighbourhood_op(join.op);
                if neighbours || is_scan(join.op) {
                    let (at, enter) = part.last;
                    let order = places_in_group.comm_rank(at.rank);
                    let (group, index) = (InstanceKey::new(group, number as u64), join.index);
                    queries.push(DependencyQuery {
                        key: group,
                        enter,
                        leave: part.first_leave,
                        call: at,
                        comm_rank: order,
                        index,
                        is_neighbourhood: neighbours.into(),
                    });
                }
            }
        }
    }
    if comm.size() > 1 {
        merge_across_processes(comm, &mut instances);
    }
    for needs in find_dependencies(recording, comm, distribution, queries) {
        let rank = (needs.call.rank - distribution.own_ranks().start) as usize;
        let own = ranges[rank].start as usize..ranges[rank].end as usize;
        if let Some(location) = locations[own].iter_mut().find(|location| u32::from(location.calls.thread) == needs.call.thread) {
            let last = (needs.last, needs.last_enter);
            location.set_dependency(needs.index as usize, SubsetDependency { members: needs.members, last });
        }
    }
    instances
}

/// The topologies of the neighbourhood collectives among these instances.
pub(super) fn neighbour_topologies(recording: &Recording, instances: &[CollectiveInstance]) -> FxHashMap<u32, NeighbourTopology> {
    let mut found = FxHashMap::default();
    for instance in instances.iter().filter(|instance| is_neighbourhood_op(instance.op)) {
        if let Some(number) = group_communicator(&recording.header, instance.group) {
            found.entry(number).or_insert_with(|| NeighbourTopology::from_communicator(recording, number));
        }
    }
    found
}

/// An instance with the single participant `join`; without any if the call does not participate.
fn instance_from_call(group: CollectiveGroup, number: u64, join: &CollectiveJoin, location: &Location) -> CollectiveInstance {
    let nobody = (CallId::NONE, i64::MIN);
    let Some(collective) = location.collectives.get(join.index as usize) else {
        return CollectiveInstance { group, number, op: join.op, members: 0, last: nobody, first_leave: i64::MAX, root: nobody };
    };
    let (at, enter) = (location.call_id(collective.row), location.calls.enter[collective.row as usize]);
    let is_root = join.root == raw::ROOT || u32::try_from(join.root) == Ok(location.rank);
    CollectiveInstance {
        group,
        number,
        op: join.op,
        members: 1,
        last: (at, enter),
        first_leave: if collective.completion == NO_ROW { i64::MAX } else { location.calls.leave[collective.completion as usize] },
        root: if is_root { (at, enter) } else { nobody },
    }
}

fn is_scan(op: GroupOp) -> bool {
    matches!(op, GroupOp::Collective(CollectiveOp::Scan | CollectiveOp::Exscan))
}

/// World rank to communicator rank, for the communicator of a group.
struct CommRanks(FxHashMap<u32, u32>);

impl CommRanks {
    fn from_group(recording: &Recording, group: CollectiveGroup) -> CommRanks {
        let members = group_communicator(&recording.header, group).map(|number| recording.members(number)).unwrap_or_default();
        CommRanks(members.iter().enumerate().filter_map(|(index, rank)| Some((u32::try_from(*rank).ok()?, index as u32))).collect())
    }

    fn comm_rank(&self, rank: u32) -> u32 {
        self.0.get(&rank).copied().unwrap_or(rank)
    }
}

/// Group and number of an instance, as plain old data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
#[repr(C)]
struct InstanceKey {
    group: [u32; 3],
    padding: u32,
    number: u64,
}

impl InstanceKey {
    fn new(group: CollectiveGroup, number: u64) -> InstanceKey {
        InstanceKey { group: group.to_words(), padding: 0, number }
    }

    /// The process that merges this instance.
    fn owner(&self, comm: &dyn ProcessGroup) -> usize {
        let group: u64 = self.group.iter().map(|word| u64::from(*word)).sum();
        (self.number.wrapping_add(group) % comm.size() as u64) as usize
    }
}

/// A process's partial view of an instance, sent to the merging process and back.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct PartialInstance {
    key: InstanceKey,
    last_enter: i64,
    first_leave: i64,
    root_enter: i64,
    last: CallId,
    root: CallId,
    members: u32,
    /// Index of the instance at the sending process.
    index: u32,
    op: u32,
    padding: u32,
}

impl PartialInstance {
    fn new(instance: &CollectiveInstance, index: usize) -> PartialInstance {
        PartialInstance {
            key: InstanceKey::new(instance.group, instance.number),
            last_enter: instance.last.1,
            first_leave: instance.first_leave,
            root_enter: instance.root.1,
            last: instance.last.0,
            root: instance.root.0,
            members: instance.members,
            index: index as u32,
            op: instance.op.to_word(),
            padding: 0,
        }
    }

    /// Merges two views; independent of their order.
    fn merge(&mut self, other: &PartialInstance) {
        self.members += other.members;
        self.op = self.op.min(other.op);
        if is_later((other.last, other.last_enter), (self.last, self.last_enter)) {
            (self.last, self.last_enter) = (other.last, other.last_enter);
        }
        self.first_leave = self.first_leave.min(other.first_leave);
        (self.root, self.root_enter) = first_root((self.root, self.root_enter), (other.root, other.root_enter));
    }
}

/// Whether a call was entered after another; of two entered at the same time, the one with the larger id.
fn is_later((call, enter): (CallId, i64), (other, other_enter): (CallId, i64)) -> bool {
    (enter, call) > (other_enter, other)
}

/// If several members claim to be the root, the first one wins; NONE sorts last.
fn first_root(one: (CallId, i64), other: (CallId, i64)) -> (CallId, i64) {
    one.min(other)
}

/// Merges the partial views of all processes.
fn merge_across_processes(comm: &dyn ProcessGroup, instances: &mut [CollectiveInstance]) {
    let mut buffers: Vec<Vec<PartialInstance>> = vec![Vec::new(); comm.size()];
    for (index, instance) in instances.iter().enumerate() {
        let part = PartialInstance::new(instance, index);
        buffers[part.key.owner(comm)].push(part);
    }
    let mut arrived = comm.all_to_all(buffers);
    let mut whole: FxHashMap<InstanceKey, PartialInstance> = FxHashMap::default();
    for part in arrived.iter().flatten() {
        whole.entry(part.key).and_modify(|known| known.merge(part)).or_insert(*part);
    }
    for part in arrived.iter_mut().flatten() {
        *part = PartialInstance { index: part.index, ..whole[&part.key] };
    }
    for part in comm.all_to_all(arrived).iter().flatten() {
        instances[part.index as usize].apply(part);
    }
}

/// A participant that depends on a subset of the others.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct DependencyQuery {
    key: InstanceKey,
    enter: i64,
    /// When its part completed.
    leave: i64,
    call: CallId,
    /// Its rank in the communicator.
    comm_rank: u32,
    /// Index among the collectives of its location.
    index: u32,
    /// Nonzero if it depends on its neighbours; in a scan it depends on lower ranks.
    is_neighbourhood: u32,
}

/// The subset a participant depends on.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct DependencyReply {
    last_enter: i64,
    last: CallId,
    call: CallId,
    index: u32,
    members: u32,
}

/// Finds the dependencies of each participant.
fn find_dependencies(
    recording: &Recording,
    comm: &dyn ProcessGroup,
    distribution: &RankDistribution,
    queries: Vec<DependencyQuery>,
) -> Vec<DependencyReply> {
    let mut buffers: Vec<Vec<DependencyQuery>> = vec![Vec::new(); comm.size()];
    queries.into_iter().for_each(|part| buffers[part.key.owner(comm)].push(part));
    let mut all: Vec<DependencyQuery> = comm.all_to_all(buffers).into_iter().flatten().collect();
    all.sort_unstable_by_key(|part| (part.key, part.comm_rank, part.call));
    let mut topologies = FxHashMap::default();
    let mut found = Vec::new();
    for instance in all.chunk_by(|a, b| a.key == b.key) {
        if instance[0].is_neighbourhood != 0 {
            let group = CollectiveGroup::from_words(instance[0].key.group);
            let Some(number) = group.and_then(|group| group_communicator(&recording.header, group)) else { continue };
            let topology = topologies.entry(number).or_insert_with(|| NeighbourTopology::from_communicator(recording, number));
            found.extend(instance.iter().filter_map(|part| neighbour_dependency(topology, instance, part)));
        } else {
            found.extend(scan_dependencies(instance));
        }
    }
    comm.all_to_all(distribution.group_by_owner(found, |needs| needs.call.rank)).into_iter().flatten().collect()
}

/// In a scan, every participant depends on all lower ranks.
fn scan_dependencies(instance: &[DependencyQuery]) -> Vec<DependencyReply> {
    let mut found = Vec::new();
    let mut last = (i64::MIN, CallId::NONE);
    for (members, part) in instance.iter().enumerate() {
        if members > 0 {
            found.push(DependencyReply { last_enter: last.0, last: last.1, call: part.call, index: part.index, members: members as u32 });
        }
        last = last.max((part.enter, part.call));
    }
    found
}

/// The neighbours of a participant. One that entered after the participant completed had nothing to send.
fn neighbour_dependency(topology: &NeighbourTopology, instance: &[DependencyQuery], part: &DependencyQuery) -> Option<DependencyReply> {
    let came = |source: &u32| instance.binary_search_by_key(source, |other| other.comm_rank).ok().map(|index| &instance[index]);
    let sources = topology.sources(part.call.rank).iter().filter_map(came).filter(|source| source.enter <= part.leave);
    let members = sources.clone().count() as u32;
    let last = sources.max_by_key(|source| (source.enter, source.call))?;
    Some(DependencyReply { last_enter: last.enter, last: last.call, call: part.call, index: part.index, members })
}
