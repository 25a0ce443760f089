//! Matches spawned worlds with the calls that spawned them.
//!
//! A process knows only the members of its own world, so an intercommunicator to spawned processes names one side only. A world starts while
//! the call that spawns it is in progress: after the previous spawn of the same process, and before the call returns. Open MPI also tells
//! spawned processes the root of the call. What fits more than one world or more than one call is not matched.

use std::collections::HashMap;

use crate::definitions::{LocalCommunicator, SpawnRoot, WorldDefinition, parse_ranks};
use crate::raw::EXTERNAL;
use crate::seal::clocks::HostClocks;
use crate::seal::ranked_process::RankedProcess;
use crate::seal::worlds::process_lifetime;

/// The remote groups of the intercommunicators between spawned and spawning processes, as ranks of the recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SpawnGroups {
    /// The spawned processes, by rank of a spawning process and its id of the communicator.
    pub children: HashMap<(u32, u32), Vec<i32>>,
    /// The spawning processes, by rank of the first process of the spawned world.
    pub parents: HashMap<u32, Vec<i32>>,
}

/// A spawn call of one process.
struct SpawnCall {
    rank: u32,
    communicator: u32,
    /// Ranks in the recording of all calling processes.
    parents: Vec<i32>,
    /// Number of spawned processes.
    count: u32,
    /// When the previous spawn call of the process returned, and when this one did.
    window: (i64, i64),
}

/// A spawned world.
struct SpawnedWorld {
    first: u32,
    size: u32,
    begin: i64,
    /// Ranks in the recording, one of which is the root of the spawn call; empty if it is not known.
    roots: Vec<i32>,
}

impl SpawnGroups {
    /// Matches the worlds of a recording with spawn calls.
    pub(super) fn find(members: &[RankedProcess], clocks: &HostClocks) -> SpawnGroups {
        SpawnGroups::from_calls(
            &spawned_worlds(members, clocks),
            &members.iter().flat_map(|member| spawn_calls(member, clocks)).collect::<Vec<_>>(),
        )
    }

    fn from_calls(worlds: &[SpawnedWorld], calls: &[SpawnCall]) -> SpawnGroups {
        let mut groups = SpawnGroups::default();
        for world in worlds {
            let fitting: Vec<&SpawnCall> = calls.iter().filter(|call| call.fits(world)).collect();
            let Some(parents) = fitting.first().map(|call| &call.parents) else { continue };
            let is_only_world = |call: &&SpawnCall| worlds.iter().filter(|world| call.fits(world)).count() == 1;
            if fitting.iter().any(|call| call.parents != *parents) || !fitting.iter().all(is_only_world) {
                continue;
            }
            groups.parents.insert(world.first, parents.clone());
            let children: Vec<i32> = (world.first as i32..).take(world.size as usize).collect();
            groups.children.extend(fitting.iter().map(|call| ((call.rank, call.communicator), children.clone())));
        }
        groups
    }

    /// The remote group of a communicator of this process, if the call that spawned it is known.
    pub(super) fn remote_group(&self, member: &RankedProcess, communicator: &LocalCommunicator) -> Option<&Vec<i32>> {
        match communicator.made_by.as_str() {
            // `MPI_Comm_get_parent` does not create it.
            "unseen" => self.parents.get(&member.first),
            _ => self.children.get(&(member.rank, communicator.id)),
        }
    }
}

impl SpawnCall {
    fn fits(&self, world: &SpawnedWorld) -> bool {
        self.count == world.size
            && (self.window.0..=self.window.1).contains(&world.begin)
            && (world.roots.is_empty() || world.roots.iter().any(|root| self.parents.contains(root)))
    }
}

/// The spawn calls of a process, in order.
fn spawn_calls(member: &RankedProcess, clocks: &HostClocks) -> Vec<SpawnCall> {
    let spawning = member.process().communicators.iter().filter(|communicator| communicator.made_by.starts_with("MPI_Comm_spawn"));
    let mut previous = i64::MIN;
    let calls = spawning.filter_map(|communicator| {
        let returned = clocks.epoch_ns(member.process(), communicator.ticks);
        let window = (std::mem::replace(&mut previous, returned), returned);
        let parents = to_recording_ranks(member, parse_ranks(&communicator.members)?).collect();
        let count = parse_ranks(communicator.remote.as_ref()?)?.len() as u32;
        Some(SpawnCall { rank: member.rank, communicator: communicator.id, parents, count, window })
    });
    calls.collect()
}

