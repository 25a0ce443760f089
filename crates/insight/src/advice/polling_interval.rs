//! Ranks that look for messages only now and then and sleep in between, while others wait for their answers.

use std::collections::BTreeMap;

use super::phrases::{choose_verb, format_ns, format_ranks, format_share};
use super::poll_gaps::PollGaps;
use super::rule_context::RuleContext;
use super::what_if::{DurationChange, WhatIfChange};
use super::{AdviceCandidate, AdviceRule, AdviceText, NOISE_SHARE};
use crate::segment::Segment;

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "polling_interval",
    name: "long intervals between polls",
    help: "A rank looks for messages (MPI_Iprobe, MPI_Test), finds none, and sleeps until it looks again; those that wait for its answer wait \
           as long. What it computes between two polls is not counted.",
    basis: "the run replayed without the time after unsuccessful polls in which the rank did not compute",
    find,
    describe,
};

const KINDS: &[&str] = &["late_sender", "late_sender_wrong_order", "late_receiver"];

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    let mut caused: BTreeMap<u32, i64> = BTreeMap::new();
    for waiting in context.waits(KINDS).values() {
        waiting.causes.iter().for_each(|(rank, ns)| *caused.entry(*rank).or_default() += ns);
    }
    let worth_ns = context.run_ns() / NOISE_SHARE;
    let awaited = |rank: &u32| caused.get(rank).is_some_and(|ns| *ns > worth_ns);
    let candidate = |(segment, ranks): (&Segment, &BTreeMap<u32, PollGaps>)| {
        let mut idle: BTreeMap<u32, i64> = BTreeMap::new();
        for (rank, gaps) in ranks.iter().filter(|(rank, gaps)| gaps.ns > worth_ns && awaited(rank)) {
            idle.extend(gaps.idle_ns(context.sampled_ns(*segment, *rank)).map(|ns| (*rank, ns)));
        }
        let most = idle.values().copied().max()?;
        let rest = |(rank, ns): (&u32, &i64)| {
            let all = context.load(*segment, *rank)?.ns().max(1);
            Some(((*segment, *rank), DurationChange::Scale(1.0 - (*ns).min(all) as f64 / all as f64)))
        };
        let change = WhatIfChange::Computation(idle.iter().filter_map(rest).collect());
        Some(AdviceCandidate::in_segment(*segment, idle.into_keys().collect(), change, most))
    };
    context.inputs.poll_gaps.iter().filter_map(candidate).collect()
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let site = candidate.site();
    let name = context.inputs.calls.get(&site).map_or("MPI_Iprobe", |calls| calls.operation.name());
    let ranks = context.inputs.poll_gaps.get(&candidate.segment);
    let gaps = ranks.into_iter().flatten().filter(|(rank, _)| candidate.ranks.binary_search(rank).is_ok());
    let longest = gaps.map(|(_, gaps)| *gaps).max_by_key(|gaps| gaps.ns).unwrap_or_default();
    let (looks, its) = (choose_verb(candidate.ranks.len(), "looks", "look"), choose_verb(candidate.ranks.len(), "its", "their"));
    AdviceText {
        what: format!(
            "{} {looks} for messages only every {} ({name} at {}), and other ranks wait for {its} answers meanwhile.",
            format_ranks(&candidate.ranks),
            format_ns(longest.ns / longest.count.max(1) as i64),
            context.source_location(site)
        ),
        evidence: format!(
            "{} between unsuccessful polls and the next ones ({}), {} times, most of it without computing.",
            format_ns(longest.ns),
            format_share(longest.ns, context.run_ns()),
            longest.count
        ),
        try_this:
            "Wait in a blocking call (MPI_Probe, MPI_Recv, MPI_Waitany) if there is nothing else to do; otherwise look more often, and \
                   do not sleep in between."
                .into(),
    }
}
