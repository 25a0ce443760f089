//! Pipelines and wavefronts that take long to fill and to drain.

use super::phrases::{format_ns, format_ranks, format_share};
use super::relay_chain::RelayChain;
use super::rule_context::RuleContext;
use super::what_if::WhatIfChange;
use super::{AdviceCandidate, AdviceRule, AdviceText};

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "pipeline_fill",
    name: "filling and draining of a pipeline",
    help: "Each rank receives from the one before, computes and passes the result on, as in a pipeline or a wavefront. The last ranks wait \
           until the first part has passed all others, and the first ones until the last part has. Smaller parts shorten both.",
    basis: "the run replayed with each part divided into eight: a rank begins with the first while the one before computes the others",
    find,
    describe,
};

/// Waiting of less than one part in this many of the run is what a pipeline with many parts has.
const MIN_WAIT_SHARE: i64 = 10;

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    pipelines(context).iter().filter_map(|chain| chain.candidate(context, in_parts(chain), MIN_WAIT_SHARE)).collect()
}

fn pipelines(context: &RuleContext) -> Vec<RelayChain> {
    RelayChain::find_all(context).into_iter().filter(RelayChain::is_pipeline).collect()
}

fn in_parts(chain: &RelayChain) -> WhatIfChange {
    WhatIfChange::MessagesInParts(chain.receive_sites.iter().copied().collect(), chain.stage_ns() as f64 * 1e-9)
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let chain = pipelines(context).into_iter().find(|chain| chain.receive_sites.contains(&candidate.site()));
    let (length, stage, messages) = chain.as_ref().map_or((0, 0, 0), |chain| (chain.length, chain.stage_ns(), chain.messages()));
    let send = chain.and_then(|chain| chain.send_sites.first().copied()).unwrap_or(candidate.site());
    AdviceText {
        what: format!(
            "{} form a pipeline that fills and drains slowly: each waits at {} for the one before, and passes its part on only at {}.",
            format_ranks(&candidate.ranks),
            context.source_location(candidate.site()),
            context.source_location(send)
        ),
        evidence: format!(
            "{length} stages of {} for each of {messages} parts; the rank that waits most waits {} ({}).",
            format_ns(stage),
            format_ns(candidate.max_saving_ns),
            format_share(candidate.max_saving_ns, context.run_ns())
        ),
        try_this:
            "Divide what is passed on into smaller parts (blocks of rows, chunks), and send each as soon as it is computed, so that the \
                   next rank can begin with it. If what is sent does not depend on what was received, send it before the receive."
                .into(),
    }
}
