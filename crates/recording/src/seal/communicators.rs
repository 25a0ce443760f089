//! Which communicators, windows and files of different processes are one.
//!
//! Nothing was sent to find out. A communicator is made by all its members together and in the same order, so those that were made from
//! the same parent, by the same function, with the same members, and are the same in the order of such, are one.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::definitions::{LocalCommunicator, LocalNeighbours, LocalObject, read_ranks, write_ranks};
use crate::header::{Communicator, Object};
use crate::neighbours::{self, Neighbours};
use crate::raw::{OUTSIDE, PROC_NULL};
use crate::seal::spawned::{self, Spawn, in_recording};
use crate::seal::worlds::Member;

/// The communicators, windows, files and groups of a recording.
#[derive(Default)]
pub struct Unified {
    /// The communicators.
    pub communicators: Vec<Communicator>,
    /// Windows and files.
    pub objects: Vec<Object>,
    /// Groups that calls name.
    pub groups: Vec<String>,
}

/// The communicators, windows and files of one process, by its own numbers.
pub type Locals = HashMap<u32, Local>;

/// A communicator, window or file, as one process sees it.
#[derive(Clone, Debug)]
pub struct Local {
    /// Its number in the recording.
    pub number: u32,
    /// The ranks that its peers have in the recording.
    pub peers: Peers,
}

/// The processes that a process can reach through a communicator, in the order of their ranks there.
#[derive(Clone, Debug, Default)]
pub struct Peers {
    ranks: Arc<[i32]>,
    /// Whether ranks there are the ranks of the recording.
    pub plain: bool,
}

impl Peers {
    fn new(ranks: impl Iterator<Item = i32>) -> Peers {
        let ranks: Arc<[i32]> = ranks.collect();
        let plain = ranks.iter().enumerate().all(|(place, rank)| place as i64 == i64::from(*rank));
        Peers { ranks, plain }
    }

    fn outside(&self) -> usize {
        self.ranks.iter().filter(|rank| **rank == OUTSIDE).count()
    }

    /// The same with the processes of other worlds named, where the communicator it was made from tells who they are.
    fn named_by(self, parent: &Peers, parent_is_between: bool) -> Peers {
        let outside = self.outside();
        if outside == 0 {
            return self;
        }
        // Merging puts one group behind the other, each in its order.
        if parent_is_between && outside == parent.ranks.len() {
            let mut others = parent.ranks.iter();
            return Peers::new(self.ranks.iter().map(|rank| if *rank == OUTSIDE { *others.next().unwrap_or(rank) } else { *rank }));
        }
        let agrees = |(own, parent): (&i32, &i32)| *own == OUTSIDE || own == parent;
        let same = !parent_is_between && self.ranks.len() == parent.ranks.len() && self.ranks.iter().zip(&*parent.ranks).all(agrees);
        if same { parent.clone() } else { self }
    }

