//! Receives that wait for one message while another one has already arrived.

use super::phrases::{choose_verb, format_ns, format_ranks, format_share};
use super::rule_context::RuleContext;
use super::what_if::{CallOverride, WhatIfChange};
use super::{AdviceCandidate, AdviceRule, AdviceText};
use crate::findings::significant_ranks;

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "message_order",
    name: "messages received in wrong order",
    help: "A rank waits for a message while another one, which it receives later, has already been sent. Receiving messages as they arrive \
           would fill the wait with work.",
    basis: "the run replayed with messages received in order of arrival",
    find,
    describe,
};

const KIND: &[&str] = &["late_sender_wrong_order"];

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    let candidate = |(site, waiting): (u32, super::rule_context::CombinedWaits)| {
        AdviceCandidate::at_call(
            site,
            significant_ranks(&waiting.ranks),
            WhatIfChange::Calls(vec![site], CallOverride::ArrivalOrder),
            waiting.max_ns(),
        )
    };
    context.waits(KIND).into_iter().map(candidate).collect()
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let waits = context.waits(KIND);
    let (waited, late) = waits.get(&candidate.site()).map_or((0, Vec::new()), |w| (w.ns(), significant_ranks(&w.causes)));
    AdviceText {
        what: format!(
            "{} {} at {} for {} while a message that is received later has already been sent.",
            format_ranks(&candidate.ranks),
            choose_verb(candidate.ranks.len(), "waits", "wait"),
            context.source_location(candidate.site()),
            format_ranks(&late)
        ),
        evidence: format!(
            "{} of waiting although another message was available, {} per waiting rank.",
            format_ns(waited),
            format_share(waited / candidate.ranks.len().max(1) as i64, context.run_ns())
        ),
        try_this: "Post all receives with MPI_Irecv and complete them with MPI_Waitany as they arrive, or use a wildcard receive \
                   (MPI_ANY_SOURCE) and process whatever has arrived."
            .into(),
    }
}
