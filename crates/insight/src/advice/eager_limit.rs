//! Messages that are small, but too large for the library to buffer.

use super::phrases::{choose_verb, format_bytes, format_ranks};
use super::rule_context::RuleContext;
use super::send_waits::{SendWaits, candidates_of};
use super::{AdviceCandidate, AdviceRule, AdviceText};

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "eager_limit",
    name: "messages above the eager limit",
    help: "Up to its eager limit the library buffers a message, and the sender continues; above it MPI_Send waits for the receive. These \
           messages are small and wait nevertheless, and none of their size returned before its receive was posted: they are probably \
           above the limit.",
    basis: "the run replayed with these sends not waiting for their receives",
    find,
    describe,
};

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    let is_above_limit = |waits: &SendWaits| waits.is_small() && waits.mean_bytes() > context.inputs.buffered_bytes;
    candidates_of(context, |waits| waits.are_calls_of("MPI_Send") && is_above_limit(waits))
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let waits = SendWaits::at(context, candidate.site());
    let receivers = waits.receivers();
    AdviceText {
        what: format!(
            "{} {} in {} at {} until {} {}: messages of {} are probably above the eager limit, up to \
             which the library buffers them.",
            format_ranks(&candidate.ranks),
            choose_verb(candidate.ranks.len(), "waits", "wait"),
            waits.function_name(),
            context.source_location(candidate.site()),
            format_ranks(&receivers),
            choose_verb(receivers.len(), "receives", "receive"),
            format_bytes(waits.mean_bytes())
        ),
        evidence: format!("{} messages; {}{}", waits.calls(), waits.describe_waiting(context), describe_buffered(context)),
        try_this:
            "Send only what is used, if that is less than the limit; raise the library's eager limit (Open MPI: `btl_*_eager_limit` of \
                   `ompi_info --all`; MPICH: the variables with EAGER of `mpivars`); or send with MPI_Isend and wait before the buffer is \
                   used again."
                .into(),
    }
}

/// Up to which size messages did not wait in this run.
fn describe_buffered(context: &RuleContext) -> String {
    match context.inputs.buffered_bytes {
        0 => String::new(),
        bytes => format!(" Messages of up to {} returned before their receives were posted.", format_bytes(bytes)),
    }
}
