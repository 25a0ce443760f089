//! Collectives that move no data and only synchronise.

use std::collections::BTreeMap;

use sintonia_mpi::{BlockingMode, CollectiveOp, FunctionRole};

use super::inputs::SiteCalls;
use super::phrases::{choose_verb, format_ns, format_share};
use super::rule_context::{RuleContext, key_of_max};
use super::what_if::{CallOverride, WhatIfChange};
use super::{AdviceCandidate, AdviceRule, AdviceText};

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "collective_as_barrier",
    name: "collectives used as barriers",
    help: "MPI_Barrier, or a collective that moves no data, is called repeatedly. Messages already impose an order, so it is rarely \
           needed; each call makes all ranks wait for the slowest one.",
    basis: "the run replayed without them",
    find,
    describe,
};

/// Minimum number of calls per rank to count as a loop.
const MIN_LOOP_CALLS: u64 = 3;

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    let costs = costs_by_site(context);
    let mut ranks: BTreeMap<u32, i64> = BTreeMap::new();
    costs.values().flatten().for_each(|(rank, ns)| *ranks.entry(*rank).or_default() += ns);
    let sums = costs.iter().map(|(site, ranks)| (*site, ranks.values().sum())).collect();
    let Some(site) = key_of_max(&sums) else { return Vec::new() };
    let most = ranks.values().copied().max().unwrap_or(0);
    let change = WhatIfChange::Calls(costs.keys().copied().collect(), CallOverride::Skipped);
    vec![AdviceCandidate::at_call(site, ranks.into_keys().collect(), change, most)]
}

/// Time of the ranks in such calls, by site.
fn costs_by_site(context: &RuleContext) -> BTreeMap<u32, BTreeMap<u32, i64>> {
    let waits = context.waits(&["wait_at_barrier", "wait_at_nxn", "late_broadcast", "early_reduce", "early_scan"]);
    let sites = context.calls(|role| matches!(role, FunctionRole::Collective(_))).filter(|(_, calls)| is_pure_synchronisation(calls));
    let cost = |(site, calls): (u32, &SiteCalls)| {
        let waited = |rank| waits.get(&site).and_then(|waiting| waiting.ranks.get(rank)).copied().unwrap_or(0);
        (site, calls.ranks.iter().map(|(rank, totals)| (*rank, totals.own_ns + waited(rank))).collect())
    };
    sites.map(cost).collect()
}

fn is_pure_synchronisation(calls: &SiteCalls) -> bool {
    let again = calls.ranks.values().any(|totals| totals.calls >= MIN_LOOP_CALLS);
    let empty = calls.operation.role() == FunctionRole::Collective(CollectiveOp::Barrier) || calls.sum(|totals| totals.bytes) == 0;
    calls.operation.definition().mode == BlockingMode::Blocking && again && empty
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let costs = costs_by_site(context);
    let calls = context.inputs.calls.get(&candidate.site());
    let name = calls.map_or("a collective", |calls| calls.operation.name());
    let times = calls.map_or(0, |calls| calls.ranks.values().map(|totals| totals.calls).max().unwrap_or(0));
    let all: i64 = costs.values().flatten().map(|(_, ns)| ns).sum();
    let elsewhere = match costs.len() - 1 {
        0 => String::new(),
        others => format!(" ({others} other {} like it)", choose_verb(others, "place", "places")),
    };
    AdviceText {
        what: format!(
            "All ranks wait for each other in {name} at {}{elsewhere}, which moves no data.",
            context.source_location(candidate.site())
        ),
        evidence: format!(
            "called {times} times by each rank; {} in such calls over all ranks, {} on each of them.",
            format_ns(all),
            format_share(all / candidate.ranks.len().max(1) as i64, context.run_ns())
        ),
        try_this: format!(
            "Remove {name}: messages and other collectives already impose the necessary order. Where it orders file accesses, shared \
             memory or timing, do that less often, or use MPI_Ibarrier and continue working."
        ),
    }
}
