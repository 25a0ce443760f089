//! What each member of a collective depended on, where the semantics of MPI do not require all members.
//!
//! An inner rank of a tree waits for its children or its parent, and with messages too large to be buffered a sender waits for its receiver.
//! Three things decide: what MPI requires; what the algorithm requires that the library selects ([`DependencySets`]); and what was observed. A
//! member that left before another one entered did not depend on it. One that was in the call for much longer than such calls usually take,
//! and left soon after another one entered for which its algorithm may wait, waited for that one.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use rustc_hash::FxHashMap;
use sintonia_collective::{DependencyCache, DependencySets, LibraryRules, RankSet, choose_algorithm};
use sintonia_mpi::CollectiveOp;
use sintonia_recording::Recording;
use sintonia_recording::comm_event::{CollectiveGroup, GroupOp, group_communicator};

use super::call_dependency::{MemberDependency, member_dependency};
use super::collectives::InstanceKey;
use super::member_needs::MemberNeeds;
use super::neighbour_topology::{NeighbourTopology, is_neighbourhood_op};
use super::{CallId, CollectiveInstance, Location, NO_ROW, SubsetDependency};
use crate::process_group::{ProcessGroup, RankDistribution};

/// An observed wait is at least this many times as long as the call usually takes by itself, so that the cost of a call is not taken for a
/// wait only because another rank entered meanwhile.
const MIN_WAIT_FACTOR: i64 = 4;
/// The same for a rank that the algorithm has nothing to do with: a library may set up a communicator in one of the first calls.
const MIN_UNEXPECTED_FACTOR: i64 = 16;
/// The algorithm is taken for another one if this share of the calls left before a rank entered that it requires: 1 in 20.
const CONTRADICTIONS_PER_CALL: usize = 20;
/// Up to this size, a set of ranks is looked through; for a larger one, the ranks in the order of their entry.
const SMALL_SET: usize = 32;

/// Finds the dependencies of the members of all collectives of which MPI does not require that everyone waits for everyone.
pub(super) fn find_member_dependencies(
    recording: &Recording,
    comm: &dyn ProcessGroup,
    distribution: &RankDistribution,
    locations: &mut [Location],
    ranges: &[Range<u32>],
    instances: &[CollectiveInstance],
) {
    let mut buffers: Vec<Vec<MemberEntry>> = vec![Vec::new(); comm.size()];
    let mut comm_ranks = FxHashMap::default();
    for location in locations.iter() {
        for (index, collective) in (0..).zip(&location.collectives) {
            let Some(instance) = instances.get(collective.instance as usize).filter(|instance| depends_on_some(instance.op)) else {
                continue;
            };
            let comm_rank = comm_ranks.entry(instance.group).or_insert_with(|| CommRanks::new(recording, instance.group));
            let entry = MemberEntry {
                key: InstanceKey::new(instance.group, instance.number),
                enter: location.calls.enter[collective.row as usize],
                leave: if collective.completion == NO_ROW { i64::MAX } else { location.calls.leave[collective.completion as usize] },
                bytes: instance.bytes,
                call: location.call_id(collective.row),
                comm_rank: comm_rank.get(location.rank),
                root: if instance.root.0 == CallId::NONE { NO_ROW } else { comm_rank.get(instance.root.0.rank) },
                index,
                op: instance.op.to_word(),
                is_blocking: u32::from(collective.row == collective.completion),
            };
            buffers[entry.key.owner(comm)].push(entry);
        }
    }
    let mut all: Vec<MemberEntry> = comm.all_to_all(buffers).into_iter().flatten().collect();
    all.sort_unstable_by_key(|entry| (entry.key, entry.comm_rank, entry.call));
    let mut resolver = DependencyResolver::new(recording);
    let mut found = Vec::with_capacity(all.len());
    all.chunk_by(|a, b| a.key == b.key).for_each(|instance| resolver.resolve(instance, &mut found));
    drop(all);
    let mut found: Vec<EntryDependencies> =
        comm.all_to_all(distribution.group_by_owner(found, |found| found.call.rank)).into_iter().flatten().collect();
    found.sort_unstable_by_key(|found| (found.call.rank, found.call.thread, found.index));
    for of_location in found.chunk_by(|a, b| (a.call.rank, a.call.thread) == (b.call.rank, b.call.thread)) {
        let call = of_location[0].call;
        let own = &ranges[(call.rank - distribution.own_ranks().start) as usize];
        let mut own = locations[own.start as usize..own.end as usize].iter_mut();
        if let Some(location) = own.find(|location| u32::from(location.calls.thread) == call.thread) {
            decide(location, instances, of_location);
        }
    }
}

