//! Messages that do not progress because the receiver computes without calling MPI.

use super::computation_waits::ComputationWait;
use super::phrases::{choose_verb, format_ranks};
use super::rule_context::RuleContext;
use super::what_if::CallOverride;
use super::{AdviceCandidate, AdviceRule, AdviceText, NOISE_SHARE};
use crate::findings::significant_ranks;

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "missing_progress",
    name: "messages that do not progress",
    help: "A receive is posted in time, but most libraries transfer a large message only while both ranks are in MPI calls: the sender waits \
           until the receiver has computed and calls MPI again.",
    basis: "the run replayed with these sends taking no time, as if the library had made progress",
    find,
    describe,
};

const KIND: &[&str] = &["no_progress"];

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    let waits = ComputationWait::find_all(context, KIND).into_iter().filter(|wait| wait.exceeds(context, NOISE_SHARE));
    waits.map(|wait| wait.candidate(CallOverride::ZeroCost)).collect()
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let site = candidate.noticed_at;
    let waiting = context.waits(KIND).remove(&site).unwrap_or_default();
    let who = significant_ranks(&waiting.ranks);
    let name = context.inputs.calls.get(&site).map_or("a send", |calls| calls.operation.name());
    AdviceText {
        what: format!(
            "{} {} {} without calling MPI, so the message for which the receive is posted does not progress and {} {} in {name} at {}.",
            format_ranks(&candidate.ranks),
            choose_verb(candidate.ranks.len(), "computes", "compute"),
            context.describe_segment(candidate.segment),
            format_ranks(&who),
            choose_verb(who.len(), "waits", "wait"),
            context.source_location(site)
        ),
        evidence: context.describe_waiting(&waiting, "there until the receiver calls MPI"),
        try_this: "Call MPI_Test (or MPI_Testall) a few times during that computation, or let the library make progress by itself \
                   (MPICH: MPIR_CVAR_ASYNC_PROGRESS=1, which needs a core for each rank's progress thread)."
            .into(),
    }
}
