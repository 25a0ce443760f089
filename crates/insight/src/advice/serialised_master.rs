//! A master rank that serves all others sequentially.

use std::collections::BTreeMap;

use super::inputs::SegmentLoad;
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
    basis: "the run replayed with the work between its messages divided among it and the ranks that it serves",
    find,
    describe,
};

const KINDS: &[&str] = &["late_sender", "late_sender_wrong_order"];

/// A rank that waits more than one part in this many of the run itself is not what all others wait for.
const MIN_BUSY_SHARE: i64 = 4;

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
    if !serves_most || !for_it || MIN_BUSY_SHARE * own_waits > context.run_ns() {
        return Vec::new();
    }
    let work = master_work(context, master);
    let all: i64 = work.values().sum();
    let change = shared_work(context, master, &work, &served);
    let main = work.iter().max_by_key(|(segment, ns)| (**ns, **segment));
    main.map(|(segment, _)| AdviceCandidate::in_segment(*segment, vec![master], change, all)).into_iter().collect()
}

/// Computation of the master in segments with at least a tenth of its delay costs.
fn master_work(context: &RuleContext, master: u32) -> BTreeMap<Segment, i64> {
    let all: i64 = context.delay_costs(master).map(|(_, ns)| ns).sum();
    let main = context.delay_costs(master).filter(|(_, ns)| 10 * ns > all).map(|(segment, _)| segment);
    main.filter_map(|segment| Some((segment, context.load(segment, master)?.ns()))).collect()
}

/// The change that divides work of the master among itself and the ranks it serves, which do their part where they wait for it.
fn shared_work(context: &RuleContext, master: u32, work: &BTreeMap<Segment, i64>, served: &[u32]) -> WhatIfChange {
    let ranks = served.len() as i64 + 1;
    let part_ns = work.values().sum::<i64>() / ranks;
    let mut changed: BTreeMap<(Segment, u32), DurationChange> =
        work.keys().map(|segment| ((*segment, master), DurationChange::Scale(1.0 / ranks as f64))).collect();
    for rank in served {
        let waiting = site_waits(context, *rank, master);
        let all = waiting.values().sum::<i64>().max(1) as f64;
        for (site, ns) in waiting {
            let before: Vec<(Segment, SegmentLoad)> = context
                .segments()
                .filter(|segment| segment.to == site)
                .filter_map(|segment| Some((segment, *context.load(segment, *rank)?)))
                .collect();
            let visits = before.iter().map(|(_, load)| load.visits).sum::<u64>().max(1) as f64;
            let more_ns = part_ns as f64 * ns as f64 / all / visits;
            let longer = |load: &SegmentLoad| DurationChange::Fixed((load.ns() as f64 / load.visits.max(1) as f64 + more_ns) * 1e-9);
            changed.extend(before.iter().map(|(segment, load)| ((*segment, *rank), longer(load))));
        }
    }
    WhatIfChange::Computation(changed)
}

/// For how long a rank waits for another one at each call site.
fn site_waits(context: &RuleContext, rank: u32, late: u32) -> BTreeMap<u32, i64> {
    let mut sites: BTreeMap<u32, i64> = BTreeMap::new();
    for waits in context.findings.waits.iter().filter(|waits| KINDS.contains(&waits.pattern.kind)) {
        if let Some(ns) = waits.by_pair.get(&(rank, late)) {
            *sites.entry(context.inputs.sites.representative(waits.site)).or_default() += ns;
        }
    }
    sites
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
            format_ns(context.load(segment, master).map_or(0, SegmentLoad::ns))
        ),
        try_this: format!(
            "Offload {}: let the workers derive their own tasks from a number or range, send several tasks at a time, send the next one \
             before it is requested (MPI_Isend), or use several masters.",
            format_ranks(&[master])
        ),
    }
}
