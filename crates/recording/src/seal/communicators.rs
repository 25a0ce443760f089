//! Unification of communicators, windows and files across processes.
//!
//! No messages are needed for this. A communicator is created by all its members together and in the same order; so local definitions with
//! the same parent, creating function, members and position in that order are one communicator.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::definitions::{LocalCommunicator, LocalNeighbours, LocalObject, format_ranks, parse_ranks};
use crate::header::{CommunicatorDefinition, ObjectDefinition};
use crate::neighbours::{self, TopologyNeighbours};
use crate::raw::{EXTERNAL, PROC_NULL};
use crate::seal::ranked_process::RankedProcess;
use crate::seal::spawns::{SpawnGroups, to_recording_ranks};

/// The global definitions of a recording.
#[derive(Default)]
pub(super) struct UnifiedDefinitions {
    /// The communicators.
    pub communicators: Vec<CommunicatorDefinition>,
    /// Windows and files.
    pub objects: Vec<ObjectDefinition>,
    /// Groups named by calls.
    pub groups: Vec<String>,
}

/// The communicators, windows and files of one process, by local id.
pub(super) type ObjectMap = HashMap<u32, MappedObject>;

/// A communicator, window or file of one process.
#[derive(Clone, Debug)]
pub(super) struct MappedObject {
    /// Its index in the recording.
    pub id: u32,
    /// Ranks of its peers in the recording.
    pub peers: PeerRanks,
}

/// The processes reachable through a communicator, in rank order.
#[derive(Clone, Debug, Default)]
pub(super) struct PeerRanks {
    ranks: Arc<[i32]>,
    /// Whether ranks in the communicator equal ranks in the recording.
    pub is_identity: bool,
}

impl PeerRanks {
    fn new(ranks: impl Iterator<Item = i32>) -> PeerRanks {
        let ranks: Arc<[i32]> = ranks.collect();
        let is_identity = ranks.iter().enumerate().all(|(index, rank)| index as i64 == i64::from(*rank));
        PeerRanks { ranks, is_identity }
    }

    fn external_count(&self) -> usize {
        self.ranks.iter().filter(|rank| **rank == EXTERNAL).count()
    }

    /// Resolves processes of other worlds with the help of the parent communicator.
    fn resolve_from_parent(self, parent: &PeerRanks, parent_is_between: bool) -> PeerRanks {
        let outside = self.external_count();
        if outside == 0 {
            return self;
        }
        // `MPI_Intercomm_merge` concatenates the groups, each in its order.
        if parent_is_between && outside == parent.ranks.len() {
            let mut others = parent.ranks.iter();
            return PeerRanks::new(self.ranks.iter().map(|rank| if *rank == EXTERNAL { *others.next().unwrap_or(rank) } else { *rank }));
        }
        let agrees = |(local, parent): (&i32, &i32)| *local == EXTERNAL || local == parent;
        let same = !parent_is_between && self.ranks.len() == parent.ranks.len() && self.ranks.iter().zip(&*parent.ranks).all(agrees);
        if same { parent.clone() } else { self }
    }

