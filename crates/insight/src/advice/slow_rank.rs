//! Ranks that are slower in every segment with equal work: a slow core or host.
//!
//! That a rank takes longer everywhere is no evidence: it may have more of the data. The machine is slow if the rank executes no more
//! instructions than the others (or takes no more cycles), or if all ranks of one host are slow, and no others.

use std::collections::{BTreeMap, BTreeSet};

use sintonia_recording::counters::CounterDefinition;
use sintonia_text::quantity::format_plural;

use super::phrases::{choose_verb, format_ns, format_ranks, format_ratio, format_share};
use super::rule_context::RuleContext;
use super::what_if::{DurationChange, WhatIfChange};
use super::{AdviceCandidate, AdviceRule, AdviceText};
use crate::segment::Segment;

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "slow_rank",
    name: "slow core or host",
    help: "Ranks take longer than the others by the same factor in every part of the program, although they execute each equally often, and \
            no more instructions or cycles; or all ranks of one host do, and no others. They do not have more work, they are slower. Causes are \
            thermal throttling, another job on the core, or two ranks bound to one core.",
    basis: "the run replayed with the slow ranks as quick as the mean of the others",
    find,
    describe,
};

/// Minimum size of a segment: one part in this many of all computation.
const MIN_SEGMENT_SHARE: i64 = 20;

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    let alike = common_segments(context);
    let common: i64 = alike.values().flat_map(BTreeMap::values).sum();
    let all: i64 = context.segments().flat_map(|segment| context.loads(segment)).map(|(_, load)| load.ns()).sum();
    if context.size() < 3 || 5 * common < 4 * all {
        return Vec::new();
    }
    // Without counters, a single kind of work cannot distinguish a slow machine from more work. The first iteration of a loop is no other kind
    // than the next ones.
    let has_kinds = alike.keys().map(|segment| segment.to).collect::<BTreeSet<u32>>().len() > 1;
    let is_counted = |group: &[u32]| counts_no_more(context, &alike, group).is_some() && runs_on_processor(context, &alike, group);
    let is_machine = |group: &[u32]| has_kinds && is_whole_host(context, group) || is_counted(group);
    let slow = candidate_groups(context, &alike).into_iter().find(|group| is_slow(&alike, group) && is_machine(group));
    let candidate = |group: Vec<u32>| {
        let slowest = |loads: &BTreeMap<u32, i64>| group.iter().filter_map(|rank| loads.get(rank)).max().copied().unwrap_or(0);
        let excess = alike.values().map(|loads| slowest(loads) - mean_times(loads, &group).1).sum();
        let change = as_quick_as_others(&alike, &group);
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

/// Groups of ranks that may be slow together: the slowest ones up to the largest gap, and those of each host if all hosts have equally many
/// ranks. (Otherwise a full host is slow because it is full.)
fn candidate_groups(context: &RuleContext, alike: &BTreeMap<Segment, BTreeMap<u32, i64>>) -> Vec<Vec<u32>> {
    let mut groups: Vec<Vec<u32>> = slowest_ranks(alike).into_iter().collect();
    let hosts = context.ranks_by_host();
    let even = hosts.values().all(|ranks| Some(ranks.len()) == hosts.values().next().map(Vec::len));
    if even && hosts.len() > 2 {
        groups.extend(hosts.into_values());
    }
    groups
}

/// The ranks above the largest gap between two ranks, unless they are more than half of them.
fn slowest_ranks(alike: &BTreeMap<Segment, BTreeMap<u32, i64>>) -> Option<Vec<u32>> {
    let mut totals: BTreeMap<u32, i64> = BTreeMap::new();
    alike.values().flatten().for_each(|(rank, ns)| *totals.entry(*rank).or_default() += ns);
    let mut order: Vec<(i64, u32)> = totals.into_iter().map(|(rank, ns)| (ns, rank)).collect();
    order.sort_unstable_by(|a, b| b.cmp(a));
    let gap = |at: usize| order[at - 1].0 - order[at].0;
    let end = (1..=order.len() / 2).rev().max_by_key(|at| gap(*at))?;
    let mut ranks: Vec<u32> = order[..end].iter().map(|(_, rank)| *rank).collect();
    ranks.sort_unstable();
    Some(ranks)
}

/// Whether these are all ranks of a host, and several.
fn is_whole_host(context: &RuleContext, group: &[u32]) -> bool {
    group.len() > 1 && context.ranks_by_host().values().any(|ranks| ranks == group)
}

/// What was counted of a group, and explains less than a third of its excess in time: its instructions (it has no more work), or its cycles
/// (its frequency is lower, or something else had its core). `None` if it explains more, or if nothing was counted.
fn counts_no_more(context: &RuleContext, alike: &BTreeMap<Segment, BTreeMap<u32, i64>>, group: &[u32]) -> Option<&'static str> {
    let counters = &context.findings.counted.counters;
    let find = |is_it: fn(&CounterDefinition) -> bool| counters.iter().position(is_it);
    let instructions = find(CounterDefinition::counts_instructions).map(|index| (index, "instructions"));
    let (index, unit) = instructions.or_else(|| Some((find(CounterDefinition::counts_cycles)?, "cycles")))?;
    let (mut times, mut counts) = (BTreeMap::new(), BTreeMap::new());
    for (segment, ranks) in &context.findings.counted.segments {
        if alike.contains_key(&context.inputs.sites.representative_segment(*segment)) {
            for (rank, time) in ranks {
                *times.entry(*rank).or_default() += time.ns;
                *counts.entry(*rank).or_default() += time.value(counters, index) as i64;
            }
        }
    }
    let excess = |sums: &BTreeMap<u32, i64>| {
        let (inside, others) = mean_times(sums, group);
        inside as f64 / others.max(1) as f64 - 1.0
    };
    (times.len() == context.size() && 3.0 * excess(&counts) < excess(&times)).then_some(unit)
}

