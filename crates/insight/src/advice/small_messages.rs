//! Many small consecutive messages between the same two ranks.

use sintonia_mpi::FunctionRole;

use super::inputs::RankCallTotals;
use super::merged_calls;
use super::phrases::{choose_verb, format_bytes, format_ns, format_ranks, format_share};
use super::rule_context::RuleContext;
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
    let sends = |role| matches!(role, FunctionRole::Send | FunctionRole::SendReceive);
    let transfers = |role| matches!(role, FunctionRole::Receive | FunctionRole::CompleteOne | FunctionRole::CompleteAll);
    merged_calls::candidates_of(context, sends, |role| sends(role) || transfers(role))
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
