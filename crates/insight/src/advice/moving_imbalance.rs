//! Dynamic load imbalance: different ranks compute longer in different iterations, but about the same in total.

use super::imbalance::LoadImbalance;
use super::inputs::SegmentLoad;
use super::phrases::{format_ns, format_ranks, format_share};
use super::rule_context::{RuleContext, mean_load};
use super::{AdviceCandidate, AdviceRule, AdviceText};

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "moving_imbalance",
    name: "dynamic load imbalance",
    help: "In every iteration a different rank computes longest and all others wait for it, although all compute about the same over the \
           whole run. A different static partition does not help; synchronising less often or dynamic load balancing does.",
    basis: "the run replayed with every execution of this computation at the overall mean",
    find,
    describe,
};

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    let candidate = |segment| {
        let imbalance = LoadImbalance::of_changing_rank(context, segment)?;
        let change = context.evened(imbalance.segments.into_iter());
        Some(AdviceCandidate::in_segment(segment, imbalance.ranks, change, imbalance.excess_ns))
    };
    context.segments().filter_map(candidate).collect()
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let segment = candidate.segment;
    let loads = context.loads(segment);
    let most = loads.values().map(SegmentLoad::ns).max().unwrap_or(0);
    let visits = loads.values().map(|load| load.visits).max().unwrap_or(0);
    let on_path = context.critical_path_ns(segment);
    AdviceText {
        what: format!(
            "In each iteration a different one of {} computes longest {}, and the others wait for it.",
            format_ranks(&candidate.ranks),
            context.describe_segment(segment)
        ),
        evidence: format!(
            "{} of it on the critical path ({}) in {visits} executions, but no rank computes more than {} there in total (mean {}).",
            format_ns(on_path),
            format_share(on_path, context.run_ns()),
            format_ns(most),
            format_ns(mean_load(&loads))
        ),
        try_this: "Let ranks continue without waiting for all others: use a nonblocking collective (MPI_Iallreduce), send messages to the \
                   ranks that need the data, or check only every few iterations; or distribute the work of an iteration in smaller \
                   pieces as ranks become free."
            .into(),
    }
}
