//! Which communicators, windows and files of different processes are one.
//!
//! Nothing was sent to find out. A communicator is made by all its members together and in the same order, so those that were made from
//! the same parent, by the same function, with the same members, and are the same in the order of such, are one.

use std::collections::HashMap;
use std::sync::Arc;

use crate::definitions::{LocalCommunicator, LocalObject, read_ranks, write_ranks};
use crate::header::{Communicator, Object};
use crate::raw::OUTSIDE;
use crate::seal::worlds::Member;

/// The communicators, windows and files of a recording.
#[derive(Default)]
pub struct Unified {
    /// The communicators.
    pub communicators: Vec<Communicator>,
    /// Windows and files.
    pub objects: Vec<Object>,
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
    fn new(ranks: Vec<i32>) -> Peers {
        let plain = ranks.iter().enumerate().all(|(place, rank)| place as i64 == i64::from(*rank));
        Peers { ranks: ranks.into(), plain }
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
}

/// Finds out which communicators, windows and files of these processes are one; the first process's world is the first communicator.
pub fn unify(members: &[Member]) -> (Unified, Vec<Locals>) {
    let mut unifier = Unifier::default();
    let locals = members.iter().map(|member| unifier.add(member)).collect();
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
        let own = self.group(member, &communicator.members);
        let other = communicator.remote.as_ref().map(|remote| self.group(member, remote));
        let parent = communicator.parent.and_then(|parent| locals.get(&parent)).map(|parent| parent.number);
        let mut groups = (write_ranks(&own.ranks), other.as_ref().map(|other| write_ranks(&other.ranks)));
        // Each side sees itself first; and where two groups meet, each side knows only its own parent.
        let mut key_parent = parent;
        if let Some(other) = &mut groups.1 {
            if *other < groups.0 {
                std::mem::swap(other, &mut groups.0);
            }
            key_parent = parent.filter(|parent| self.unified.communicators[*parent as usize].remote.is_some());
        }
        let mut key = CommunicatorKey { parent: key_parent, made_by: communicator.made_by.clone(), groups, occurrence: 0 };
        let occurrence = seen.entry(key.clone()).or_default();
        key.occurrence = *occurrence;
        *occurrence += 1;
        let number = self.number(key, parent);
        Local { number, peers: other.unwrap_or(own) }
    }

    fn number(&mut self, key: CommunicatorKey, parent: Option<u32>) -> u32 {
        let new = self.unified.communicators.len() as u32;
        let known = self.communicators.entry(key).or_insert_with_key(|key| {
            let (members, remote) = key.groups.clone();
            self.unified.communicators.push(Communicator { parent, made_by: key.made_by.clone(), members, remote });
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
        let known = self.groups.entry(key).or_insert_with(|| {
            let ranks = read_ranks(ranks).unwrap_or_default().into_iter();
            let in_recording = |rank: i32| match u32::try_from(rank) {
                Ok(rank) if rank < member.size => (member.first + rank) as i32,
                _ => OUTSIDE,
            };
            Peers::new(ranks.map(in_recording).collect())
        });
        known.clone()
    }
}

/// The communicators of a process, those that every process has from the start included: parents first, then in the order of making.
fn in_order(member: &Member) -> Vec<LocalCommunicator> {
    let from_start = |id: u32, made_by: &str, members: Vec<i32>| LocalCommunicator {
        id,
        parent: None,
        made_by: made_by.into(),
        sequence: 0,
        members: write_ranks(&members),
        remote: None,
    };
    let world = from_start(0, "MPI_COMM_WORLD", (0..member.size as i32).collect());
    let own = from_start(1, "MPI_COMM_SELF", vec![(member.rank - member.first) as i32]);
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