/// Whether samples find these ranks on a processor for most of their computation: what is blocked counts nothing. True without samples.
fn runs_on_processor(context: &RuleContext, alike: &BTreeMap<Segment, BTreeMap<u32, i64>>, group: &[u32]) -> bool {
    group.iter().all(|rank| {
        let all: i64 = alike.values().filter_map(|loads| loads.get(rank)).sum();
        let sampled: Option<i64> = alike.keys().map(|segment| context.sampled_ns(*segment, *rank)).sum();
        sampled.is_none_or(|sampled| 2 * sampled > all)
    })
}

/// Whether a rank is one of a group, which is in order.
fn is_in(group: &[u32], rank: &u32) -> bool {
    group.binary_search(rank).is_ok()
}

/// The mean of a group and the mean of the others.
fn mean_times(loads: &BTreeMap<u32, i64>, group: &[u32]) -> (i64, i64) {
    let (inside, compute): (Vec<_>, Vec<_>) = loads.iter().partition(|(rank, _)| is_in(group, rank));
    let mean = |ranks: &[(&u32, &i64)]| ranks.iter().map(|(_, ns)| **ns).sum::<i64>() / ranks.len().max(1) as i64;
    (mean(&inside), mean(&compute))
}

/// A change that makes the ranks of a group as quick as the mean of the others.
fn as_quick_as_others(alike: &BTreeMap<Segment, BTreeMap<u32, i64>>, group: &[u32]) -> WhatIfChange {
    let mut changed = BTreeMap::new();
    for (segment, loads) in alike {
        let (_, others) = mean_times(loads, group);
        let slow = loads.iter().filter(|(rank, _)| is_in(group, rank));
        changed.extend(slow.map(|(rank, ns)| ((*segment, *rank), DurationChange::Scale(others as f64 / (*ns).max(1) as f64))));
    }
    WhatIfChange::Computation(changed)
}

/// Whether every rank of a group is slower than every other rank.
fn is_separated(loads: &BTreeMap<u32, i64>, group: &[u32]) -> bool {
    let fastest = group.iter().filter_map(|rank| loads.get(rank)).min();
    loads.iter().filter(|(rank, _)| !is_in(group, rank)).all(|(_, ns)| Some(ns) < fastest)
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
    let counted = counts_no_more(context, &alike, &candidate.ranks);
    AdviceText {
        what: format!(
            "{who} on {} {} {} as long as the others for the same work, in every part of the program.",
            hosts.join(", "),
            choose_verb(candidate.ranks.len(), "takes", "take"),
            format_ratio(inside, compute)
        ),
        evidence: format!(
            "{} of computation against {} on the others, in {} of the program that all execute equally often, slower in each, {}; \
             the others wait {}.",
            format_ns(inside),
            format_ns(compute),
            format_plural(alike.len() as u64, "part"),
            counted.map_or_else(|| "and only on this host".into(), |unit| format!("with as many {unit}")),
            format_share(candidate.max_saving_ns, context.run_ns())
        ),
        try_this: format!(
            "Check the machine before the program: what else runs there, whether ranks share a core (mpirun --report-bindings), the \
             processor's frequency and temperature. Run again on other hosts or cores, or give {who} less work."
        ),
    }
}
