//! Who spawned whom.
//!
//! A process knows the others of its own world only: the communicator between the processes that spawn and those that are spawned names
//! just one side on each side. Seen from outside both sides can be told: worlds are spawned in the order in which the calls were made.

use crate::definitions::read_ranks;
use crate::raw::OUTSIDE;
use crate::seal::worlds::Member;

/// A call that spawned processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spawn {
    /// The ranks in the recording of the processes that called.
    pub parents: Vec<i32>,
    /// The ranks in the recording of the processes that were spawned.
    pub children: Vec<i32>,
}

/// Finds out which calls spawned the worlds of a recording.
pub fn find(members: &[Member]) -> Vec<Spawn> {
    let mut calls: Vec<(Vec<i32>, usize)> = members.iter().flat_map(calls_of).collect();
    let mut worlds: Vec<(u32, u32)> = members.iter().map(|member| (member.first, member.size)).collect();
    worlds.dedup();
    let mut spawns = Vec::new();
    for (first, size) in worlds.into_iter().skip(1) {
        if let Some(place) = calls.iter().position(|(_, count)| *count == size as usize) {
            let children = (first as i32..).take(size as usize).collect();
            spawns.push(Spawn { parents: calls.remove(place).0, children });
        }
    }
    spawns
}

/// The spawning calls that a process tells of: those whose communicator it is first in, so that each is told once.
fn calls_of(member: &Member) -> Vec<(Vec<i32>, usize)> {
    let spawning = member.process().communicators.iter().filter(|c| c.made_by.starts_with("MPI_Comm_spawn"));
    let calls = spawning.filter_map(|communicator| {
        let parents: Vec<i32> = in_recording(member, read_ranks(&communicator.members)?).collect();
        let children = read_ranks(communicator.remote.as_ref()?)?;
        (parents.first() == Some(&(member.rank as i32))).then_some((parents, children.len()))
    });
    calls.collect()
}

/// Ranks of a process's world as ranks of the recording.
pub fn in_recording(member: &Member, ranks: Vec<i32>) -> impl Iterator<Item = i32> {
    let (first, size) = (member.first, member.size);
    ranks.into_iter().map(move |rank| match u32::try_from(rank) {
        Ok(rank) if rank < size => first.saturating_add(rank) as i32,
        _ => OUTSIDE,
    })
}