    /// The rank in the recording; what is no rank keeps its meaning.
    pub fn rank(&self, peer: i32) -> i32 {
        match usize::try_from(peer) {
            Ok(place) => self.ranks.get(place).copied().unwrap_or(OUTSIDE),
            Err(_) if peer <= OUTSIDE => peer,
            Err(_) => OUTSIDE,
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

/// Finds out which are one.
#[derive(Default)]
struct Unifier {
    unified: Unified,
    communicators: HashMap<CommunicatorKey, u32>,
    objects: HashMap<ObjectKey, u32>,
    /// Groups that were read before: most processes tell of the same ones.
    groups: HashMap<(u32, u32, String), Peers>,
    spawns: Vec<Spawn>,
    /// The neighbours of ranks in the communicators that have a topology.
    neighbours: BTreeMap<u32, BTreeMap<u32, Neighbours>>,
}

/// Finds out which communicators, windows and files of these processes are one; the first process's world is the first communicator.
pub fn unify(members: &[Member]) -> (Unified, Vec<Locals>) {
    let mut unifier = Unifier { spawns: spawned::find(members), ..Unifier::default() };
    let locals = members.iter().map(|member| unifier.add(member)).collect();
    for (number, ranks) in &unifier.neighbours {
        unifier.unified.communicators[*number as usize].neighbours = neighbours::write(ranks);
    }
    (unifier.unified, locals)
}

impl Unifier {
    fn add(&mut self, member: &Member) -> Locals {
        let mut locals = Locals::new();
        let mut seen: HashMap<CommunicatorKey, usize> = HashMap::new();
        let definitions = in_order(member);
        for communicator in &definitions {
            let local = self.communicator(member, communicator, &locals, &mut seen);
            locals.insert(communicator.id, local);
        }
        let mut counts: HashMap<(&str, u32), usize> = HashMap::new();
        for object in &member.process().objects {
            let local = self.object(object, &locals, &mut counts);
            locals.insert(object.id, local);
        }
        locals
    }

    fn communicator(
        &mut self,
        member: &Member,
        communicator: &LocalCommunicator,
        locals: &Locals,
        seen: &mut HashMap<CommunicatorKey, usize>,
    ) -> Local {
        let parent = communicator.parent.and_then(|parent| locals.get(&parent));
        let parent_is_between = parent.is_some_and(|parent| self.unified.communicators[parent.number as usize].remote.is_some());
        let mut made_by = communicator.made_by.as_str();
        let mut own = self.group(member, &communicator.members);
        let mut other = communicator.remote.as_ref().map(|remote| self.group(member, remote));
        match (&other, parent) {
            (Some(unnamed), _) => {
                if let Some(named) = self.named_by_spawn(&own, unnamed, locals) {
                    (made_by, other) = ("MPI_Comm_spawn", Some(named));
                }
            }
            (None, Some(parent)) => own = own.named_by(&parent.peers, parent_is_between),
            (None, None) => {}
        }
        let mut groups = (write_ranks(&own.ranks), other.as_ref().map(|other| write_ranks(&other.ranks)));
        let parent = parent.map(|parent| parent.number);
        let mut key_parent = parent;
        if let Some(other) = &mut groups.1 {
            // Each side sees itself first; and where two groups meet, each side knows its own parent only.
            if *other < groups.0 {
                std::mem::swap(other, &mut groups.0);
            }
            key_parent = parent.filter(|_| parent_is_between);
        }
        let mut key = CommunicatorKey { parent: key_parent, made_by: made_by.to_owned(), groups, occurrence: 0 };
        let occurrence = seen.entry(key.clone()).or_default();
        key.occurrence = *occurrence;
        *occurrence += 1;
        let number = self.number(key, parent);
        if let Some(told) = &communicator.neighbours {
            self.neighbours.entry(number).or_default().insert(member.rank, neighbours_of(member, told));
        }
        Local { number, peers: other.unwrap_or(own) }
    }

    /// The other side of a communicator between processes that spawn and those that are spawned.
    fn named_by_spawn(&self, own: &Peers, other: &Peers, locals: &Locals) -> Option<Peers> {
        if other.outside() < other.ranks.len().max(1) {
            return None;
        }
        let sides = self.spawns.iter().flat_map(|spawn| [(&spawn.parents, &spawn.children), (&spawn.children, &spawn.parents)]);
        let fitting = sides.filter(|(here, there)| here[..] == own.ranks[..] && there.len() == other.ranks.len());
        // A process may spawn several times: it takes them in order.
        let taken = |there: &[i32]| locals.values().any(|local| local.peers.ranks[..] == *there);
        fitting.map(|(_, there)| there).find(|there| !taken(there)).map(|there| Peers::new(there.iter().copied()))
    }

    fn number(&mut self, key: CommunicatorKey, parent: Option<u32>) -> u32 {
        let new = self.unified.communicators.len() as u32;
        let known = self.communicators.entry(key).or_insert_with_key(|key| {
            let (members, remote) = key.groups.clone();
            self.unified.communicators.push(Communicator { parent, made_by: key.made_by.clone(), members, remote, neighbours: Vec::new() });
            new
        });
        *known
    }

    fn object<'a>(&mut self, object: &'a LocalObject, locals: &Locals, counts: &mut HashMap<(&'a str, u32), usize>) -> Local {
        let on = object.communicator.and_then(|id| locals.get(&id));
        let new = self.unified.objects.len() as u32;
        let number = match on {
            // Who shares it cannot be known: it is its own.
            None => new,
            Some(on) => {
                let count = counts.entry((&object.kind, on.number)).or_default();
                let key = ObjectKey { kind: object.kind.clone(), communicator: on.number, occurrence: *count };
                *count += 1;
                *self.objects.entry(key).or_insert(new)
            }
        };
        if number == new {
            self.unified.objects.push(Object { kind: object.kind.clone(), communicator: on.map(|on| on.number) });
        }
        Local { number, peers: on.map(|on| on.peers.clone()).unwrap_or_default() }
    }

    /// A group of a world as ranks of the recording.
    fn group(&mut self, member: &Member, ranks: &str) -> Peers {
        let key = (member.first, member.size, ranks.to_owned());
        let ranks = || Peers::new(in_recording(member, read_ranks(ranks).unwrap_or_default()));
        self.groups.entry(key).or_insert_with(ranks).clone()
    }
}

/// The neighbours of a process as ranks of the recording.
fn neighbours_of(member: &Member, told: &LocalNeighbours) -> Neighbours {
    let ranks = |text: &str| {
        let told = read_ranks(text).unwrap_or_default();
        let edges: Vec<bool> = told.iter().map(|rank| *rank == PROC_NULL).collect();
        in_recording(member, told).zip(edges).map(|(rank, edge)| if edge { PROC_NULL } else { rank }).collect()
    };
    Neighbours { sources: ranks(&told.sources), destinations: ranks(&told.destinations) }
}

/// The communicators of a process, those that every process has from the start included: parents first, then in the order of making.
fn in_order(member: &Member) -> Vec<LocalCommunicator> {
    let from_start = |id: u32, made_by: &str, members: String| LocalCommunicator {
        id,
        made_by: made_by.into(),
        members,
        ..LocalCommunicator::default()
    };
    let world = from_start(0, "MPI_COMM_WORLD", format!("0-{}", member.size.saturating_sub(1)));
    let own = from_start(1, "MPI_COMM_SELF", (member.rank - member.first).to_string());
    let mut all: HashMap<u32, LocalCommunicator> = [(0, world), (1, own)].into();
    all.extend(member.process().communicators.iter().map(|c| (c.id, c.clone())));
    let mut all: Vec<LocalCommunicator> = all.into_values().collect();
    all.sort_unstable_by_key(|c| c.id);
    // Numbers are given in order, so a parent has a lower one than its children.
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
    use crate::seal::left::Left;
    use crate::seal::process::Process;

    /// Processes of one world, or of several with the given sizes, and the communicators each of them tells of.
    fn unified(sizes: &[u32], told: &[Vec<LocalCommunicator>]) -> (Unified, Vec<Locals>) {
        let left = |communicators: &Vec<LocalCommunicator>| {
            Left::look_through(Process { communicators: communicators.clone(), ..Process::default() }).unwrap()
        };
        let left: Vec<Left> = told.iter().map(left).collect();
        let mut members = Vec::new();
        let mut first = 0;
        for (world, size) in sizes.iter().enumerate() {
            members.extend((first..first + size).map(|rank| Member { rank, world, first, size: *size, left: &left[rank as usize] }));
            first += size;
        }
        unify(&members)
    }

    fn made(id: u32, parent: u32, made_by: &str, sequence: u32, members: &str) -> LocalCommunicator {
        let parent = Some(parent);
        LocalCommunicator { id, parent, made_by: made_by.into(), sequence, members: members.into(), ..LocalCommunicator::default() }
    }

    fn between(id: u32, parent: Option<u32>, made_by: &str, members: &str, remote: &str) -> LocalCommunicator {
        let remote = Some(remote.into());
        LocalCommunicator { id, parent, made_by: made_by.into(), members: members.into(), remote, ..LocalCommunicator::default() }
    }

    fn numbers(locals: &[Locals], id: u32) -> Vec<u32> {
        locals.iter().map(|locals| locals[&id].number).collect()
    }

    #[test]
    fn the_world_is_one_and_the_process_alone_is_many() {
        let (unified, locals) = unified(&[3], &[vec![], vec![], vec![]]);
        assert_eq!((numbers(&locals, 0), numbers(&locals, 1)), (vec![0, 0, 0], vec![1, 2, 3]));
        assert_eq!((unified.communicators[0].members.as_str(), unified.communicators[2].members.as_str()), ("0-2", "1"));
    }

    #[test]
    fn duplicates_are_told_apart_by_their_order() {
        let dup = |id, sequence| made(id, 0, "MPI_Comm_dup", sequence, "0-1");
        // The second process came to know its duplicates in the other order, and made something else in between.
        let (unified, locals) = unified(&[2], &[vec![dup(2, 0), dup(3, 1)], vec![dup(2, 4), dup(3, 0)]]);
        let (first, second) = (numbers(&locals, 2), numbers(&locals, 3));
        assert!(first[0] == second[1] && first[1] == second[0] && first[0] != first[1], "{first:?} {second:?}");
        assert_eq!(unified.communicators[first[0] as usize].parent, Some(0));
    }

    #[test]
    fn a_split_makes_one_communicator_per_colour() {
        let split = |members: &str| vec![made(2, 0, "MPI_Comm_split", 0, members), made(3, 2, "MPI_Comm_dup", 0, members)];
        let (unified, locals) = unified(&[4], &[split("0-2:2"), split("3,1"), split("0-2:2"), split("3,1")]);
        let colours = numbers(&locals, 2);
        assert!(colours[0] == colours[2] && colours[1] == colours[3] && colours[0] != colours[1]);
        let duplicates = numbers(&locals, 3);
        assert_eq!(unified.communicators[duplicates[1] as usize].parent, Some(colours[1]));
        assert_eq!([0, 1, 2, ANY].map(|peer| locals[1][&2].peers.rank(peer)), [3, 1, OUTSIDE, ANY]);
        assert_eq!(locals[1][&2].peers.rank(-7), OUTSIDE);
    }

    #[test]
    fn two_groups_that_meet_see_one_communicator_from_two_sides() {
        let side = |own: &str, other: &str| {
            vec![
                made(2, 0, "MPI_Comm_split", 0, own),
                between(3, Some(2), "MPI_Intercomm_create", own, other),
                between(4, Some(3), "MPI_Comm_dup", own, other),
            ]
        };
        let told = [side("0-1", "2-3"), side("0-1", "2-3"), side("2-3", "0-1"), side("2-3", "0-1")];
        let (unified, locals) = unified(&[4], &told);
        for id in [3, 4] {
            let numbers = numbers(&locals, id);
            assert!(numbers.iter().all(|number| *number == numbers[0]), "{numbers:?}");
            let found = &unified.communicators[numbers[0] as usize];
            assert_eq!((found.members.as_str(), found.remote.as_deref()), ("0-1", Some("2-3")));
        }
        assert_eq!((locals[0][&3].peers.rank(0), locals[3][&3].peers.rank(0)), (2, 0));
    }

    #[test]
    fn neighbours_are_those_of_the_recording_and_edges_stay_edges() {
        let sides = |sources: &str, destinations: &str| {
            let neighbours = Some(LocalNeighbours { sources: sources.into(), destinations: destinations.into() });
            vec![LocalCommunicator { neighbours, ..made(2, 0, "MPI_Cart_create", 0, "0-1") }]
        };
        let edge = PROC_NULL;
        let told = [vec![], sides(&format!("{edge},1"), "1"), sides(&format!("0,{edge}"), "")];
        let (unified, locals) = unified(&[1, 2], &told);
        let number = locals[1][&2].number;
        let found = neighbours::read(&unified.communicators[number as usize].neighbours);
        assert_eq!(found[&1], Neighbours { sources: vec![edge, 2], destinations: vec![2] }, "the second world begins at rank 1");
        assert_eq!(found[&2], Neighbours { sources: vec![1, edge], destinations: vec![] });
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn spawned_processes_and_those_that_spawned_them_are_brought_together() {
        let out = format!("{OUTSIDE},{OUTSIDE}");
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
        let told: Vec<_> = (0..2).map(parent).chain((0..2).map(child)).collect();
        let (unified, locals) = unified(&[2, 2], &told);
        assert_ne!(locals[0][&0].number, locals[2][&0].number, "two worlds");
        for id in [2, 3, 4] {
            let numbers = numbers(&locals, id);
            assert!(numbers.iter().all(|number| *number == numbers[0]), "{id}: {numbers:?}");
        }
        assert_eq!(unified.communicators[locals[0][&4].number as usize].members, "0-3");
        assert_eq!((locals[0][&2].peers.rank(1), locals[2][&2].peers.rank(1)), (3, 1));
    }
}
