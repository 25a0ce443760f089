//! File I/O by a single rank while the others wait.

use std::collections::BTreeMap;

use sintonia_mpi::FunctionRole;

use super::inputs::SiteCalls;
use super::phrases::{format_bytes, format_ns, format_ranks, format_share};
use super::rule_context::{RuleContext, key_of_max};
use super::what_if::{CallOverride, WhatIfChange};
use super::{AdviceCandidate, AdviceRule, AdviceText};

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "io_by_one_rank",
    name: "file I/O by one rank",
    help: "One rank does all the file I/O while the others wait for it. Parallel file systems are designed for many concurrent accesses.",
    basis: "the run replayed with the file I/O shared evenly by all ranks",
    find,
    describe,
};

fn is_file_role(role: FunctionRole) -> bool {
    matches!(
        role,
        FunctionRole::FileOpen | FunctionRole::FileClose | FunctionRole::FileRead | FunctionRole::FileWrite | FunctionRole::FileOther
    )
}

/// The sites at which one rank does nearly all file I/O, by that rank.
fn sites_by_rank<'a>(context: &RuleContext<'a>) -> BTreeMap<u32, Vec<(u32, &'a SiteCalls)>> {
    let mut ranks: BTreeMap<u32, Vec<(u32, &SiteCalls)>> = BTreeMap::new();
    for (site, calls) in context.calls(is_file_role) {
        let own = calls.ranks.iter().map(|(rank, totals)| (*rank, totals.own_ns)).collect();
        let Some(rank) = key_of_max(&own) else { continue };
        if 10 * own[&rank] >= 9 * own.values().sum::<i64>() {
            ranks.entry(rank).or_default().push((site, calls));
        }
    }
    ranks
}

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    let size = context.size() as i64;
    let candidate = |(rank, calls): (u32, Vec<(u32, &SiteCalls)>)| {
        let sums: BTreeMap<u32, i64> = calls.iter().map(|(site, calls)| (*site, calls.sum(|totals| totals.own_ns))).collect();
        let all: i64 = sums.values().sum();
        let change = WhatIfChange::Calls(sums.keys().copied().collect(), CallOverride::SharedByRanks);
        Some(AdviceCandidate::at_call(key_of_max(&sums)?, vec![rank], change, all - all / size))
    };
    sites_by_rank(context).into_iter().filter_map(candidate).collect()
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let rank = candidate.ranks.first().copied().unwrap_or(0);
    let sites = sites_by_rank(context).remove(&rank).unwrap_or_default();
    let (own, moved): (i64, u64) = sites
        .iter()
        .fold((0, 0), |(ns, moved), (_, calls)| (ns + calls.sum(|totals| totals.own_ns), moved + calls.sum(|totals| totals.bytes)));
    let waited: i64 = context.findings.waits.iter().filter_map(|waits| waits.causes.get(&rank)).sum();
    let name = context.inputs.calls.get(&candidate.site()).map_or("its files", |calls| calls.operation.name());
    AdviceText {
        what: format!(
            "Only {} accesses the file ({name} at {}), and the others wait for it.",
            format_ranks(&[rank]),
            context.source_location(candidate.site())
        ),
        evidence: format!(
            "{} in file operations on {} ({}), {} moved; the others wait {} for it in total.",
            format_ns(own),
            format_ranks(&[rank]),
            format_share(own, context.run_ns()),
            format_bytes(moved),
            format_ns(waited)
        ),
        try_this: "Open the file on all ranks and let each access its own part with a collective call (MPI_File_write_at_all, \
                   MPI_File_read_at_all); or write from one rank without making the others wait (MPI_File_iwrite_at)."
            .into(),
    }
}