/// Whether members depend on some of the others only, as far as MPI requires.
pub(super) fn depends_on_some(op: GroupOp) -> bool {
    use CollectiveOp::*;
    matches!(op, GroupOp::Collective(Broadcast | Scatter | Scatterv | Reduce | Gather | Gatherv)) || is_scan(op) || is_neighbourhood_op(op)
}

fn is_scan(op: GroupOp) -> bool {
    matches!(op, GroupOp::Collective(CollectiveOp::Scan | CollectiveOp::Exscan))
}

/// World rank to communicator rank, for the communicator of a group.
pub(super) struct CommRanks(FxHashMap<u32, u32>);

impl CommRanks {
    pub(super) fn new(recording: &Recording, group: CollectiveGroup) -> CommRanks {
        let members = group_communicator(&recording.header, group).map(|number| recording.members(number)).unwrap_or_default();
        CommRanks(members.iter().enumerate().filter_map(|(index, rank)| Some((u32::try_from(*rank).ok()?, index as u32))).collect())
    }

    pub(super) fn get(&self, rank: u32) -> u32 {
        self.0.get(&rank).copied().unwrap_or(rank)
    }
}

/// When a member entered and left, sent to the process that resolves the instance.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct MemberEntry {
    key: InstanceKey,
    enter: i64,
    /// When its part completed.
    leave: i64,
    bytes: u64,
    call: CallId,
    /// Its rank in the communicator.
    comm_rank: u32,
    /// The root's rank in the communicator; [`NO_ROW`] if there is none.
    root: u32,
    /// Index among the collectives of its location.
    index: u32,
    op: u32,
    is_blocking: u32,
}

impl MemberEntry {
    fn dated(&self) -> DatedCall {
        DatedCall { enter: self.enter, call: self.call, comm_rank: self.comm_rank }
    }
}

/// A call and when it was entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
struct DatedCall {
    enter: i64,
    call: CallId,
    comm_rank: u32,
}

impl DatedCall {
    const NONE: DatedCall = DatedCall { enter: i64::MIN, call: CallId::NONE, comm_rank: NO_ROW };

    fn is_some(&self) -> bool {
        self.call != CallId::NONE
    }
}

/// What a member may have depended on, sent back to its process.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct EntryDependencies {
    /// The last of the lower ranks or neighbours that MPI requires.
    semantic: DatedCall,
    /// The last of those that the algorithm requires and that entered before the member left.
    required: DatedCall,
    /// The last of those for which it may wait and that entered before the member left.
    possible: DatedCall,
    /// The last of all others that entered before the member left.
    any: DatedCall,
    call: CallId,
    index: u32,
    /// Number of lower ranks or neighbours.
    members: u32,
    flags: u32,
}

impl EntryDependencies {
    /// It left before a rank entered that the algorithm requires.
    const CONTRADICTS: u32 = 1;
    /// The algorithm requires more than MPI does.
    const BEYOND_SEMANTICS: u32 = 2;
}

/// Finds the possible dependencies of the members of one instance after the other.
struct DependencyResolver<'a> {
    recording: &'a Recording,
    sets: AlgorithmSets,
    topologies: FxHashMap<u32, NeighbourTopology>,
}

