//! Ranks that look for messages only now and then, while others wait for their answers.

use std::collections::BTreeMap;

use super::phrases::{format_ns, format_ranks, format_share};
use super::rule_context::RuleContext;
use super::what_if::{DurationChange, WhatIfChange};
use super::{AdviceCandidate, AdviceRule, AdviceText, NOISE_SHARE};
use crate::wait_states::is_polling;

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "polling_interval",
    name: "long intervals between polls",
    help: "A rank looks for messages (MPI_Iprobe, MPI_Test) and does something else in between, or sleeps; those that wait for its answer \
           wait until it looks again.",
    basis: "the run replayed without the time between two unsuccessful polls",
    find,
    describe,
};

const KINDS: &[&str] = &["late_sender", "late_sender_wrong_order", "late_receiver"];

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    let mut caused: BTreeMap<u32, i64> = BTreeMap::new();
    for waiting in context.waits(KINDS).values() {
        waiting.causes.iter().for_each(|(rank, ns)| *caused.entry(*rank).or_default() += ns);
    }
    let polls = |site: u32| context.inputs.calls.get(&site).is_some_and(|calls| is_polling(calls.operation.definition()));
    let candidates = context.segments().filter(|segment| polls(segment.from) && polls(segment.to)).flat_map(|segment| {
        let awaited = context.loads(segment).into_iter().filter(|(rank, load)| {
            let worth_ns = context.run_ns() / NOISE_SHARE;
            load.ns() > worth_ns && caused.get(rank).is_some_and(|ns| *ns > worth_ns)
        });
        awaited.map(move |(rank, load)| {
            let change = WhatIfChange::Computation([((segment, rank), DurationChange::Fixed(0.0))].into());
            AdviceCandidate::in_segment(segment, vec![rank], change, load.ns())
        })
    });
    candidates.collect()
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let site = candidate.site();
    let rank = candidate.ranks.first().copied().unwrap_or(0);
    let name = context.inputs.calls.get(&site).map_or("MPI_Iprobe", |calls| calls.operation.name());
    let load = context.load(candidate.segment, rank).copied().unwrap_or_default();
    AdviceText {
        what: format!(
            "{} looks for messages only every {} ({name} at {}), and other ranks wait for its answers meanwhile.",
            format_ranks(&[rank]),
            format_ns(load.ns() / load.visits.max(1) as i64),
            context.source_location(site)
        ),
        evidence: format!(
            "{} between unsuccessful polls ({}), {} times.",
            format_ns(load.ns()),
            format_share(load.ns(), context.run_ns()),
            load.visits
        ),
        try_this:
            "Wait in a blocking call (MPI_Probe, MPI_Recv, MPI_Waitany) if there is nothing else to do; otherwise look more often, and \
                   do not sleep in between."
                .into(),
    }
}
