//! Many small collectives in a row that could be one.

use super::merged_calls::{candidates_of, describe_calls};
use super::phrases::{choose_verb, format_ranks};
use super::rule_context::RuleContext;
use super::{AdviceCandidate, AdviceRule, AdviceText};
use sintonia_mpi::{CollectiveOp, FunctionRole};

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "small_collectives",
    name: "many small collectives",
    help: "A collective of a few bytes costs about as much as one of a few kilobytes. Collectives that follow each other with hardly any \
           computation in between can be one.",
    basis: "the run replayed with each of these collectives merged into the one before it",
    find,
    describe,
};

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    let is_data = |role| matches!(role, FunctionRole::Collective(op) if op != CollectiveOp::Barrier);
    candidates_of(context, is_data, is_data)
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let name = context.inputs.calls[&candidate.site()].operation.name();
    AdviceText {
        what: format!(
            "{} {} {name} at {} many times in a row with little data: one call for all of it would do.",
            format_ranks(&candidate.ranks),
            choose_verb(candidate.ranks.len(), "calls", "call"),
            context.source_location(candidate.site())
        ),
        evidence: describe_calls(context, candidate),
        try_this: format!(
            "Collect the values in one array and call {name} once for all of them. If some come from computation that needs the result of \
             the one before, use a nonblocking collective and complete it later."
        ),
    }
}