impl<'a> DependencyResolver<'a> {
    fn new(recording: &'a Recording) -> DependencyResolver<'a> {
        DependencyResolver { recording, sets: AlgorithmSets::new(recording), topologies: FxHashMap::default() }
    }

    /// The instance is given by communicator rank.
    fn resolve(&mut self, instance: &[MemberEntry], found: &mut Vec<EntryDependencies>) {
        let Some(group) = CollectiveGroup::from_words(instance[0].key.group) else { return };
        let (Some(op), Some(number)) = (GroupOp::from_word(instance[0].op), group_communicator(&self.recording.header, group)) else {
            return;
        };
        let left = instance.iter().filter(|member| member.leave != i64::MAX);
        if is_neighbourhood_op(op) {
            let recording = self.recording;
            let topology = self.topologies.entry(number).or_insert_with(|| NeighbourTopology::from_communicator(recording, number));
            found.extend(left.filter_map(|member| neighbour_dependencies(topology, instance, member)));
            return;
        }
        let is_complete = instance.iter().zip(0..).all(|(member, comm_rank)| member.comm_rank == comm_rank);
        let is_blocking = instance.iter().all(|member| member.is_blocking != 0);
        let sets = if is_complete { self.sets.of_instance(self.recording, number, op, instance) } else { None };
        let entries = InstanceEntries::new(instance);
        let mut lower = DatedCall::NONE;
        for (index, member) in instance.iter().enumerate() {
            let semantic = if is_scan(op) { lower } else { DatedCall::NONE };
            lower = lower.max(member.dated());
            if member.leave == i64::MAX {
                continue;
            }
            let mut dependencies = EntryDependencies {
                semantic,
                required: if semantic.enter <= member.leave { semantic } else { DatedCall::NONE },
                possible: DatedCall::NONE,
                any: entries.last_other_before(index as u32, member.leave),
                call: member.call,
                index: member.index,
                members: if is_scan(op) { index as u32 } else { 0 },
                flags: 0,
            };
            if let Some(sets) = &sets {
                dependencies.possible = entries.last_before(&sets.possible(index as u32), member.leave);
                // A nonblocking collective has algorithms of its own.
                if is_blocking {
                    let required = sets.required(index as u32);
                    dependencies.required = entries.last_before(&required, member.leave);
                    let is_beyond = required.len() > semantic_count(op, instance.len(), member);
                    dependencies.flags = required_flags(member, is_beyond, entries.last_before(&required, i64::MAX));
                }
            }
            found.push(dependencies);
        }
    }
}

/// Number of others for which MPI requires a member to wait.
fn semantic_count(op: GroupOp, size: usize, member: &MemberEntry) -> usize {
    match member_dependency(op, member.comm_rank == member.root) {
        MemberDependency::All => size - 1,
        MemberDependency::Root => 1,
        MemberDependency::Subset => member.comm_rank as usize,
        MemberDependency::Member | MemberDependency::None => 0,
    }
}

/// Flags of a member, given the last that the algorithm requires.
fn required_flags(member: &MemberEntry, is_beyond: bool, last: DatedCall) -> u32 {
    let contradicts = if last.enter > member.leave { EntryDependencies::CONTRADICTS } else { 0 };
    contradicts | if is_beyond { EntryDependencies::BEYOND_SEMANTICS } else { 0 }
}

/// The entries of an instance, by communicator rank and in order of time.
struct InstanceEntries<'a> {
    members: &'a [MemberEntry],
    /// Communicator ranks, the last to enter first.
    latest: Vec<u32>,
}