fn spawned_worlds(members: &[RankedProcess], clocks: &HostClocks) -> Vec<SpawnedWorld> {
    let mut worlds: Vec<SpawnedWorld> = Vec::new();
    for member in members {
        let Some(world) = member.process().world.as_ref().filter(|world| world.spawned) else { continue };
        let begin = process_lifetime(member.raw, clocks).0;
        match worlds.last_mut().filter(|last| last.first == member.first) {
            Some(last) => last.begin = last.begin.min(begin),
            None => {
                let roots = world.spawn_root.map(|root| ranks_in_recording(members, root)).unwrap_or_default();
                worlds.push(SpawnedWorld { first: member.first, size: member.size, begin, roots });
            }
        }
    }
    worlds
}

/// The root, or all processes with its rank if its world is not found: Open MPI 5 does not tell the namespace of the world.
fn ranks_in_recording(members: &[RankedProcess], root: SpawnRoot) -> Vec<i32> {
    let ranks = |fits: &dyn Fn(&WorldDefinition) -> bool| -> Vec<i32> {
        let fitting = members.iter().filter(|member| member.process().world.as_ref().is_some_and(fits));
        fitting.map(|member| member.rank as i32).collect()
    };
    let exact = ranks(&|world| (world.id, world.rank) == (root.world, root.rank));
    if exact.is_empty() { ranks(&|world| world.rank == root.rank) } else { exact }
}

/// Converts world ranks of a process to ranks of the recording.
pub(super) fn to_recording_ranks(member: &RankedProcess, ranks: Vec<i32>) -> impl Iterator<Item = i32> {
    let (first, size) = (member.first, member.size);
    ranks.into_iter().map(move |rank| match u32::try_from(rank) {
        Ok(rank) if rank < size => first.saturating_add(rank) as i32,
        _ => EXTERNAL,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(rank: u32, communicator: u32, window: (i64, i64)) -> SpawnCall {
        SpawnCall { rank, communicator, parents: vec![rank as i32], count: 2, window }
    }

    fn world(first: u32, begin: i64, roots: &[i32]) -> SpawnedWorld {
        SpawnedWorld { first, size: 2, begin, roots: roots.to_vec() }
    }

    #[test]
    fn a_world_belongs_to_the_call_during_which_it_started() {
        let calls = [call(0, 2, (0, 10)), call(0, 3, (10, 20)), call(1, 2, (20, 30))];
        let groups = SpawnGroups::from_calls(&[world(2, 25, &[]), world(4, 15, &[]), world(6, 5, &[])], &calls);
        assert_eq!(groups.children, HashMap::from([((1, 2), vec![2, 3]), ((0, 3), vec![4, 5]), ((0, 2), vec![6, 7])]));
        assert_eq!(groups.parents, HashMap::from([(2, vec![1]), (4, vec![0]), (6, vec![0])]));
    }

    #[test]
    fn of_calls_at_the_same_time_the_one_of_the_root_fits() {
        let calls = [call(0, 2, (0, 10)), call(1, 2, (0, 10))];
        let groups = SpawnGroups::from_calls(&[world(2, 5, &[1, 3]), world(4, 6, &[0])], &calls);
        assert_eq!(groups.children, HashMap::from([((1, 2), vec![2, 3]), ((0, 2), vec![4, 5])]));
    }

    #[test]
    fn calls_at_the_same_time_without_a_known_root_are_not_matched() {
        let calls = [call(0, 2, (0, 10)), call(1, 2, (0, 10))];
        let groups = SpawnGroups::from_calls(&[world(2, 5, &[]), world(4, 6, &[])], &calls);
        assert_eq!(groups, SpawnGroups::default());
    }
}
