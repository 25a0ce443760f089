//! Synchronous sends of small messages, which wait for their receives although the library would buffer them.

use super::phrases::{choose_verb, format_bytes, format_ranks};
use super::rule_context::RuleContext;
use super::send_waits::{SendWaits, candidates_of};
use super::{AdviceCandidate, AdviceRule, AdviceText};

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "synchronous_send",
    name: "synchronous sends",
    help: "MPI_Ssend waits until the message is received, however small it is. With MPI_Send the library buffers a small message, and the \
           sender continues.",
    basis: "the run replayed with these sends not waiting for their receives",
    find,
    describe,
};

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    candidates_of(context, is_synchronous)
}

fn is_synchronous(waits: &SendWaits) -> bool {
    waits.is_small() && waits.are_calls_of("MPI_Ssend")
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let waits = SendWaits::at(context, candidate.site());
    let (name, mean) = (waits.function_name(), waits.mean_bytes());
    let standard = name.replacen("Ssend", "Send", 1);
    AdviceText {
        what: format!(
            "{} {} at {} in {name}, a synchronous send of a small message, until {} {} it.",
            format_ranks(&candidate.ranks),
            choose_verb(candidate.ranks.len(), "waits", "wait"),
            context.source_location(candidate.site()),
            format_ranks(&waits.receivers()),
            choose_verb(waits.receivers().len(), "receives", "receive")
        ),
        evidence: format!("{} messages of {} on average; {}", waits.calls(), format_bytes(mean), waits.describe_waiting(context)),
        try_this: format!(
            "Use {standard}: the library buffers small messages. If the number of buffered messages must be limited, wait for an \
                   answer every few messages only."
        ),
    }
}
