//! A master rank that serves all others sequentially.

use std::collections::BTreeMap;

use super::phrases::{format_ns, format_ranks, format_share};
use super::rule_context::{RuleContext, key_of_max};
use super::what_if::{DurationChange, WhatIfChange};
use super::{AdviceCandidate, AdviceRule, AdviceText};
use crate::findings::significant_ranks;
use crate::segment::Segment;

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "serialised_master",
    name: "serialised master",
    help: "Most ranks wait for messages of the same rank, which serves them one after the other. However many ranks there are, the run \
           cannot be faster than that one.",
    basis: "the run replayed with the work between its messages shared by all ranks",
    find,
    describe,
};

const KINDS: &[&str] = &["late_sender", "late_sender_wrong_order"];

/// Wait time in receives, by late rank and waiting rank.
fn waits_by_cause(context: &RuleContext) -> BTreeMap<u32, BTreeMap<u32, i64>> {
    let mut all: BTreeMap<u32, BTreeMap<u32, i64>> = BTreeMap::new();
    for waits in context.findings.waits.iter().filter(|waits| KINDS.contains(&waits.pattern.kind)) {
        waits.by_pair.iter().for_each(|((waits, late), ns)| *all.entry(*late).or_default().entry(*waits).or_default() += ns);
    }
    all
}

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    let waits = waits_by_cause(context);
    let caused: BTreeMap<u32, i64> = waits.iter().map(|(late, waiting)| (*late, waiting.values().sum())).collect();
    let Some(master) = key_of_max(&caused) else { return Vec::new() };
    let served = significant_ranks(&waits[&master]);
    let own_waits: i64 = waits.values().filter_map(|waiting| waiting.get(&master)).sum();
    let serves_most = served.len() >= 2 && 2 * served.len() >= context.size() - 1;
    let for_it = 2 * caused[&master] >= caused.values().sum();
    if !serves_most || !for_it || 2 * own_waits > context.run_ns() {
        return Vec::new();
    }
    let work = master_work(context, master);
    let shared = DurationChange::Scale(1.0 / context.size() as f64);
    let change = WhatIfChange::Computation(work.keys().map(|segment| ((*segment, master), shared)).collect());
    let all: i64 = work.values().sum();
    let main = work.iter().max_by_key(|(segment, ns)| (**ns, **segment));
    main.map(|(segment, _)| AdviceCandidate::in_segment(*segment, vec![master], change, all)).into_iter().collect()
}

/// Computation of the master in segments with at least a tenth of its delay costs.
fn master_work(context: &RuleContext, master: u32) -> BTreeMap<Segment, i64> {
    let all: i64 = context.delay_costs(master).map(|(_, ns)| ns).sum();
    let main = context.delay_costs(master).filter(|(_, ns)| 10 * ns > all).map(|(segment, _)| segment);
    main.filter_map(|segment| Some((segment, context.loads(segment).get(&master)?.ns()))).collect()
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let master = candidate.ranks.first().copied().unwrap_or(0);
    let waiting = waits_by_cause(context).remove(&master).unwrap_or_default();
    let served = significant_ranks(&waiting);
    let waited: i64 = waiting.values().sum();
    let segment = candidate.segment;
    AdviceText {
        what: format!(
            "{} wait for {}, which serves them one after the other and computes {}.",
            format_ranks(&served),
            format_ranks(&[master]),
            context.describe_segment(segment)
        ),
        evidence: format!(
            "{} of waiting for its messages on each of {} ({}); it computes {} there.",
            format_ns(waited / served.len().max(1) as i64),
            format_ranks(&served),
            format_share(waited / served.len().max(1) as i64, context.run_ns()),
            format_ns(context.loads(segment).get(&master).map_or(0, |load| load.ns()))
        ),
        try_this: format!(
            "Offload {}: let the workers derive their own tasks from a number or range, send several tasks at a time, send the next one \
             before it is requested (MPI_Isend), or use several masters.",
            format_ranks(&[master])
        ),
    }
}
