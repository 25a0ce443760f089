//! Receivers that compute before they receive, while the sender waits.

use super::computation_waits::ComputationWait;
use super::phrases::{choose_verb, format_ranks};
use super::rule_context::RuleContext;
use super::what_if::CallOverride;
use super::{AdviceCandidate, AdviceRule, AdviceText, NOISE_SHARE};
use crate::findings::significant_ranks;

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "late_receiver_compute",
    name: "late receiver due to computation",
    help: "A send of a large message waits until it is received, and the receiver computes first. Posted before the computation, the receive \
           would let the sender continue.",
    basis: "the run replayed with these sends not waiting for their receives",
    find,
    describe,
};

const KIND: &[&str] = &["late_receiver"];

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    let waits = ComputationWait::find_all(context, KIND).into_iter();
    let long = waits.filter(|wait| wait.is_due_to_computation() && wait.exceeds(context, NOISE_SHARE));
    long.map(|wait| wait.candidate(CallOverride::NoWait)).collect()
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let site = candidate.noticed_at;
    let waiting = context.waits(KIND).remove(&site).unwrap_or_default();
    let who = significant_ranks(&waiting.ranks);
    let name = context.inputs.calls.get(&site).map_or("a send", |calls| calls.operation.name());
    AdviceText {
        what: format!(
            "{} {} before {} {}, while {} {} in {name} at {}.",
            format_ranks(&candidate.ranks),
            choose_verb(candidate.ranks.len(), "computes", "compute"),
            choose_verb(candidate.ranks.len(), "it receives", "they receive"),
            context.describe_segment(candidate.segment),
            format_ranks(&who),
            choose_verb(who.len(), "waits", "wait"),
            context.source_location(site)
        ),
        evidence: context.describe_waiting(&waiting, "for late receivers at that send"),
        try_this: "Receive before that computation, or post MPI_Irecv before it and complete it afterwards; or send with \
                   MPI_Isend, and call MPI_Wait after the sender's own computation."
            .into(),
    }
}
