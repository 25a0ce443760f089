//! Assembles the header of a recording.

use std::collections::BTreeMap;

use sintonia_mpi::FUNCTIONS;
use sintonia_text::rank_list::format_ranks;

use crate::definitions::FORMAT_VERSION;
use crate::header::{CallSiteDefinition, LinearClock, MpiVersion, ProcessExit, RecordedRank, RecordingHeader};
use crate::host::HostDescription;
use crate::run_description::RunDescription;
use crate::seal::RunMetadata;
use crate::seal::clocks::{self, HostClocks};
use crate::seal::communicators::UnifiedDefinitions;
use crate::seal::ranked_process::RankedProcess;
use crate::sealed::WriteStats;

/// Puts a header together.
pub(super) fn build(
    run: &RunDescription,
    members: &[RankedProcess],
    stats: &[WriteStats],
    clocks: &HostClocks,
    definitions: UnifiedDefinitions,
    sites: Vec<CallSiteDefinition>,
    outcome: RunMetadata,
) -> RecordingHeader {
    let aligned = clocks::align(clocks, members);
    let mut notes = outcome.notes;
    notes.extend(rank_notes(members));
    if !aligned.not_compared.is_empty() {
        notes.push(format!("the clocks of these hosts were not compared with the others: {}", aligned.not_compared.join(", ")));
    }
    let hosts = hosts(members);
    let host = |member: &RankedProcess| hosts.iter().position(|host| *host == member.process().host).unwrap_or(0) as u32;
    let ranks = members.iter().zip(stats).zip(&aligned.clocks);
    RecordingHeader {
        format: FORMAT_VERSION,
        sealed_by: env!("CARGO_PKG_VERSION").into(),
        command: if run.command.is_empty() { arguments(members) } else { run.command.clone() },
        started_s: run.started_s,
        zero_s: aligned.zero_s,
        exit_status: outcome.exit_status,
        parameters: run.parameters.clone(),
        profile: members.iter().any(|member| member.raw.is_profile()),
        mpi: mpi(members),
        size: members.iter().map(|member| member.first as usize + member.size as usize).max().unwrap_or(0),
        ranks: ranks.map(|((member, stats), clock)| rank(member, host(member), stats, *clock)).collect(),
        host_descriptions: host_descriptions(members, &hosts),
        hosts,
        communicators: definitions.communicators,
        objects: definitions.objects,
        groups: definitions.groups,
        sites,
        operations: FUNCTIONS.iter().map(|function| function.name.into()).collect(),
        clock_error_s: aligned.error_s,
        notes,
    }
}

fn rank(member: &RankedProcess, host: u32, stats: &WriteStats, clock: LinearClock) -> RecordedRank {
    let raw = member.raw;
    let (begin, end) = raw.span();
    RecordedRank {
        rank: member.rank,
        host,
        pid: raw.process.pid,
        calls: stats.calls,
        threads: raw.threads,
        begin_ns: clock.ticks_to_ns(begin),
        end_ns: clock.ticks_to_ns(end),
        end: match raw.process.end.as_ref().map(|end| end.how.as_str()) {
            Some("finalized") => ProcessExit::Finalized,
            Some("exited") => ProcessExit::Exited,
            Some("aborted") => ProcessExit::Aborted,
            _ => ProcessExit::CutShort,
        },
        dropped: raw.summary.dropped,
        damaged_blocks: raw.summary.damaged,
        clock,
        usage: raw.process.usage.values().cloned().collect(),
        limits: raw.process.limits.clone(),
        memory: raw.process.memory,
        off_cpu: raw.process.off_cpu,
        sampling: raw.process.sampling,
        counters: raw.process.counters.clone(),
    }
}

fn hosts(members: &[RankedProcess]) -> Vec<String> {
    let mut hosts: Vec<String> = Vec::new();
    for member in members {
        if !hosts.contains(&member.process().host) {
            hosts.push(member.process().host.clone());
        }
    }
    hosts
}

/// What the processes of each host say of it; empty if none says anything.
fn host_descriptions(members: &[RankedProcess], hosts: &[String]) -> Vec<HostDescription> {
    let described = |host: &String| {
        let of_host = members.iter().map(RankedProcess::process).filter(|process| process.host == *host);
        host_description(of_host.filter_map(|process| process.host_description.as_ref()))
    };
    let descriptions: Vec<Option<HostDescription>> = hosts.iter().map(described).collect();
    if descriptions.iter().all(Option::is_none) {
        return Vec::new();
    }
    let named = |(name, known): (&String, Option<HostDescription>)| HostDescription { name: name.clone(), ..known.unwrap_or_default() };
    hosts.iter().zip(descriptions).map(named).collect()
}

/// The first description with everything, since not all processes read all of it. If its process was killed, the load at the end is
/// known from another one.
fn host_description<'a>(all: impl Iterator<Item = &'a HostDescription>) -> Option<HostDescription> {
    let all: Vec<&HostDescription> = all.collect();
    let mut found = all.iter().find(|description| description.cpu_model.is_some()).or(all.first()).map(|found| (*found).clone())?;
    found.load_at_end = found.load_at_end.or_else(|| all.iter().find_map(|description| description.load_at_end));
    Some(found)
}

fn arguments(members: &[RankedProcess]) -> Vec<String> {
    members.first().map(|member| member.process().arguments.clone()).unwrap_or_default()
}

fn mpi(members: &[RankedProcess]) -> MpiVersion {
    let library = members.iter().find_map(|member| member.process().library.as_ref());
    library.map_or_else(MpiVersion::default, |library| MpiVersion {
        library: sintonia_mpi::short_name(&library.version),
        version: library.version.clone(),
        abi: library.abi.clone(),
    })
}

/// Notes of all ranks, each text once.
fn rank_notes(members: &[RankedProcess]) -> Vec<String> {
    let mut notes: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for member in members {
        for note in &member.process().notes {
            let ranks = notes.entry(note).or_default();
            if ranks.last() != Some(&member.rank) {
                ranks.push(member.rank);
            }
        }
    }
    notes.into_iter().map(|(note, ranks)| format!("{}: {note}", format_ranks(&ranks))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_described_by_the_process_that_knows_most() {
        let brief = HostDescription { load_at_end: Some([1.0; 3]), ..HostDescription::default() };
        let killed = HostDescription { cpu_model: Some("one".into()), cores: Some(8), ..HostDescription::default() };
        let found = host_description([&brief, &killed].into_iter());
        assert_eq!(found, Some(HostDescription { load_at_end: Some([1.0; 3]), ..killed }));
        assert_eq!(host_description(std::iter::once(&brief)), Some(brief.clone()));
        assert_eq!(host_description(std::iter::empty()), None);
    }
}
