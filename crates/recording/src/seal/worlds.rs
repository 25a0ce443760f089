//! Assigns processes to recordings.
//!
//! A script may run several MPI programs, and a program may spawn others; processes started together form a world. A spawned world joins
//! the recording of the world that was running when it started; every other world is a recording of its own.

use std::collections::{BTreeSet, HashSet};

use crate::definitions;
use crate::seal::clocks::HostClocks;
use crate::seal::ranked_process::RankedProcess;
use crate::seal::raw_process::RawProcess;

/// Processes started together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProcessWorld {
    /// Expected number of processes.
    pub size: u32,
    /// Ranks, and indices of their processes.
    pub members: Vec<(u32, usize)>,
}

/// The worlds of one recording, first started first.
pub(super) type WorldGroup = Vec<ProcessWorld>;

/// The processes of a recording by rank; worlds follow each other.
pub(super) fn ranked_processes<'a>(group: &WorldGroup, processes: &'a [RawProcess]) -> Vec<RankedProcess<'a>> {
    let mut members = Vec::new();
    let mut first = 0u32;
    for (index, world) in group.iter().enumerate() {
        let size = world.size;
        members.extend(world.members.iter().map(|(rank, raw)| RankedProcess {
            rank: first.saturating_add(*rank),
            world: index,
            first,
            size,
            raw: &processes[*raw],
        }));
        first = first.saturating_add(size);
    }
    members
}

/// Run time of a world, in nanoseconds since the Unix epoch.
#[derive(Clone, Copy)]
struct WorldLifetime {
    begin: i64,
    end: i64,
}

/// Groups processes into recordings, in order of start, with notes on processes that belong to none.
pub(super) fn group_worlds(processes: &[RawProcess], clocks: &HostClocks) -> (Vec<WorldGroup>, Vec<String>) {
    let (worlds, notes) = find_worlds(processes, clocks);
    let mut worlds: Vec<(WorldLifetime, ProcessWorld, bool)> =
        worlds.into_iter().map(|(world, spawned)| (world_lifetime(&world, processes, clocks), world, spawned)).collect();
    worlds.sort_by_key(|(span, _, _)| span.begin);
    let mut groups: Vec<(WorldLifetime, WorldGroup)> = Vec::new();
    for (span, world, spawned) in worlds {
        match parent(&groups, span).filter(|_| spawned) {
            Some(parent) => groups[parent].1.push(world),
            None => groups.push((span, vec![world])),
        }
    }
    (groups.into_iter().map(|(_, group)| group).collect(), notes)
}

/// The recording that a spawned world joins: the latest one running at its start, else the latest one started.
fn parent(groups: &[(WorldLifetime, WorldGroup)], spawned: WorldLifetime) -> Option<usize> {
    let ran = |(span, _): &(WorldLifetime, WorldGroup)| span.begin <= spawned.begin && spawned.begin <= span.end;
    groups.iter().rposition(ran).or(groups.len().checked_sub(1))
}

fn world_lifetime(world: &ProcessWorld, processes: &[RawProcess], clocks: &HostClocks) -> WorldLifetime {
    let spans = world.members.iter().map(|(_, index)| process_lifetime(&processes[*index], clocks));
    let (begin, end) = spans.fold((i64::MAX, i64::MIN), |(begin, end), span| (begin.min(span.0), end.max(span.1)));
    WorldLifetime { begin, end }
}

/// The worlds, and whether they were spawned. Processes that never learned their rank form a world only if there is no other.
fn find_worlds(processes: &[RawProcess], clocks: &HostClocks) -> (Vec<(ProcessWorld, bool)>, Vec<String>) {
    let mut worlds: Vec<WorldBuilder> = Vec::new();
    let mut notes = Vec::new();
    for (index, raw) in by_start_time(processes, clocks) {
        let Some(world) = &raw.process.world else { continue };
        let (rank, (begin, end)) = (world.rank as u32, process_lifetime(raw, clocks));
        if rank >= world.size as u32 {
            notes.push(format!("{} claims to be rank {rank} of {}; it was ignored", raw.process.name, world.size));
            continue;
        }
        // Some launchers give all runs the same id: a repeated rank, or a start after the end, then begins a new world.
        let same = |builder: &&mut WorldBuilder| {
            (builder.id, builder.spawned, builder.world.size) == (world.id, world.spawned, world.size as u32)
                && begin <= builder.end.saturating_add(MIN_RUN_GAP_NS)
                && !builder.ranks.contains(&rank)
        };
        match worlds.iter_mut().rev().find(same) {
            Some(builder) => builder.add(rank, index, end),
            None => {
                let mut builder = WorldBuilder::new(world);
                builder.add(rank, index, end);
                worlds.push(builder);
            }
        }
    }
    let mut worlds: Vec<(ProcessWorld, bool)> = worlds.into_iter().map(|builder| (builder.world, builder.spawned)).collect();
    let ranked: BTreeSet<usize> = worlds.iter().flat_map(|(world, _)| &world.members).map(|(_, index)| *index).collect();
    let mut unranked: Vec<usize> = (0..processes.len()).filter(|p| !ranked.contains(p) && processes[*p].summary.calls > 0).collect();
    unranked.sort_by_key(|index| (&processes[*index].process.host, processes[*index].process.pid));
    if worlds.is_empty() && !unranked.is_empty() {
        notes.push("no process learned its rank before it ended; ranks are assigned in order of process ids".into());
        let members = unranked.iter().zip(0..).map(|(index, rank)| (rank, *index)).collect();
        return (vec![(ProcessWorld { size: unranked.len() as u32, members }, false)], notes);
    }
    for raw in unranked.iter().map(|index| &processes[*index]).filter(|raw| raw.process.world.is_none()) {
        notes.push(format!("{} called MPI but never learned its rank; it was ignored", raw.process.name));
    }
    for (world, _) in &mut worlds {
        world.members.sort_unstable();
    }
    (worlds, notes)
}

/// Minimum time between two runs of a launcher.
const MIN_RUN_GAP_NS: i64 = 10_000_000;

/// A world under construction.
struct WorldBuilder {
    id: u64,
    spawned: bool,
    /// Last known time of any member.
    end: i64,
    ranks: HashSet<u32>,
    world: ProcessWorld,
}

impl WorldBuilder {
    fn new(world: &definitions::WorldDefinition) -> WorldBuilder {
        let empty = ProcessWorld { size: world.size as u32, members: Vec::new() };
        WorldBuilder { id: world.id, spawned: world.spawned, end: i64::MIN, ranks: HashSet::new(), world: empty }
    }

    fn add(&mut self, rank: u32, index: usize, end: i64) {
        self.ranks.insert(rank);
        self.world.members.push((rank, index));
        self.end = self.end.max(end);
    }
}

fn by_start_time<'a>(processes: &'a [RawProcess], clocks: &HostClocks) -> Vec<(usize, &'a RawProcess)> {
    let mut order: Vec<(usize, &RawProcess)> = processes.iter().enumerate().collect();
    order.sort_by_key(|(index, raw)| (process_lifetime(raw, clocks).0, *index));
    order
}

/// First and last known time of a process, since the Unix epoch.
pub(super) fn process_lifetime(raw: &RawProcess, clocks: &HostClocks) -> (i64, i64) {
    let RawProcess { process, summary, .. } = raw;
    let first_reading = process.readings.first().map(|reading| reading.ticks);
    let begin = summary.first.into_iter().chain(first_reading).min().unwrap_or(0);
    (clocks.epoch_ns(process, begin), clocks.epoch_ns(process, summary.last.max(begin)))
}
