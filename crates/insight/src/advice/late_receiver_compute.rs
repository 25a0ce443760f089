//! Receivers that compute before they receive, while the sender waits.

use super::phrases::{choose_verb, format_ns, format_ranks, format_share};
use super::rule_context::{CombinedWaits, RuleContext};
use super::what_if::{CallOverride, WhatIfChange};
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

/// At least one part in this many of the wait must come from computation.
const MIN_COMPUTE_SHARE: i64 = 4;

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    let main_delays = context.main_delays();
    let candidate = |(site, waiting): (u32, CombinedWaits)| {
        let late = waiting.main_cause()?;
        let (segment, cost) = *main_delays.get(&late)?;
        let enough = cost > waiting.causes[&late] / MIN_COMPUTE_SHARE && waiting.max_ns() > context.run_ns() / NOISE_SHARE;
        let change = WhatIfChange::Calls(vec![site], CallOverride::NoWait);
        let ranks = significant_ranks(&waiting.causes);
        enough.then(|| AdviceCandidate::in_segment(segment, ranks, change, waiting.max_ns()).noticed_at(site))
    };
    context.waits(&["late_receiver"]).into_iter().filter_map(candidate).collect()
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let site = candidate.noticed_at;
    let waiting = context.waits(&["late_receiver"]).remove(&site).unwrap_or_default();
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
        evidence: format!(
            "{} of waiting for late receivers at that send, {} on the rank that waits most ({}).",
            format_ns(waiting.ns()),
            format_ns(waiting.max_ns()),
            format_share(waiting.max_ns(), context.run_ns())
        ),
        try_this: "Receive before that computation, or post MPI_Irecv before it and complete it afterwards; or send with \
                   MPI_Isend, and call MPI_Wait after the sender's own computation."
            .into(),
    }
}