impl InstanceEntries<'_> {
    fn new(members: &[MemberEntry]) -> InstanceEntries<'_> {
        let mut latest: Vec<u32> = (0..members.len() as u32).collect();
        latest.sort_unstable_by_key(|index| std::cmp::Reverse(members[*index as usize].dated()));
        InstanceEntries { members, latest }
    }

    /// The last of a set of ranks that entered until `leave`.
    fn last_before(&self, set: &RankSet, leave: i64) -> DatedCall {
        let dated = |rank: u32| self.members[rank as usize].dated();
        if set.len() <= SMALL_SET {
            return set.iter().map(dated).filter(|member| member.enter <= leave).max().unwrap_or(DatedCall::NONE);
        }
        self.entered_until(leave).map(dated).find(|member| set.contains(member.comm_rank)).unwrap_or(DatedCall::NONE)
    }

    /// The last of all members but one that entered until `leave`.
    fn last_other_before(&self, index: u32, leave: i64) -> DatedCall {
        let other = self.entered_until(leave).find(|other| *other != index);
        other.map_or(DatedCall::NONE, |other| self.members[other as usize].dated())
    }

    /// The members that entered until `leave`, the last first.
    fn entered_until(&self, leave: i64) -> impl Iterator<Item = u32> {
        let later = self.latest.partition_point(|index| self.members[*index as usize].enter > leave);
        self.latest[later..].iter().copied()
    }
}

/// The neighbours of a member. One that entered after the member completed had nothing to send.
fn neighbour_dependencies(topology: &NeighbourTopology, instance: &[MemberEntry], member: &MemberEntry) -> Option<EntryDependencies> {
    let came = |source: &u32| instance.binary_search_by_key(source, |other| other.comm_rank).ok().map(|index| &instance[index]);
    let sources = topology.sources(member.call.rank).iter().filter_map(came).filter(|source| source.enter <= member.leave);
    let members = sources.clone().count() as u32;
    let last = sources.map(MemberEntry::dated).max()?;
    let (possible, any) = (DatedCall::NONE, DatedCall::NONE);
    Some(EntryDependencies { semantic: last, required: last, possible, any, call: member.call, index: member.index, members, flags: 0 })
}

/// The dependencies under the algorithms that the library of a recording selects.
pub(super) struct AlgorithmSets {
    library: Option<LibraryRules>,
    known: DependencyCache,
}

impl AlgorithmSets {
    pub(super) fn new(recording: &Recording) -> AlgorithmSets {
        AlgorithmSets { library: LibraryRules::from_version_string(&recording.header.mpi.library), known: DependencyCache::default() }
    }

    fn of_instance(&mut self, recording: &Recording, number: u32, op: GroupOp, instance: &[MemberEntry]) -> Option<DependencySets> {
        let GroupOp::Collective(op) = op else { return None };
        let size = recording.members(number).len();
        let is_known = size == instance.len() && recording.remote(number).is_empty();
        let root = if matches!(op, CollectiveOp::Scan | CollectiveOp::Exscan) { 0 } else { instance[0].root };
        if is_known { self.get(op, size as u32, root, instance[0].bytes) } else { None }
    }

    /// The dependencies in a collective; `None` without data, which is not sent.
    pub(super) fn get(&mut self, op: CollectiveOp, size: u32, root: u32, bytes: u64) -> Option<DependencySets> {
        if bytes == 0 || root >= size {
            return None;
        }
        let algorithm = choose_algorithm(self.library, op, size, bytes)?;
        Some(self.known.get(algorithm, op, size, root))
    }
}