    /// The rank in the recording; special values stay as they are.
    pub(super) fn rank(&self, peer: i32) -> i32 {
        match usize::try_from(peer) {
            Ok(index) => self.ranks.get(index).copied().unwrap_or(EXTERNAL),
            Err(_) if peer <= EXTERNAL => peer,
            Err(_) => EXTERNAL,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct CommunicatorKey {
    parent: Option<u32>,
    made_by: String,
    groups: (String, Option<String>),
    occurrence: usize,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct ObjectKey {
    kind: String,
    communicator: u32,
    occurrence: usize,
}

/// Unifies local definitions.
#[derive(Default)]
struct DefinitionUnifier {
    unified: UnifiedDefinitions,
    communicators: HashMap<CommunicatorKey, u32>,
    objects: HashMap<ObjectKey, u32>,
    /// Groups parsed so far; most processes define the same ones.
    groups: HashMap<(u32, u32, String), PeerRanks>,
    spawns: SpawnGroups,
    /// Neighbours of ranks, for communicators with a topology.
    neighbours: BTreeMap<u32, BTreeMap<u32, TopologyNeighbours>>,
}

/// Unifies the definitions of these processes. The first communicator is the world of the first process.
pub(super) fn unify(members: &[RankedProcess], spawns: SpawnGroups) -> (UnifiedDefinitions, Vec<ObjectMap>) {
    let mut unifier = DefinitionUnifier { spawns, ..DefinitionUnifier::default() };
    let objects = members.iter().map(|member| unifier.add(member)).collect();
    for (number, ranks) in &unifier.neighbours {
        unifier.unified.communicators[*number as usize].neighbours = neighbours::encode(ranks);
    }
    (unifier.unified, objects)
}

impl DefinitionUnifier {
    fn add(&mut self, member: &RankedProcess) -> ObjectMap {
        let mut objects = ObjectMap::new();
        let mut seen: HashMap<CommunicatorKey, usize> = HashMap::new();
        let definitions = sorted_communicators(member);
        for communicator in &definitions {
            let local = self.communicator(member, communicator, &objects, &mut seen);
            objects.insert(communicator.id, local);
        }
        let mut counts: HashMap<(&str, u32), usize> = HashMap::new();
        for object in &member.process().objects {
            let local = self.object(object, &objects, &mut counts);
            objects.insert(object.id, local);
        }
        objects
    }

    fn communicator(
        &mut self,
        member: &RankedProcess,
        communicator: &LocalCommunicator,
        objects: &ObjectMap,
        seen: &mut HashMap<CommunicatorKey, usize>,
    ) -> MappedObject {
        let parent = communicator.parent.and_then(|parent| objects.get(&parent));
        let parent_is_between = parent.is_some_and(|parent| self.unified.communicators[parent.id as usize].remote.is_some());
        let mut made_by = communicator.made_by.as_str();
        let mut local = self.group(member, &communicator.members);
        let mut remote = communicator.remote.as_ref().map(|remote| self.group(member, remote));
        match (&remote, parent) {
            (Some(unnamed), _) => {
                let is_named = unnamed.external_count() < unnamed.ranks.len().max(1);
                if let Some(named) = self.spawns.remote_group(member, communicator).filter(|_| !is_named) {
                    (made_by, remote) = ("MPI_Comm_spawn", Some(PeerRanks::new(named.iter().copied())));
                } else if let Some(parent) = parent.filter(|_| !is_named && made_by.contains("dup")) {
                    remote = Some(parent.peers.clone());
                }
            }
            (None, Some(parent)) => local = local.resolve_from_parent(&parent.peers, parent_is_between),
            (None, None) => {}
        }
        let mut groups = (format_ranks(&local.ranks), remote.as_ref().map(|remote| format_ranks(&remote.ranks)));
        let parent = parent.map(|parent| parent.id);
        let mut key_parent = parent;
        if let Some(remote) = &mut groups.1 {
            // Each side lists itself first; and when two groups connect, each side knows only its own parent.
            if *remote < groups.0 {
                std::mem::swap(remote, &mut groups.0);
            }
            key_parent = parent.filter(|_| parent_is_between);
        }
        let mut key = CommunicatorKey { parent: key_parent, made_by: made_by.to_owned(), groups, occurrence: 0 };
        let occurrence = seen.entry(key.clone()).or_default();
        key.occurrence = *occurrence;
        *occurrence += 1;
        let number = self.communicator_id(key, parent);
        if let Some(neighbours) = &communicator.neighbours {
            self.neighbours.entry(number).or_default().insert(member.rank, global_neighbours(member, neighbours));
        }
        MappedObject { id: number, peers: remote.unwrap_or(local) }
    }

    fn communicator_id(&mut self, key: CommunicatorKey, parent: Option<u32>) -> u32 {
        let new = self.unified.communicators.len() as u32;
        let known = self.communicators.entry(key).or_insert_with_key(|key| {
            let (members, remote) = key.groups.clone();
            self.unified.communicators.push(CommunicatorDefinition {
                parent,
                made_by: key.made_by.clone(),
                members,
                remote,
                neighbours: Vec::new(),
            });
            new
        });
        *known
    }

    fn object<'a>(&mut self, object: &'a LocalObject, objects: &ObjectMap, counts: &mut HashMap<(&'a str, u32), usize>) -> MappedObject {
        let parent_object = object.communicator.and_then(|id| objects.get(&id));
        let new = self.unified.objects.len() as u32;
        let number = match parent_object {
            // Sharing is unknown, so it gets an index of its own.
            None => new,
            Some(parent_object) => {
                let count = counts.entry((&object.kind, parent_object.id)).or_default();
                let key = ObjectKey { kind: object.kind.clone(), communicator: parent_object.id, occurrence: *count };
                *count += 1;
                *self.objects.entry(key).or_insert(new)
            }
        };
        if number == new {
            let communicator = parent_object.map(|parent_object| parent_object.id);
            self.unified.objects.push(ObjectDefinition { kind: object.kind.clone(), communicator, path: object.path.clone() });
        }
        MappedObject { id: number, peers: parent_object.map(|parent_object| parent_object.peers.clone()).unwrap_or_default() }
    }

    /// Converts a group of world ranks to ranks of the recording.
    fn group(&mut self, member: &RankedProcess, ranks: &str) -> PeerRanks {
        let key = (member.first, member.size, ranks.to_owned());
        let ranks = || PeerRanks::new(to_recording_ranks(member, parse_ranks(ranks).unwrap_or_default()));
        self.groups.entry(key).or_insert_with(ranks).clone()
    }
}

/// Converts the neighbours of a process to ranks of the recording.
fn global_neighbours(member: &RankedProcess, neighbours: &LocalNeighbours) -> TopologyNeighbours {
    let ranks = |text: &str| {
        let neighbours = parse_ranks(text).unwrap_or_default();
        let edges: Vec<bool> = neighbours.iter().map(|rank| *rank == PROC_NULL).collect();
        to_recording_ranks(member, neighbours).zip(edges).map(|(rank, edge)| if edge { PROC_NULL } else { rank }).collect()
    };
    TopologyNeighbours { sources: ranks(&neighbours.sources), destinations: ranks(&neighbours.destinations) }
}

/// The communicators of a process including the predefined ones: parents first, then in creation order.
fn sorted_communicators(member: &RankedProcess) -> Vec<LocalCommunicator> {
    let from_start = |id: u32, made_by: &str, members: String| LocalCommunicator {
        id,
        made_by: made_by.into(),
        members,
        ..LocalCommunicator::default()
    };
    let world = from_start(0, "MPI_COMM_WORLD", format!("0-{}", member.size.saturating_sub(1)));
    let local = from_start(1, "MPI_COMM_SELF", (member.rank - member.first).to_string());
    let mut all: HashMap<u32, LocalCommunicator> = [(0, world), (1, local)].into();
    all.extend(member.process().communicators.iter().map(|c| (c.id, c.clone())));
    let mut all: Vec<LocalCommunicator> = all.into_values().collect();
    all.sort_unstable_by_key(|c| c.id);
    // Ids increase, so a parent has a lower id than its children.
    let mut depths: HashMap<u32, u32> = HashMap::new();
    for communicator in &all {
        let depth = communicator.parent.and_then(|parent| depths.get(&parent)).map_or(0, |depth| depth + 1);
        depths.insert(communicator.id, depth);
    }
    all.sort_by_key(|c| (depths[&c.id], c.sequence, c.id));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::ANY;
    use crate::seal::process::ProcessDefinitions;
    use crate::seal::raw_process::RawProcess;

    /// Processes of worlds with the given sizes, and the communicators each of them defines.
    fn unified(sizes: &[u32], defined: &[Vec<LocalCommunicator>]) -> (UnifiedDefinitions, Vec<ObjectMap>) {
        let left = |communicators: &Vec<LocalCommunicator>| {
            RawProcess::scan(ProcessDefinitions { communicators: communicators.clone(), ..ProcessDefinitions::default() }).unwrap()
        };
        let left: Vec<RawProcess> = defined.iter().map(left).collect();
        let mut members = Vec::new();
        let mut first = 0;
        for (world, size) in sizes.iter().enumerate() {
            members.extend((first..first + size).map(|rank| RankedProcess { rank, world, first, size: *size, raw: &left[rank as usize] }));
            first += size;
        }
        let spawned = (sizes.len() > 1).then(|| {
            // All processes of the first world spawned the second, with their communicator 2.
            let ranks = |from: u32, count: u32| (from as i32..).take(count as usize).collect::<Vec<i32>>();
            let children = (0..sizes[0]).map(|rank| ((rank, 2), ranks(sizes[0], sizes[1]))).collect();
            SpawnGroups { children, parents: [(sizes[0], ranks(0, sizes[0]))].into() }
        });
        unify(&members, spawned.unwrap_or_default())
    }

    fn made(id: u32, parent: u32, made_by: &str, sequence: u32, members: &str) -> LocalCommunicator {
        let parent = Some(parent);
        LocalCommunicator { id, parent, made_by: made_by.into(), sequence, members: members.into(), ..LocalCommunicator::default() }
    }

    fn between(id: u32, parent: Option<u32>, made_by: &str, members: &str, remote: &str) -> LocalCommunicator {
        let remote = Some(remote.into());
        LocalCommunicator { id, parent, made_by: made_by.into(), members: members.into(), remote, ..LocalCommunicator::default() }
    }

    fn numbers(objects: &[ObjectMap], id: u32) -> Vec<u32> {
        objects.iter().map(|objects| objects[&id].id).collect()
    }

    #[test]
    fn the_world_is_one_and_the_process_alone_is_many() {
        let (definitions, objects) = unified(&[3], &[vec![], vec![], vec![]]);
        assert_eq!((numbers(&objects, 0), numbers(&objects, 1)), (vec![0, 0, 0], vec![1, 2, 3]));
        assert_eq!((definitions.communicators[0].members.as_str(), definitions.communicators[2].members.as_str()), ("0-2", "1"));
    }

    #[test]
    fn duplicates_are_told_apart_by_their_order() {
        let dup = |id, sequence| made(id, 0, "MPI_Comm_dup", sequence, "0-1");
        // The second process registered its duplicates in the other order, and created something else in between.
        let (definitions, objects) = unified(&[2], &[vec![dup(2, 0), dup(3, 1)], vec![dup(2, 4), dup(3, 0)]]);
        let (first, second) = (numbers(&objects, 2), numbers(&objects, 3));
        assert!(first[0] == second[1] && first[1] == second[0] && first[0] != first[1], "{first:?} {second:?}");
        assert_eq!(definitions.communicators[first[0] as usize].parent, Some(0));
    }

    #[test]
    fn a_split_makes_one_communicator_per_colour() {
        let split = |members: &str| vec![made(2, 0, "MPI_Comm_split", 0, members), made(3, 2, "MPI_Comm_dup", 0, members)];
        let (definitions, objects) = unified(&[4], &[split("0-2:2"), split("3,1"), split("0-2:2"), split("3,1")]);
        let colours = numbers(&objects, 2);
        assert!(colours[0] == colours[2] && colours[1] == colours[3] && colours[0] != colours[1]);
        let duplicates = numbers(&objects, 3);
        assert_eq!(definitions.communicators[duplicates[1] as usize].parent, Some(colours[1]));
        assert_eq!([0, 1, 2, ANY].map(|peer| objects[1][&2].peers.rank(peer)), [3, 1, EXTERNAL, ANY]);
        assert_eq!(objects[1][&2].peers.rank(-7), EXTERNAL);
    }

    #[test]
    fn two_groups_that_meet_see_one_communicator_from_two_sides() {
        let side = |local: &str, remote: &str| {
            vec![
                made(2, 0, "MPI_Comm_split", 0, local),
                between(3, Some(2), "MPI_Intercomm_create", local, remote),
                between(4, Some(3), "MPI_Comm_dup", local, remote),
            ]
        };
        let defined = [side("0-1", "2-3"), side("0-1", "2-3"), side("2-3", "0-1"), side("2-3", "0-1")];
        let (definitions, objects) = unified(&[4], &defined);
        for id in [3, 4] {
            let numbers = numbers(&objects, id);
            assert!(numbers.iter().all(|number| *number == numbers[0]), "{numbers:?}");
            let found = &definitions.communicators[numbers[0] as usize];
            assert_eq!((found.members.as_str(), found.remote.as_deref()), ("0-1", Some("2-3")));
        }
        assert_eq!((objects[0][&3].peers.rank(0), objects[3][&3].peers.rank(0)), (2, 0));
    }

    #[test]
    fn neighbours_are_those_of_the_recording_and_edges_stay_edges() {
        let sides = |sources: &str, destinations: &str| {
            let neighbours = Some(LocalNeighbours { sources: sources.into(), destinations: destinations.into() });
            vec![LocalCommunicator { neighbours, ..made(2, 0, "MPI_Cart_create", 0, "0-1") }]
        };
        let edge = PROC_NULL;
        let defined = [vec![], sides(&format!("{edge},1"), "1"), sides(&format!("0,{edge}"), "")];
        let (definitions, objects) = unified(&[1, 2], &defined);
        let number = objects[1][&2].id;
        let found = neighbours::decode(&definitions.communicators[number as usize].neighbours);
        assert_eq!(found[&1], TopologyNeighbours { sources: vec![edge, 2], destinations: vec![2] }, "the second world begins at rank 1");
        assert_eq!(found[&2], TopologyNeighbours { sources: vec![1, edge], destinations: vec![] });
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn spawned_processes_and_those_that_spawned_them_are_brought_together() {
        let out = format!("{EXTERNAL},{EXTERNAL}");
        let parent = |_| {
            vec![
                between(2, Some(0), "MPI_Comm_spawn", "0-1", &out),
                made(3, 2, "MPI_Intercomm_merge", 0, &format!("0-1,{out}")),
                made(4, 3, "MPI_Comm_dup", 0, &format!("0-1,{out}")),
            ]
        };
        let child = |_| {
            vec![
                between(2, None, "unseen", "0-1", &out),
                made(3, 2, "MPI_Intercomm_merge", 0, &format!("{out},0-1")),
                made(4, 3, "MPI_Comm_dup", 0, &format!("{out},0-1")),
            ]
        };
        let defined: Vec<_> = (0..2).map(parent).chain((0..2).map(child)).collect();
        let (definitions, objects) = unified(&[2, 2], &defined);
        assert_ne!(objects[0][&0].id, objects[2][&0].id, "two worlds");
        for id in [2, 3, 4] {
            let numbers = numbers(&objects, id);
            assert!(numbers.iter().all(|number| *number == numbers[0]), "{id}: {numbers:?}");
        }
        assert_eq!(definitions.communicators[objects[0][&4].id as usize].members, "0-3");
        assert_eq!((objects[0][&2].peers.rank(1), objects[2][&2].peers.rank(1)), (3, 1));
    }
}
