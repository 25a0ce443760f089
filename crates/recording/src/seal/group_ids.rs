//! Unification of the process groups that calls name: groups with equal members are one.

use std::collections::HashMap;

use crate::definitions::{format_ranks, parse_ranks};
use crate::seal::ranked_process::RankedProcess;
use crate::seal::spawns::to_recording_ranks;

/// Group indices in the recording by a process's local ids.
pub(super) type GroupIds = HashMap<u32, i32>;

/// Numbers the groups of all processes.
pub(super) fn unify(members: &[RankedProcess]) -> (Vec<String>, Vec<GroupIds>) {
    let mut groups: Vec<String> = Vec::new();
    let mut indices: HashMap<String, i32> = HashMap::new();
    let mut group_id = |member: &RankedProcess, ranks: &str| {
        let ranks: Vec<i32> = to_recording_ranks(member, parse_ranks(ranks).unwrap_or_default()).collect();
        *indices.entry(format_ranks(&ranks)).or_insert_with_key(|ranks| {
            groups.push(ranks.clone());
            groups.len() as i32 - 1
        })
    };
    let ids = |member: &RankedProcess| member.process().groups.iter().map(|group| (group.id, group_id(member, &group.members))).collect();
    let ids = members.iter().map(ids).collect();
    (groups, ids)
}