/// Decides what the calls of a location depended on.
fn decide(location: &mut Location, instances: &[CollectiveInstance], all: &[EntryDependencies]) {
    let mut usual: FxHashMap<u32, UsualCall> = FxHashMap::default();
    for found in all {
        let timing = CallTiming::new(location, found);
        let call = usual.entry(timing.descriptor).or_default();
        // The algorithm of a nonblocking collective is not known: it may have waited for anyone.
        let last = if timing.is_blocking { found.required.enter.max(found.possible.enter) } else { found.any.enter };
        call.own_ns.push(timing.leave - timing.from.max(last));
        call.contradictions += usize::from(found.flags & EntryDependencies::CONTRADICTS != 0);
    }
    usual.values_mut().for_each(|call| call.own_ns.sort_unstable());
    for found in all {
        let timing = CallTiming::new(location, found);
        let usual = &usual[&timing.descriptor];
        let collective = location.collectives[found.index as usize];
        let instance = &instances[collective.instance as usize];
        let by_mpi = semantic_dependency(instance, found);
        let required = if usual.has_algorithm() { found.required } else { by_mpi.filter_left(timing.leave) };
        let observed = [(found.possible.max(found.required), MIN_WAIT_FACTOR), (found.any, MIN_UNEXPECTED_FACTOR)];
        let has_waited = |(entry, factor): &(DatedCall, i64)| timing.has_waited(*entry, required, usual.typical_ns(), *factor);
        let waited = observed.into_iter().find(has_waited).map(|(entry, _)| entry);
        let last = waited.unwrap_or(required);
        let keeps_algorithm = usual.has_algorithm() && found.flags == EntryDependencies::BEYOND_SEMANTICS;
        let exception = (waited.is_some() || found.flags & EntryDependencies::CONTRADICTS != 0) && last.is_some();
        location.set_needs(found.index, MemberNeeds::new(keeps_algorithm, exception.then_some(last.comm_rank)));
        if last.is_some() && last.call != by_mpi.call {
            let last = (last.call, last.enter);
            location.set_dependency(found.index as usize, SubsetDependency { members: found.members, last, only_last: true });
        } else if found.semantic.is_some() {
            let last = (found.semantic.call, found.semantic.enter);
            location.set_dependency(found.index as usize, SubsetDependency { members: found.members, last, only_last: false });
        }
    }
}

/// What MPI requires a member to wait for.
fn semantic_dependency(instance: &CollectiveInstance, found: &EntryDependencies) -> DatedCall {
    use CollectiveOp::{Broadcast, Gather, Gatherv, Reduce, Scatter, Scatterv};
    let is_root = instance.root.0 == found.call;
    let (call, enter) = match instance.op {
        GroupOp::Collective(Broadcast | Scatter | Scatterv) if !is_root => instance.root,
        GroupOp::Collective(Reduce | Gather | Gatherv) if is_root => instance.last,
        _ => return found.semantic,
    };
    DatedCall { enter, call, comm_rank: NO_ROW }
}

impl DatedCall {
    /// The call, if it was entered before another one left.
    fn filter_left(self, leave: i64) -> DatedCall {
        if self.enter <= leave { self } else { DatedCall::NONE }
    }
}

/// The calls of a location with the same descriptor.
#[derive(Default)]
struct UsualCall {
    /// The time after the last entry for which each may have waited, in order.
    own_ns: Vec<i64>,
    contradictions: usize,
}

impl UsualCall {
    fn typical_ns(&self) -> i64 {
        self.own_ns[self.own_ns.len() / 2]
    }

    /// Whether the calls behave like the algorithm assumed.
    fn has_algorithm(&self) -> bool {
        self.contradictions * CONTRADICTIONS_PER_CALL <= self.own_ns.len()
    }
}

/// When a member may have waited: in the call that completed the collective.
struct CallTiming {
    descriptor: u32,
    is_blocking: bool,
    from: i64,
    leave: i64,
}

impl CallTiming {
    fn new(location: &Location, found: &EntryDependencies) -> CallTiming {
        let collective = location.collectives[found.index as usize];
        CallTiming {
            descriptor: location.calls.descriptor_ids[collective.row as usize],
            is_blocking: collective.row == collective.completion,
            from: location.calls.enter[collective.completion as usize],
            leave: location.calls.leave[collective.completion as usize],
        }
    }

    /// Whether the call waited for an entry longer than for those that it required: it took much longer than it does by itself, and ended
    /// soon after that entry.
    fn has_waited(&self, entry: DatedCall, required: DatedCall, typical_ns: i64, factor: i64) -> bool {
        if !entry.is_some() {
            return false;
        }
        let (waited, after) = (entry.enter - self.from.max(required.enter), self.leave - entry.enter);
        waited > factor * typical_ns && after <= (MIN_WAIT_FACTOR * typical_ns).max(waited / factor)
    }
}
