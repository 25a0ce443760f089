//! One-sided communication that synchronises after each access.

use sintonia_mpi::FunctionRole;

use super::merged_calls::{candidates_of, describe_calls};
use super::phrases::{choose_verb, format_ranks};
use super::rule_context::RuleContext;
use super::{AdviceCandidate, AdviceRule, AdviceText};

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "frequent_rma_sync",
    name: "synchronisation of each one-sided access",
    help: "MPI_Put, MPI_Get and MPI_Accumulate need no synchronisation between them: one epoch (fence, lock, flush) holds any number of \
           accesses, and they can be merged. The same holds for waiting for each MPI_Rput or MPI_Rget.",
    basis: "the run replayed with each of these calls merged into an equal one before it",
    find,
    describe,
};

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    let is_access = |role| matches!(role, FunctionRole::Put | FunctionRole::Get | FunctionRole::Exchange);
    let is_sync = |role| role == FunctionRole::WindowSync;
    let found = candidates_of(context, is_sync, |role| is_sync(role) || is_access(role));
    if !found.is_empty() {
        return found;
    }
    // MPI_Rput, MPI_Rget and their like are waited for like messages.
    let waits = |role| matches!(role, FunctionRole::CompleteOne | FunctionRole::CompleteAll);
    candidates_of(context, is_access, |role| waits(role) || is_access(role))
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let name = context.inputs.calls[&candidate.site()].operation.name();
    AdviceText {
        what: format!(
            "{} {} {name} at {} for each small access to a window, many times in a row.",
            format_ranks(&candidate.ranks),
            choose_verb(candidate.ranks.len(), "calls", "call"),
            context.source_location(candidate.site())
        ),
        evidence: describe_calls(context, candidate),
        try_this: format!(
            "Call {name} once after all accesses, and merge accesses to neighbouring memory into one (or describe them with a datatype: \
             MPI_Type_vector, MPI_Type_indexed)."
        ),
    }
}
