//! Puts together what a recording says of its run.

use std::collections::BTreeMap;

use sintonia_mpi::FUNCTIONS;

use crate::definitions::{FORMAT, write_ranks};
use crate::header::{Clock, End, Header, Mpi, Rank, Site};
use crate::run::Run;
use crate::seal::Outcome;
use crate::seal::clocks::{self, HostClocks};
use crate::seal::communicators::Unified;
use crate::seal::worlds::Member;
use crate::sealed::Written;

/// Puts a header together.
pub fn build(
    run: &Run,
    members: &[Member],
    written: &[Written],
    clocks: &HostClocks,
    unified: Unified,
    sites: Vec<Site>,
    outcome: Outcome,
) -> Header {
    let aligned = clocks::align(clocks, members);
    let mut notes = outcome.notes;
    notes.extend(told_by_ranks(members));
    if !aligned.not_compared.is_empty() {
        notes.push(format!("the clocks of these hosts were not compared with the others: {}", aligned.not_compared.join(", ")));
    }
    let hosts = hosts(members);
    let host = |member: &Member| hosts.iter().position(|host| *host == member.process().host).unwrap_or(0) as u32;
    let ranks = members.iter().zip(written).zip(&aligned.clocks);
    Header {
        format: FORMAT,
        sealed_by: env!("CARGO_PKG_VERSION").into(),
        command: if run.command.is_empty() { arguments(members) } else { run.command.clone() },
        started_s: run.started_s,
        zero_s: aligned.zero_s,
        exit_status: outcome.exit_status,
        parameters: run.parameters.clone(),
        profile: members.iter().any(|member| member.left.is_profile()),
        mpi: mpi(members),
        size: members.iter().map(|member| member.first as usize + member.size as usize).max().unwrap_or(0),
        ranks: ranks.map(|((member, written), clock)| rank(member, host(member), written, *clock)).collect(),
        hosts,
        communicators: unified.communicators,
        objects: unified.objects,
        groups: unified.groups,
        sites,
        operations: FUNCTIONS.iter().map(|function| function.name.into()).collect(),
        clock_error_s: aligned.error_s,
        notes,
    }
}

fn rank(member: &Member, host: u32, written: &Written, clock: Clock) -> Rank {
    let left = member.left;
    let (begin, end) = left.span();
    Rank {
        rank: member.rank,
        host,
        pid: left.process.pid,
        calls: written.calls,
        threads: left.threads,
        begin_ns: clock.nanoseconds(begin),
        end_ns: clock.nanoseconds(end),
        end: match left.process.end.as_ref().map(|end| end.how.as_str()) {
            Some("finalized") => End::Finalized,
            Some("exited") => End::Exited,
            Some("aborted") => End::Aborted,
            _ => End::CutShort,
        },
        dropped: left.survey.dropped,
        damaged_blocks: left.survey.damaged,
        clock,
    }
}

fn hosts(members: &[Member]) -> Vec<String> {
    let mut hosts: Vec<String> = Vec::new();
    for member in members {
        if !hosts.contains(&member.process().host) {
            hosts.push(member.process().host.clone());
        }
    }
    hosts
}

fn arguments(members: &[Member]) -> Vec<String> {
    members.first().map(|member| member.process().arguments.clone()).unwrap_or_default()
}

fn mpi(members: &[Member]) -> Mpi {
    let library = members.iter().find_map(|member| member.process().library.as_ref());
    library.map_or_else(Mpi::default, |library| Mpi {
        library: sintonia_mpi::short_name(&library.version),
        version: library.version.clone(),
        abi: library.abi.clone(),
    })
}

/// What ranks have to tell, each thing once.
fn told_by_ranks(members: &[Member]) -> Vec<String> {
    let mut told: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    for member in members {
        for note in &member.process().notes {
            let ranks = told.entry(note).or_default();
            if ranks.last() != Some(&(member.rank as i32)) {
                ranks.push(member.rank as i32);
            }
        }
    }
    let name = |ranks: &[i32]| if ranks.len() == 1 { "rank" } else { "ranks" };
    told.into_iter().map(|(note, ranks)| format!("{} {}: {note}", name(&ranks), write_ranks(&ranks))).collect()
}
