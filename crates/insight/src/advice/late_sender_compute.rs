//! Late senders that compute before they send.

use std::collections::BTreeSet;

use super::computation_waits::ComputationWait;
use super::imbalance::ONCE_SHARE;
use super::phrases::{choose_verb, format_ranks};
use super::relay_chain::RelayChain;
use super::rule_context::RuleContext;
use super::what_if::CallOverride;
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

const KIND: &[&str] = &["late_sender"];

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    // Waits in a pipeline are reported by the rule for pipelines.
    let chained: BTreeSet<u32> = RelayChain::find_all(context).into_iter().flat_map(|chain| chain.receive_sites).collect();
    let candidate = |wait: ComputationWait| {
        let min_share = if wait.waiting.happens_once() { ONCE_SHARE } else { NOISE_SHARE };
        (wait.is_due_to_computation() && wait.exceeds(context, min_share)).then(|| wait.candidate(CallOverride::SentInParts))
    };
    ComputationWait::find_all(context, KIND).into_iter().filter(|wait| !chained.contains(&wait.site)).filter_map(candidate).collect()
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let segment = candidate.segment;
    let site = candidate.noticed_at;
    let waiting = context.waits(KIND).remove(&site).unwrap_or_default();
    let who = significant_ranks(&waiting.ranks);
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
        evidence: context.describe_waiting(&waiting, "for late senders at that receive"),
        try_this: "Send with MPI_Isend as soon as the data is ready, before the computation that does not change it; divide it into parts \
                   so that the receiver can begin with the first; or post MPI_Irecv early and do other work until MPI_Wait."
            .into(),
    }
}
