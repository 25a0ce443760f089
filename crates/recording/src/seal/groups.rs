//! The groups that calls of different processes named: those with the same members are one.

use std::collections::HashMap;

use crate::definitions::{read_ranks, write_ranks};
use crate::seal::spawned::in_recording;
use crate::seal::worlds::Member;

/// The numbers in the recording of one process's groups, by its own numbers.
pub type Numbers = HashMap<u32, i32>;

/// Numbers the groups of all processes.
pub fn unify(members: &[Member]) -> (Vec<String>, Vec<Numbers>) {
    let mut groups: Vec<String> = Vec::new();
    let mut known: HashMap<String, i32> = HashMap::new();
    let mut number = |member: &Member, ranks: &str| {
        let ranks: Vec<i32> = in_recording(member, read_ranks(ranks).unwrap_or_default()).collect();
        *known.entry(write_ranks(&ranks)).or_insert_with_key(|ranks| {
            groups.push(ranks.clone());
            groups.len() as i32 - 1
        })
    };
    let numbers = |member: &Member| member.process().groups.iter().map(|group| (group.id, number(member, &group.members))).collect();
    let numbers = members.iter().map(numbers).collect();
    (groups, numbers)
}
