//! All-to-all exchange, whose cost grows with the number of ranks.

use std::collections::{BTreeMap, BTreeSet};

use sintonia_mpi::{CollectiveOp, FunctionRole};

use super::inputs::SiteCalls;
use super::phrases::{format_bytes, format_ns, format_share};
use super::rule_context::{RuleContext, key_of_max};
use super::what_if::{CallOverride, WhatIfChange};
use super::{AdviceCandidate, AdviceRule, AdviceText};

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "all_to_all_growth",
    name: "all-to-all exchange",
    help: "Every rank sends to every other: the number of messages grows with the square of the number of ranks, so this part of the run \
           takes longer with more ranks while everything else gets faster.",
    basis: "the run replayed with these exchanges taking no time once all ranks have arrived; messages between all pairs, with those to two \
            neighbours only",
    find,
    describe,
};

/// Fewer ranks may all be neighbours of each other.
const MIN_RANKS: usize = 5;

/// Grids of more dimensions are rare.
const MAX_DIMENSIONS: u32 = 3;

/// A rank of a chain or ring has this many neighbours.
const RING_NEIGHBOURS: f64 = 2.0;

/// Whether this many ranks may be a grid in which all are neighbours: one of up to three dimensions, with two or three ranks along each.
fn may_be_grid(size: usize) -> bool {
    let grids =
        (0..=MAX_DIMENSIONS).flat_map(|twos| (0..=MAX_DIMENSIONS - twos).map(move |threes| 2_usize.pow(twos) * 3_usize.pow(threes)));
    grids.into_iter().any(|grid| grid == size)
}

/// Whether all ranks are neighbours of each other, on the grid or graph that the program has made of them; `None` if it has made none.
fn are_all_neighbours(context: &RuleContext) -> Option<bool> {
    let (recording, ranks) = (context.recording, 0..context.size() as u32);
    let of_all = |number: &u32| ranks.clone().all(|rank| recording.neighbours(*number, rank).is_some());
    let number = (0..recording.header.communicators.len() as u32).find(of_all)?;
    let is_grid = recording.header.communicators[number as usize].made_by.starts_with("MPI_Cart");
    let destinations = |rank: u32| recording.neighbours(number, rank).map_or(&[][..], |own| &own.destinations);
    let all_near = |rank: u32| {
        let own = destinations(rank).len();
        // On a grid there are two for each dimension, and a neighbour across a corner is a step away along several of them.
        let step_size = if is_grid { 2 } else { own.max(1) };
        let mut near = BTreeSet::from([rank]);
        for step in (0..own).step_by(step_size) {
            let next = |from: &u32| destinations(*from).iter().skip(step).take(step_size);
            let found: Vec<u32> = near.iter().flat_map(next).filter_map(|rank| u32::try_from(*rank).ok()).collect();
            near.extend(found);
        }
        near.len() == ranks.len()
    };
    Some(ranks.clone().all(all_near))
}

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    if context.size() < 3 {
        return Vec::new();
    }
    let collective = context
        .calls(|role| matches!(role, FunctionRole::Collective(CollectiveOp::Alltoall | CollectiveOp::Alltoallv | CollectiveOp::Alltoallw)));
    let mut candidates: Vec<AdviceCandidate> = collective.map(|(site, calls)| candidate(site, &[(site, calls)])).collect();
    candidates.extend(point_to_point(context));
    candidates
}

/// The same with point-to-point messages.
fn point_to_point(context: &RuleContext) -> Option<AdviceCandidate> {
    let partners = &context.inputs.partner_counts;
    let size = context.size();
    let is_exchange = partners.len() == size && partners.values().all(|partners| *partners as usize + 1 >= size);
    if size < MIN_RANKS || !is_exchange || are_all_neighbours(context).unwrap_or_else(|| may_be_grid(size)) {
        return None;
    }
    let is_message = |role| {
        matches!(
            role,
            FunctionRole::Send | FunctionRole::Receive | FunctionRole::SendReceive | FunctionRole::CompleteOne | FunctionRole::CompleteAll
        )
    };
    let calls: Vec<(u32, &SiteCalls)> = context.calls(is_message).collect();
    let sends = calls.iter().filter(|(_, calls)| matches!(calls.operation.role(), FunctionRole::Send | FunctionRole::SendReceive));
    let site = key_of_max(&sends.map(|(site, calls)| (*site, calls.sum(|totals| totals.bytes) as i64)).collect())?;
    let candidate = candidate(site, &calls);
    let fewer = RING_NEIGHBOURS / (size - 1) as f64;
    Some(AdviceCandidate { change: WhatIfChange::CallTimes(candidate.sites().to_vec(), fewer), ..candidate })
}

fn candidate(site: u32, calls: &[(u32, &SiteCalls)]) -> AdviceCandidate {
    let mut ranks: BTreeMap<u32, i64> = BTreeMap::new();
    calls.iter().flat_map(|(_, calls)| &calls.ranks).for_each(|(rank, totals)| *ranks.entry(*rank).or_default() += totals.own_ns);
    let most = ranks.values().copied().max().unwrap_or(0);
    let change = WhatIfChange::Calls(calls.iter().map(|(site, _)| *site).collect(), CallOverride::ZeroCost);
    AdviceCandidate::at_call(site, ranks.into_keys().collect(), change, most)
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let calls: Vec<&SiteCalls> = candidate.sites().iter().filter_map(|site| context.inputs.calls.get(site)).collect();
    let (own, moved): (i64, u64) =
        calls.iter().fold((0, 0), |(ns, moved), calls| (ns + calls.sum(|totals| totals.own_ns), moved + calls.sum(|totals| totals.bytes)));
    let name = context.inputs.calls.get(&candidate.site()).map_or("messages", |calls| calls.operation.name());
    let per_rank = own / candidate.ranks.len().max(1) as i64;
    AdviceText {
        what: format!(
            "Every rank exchanges data with each of the {} others ({name} at {}), which grows with the number of ranks.",
            context.size() - 1,
            context.source_location(candidate.site())
        ),
        evidence: format!(
            "{} of a rank's time on average after all ranks had arrived ({}); {} sent and received by all ranks.",
            format_ns(per_rank),
            format_share(per_rank, context.run_ns()),
            format_bytes(moved)
        ),
        try_this:
            "Exchange within rows and columns of a grid of ranks instead of among all (MPI_Cart_sub, then MPI_Alltoall on each), send \
                   only to the ranks that need the data (MPI_Neighbor_alltoallv), or start it with MPI_Ialltoall and overlap it with computation."
                .into(),
    }
}
