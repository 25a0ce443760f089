//! Nonblocking collectives that are completed right after they are started.

use super::phrases::{choose_verb, format_ranks};
use super::rule_context::{CombinedWaits, RuleContext};
use super::what_if::{CallOverride, WhatIfChange};
use super::{AdviceCandidate, AdviceRule, AdviceText, NOISE_SHARE};
use crate::findings::significant_ranks;

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "early_completion",
    name: "nonblocking collectives completed at once",
    help: "A nonblocking collective is completed right after it is started, so all ranks wait for the slowest one as in a blocking one. \
           Completed after computation that does not need the result, it would hide differences between the ranks.",
    basis: "the run replayed without these waits",
    find,
    describe,
};

/// Before the completion a rank computes less than one part in this many of what it waits there.
const MIN_WAIT_RATIO: i64 = 10;

const KIND: &[&str] = &["wait_at_nonblocking_collective"];

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    let candidate = |(site, waiting): (u32, CombinedWaits)| {
        let before = context.segments().filter(|segment| segment.to == site);
        let computed: i64 = before.flat_map(|segment| context.loads(segment)).map(|(_, load)| load.ns()).sum();
        let at_once = MIN_WAIT_RATIO * computed < waiting.ns() && waiting.max_ns() > context.run_ns() / NOISE_SHARE;
        let change = WhatIfChange::Calls(vec![site], CallOverride::NoWait);
        at_once.then(|| AdviceCandidate::at_call(site, significant_ranks(&waiting.ranks), change, waiting.max_ns()))
    };
    context.waits(KIND).into_iter().filter_map(candidate).collect()
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let waiting = context.waits(KIND).remove(&candidate.site()).unwrap_or_default();
    let name = context.inputs.calls.get(&candidate.site()).map_or("a call", |calls| calls.operation.name());
    AdviceText {
        what: format!(
            "{} {} for the others in {name} at {}, right after a nonblocking collective is started.",
            format_ranks(&candidate.ranks),
            choose_verb(candidate.ranks.len(), "waits", "wait"),
            context.source_location(candidate.site())
        ),
        evidence: context.describe_waiting(&waiting, "there over all ranks"),
        try_this: format!(
            "Call {name} later, after computation that does not need the result: the next step, output, or the inner part of a domain."
        ),
    }
}
