//! Load imbalance between groups of ranks: those that compute in different parts of the program, as in coupled codes, have different amounts
//! of work. No single segment shows it.

use std::collections::BTreeMap;

use super::excess_function;
use super::imbalance::LoadImbalance;
use super::phrases::{choose_verb, format_ns, format_ranks, format_ratio, format_share};
use super::rule_context::RuleContext;
use super::what_if::{DurationChange, WhatIfChange};
use super::{AdviceCandidate, AdviceRule, AdviceText, NOISE_SHARE};
use crate::segment::Segment;

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "role_imbalance",
    name: "load imbalance between groups of ranks",
    help: "Ranks that compute in different parts of the program (the components of a coupled code, for example) compute for different times, \
           and those that have less to do wait for the others.",
    basis: "the run replayed with the same total computation on every rank of these groups",
    find,
    describe,
};

/// Groups differ by at least this factor in the computation of their ranks.
const MIN_RATIO: f64 = 1.3;

/// Ranks that compute less than one part in this many of the busiest ones only distribute work.
const MIN_WORK_SHARE: i64 = 10;

/// Two groups of ranks, and the mean computation of the ranks of each in nanoseconds.
struct WorkGroups {
    busy: Vec<u32>,
    busy_ns: i64,
    others: Vec<u32>,
    others_ns: i64,
}

/// Computation of each rank by segment, in nanoseconds.
fn work_by_rank(context: &RuleContext) -> BTreeMap<u32, BTreeMap<Segment, i64>> {
    let mut work: BTreeMap<u32, BTreeMap<Segment, i64>> = BTreeMap::new();
    for segment in context.segments() {
        for (rank, load) in context.loads(segment) {
            work.entry(rank).or_default().insert(segment, load.ns());
        }
    }
    work
}

/// Divides the ranks that compute where their computation differs most; `None` if it does not differ much.
fn divide(work: &BTreeMap<u32, BTreeMap<Segment, i64>>) -> Option<WorkGroups> {
    let mut totals: Vec<(i64, u32)> = work.iter().map(|(rank, segments)| (segments.values().sum(), *rank)).collect();
    totals.sort_unstable_by(|a, b| b.cmp(a));
    let (most, _) = *totals.first()?;
    totals.retain(|(ns, _)| MIN_WORK_SHARE * ns > most);
    let ratio = |at: usize| totals[at - 1].0 as f64 / totals[at].0.max(1) as f64;
    let gap = (1..totals.len()).max_by(|a, b| ratio(*a).total_cmp(&ratio(*b))).filter(|gap| ratio(*gap) > MIN_RATIO)?;
    let group = |ranks: &[(i64, u32)]| {
        let mut numbers: Vec<u32> = ranks.iter().map(|(_, rank)| *rank).collect();
        numbers.sort_unstable();
        (numbers, ranks.iter().map(|(ns, _)| ns).sum::<i64>() / ranks.len() as i64)
    };
    let ((busy, busy_ns), (others, others_ns)) = (group(&totals[..gap]), group(&totals[gap..]));
    Some(WorkGroups { busy, busy_ns, others, others_ns })
}

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    candidate(context).into_iter().collect()
}

fn candidate(context: &RuleContext) -> Option<AdviceCandidate> {
    let work = work_by_rank(context);
    let WorkGroups { busy, busy_ns, others, .. } = divide(&work)?;
    let ranks: Vec<u32> = busy.iter().chain(&others).copied().collect();
    let total = |rank: &u32| work[rank].values().sum::<i64>();
    let mean = ranks.iter().map(total).sum::<i64>() / ranks.len() as i64;
    let excess = busy_ns - mean;
    if excess < context.run_ns() / NOISE_SHARE || !is_waited_for(context, &busy) || is_explained_by_segments(context, &ranks, &busy, excess)
    {
        return None;
    }
    let mut changed = BTreeMap::new();
    for rank in &ranks {
        let scale = DurationChange::Scale(mean as f64 / total(rank).max(1) as f64);
        changed.extend(work[rank].keys().map(|segment| ((*segment, *rank), scale)));
    }
    let mut segments: BTreeMap<Segment, i64> = BTreeMap::new();
    busy.iter().flat_map(|rank| &work[rank]).for_each(|(segment, ns)| *segments.entry(*segment).or_default() += ns);
    let (main, _) = segments.into_iter().max_by_key(|(segment, ns)| (*ns, *segment))?;
    Some(AdviceCandidate::in_segment(main, busy, WhatIfChange::Computation(changed), excess))
}

/// Whether most of the excess is in segments that all these ranks execute: then these are what to divide otherwise.
fn is_explained_by_segments(context: &RuleContext, ranks: &[u32], busy: &[u32], excess_ns: i64) -> bool {
    let is_common = |segment: Segment| ranks.iter().all(|rank| context.load(segment, *rank).is_some());
    let of_busy =
        |imbalance: &LoadImbalance| is_common(imbalance.segments[0]) && imbalance.ranks.iter().all(|rank| busy.binary_search(rank).is_ok());
    let most = LoadImbalance::of_same_ranks(context).into_iter().filter(of_busy).map(|imbalance| imbalance.excess_ns).max();
    5 * most.unwrap_or(0) > 4 * excess_ns
}

/// Whether these ranks cause most of the waiting.
fn is_waited_for(context: &RuleContext, ranks: &[u32]) -> bool {
    let costs = |rank: u32| context.delay_costs(rank).map(|(_, ns)| ns).sum::<i64>();
    let all: i64 = (0..context.size() as u32).map(costs).sum();
    2 * ranks.iter().map(|rank| costs(*rank)).sum::<i64>() > all
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let groups = divide(&work_by_rank(context));
    let (others, most, mean) = groups.map_or((Vec::new(), 0, 0), |groups| (groups.others, groups.busy_ns, groups.others_ns));
    let function = excess_function::describe(context, candidate.segment, &candidate.ranks).map(|name| format!(" in {name}"));
    let (who, them) = (format_ranks(&candidate.ranks), format_ranks(&others));
    AdviceText {
        what: format!(
            "{who} {} {} as long as {them}, most of it {}{}.",
            choose_verb(candidate.ranks.len(), "computes", "compute"),
            format_ratio(most, mean),
            context.describe_segment(candidate.segment),
            function.unwrap_or_default()
        ),
        evidence: format!(
            "{} of computation on each of {who}, {} on each of {them}, which wait for them ({} more than the mean of all).",
            format_ns(most),
            format_ns(mean),
            format_share(candidate.max_saving_ns, context.run_ns())
        ),
        try_this: format!(
            "Move work from {who} to {them}. If they execute different parts of the program, divide the ranks by the work of each part: more \
             ranks for that of {who}, fewer for the other."
        ),
    }
}
