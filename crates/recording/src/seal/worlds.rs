//! Which processes belong to one recording.
//!
//! A script may run several MPI programs, and a program may spawn others: each set of processes that were started together is a world.
//! Spawned worlds go with the world that ran when they were started; every other world is a recording of its own.

use std::collections::{BTreeSet, HashSet};

use crate::definitions;
use crate::seal::clocks::HostClocks;
use crate::seal::left::Left;
use crate::seal::process::Process;

/// Processes that were started together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    /// How many there should be.
    pub size: u32,
    /// Their ranks, and which of the processes they are.
    pub members: Vec<(u32, usize)>,
}

/// The worlds of one recording, the one that started first in front.
pub type Group = Vec<World>;

/// A process with its place in the recording.
#[derive(Clone, Copy)]
pub struct Member<'a> {
    /// Its rank in the recording.
    pub rank: u32,
    /// Its world, by place in the group.
    pub world: usize,
    /// The rank in the recording of the first process of its world.
    pub first: u32,
    /// How many processes its world has.
    pub size: u32,
    /// What it left.
    pub left: &'a Left,
}

impl<'a> Member<'a> {
    /// What it says of itself.
    pub fn process(&self) -> &'a Process {
        &self.left.process
    }
}

/// The processes of a recording by rank: those of each world follow those of the one before.
pub fn members<'a>(group: &Group, processes: &'a [Left]) -> Vec<Member<'a>> {
    let mut members = Vec::new();
    let mut first = 0u32;
    for (place, world) in group.iter().enumerate() {
        let size = world.size;
        members.extend(world.members.iter().map(|(rank, left)| Member {
            rank: first.saturating_add(*rank),
            world: place,
            first,
            size,
            left: &processes[*left],
        }));
        first = first.saturating_add(size);
    }
    members
}

/// When a world ran, in nanoseconds since 1970.
#[derive(Clone, Copy)]
struct Span {
    begin: i64,
    end: i64,
}

/// Sorts processes into recordings, in the order in which these started; and tells which processes have no place in any.
pub fn group(processes: &[Left], clocks: &HostClocks) -> (Vec<Group>, Vec<String>) {
    let (worlds, notes) = worlds(processes, clocks);
    let mut worlds: Vec<(Span, World, bool)> =
        worlds.into_iter().map(|(world, spawned)| (span(&world, processes, clocks), world, spawned)).collect();
    worlds.sort_by_key(|(span, _, _)| span.begin);
    let mut groups: Vec<(Span, Group)> = Vec::new();
    for (span, world, spawned) in worlds {
        match parent(&groups, span).filter(|_| spawned) {
            Some(parent) => groups[parent].1.push(world),
            None => groups.push((span, vec![world])),
        }
    }
    (groups.into_iter().map(|(_, group)| group).collect(), notes)
}

/// The recording that a spawned world goes with: the latest that ran when it started, else the latest that had started.
fn parent(groups: &[(Span, Group)], spawned: Span) -> Option<usize> {
    let ran = |(span, _): &(Span, Group)| span.begin <= spawned.begin && spawned.begin <= span.end;
    groups.iter().rposition(ran).or(groups.len().checked_sub(1))
}

fn span(world: &World, processes: &[Left], clocks: &HostClocks) -> Span {
    let spans = world.members.iter().map(|(_, place)| life(&processes[*place], clocks));
    let (begin, end) = spans.fold((i64::MAX, i64::MIN), |(begin, end), span| (begin.min(span.0), end.max(span.1)));
    Span { begin, end }
}

/// The worlds, and whether they were spawned. Processes that never learned their rank are a world if there is no other.
fn worlds(processes: &[Left], clocks: &HostClocks) -> (Vec<(World, bool)>, Vec<String>) {
    let mut worlds: Vec<Forming> = Vec::new();
    let mut notes = Vec::new();
    for (place, left) in in_order_of_start(processes, clocks) {
        let Some(world) = &left.process.world else { continue };
        let (rank, (begin, end)) = (world.rank as u32, life(left, clocks));
        if rank >= world.size as u32 {
            notes.push(format!("{} says it is rank {rank} of {}; it was left out", left.process.name, world.size));
            continue;
        }
        // Launchers that give a run no name leave the same one to all: then a rank that comes again, or after the end, begins another.
        let same = |forming: &&mut Forming| {
            (forming.id, forming.spawned, forming.world.size) == (world.id, world.spawned, world.size as u32)
                && begin <= forming.end.saturating_add(BETWEEN_RUNS_NS)
                && !forming.ranks.contains(&rank)
        };
        match worlds.iter_mut().rev().find(same) {
            Some(forming) => forming.add(rank, place, end),
            None => {
                let mut forming = Forming::new(world);
                forming.add(rank, place, end);
                worlds.push(forming);
            }
        }
    }
    let mut worlds: Vec<(World, bool)> = worlds.into_iter().map(|forming| (forming.world, forming.spawned)).collect();
    let ranked: BTreeSet<usize> = worlds.iter().flat_map(|(world, _)| &world.members).map(|(_, place)| *place).collect();
    let mut lost: Vec<usize> = (0..processes.len()).filter(|p| !ranked.contains(p) && processes[*p].survey.calls > 0).collect();
    lost.sort_by_key(|place| (&processes[*place].process.host, processes[*place].process.pid));
    if worlds.is_empty() && !lost.is_empty() {
        notes.push("no process learned its rank before it ended; ranks are in the order of process numbers".into());
        let members = lost.iter().zip(0..).map(|(place, rank)| (rank, *place)).collect();
        return (vec![(World { size: lost.len() as u32, members }, false)], notes);
    }
    for left in lost.iter().map(|place| &processes[*place]).filter(|left| left.process.world.is_none()) {
        notes.push(format!("{} called MPI but never learned its rank; it was left out", left.process.name));
    }
    for (world, _) in &mut worlds {
        world.members.sort_unstable();
    }
    (worlds, notes)
}

/// No launcher starts the next run sooner than this after the last process of one has ended.
const BETWEEN_RUNS_NS: i64 = 10_000_000;

/// A world whose members are being found.
struct Forming {
    id: u64,
    spawned: bool,
    /// The last moment known of any of them.
    end: i64,
    ranks: HashSet<u32>,
    world: World,
}

impl Forming {
    fn new(world: &definitions::World) -> Forming {
        let nobody = World { size: world.size as u32, members: Vec::new() };
        Forming { id: world.id, spawned: world.spawned, end: i64::MIN, ranks: HashSet::new(), world: nobody }
    }

    fn add(&mut self, rank: u32, place: usize, end: i64) {
        self.ranks.insert(rank);
        self.world.members.push((rank, place));
        self.end = self.end.max(end);
    }
}

fn in_order_of_start<'a>(processes: &'a [Left], clocks: &HostClocks) -> Vec<(usize, &'a Left)> {
    let mut order: Vec<(usize, &Left)> = processes.iter().enumerate().collect();
    order.sort_by_key(|(place, left)| (life(left, clocks).0, *place));
    order
}

/// The first and the last moment known of a process, since 1970.
fn life(left: &Left, clocks: &HostClocks) -> (i64, i64) {
    let Left { process, survey, .. } = left;
    let first_reading = process.readings.first().map(|reading| reading.ticks);
    let begin = survey.first.into_iter().chain(first_reading).min().unwrap_or(0);
    (clocks.since_1970(process, begin), clocks.since_1970(process, survey.last.max(begin)))
}
