//! Matches spawned worlds with the calls that spawned them.
//!
//! A process knows only the members of its own world, so an intercommunicator to spawned processes names one side only. Worlds are matched
//! with spawn calls in the order of the calls.

use crate::definitions::parse_ranks;
use crate::raw::EXTERNAL;
use crate::seal::ranked_process::RankedProcess;

/// A spawn call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SpawnCall {
    /// Ranks in the recording of the calling processes.
    pub parents: Vec<i32>,
    /// Ranks in the recording of the spawned processes.
    pub children: Vec<i32>,
}

/// Matches the worlds of a recording with spawn calls.
pub(super) fn find(members: &[RankedProcess]) -> Vec<SpawnCall> {
    let mut calls: Vec<(Vec<i32>, usize)> = members.iter().flat_map(spawn_calls).collect();
    let mut worlds: Vec<(u32, u32)> = members.iter().map(|member| (member.first, member.size)).collect();
    worlds.dedup();
    let mut spawns = Vec::new();
    for (first, size) in worlds.into_iter().skip(1) {
        if let Some(index) = calls.iter().position(|(_, count)| *count == size as usize) {
            let children = (first as i32..).take(size as usize).collect();
            spawns.push(SpawnCall { parents: calls.remove(index).0, children });
        }
    }
    spawns
}

/// The spawn calls of a process: those in which it is the first parent, so that each is counted once.
fn spawn_calls(member: &RankedProcess) -> Vec<(Vec<i32>, usize)> {
    let spawning = member.process().communicators.iter().filter(|c| c.made_by.starts_with("MPI_Comm_spawn"));
    let calls = spawning.filter_map(|communicator| {
        let parents: Vec<i32> = to_recording_ranks(member, parse_ranks(&communicator.members)?).collect();
        let children = parse_ranks(communicator.remote.as_ref()?)?;
        (parents.first() == Some(&(member.rank as i32))).then_some((parents, children.len()))
    });
    calls.collect()
}

/// Converts world ranks of a process to ranks of the recording.
pub(super) fn to_recording_ranks(member: &RankedProcess, ranks: Vec<i32>) -> impl Iterator<Item = i32> {
    let (first, size) = (member.first, member.size);
    ranks.into_iter().map(move |rank| match u32::try_from(rank) {
        Ok(rank) if rank < size => first.saturating_add(rank) as i32,
        _ => EXTERNAL,
    })
}
