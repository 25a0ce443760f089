//! Matches the participants of collectives: the n-th collective of every member of a group is the same instance.

use std::collections::BTreeMap;
use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use rustc_hash::FxHashMap;
use sintonia_recording::Recording;
use sintonia_recording::comm_event::{CollectiveGroup, GroupOp, group_communicator};
use sintonia_recording::raw;

use super::neighbour_topology::{NeighbourTopology, is_neighbourhood_op};
use super::rank_scan::CollectiveJoin;
use super::{CallId, Location, NO_ROW};
use crate::process_group::ProcessGroup;

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
    /// Size of its vector or blocks, as in [`sintonia_collective::Participant::bytes`]: the largest that a member states.
    pub bytes: u64,
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
        self.bytes = self.bytes.max(other.bytes);
    }

    fn apply(&mut self, part: &PartialInstance) {
        (self.members, self.first_leave) = (part.members, part.first_leave);
        self.op = GroupOp::from_word(part.op).unwrap_or(self.op);
        (self.last, self.root) = ((part.last, part.last_enter), (part.root, part.root_enter));
        self.bytes = part.bytes;
    }
}

/// Matches the collectives of a process's ranks. The joins are given by rank.
pub(super) fn match_collectives(
    recording: &Recording,
    comm: &dyn ProcessGroup,
    locations: &mut [Location],
    ranges: &[Range<u32>],
    joins: Vec<FxHashMap<CollectiveGroup, Vec<CollectiveJoin>>>,
) -> Vec<CollectiveInstance> {
    let mut instances: Vec<CollectiveInstance> = Vec::new();
    let mut groups: BTreeMap<CollectiveGroup, Vec<(usize, Vec<CollectiveJoin>)>> = BTreeMap::new();
    for (rank, joins) in joins.into_iter().enumerate() {
        joins.into_iter().for_each(|(group, joins)| groups.entry(group).or_default().push((rank, joins)));
    }
    for (group, members) in groups {
        let first = instances.len();
        let size = group_communicator(&recording.header, group).map_or(0, |number| recording.members(number).len() as u32);
        for (rank, joins) in members {
            for (number, join) in joins.iter().enumerate() {
                let index = ranges[rank].start as usize + join.location as usize;
                let part = instance_from_call((group, size), number as u64, join, &locations[index]);
                match instances.get_mut(first + number) {
                    Some(instance) => instance.merge(&part),
                    None => instances.push(part),
                }
                let Some(collective) = locations[index].collectives.get_mut(join.index as usize) else { continue };
                collective.instance = (first + number) as u32;
            }
        }
    }
    if comm.size() > 1 {
        merge_across_processes(comm, &mut instances);
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
fn instance_from_call(
    (group, size): (CollectiveGroup, u32),
    number: u64,
    join: &CollectiveJoin,
    location: &Location,
) -> CollectiveInstance {
    let nobody = (CallId::NONE, i64::MIN);
    let Some(collective) = location.collectives.get(join.index as usize) else {
        return CollectiveInstance { group, number, op: join.op, members: 0, last: nobody, first_leave: i64::MAX, root: nobody, bytes: 0 };
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
        bytes: call_bytes(size, join, location, collective.row),
    }
}

/// What a call says about the size of the vector or blocks.
fn call_bytes(size: u32, join: &CollectiveJoin, location: &Location, row: u32) -> u64 {
    let GroupOp::Collective(op) = join.op else { return 0 };
    let call = &location.calls.descriptors[location.calls.descriptor_ids[row as usize] as usize];
    sintonia_collective::unit_bytes(op, size, raw::bytes_or_zero(call.sent), raw::bytes_or_zero(call.received))
}

/// Group and number of an instance, as plain old data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
#[repr(C)]
pub(super) struct InstanceKey {
    /// The group, in words.
    pub group: [u32; 3],
    padding: u32,
    /// Sequence number in the group.
    pub number: u64,
}

impl InstanceKey {
    pub(super) fn new(group: CollectiveGroup, number: u64) -> InstanceKey {
        InstanceKey { group: group.to_words(), padding: 0, number }
    }

    /// The process that merges this instance.
    pub(super) fn owner(&self, comm: &dyn ProcessGroup) -> usize {
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
    bytes: u64,
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
            bytes: instance.bytes,
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
        self.bytes = self.bytes.max(other.bytes);
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
