//! Calls that repeat equal ones just before them, for the rules that merge them.

use std::collections::BTreeMap;

use sintonia_mpi::FunctionRole;

use super::AdviceCandidate;
use super::inputs::SiteCalls;
use super::phrases::{format_bytes, format_ns, format_share};
use super::rule_context::{CombinedWaits, RuleContext, key_of_max};
use super::what_if::{CallOverride, WhatIfChange};

/// Waits that end when others have made the same calls.
const WAITS: &[&str] = &[
    "late_sender",
    "late_sender_wrong_order",
    "late_receiver",
    "wait_at_nxn",
    "nxn_completion",
    "late_broadcast",
    "early_reduce",
    "early_scan",
    "wait_at_fence",
    "late_post",
    "late_complete",
    "early_wait",
    "lock_competition",
];

/// Whether the calls at a site come in rows of four or more on average.
fn is_in_rows(calls: &SiteCalls) -> bool {
    4 * calls.sum(|totals| totals.consecutive) >= 3 * calls.sum(|totals| totals.calls)
}

/// A candidate for the calls in rows whose function has one of the roles of `members`; the site is the main one of those of `leaders`.
pub(super) fn candidates_of(
    context: &RuleContext,
    leaders: impl Fn(FunctionRole) -> bool,
    members: impl Fn(FunctionRole) -> bool,
) -> Vec<AdviceCandidate> {
    let in_rows: Vec<(u32, &SiteCalls)> = context.calls(members).filter(|(_, calls)| is_in_rows(calls)).collect();
    let waits = context.waits(WAITS);
    let costs: BTreeMap<u32, BTreeMap<u32, i64>> = in_rows.iter().map(|(site, calls)| (*site, costs_at(calls, waits.get(site)))).collect();
    let sums = in_rows.iter().filter(|(_, calls)| leaders(calls.operation.role()));
    let Some(site) = key_of_max(&sums.map(|(site, _)| (*site, costs[site].values().sum())).collect()) else { return Vec::new() };
    let mut per_rank: BTreeMap<u32, i64> = BTreeMap::new();
    costs.values().flatten().for_each(|(rank, ns)| *per_rank.entry(*rank).or_default() += ns);
    let most = per_rank.values().copied().max().unwrap_or(0);
    let change = WhatIfChange::Calls(costs.into_keys().collect(), CallOverride::Merged);
    let ranks = context.inputs.calls[&site].ranks.keys().copied().collect();
    vec![AdviceCandidate::at_call(site, ranks, change, most)]
}

/// Nanoseconds of each rank in the calls at a site that repeat others, with the waiting in them.
fn costs_at(calls: &SiteCalls, waits: Option<&CombinedWaits>) -> BTreeMap<u32, i64> {
    let waited = |rank: &u32| waits.and_then(|waits| waits.ranks.get(rank)).copied().unwrap_or(0);
    calls.ranks.iter().map(|(rank, totals)| (*rank, totals.consecutive_ns + waited(rank))).collect()
}

/// How many calls there are, and what they take.
pub(super) fn describe_calls(context: &RuleContext, candidate: &AdviceCandidate) -> String {
    let calls = &context.inputs.calls[&candidate.site()];
    let number = calls.sum(|totals| totals.calls);
    let first = calls.sum(|totals| totals.calls - totals.consecutive);
    format!(
        "{number} calls there over all ranks, {} in a row, of {} on average; {} on the rank that spends most time in them ({}).",
        number / first.max(1),
        format_bytes(calls.sum(|totals| totals.bytes) / number.max(1)),
        format_ns(candidate.max_saving_ns),
        format_share(candidate.max_saving_ns, context.run_ns())
    )
}
