//! Late senders that compute before they send.

use std::collections::BTreeSet;

use super::imbalance::ONCE_SHARE;
use super::phrases::{choose_verb, format_ns, format_ranks, format_share};
use super::relay_chain::RelayChain;
use super::rule_context::RuleContext;
use super::what_if::{CallOverride, WhatIfChange};
use super::{AdviceCandidate, AdviceRule, AdviceText, NOISE_SHARE};
use crate::findings::significant_ranks;

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "late_sender_compute",
    name: "late sender due to computation",
    help: "A receive waits while the sender still computes, and no imbalance explains it: the ranks work one after the other. Send what is \
           ready before computing on, or give the receiver other work in between.",
    basis: "the run replayed with what these messages carry computed and sent in 4 to arbitrarily many parts, most likely in 8",
    find,
    describe,
};

/// At least one part in this many of the wait must come from computation; the rest is due to the network.
const MIN_COMPUTE_SHARE: i64 = 4;

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    let main_delays = context.main_delays();
    // Waits in a pipeline are reported by the rule for pipelines.
    let chained: BTreeSet<u32> = RelayChain::find_all(context).into_iter().flat_map(|chain| chain.receive_sites).collect();
    let candidate = |(site, waiting): (u32, super::rule_context::CombinedWaits)| {
        let late = waiting.main_cause()?;
        let (segment, cost) = *main_delays.get(&late)?;
        let min_share = if waiting.happens_once() { ONCE_SHARE } else { NOISE_SHARE };
        let enough = cost > waiting.causes[&late] / MIN_COMPUTE_SHARE && waiting.max_ns() > context.run_ns() / min_share;
        let does_same = |rank: &u32| main_delays.get(rank).is_some_and(|(main, _)| *main == segment);
        let ranks = significant_ranks(&waiting.causes).into_iter().filter(does_same).collect();
        let change = WhatIfChange::Calls(vec![site], CallOverride::SentInParts);
        enough.then(|| AdviceCandidate::in_segment(segment, ranks, change, waiting.max_ns()).noticed_at(site))
    };
    context.waits(&["late_sender"]).into_iter().filter(|(site, _)| !chained.contains(site)).filter_map(candidate).collect()
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let segment = candidate.segment;
    let waits = context.waits(&["late_sender"]);
    let site = candidate.noticed_at;
    let (waited, most, who) = waits.get(&site).map_or((0, 0, Vec::new()), |w| (w.ns(), w.max_ns(), significant_ranks(&w.ranks)));
    AdviceText {
        what: format!(
            "{} {} at {} for messages that {} {} only after computing {}.",
            format_ranks(&who),
            choose_verb(who.len(), "waits", "wait"),
            context.source_location(site),
            format_ranks(&candidate.ranks),
            choose_verb(candidate.ranks.len(), "sends", "send"),
            context.describe_segment(segment)
        ),
        evidence: format!(
            "{} of waiting for late senders at that receive, {} on the rank that waits most ({}).",
            format_ns(waited),
            format_ns(most),
            format_share(most, context.run_ns())
        ),
        try_this: "Send with MPI_Isend as soon as the data is ready, before the computation that does not change it; divide it into parts \
                   so that the receiver can begin with the first; or post MPI_Irecv early and do other work until MPI_Wait."
            .into(),
    }
}
