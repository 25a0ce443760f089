//! Ranks that are slower in every segment with equal work: a slow core or host.

use std::collections::BTreeMap;

use super::phrases::{choose_verb, format_ns, format_ranks, format_ratio, format_share};
use super::rule_context::{RuleContext, key_of_max};
use super::{AdviceCandidate, AdviceRule, AdviceText};
use crate::segment::Segment;

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "slow_rank",
    name: "slow core or host",
    help: "A rank takes longer than the others by the same factor in every part of the program, although it executes each equally often: \
           it does not have more work, it is slower. Causes are thermal throttling, another job on the core, or two ranks bound to one \
           core.",
    basis: "the run replayed with the computation of the slow ranks at the overall mean",
    find,
    describe,
};

/// Minimum size of a segment: one part in this many of all computation.
const MIN_SEGMENT_SHARE: i64 = 20;

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    let alike = common_segments(context);
    let common: i64 = alike.values().flat_map(BTreeMap::values).sum();
    let all: i64 = context.segments().flat_map(|segment| context.loads(segment)).map(|(_, load)| load.ns()).sum();
    // A single kind of work cannot distinguish a slow machine from more work.
    if context.size() < 3 || alike.len() < 2 || 5 * common < 4 * all {
        return Vec::new();
    }
    let slow = candidate_groups(context, &alike).into_iter().find(|group| is_slow(&alike, group));
    let candidate = |group: Vec<u32>| {
        let excess = alike.values().map(|loads| mean_times(loads, &group).0 - loads.values().sum::<i64>() / loads.len() as i64).sum();
        let change = context.balanced(alike.keys().copied(), |rank| group.contains(&rank));
        let (segment, _) = alike.iter().max_by_key(|(_, loads)| mean_times(loads, &group).0)?;
        Some(AdviceCandidate::at_call(segment.to, group, change, excess))
    };
    slow.and_then(candidate).into_iter().collect()
}

/// Computation of the ranks in relevant segments that all of them execute equally often.
fn common_segments(context: &RuleContext) -> BTreeMap<Segment, BTreeMap<u32, i64>> {
    let loads: Vec<_> = context.segments().map(|segment| (segment, context.loads(segment))).collect();
    let all: i64 = loads.iter().flat_map(|(_, loads)| loads.values()).map(|load| load.ns()).sum();
    let mut alike = BTreeMap::new();
    for (segment, loads) in loads {
        let visits: Vec<u64> = loads.values().map(|load| load.visits).collect();
        let sums: BTreeMap<u32, i64> = loads.iter().map(|(rank, load)| (*rank, load.ns())).collect();
        let matters = MIN_SEGMENT_SHARE * sums.values().sum::<i64>() > all;
        if loads.len() == context.size() && visits.windows(2).all(|pair| pair[0] == pair[1]) && matters {
            alike.insert(segment, sums);
        }
    }
    alike
}

/// Groups of ranks that may be slow together: the slowest alone, and those of each host if all hosts have equally many ranks. (Otherwise a
/// full host is slow because it is full.)
fn candidate_groups(context: &RuleContext, alike: &BTreeMap<Segment, BTreeMap<u32, i64>>) -> Vec<Vec<u32>> {
    // A rank that is not the slowest in some segment is not slower than all others in every segment.
    let slowest = alike.values().next().and_then(key_of_max);
    let mut groups: Vec<Vec<u32>> = slowest.map(|rank| vec![rank]).into_iter().collect();
    let hosts = context.ranks_by_host();
    let even = hosts.values().all(|ranks| Some(ranks.len()) == hosts.values().next().map(Vec::len));
    if even && hosts.len() > 2 {
        groups.extend(hosts.into_values());
    }
    groups
}

/// The mean of a group and the mean of the others.
fn mean_times(loads: &BTreeMap<u32, i64>, group: &[u32]) -> (i64, i64) {
    let (inside, compute): (Vec<_>, Vec<_>) = loads.iter().partition(|(rank, _)| group.contains(rank));
    let mean = |ranks: &[(&u32, &i64)]| ranks.iter().map(|(_, ns)| **ns).sum::<i64>() / ranks.len().max(1) as i64;
    (mean(&inside), mean(&compute))
}

/// Whether every rank of a group is slower than every other rank.
fn is_separated(loads: &BTreeMap<u32, i64>, group: &[u32]) -> bool {
    let fastest = group.iter().filter_map(|rank| loads.get(rank)).min();
    loads.iter().filter(|(rank, _)| !group.contains(rank)).all(|(_, ns)| Some(ns) < fastest)
}

/// Whether a group is slower in every segment by a similar factor: the largest slowdown is less than three times the smallest. More work in
/// a single segment would exceed that.
fn is_slow(alike: &BTreeMap<Segment, BTreeMap<u32, i64>>, group: &[u32]) -> bool {
    let factors = alike.values().map(|loads| {
        let (inside, compute) = mean_times(loads, group);
        inside as f64 / compute.max(1) as f64 - 1.0
    });
    let (least, most) = factors.fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), factor| (least.min(factor), most.max(factor)));
    least > 0.05 && most < 3.0 * least && alike.values().all(|loads| is_separated(loads, group))
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let alike = common_segments(context);
    let (inside, compute) = alike.values().map(|loads| mean_times(loads, &candidate.ranks)).fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
    let who = format_ranks(&candidate.ranks);
    let hosts: Vec<String> = context.host_names(&candidate.ranks);
    AdviceText {
        what: format!(
            "{who} on {} {} {} as long as the others for the same work, in every part of the program.",
            hosts.join(", "),
            choose_verb(candidate.ranks.len(), "takes", "take"),
            format_ratio(inside, compute)
        ),
        evidence: format!(
            "{} of computation against {} on the others, in {} parts of the program that all execute equally often, slower in each; \
             the others wait {}.",
            format_ns(inside),
            format_ns(compute),
            alike.len(),
            format_share(candidate.max_saving_ns, context.run_ns())
        ),
        try_this: format!(
            "Check the machine before the program: what else runs there, whether ranks share a core (mpirun --report-bindings), the \
             processor's frequency and temperature. Run again on other hosts or cores, or give {who} less work."
        ),
    }
}
