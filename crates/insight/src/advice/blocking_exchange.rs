//! Blocking sends and receives that could overlap with computation.

use std::collections::BTreeMap;

use sintonia_mpi::{BlockingMode, FunctionRole};

use super::inputs::SiteCalls;
use super::phrases::{choose_verb, format_ns, format_ranks, format_share};
use super::rule_context::RuleContext;
use super::what_if::{CallOverride, WhatIfChange};
use super::{AdviceCandidate, AdviceRule, AdviceText};
use crate::findings::significant_ranks;

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "blocking_exchange",
    name: "blocking communication without overlap",
    help: "A blocking send of a large message waits for its receive, a blocking receive until the whole message has arrived; the rank \
           could compute meanwhile.",
    basis: "the run replayed with these transfers overlapping the computation that follows",
    find,
    describe,
};

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    let waits = context.waits(&["late_receiver"]);
    let blocking = context
        .calls(|role| matches!(role, FunctionRole::Send | FunctionRole::Receive | FunctionRole::SendReceive))
        .filter(|(_, calls)| calls.operation.definition().mode == BlockingMode::Blocking);
    let candidate = |(site, calls): (u32, &SiteCalls)| {
        let waited = |rank| waits.get(&site).and_then(|waiting| waiting.ranks.get(rank)).copied().unwrap_or(0);
        let held: BTreeMap<u32, i64> = calls.ranks.iter().map(|(rank, totals)| (*rank, totals.overlappable_ns + waited(rank))).collect();
        let most = held.values().copied().max().unwrap_or(0);
        AdviceCandidate::at_call(site, significant_ranks(&held), WhatIfChange::Calls(vec![site], CallOverride::Overlapped), most)
    };
    blocking.map(candidate).collect()
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let calls = &context.inputs.calls[&candidate.site()];
    let waited = context.waits(&["late_receiver"]).get(&candidate.site()).map_or(0, |waiting| waiting.ns());
    let moved = calls.sum(|totals| totals.own_ns);
    let name = calls.operation.name();
    AdviceText {
        what: format!(
            "{} {} in {name} at {} although it could overlap with computation.",
            format_ranks(&candidate.ranks),
            choose_verb(candidate.ranks.len(), "stays", "stay"),
            context.source_location(candidate.site())
        ),
        evidence: format!(
            "{} of waiting for receives to be posted and {} of data transfer there, in {} calls; {} on each of these ranks.",
            format_ns(waited),
            format_ns(moved),
            calls.sum(|totals| totals.calls),
            format_share((waited + moved) / candidate.ranks.len().max(1) as i64, context.run_ns())
        ),
        try_this: match calls.operation.role() {
            FunctionRole::Receive => {
                "Post the receive with MPI_Irecv before the computation that does not need the message, and call MPI_Wait after it."
            }
            FunctionRole::SendReceive => "Use MPI_Irecv and MPI_Isend, compute what does not need the message, and then call MPI_Waitall.",
            _ => "Send with MPI_Isend and call MPI_Wait after the computation; let the receiver post MPI_Irecv before its own.",
        }
        .into(),
    }
}
