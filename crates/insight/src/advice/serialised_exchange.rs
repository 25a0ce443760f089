//! Exchanges in which each rank receives before it sends, so that they go from rank to rank.

use std::collections::BTreeSet;

use super::phrases::{format_ns, format_ranks, format_share};
use super::relay_chain::RelayChain;
use super::rule_context::RuleContext;
use super::what_if::{CallOverride, WhatIfChange};
use super::{AdviceCandidate, AdviceRule, AdviceText, NOISE_SHARE};

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "serialised_exchange",
    name: "serialised exchange",
    help: "Each rank receives from its neighbour before it sends to the next one, so the exchange goes from rank to rank and those at the \
           end wait for all others. All ranks compute before they receive, so what they send may be ready by then.",
    basis: "the run replayed with these messages available when they are received",
    find,
    describe,
};

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    let available = |chain: &RelayChain| WhatIfChange::Calls(chain.receive_sites.iter().copied().collect(), CallOverride::NoWait);
    exchanges(context).iter().filter_map(|chain| chain.candidate(context, available(chain), NOISE_SHARE)).collect()
}

/// The chains whose ranks have computed before they receive. A line that receives and sends calls a collective operation of another library,
/// made of messages, whose order is not the program's.
fn exchanges(context: &RuleContext) -> Vec<RelayChain> {
    let lines =
        |sites: &BTreeSet<u32>| -> BTreeSet<String> { sites.iter().map(|site| context.source_location(*site).to_string()).collect() };
    let is_exchange = |chain: &RelayChain| !chain.is_pipeline() && lines(&chain.receive_sites).is_disjoint(&lines(&chain.send_sites));
    RelayChain::find_all(context).into_iter().filter(is_exchange).collect()
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let chain = exchanges(context).into_iter().find(|chain| chain.receive_sites.contains(&candidate.site()));
    let (length, stage) = chain.as_ref().map_or((0, 0), |chain| (chain.length, chain.stage_ns()));
    let send = chain.and_then(|chain| chain.send_sites.first().copied()).unwrap_or(candidate.site());
    AdviceText {
        what: format!(
            "{} exchange one after the other: each receives at {} before it sends at {}.",
            format_ranks(&candidate.ranks),
            context.source_location(candidate.site()),
            context.source_location(send)
        ),
        evidence: format!(
            "{length} ranks in a row, {} between receive and send; the rank that waits most waits {} ({}).",
            format_ns(stage),
            format_ns(candidate.max_saving_ns),
            format_share(candidate.max_saving_ns, context.run_ns())
        ),
        try_this:
            "Send before the receive (MPI_Isend, or MPI_Sendrecv for both), or post MPI_Irecv first. If what is sent depends on what is \
                   received, divide it into parts and pass each on as soon as it is ready."
                .into(),
    }
}
