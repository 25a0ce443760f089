//! Static load imbalance: the same ranks compute longer throughout the run.

use std::collections::BTreeMap;

use super::excess_function;
use super::inputs::{SegmentLoad, WINDOWS};
use super::phrases::{choose_verb, format_ns, format_ranks, format_ratio, format_share};
use super::rule_context::{RuleContext, busiest_rank, mean_load};
use super::{AdviceCandidate, AdviceRule, AdviceText};

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "load_imbalance",
    name: "load imbalance",
    help: "Some ranks compute longer than others in the same part of the program, and always the same ones: the work is divided unevenly. \
           The other ranks wait for them at the next synchronisation.",
    basis: "the run replayed with this computation at its mean on every rank",
    find,
    describe,
};

/// A segment executed once must exceed one part in this many of the run.
const ONE_VISIT_SHARE: i64 = 20;

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    let candidate = |segment| {
        let loads = context.loads(segment);
        let (rank, most) = busiest_rank(&loads)?;
        let excess = most - mean_load(&loads);
        if loads[&rank].visits == 1 && excess < context.run_ns() / ONE_VISIT_SHARE {
            return None;
        }
        let change = || context.balanced([segment].into_iter(), |_| true);
        (loads.len() > 1 && is_persistent(&loads, rank))
            .then(|| AdviceCandidate::in_segment(segment, overloaded_ranks(&loads), change(), excess))
    };
    context.segments().filter_map(candidate).collect()
}

/// Whether the busiest rank exceeds the mean in every time window with computation, by at least a quarter of its overall excess. Otherwise
/// the imbalance is dynamic.
fn is_persistent(loads: &BTreeMap<u32, SegmentLoad>, rank: u32) -> bool {
    let whole = mean_load(loads);
    let excess = loads[&rank].ns() - whole;
    (0..WINDOWS).all(|window| {
        let mean = loads.values().map(|load| load.windows[window]).sum::<i64>() / loads.len() as i64;
        let here = loads[&rank].windows[window] - mean;
        4 * i128::from(here) * i128::from(whole) >= i128::from(excess) * i128::from(mean)
    })
}

/// The ranks far above the mean.
fn overloaded_ranks(loads: &BTreeMap<u32, SegmentLoad>) -> Vec<u32> {
    let mean = mean_load(loads);
    let most = busiest_rank(loads).map_or(0, |(_, ns)| ns);
    loads.iter().filter(|(_, load)| load.ns() > mean + (most - mean) / 2).map(|(rank, _)| *rank).collect()
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let segment = candidate.segment;
    let loads = context.loads(segment);
    let (mean, most) = (mean_load(&loads), busiest_rank(&loads).map_or(0, |(_, ns)| ns));
    // The others compute less than a hundredth of it together.
    let alone = candidate.ranks.len() == 1 && 100 * mean * (loads.len() as i64) < 101 * most;
    let who = format_ranks(&candidate.ranks);
    let function = excess_function::describe(context, segment, &candidate.ranks).map(|name| format!(", most of it in {name}"));
    AdviceText {
        what: format!(
            "{who} {} {} as long as the average rank {}, throughout the run{}.",
            choose_verb(candidate.ranks.len(), "computes", "compute"),
            format_ratio(most, mean),
            context.describe_segment(segment),
            function.unwrap_or_default()
        ),
        evidence: format!(
            "{} there on the busiest rank, {} on average over {} ranks; the others wait {}.",
            format_ns(most),
            format_ns(mean),
            loads.len(),
            format_share(most - mean, context.run_ns())
        ),
        try_this: match alone {
            true => format!(
                "Only {who} computes there. Divide that work among all ranks; if it is file I/O, use MPI-IO on all ranks \
                 (MPI_File_write_at_all)."
            ),
            false => format!(
                "Give {who} less of this work: divide by cost instead of by number of elements (METIS and Zoltan accept weights), or \
                 distribute smaller pieces as ranks become free."
            ),
        },
    }
}
