//! Many small consecutive messages between the same two ranks.

use std::collections::BTreeMap;

use sintonia_mpi::FunctionRole;

use super::inputs::{RankCallTotals, SiteCalls};
use super::phrases::{choose_verb, format_bytes, format_ns, format_ranks, format_share};
use super::rule_context::{RuleContext, key_of_max};
use super::what_if::{CallOverride, WhatIfChange};
use super::{AdviceCandidate, AdviceRule, AdviceText};

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "small_messages",
    name: "many small messages",
    help: "Every message has a fixed cost, however small it is. Consecutive messages to the same rank can be merged into one, and pay that \
           cost once.",
    basis: "the run replayed with each message merged into the preceding one to the same rank",
    find,
    describe,
};

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    let in_a_row: Vec<(u32, &SiteCalls)> = context
        .calls(|role| matches!(role, FunctionRole::Send | FunctionRole::Receive))
        // On average at least four in a row.
        .filter(|(_, calls)| 4 * calls.sum(|totals| totals.consecutive) >= 3 * calls.sum(|totals| totals.calls))
        .collect();
    let sends = in_a_row.iter().filter(|(_, calls)| calls.operation.role() == FunctionRole::Send);
    let Some(site) = key_of_max(&sends.map(|(site, calls)| (*site, calls.sum(|totals| totals.consecutive_ns))).collect()) else {
        return Vec::new();
    };
    let mut per_rank: BTreeMap<u32, i64> = BTreeMap::new();
    for (rank, totals) in in_a_row.iter().flat_map(|(_, calls)| &calls.ranks) {
        *per_rank.entry(*rank).or_default() += totals.consecutive_ns;
    }
    let most = per_rank.values().copied().max().unwrap_or(0);
    let change = WhatIfChange::Calls(in_a_row.iter().map(|(site, _)| *site).collect(), CallOverride::Merged);
    let senders = context.inputs.calls[&site].ranks.keys().copied().collect();
    vec![AdviceCandidate::at_call(site, senders, change, most)]
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let calls = &context.inputs.calls[&candidate.site()];
    let sum = |pick: fn(&RankCallTotals) -> u64| calls.sum(pick);
    let (messages, first) = (sum(|totals| totals.calls), sum(|totals| totals.calls - totals.consecutive));
    let own = calls.sum(|totals| totals.own_ns);
    AdviceText {
        what: format!(
            "{} {} many consecutive small messages to the same rank with {} at {}.",
            format_ranks(&candidate.ranks),
            choose_verb(candidate.ranks.len(), "sends", "send"),
            calls.operation.name(),
            context.source_location(candidate.site())
        ),
        evidence: format!(
            "{messages} messages of {} on average, {} in a row; each takes {} to send, which is {} on each sender.",
            format_bytes(sum(|totals| totals.bytes) / messages.max(1)),
            messages / first.max(1),
            format_ns(own / messages.max(1) as i64),
            format_share(own / candidate.ranks.len().max(1) as i64, context.run_ns())
        ),
        try_this:
            "Collect the data for the same rank in one buffer (or describe it with MPI_Type_create_struct or MPI_Type_vector) and send \
                   it once."
                .into(),
    }
}
