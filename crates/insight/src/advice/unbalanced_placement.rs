//! Unfavourable placement: too many ranks on one host, or heavily communicating ranks on different hosts.

use std::collections::BTreeMap;

use sintonia_placement::objective::PlacementObjective;
use sintonia_placement::partition::SearchEffort;
use sintonia_placement::search::PlacementSearch;
use sintonia_placement::{Cluster, ExchangeEdge, Host, RankGraph};

use super::inputs::PairTraffic;
use super::phrases::{choose_verb, format_bytes, format_ns, format_ranks, format_share};
use super::rule_context::RuleContext;
use super::what_if::WhatIfChange;
use super::{AdviceCandidate, AdviceRule, AdviceText};

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "unbalanced_placement",
    name: "unbalanced placement",
    help: "Hosts have different numbers of ranks and those on the fuller ones are slower, because they share memory bandwidth and caches; \
           or ranks that exchange much data are on different hosts although they would fit on one.",
    basis: "the run replayed with the computation of the slow ranks at the overall mean, or with messages that need not leave a host as \
            fast as intra-host ones",
    find,
    describe,
};

/// Minimum slowdown: one part in this many.
const MIN_SLOWDOWN: i64 = 20;

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    if context.recording.header.hosts.len() < 2 {
        return Vec::new();
    }
    find_crowded(context).into_iter().chain(find_misplaced(context)).collect()
}

/// The fullest hosts, if all their ranks compute longer than all others.
fn find_crowded(context: &RuleContext) -> Option<AdviceCandidate> {
    let hosts = context.ranks_by_host();
    let fullest = hosts.values().map(Vec::len).max()?;
    let (full, other): (Vec<&Vec<u32>>, Vec<&Vec<u32>>) = hosts.values().partition(|ranks| ranks.len() == fullest);
    let computed = compute_by_rank(context);
    let of = |hosts: &[&Vec<u32>]| hosts.iter().copied().flatten().filter_map(|rank| computed.get(rank).copied()).collect::<Vec<i64>>();
    let (slowest, fastest) = (of(&other).into_iter().max()?, of(&full).into_iter().min()?);
    if fastest - slowest < slowest / MIN_SLOWDOWN {
        return None;
    }
    let mean = computed.values().sum::<i64>() / computed.len().max(1) as i64;
    let excess = of(&full).into_iter().max()? - mean;
    let segment = context.segments().max_by_key(|segment| (context.critical_path_ns(*segment), *segment))?;
    let mut crowded: Vec<u32> = full.into_iter().flatten().copied().collect();
    crowded.sort_unstable();
    let change = context.balanced(context.segments(), |rank| crowded.binary_search(&rank).is_ok());
    Some(AdviceCandidate::in_segment(segment, crowded, change, excess))
}

/// Computation of each rank.
fn compute_by_rank(context: &RuleContext) -> BTreeMap<u32, i64> {
    let mut computed = BTreeMap::new();
    for (rank, load) in context.segments().flat_map(|segment| context.loads(segment)) {
        *computed.entry(rank).or_default() += load.ns();
    }
    computed
}

/// Ranks whose heavy communication would be intra-host with a better placement.
fn find_misplaced(context: &RuleContext) -> Option<AdviceCandidate> {
    let now = context.host_by_rank();
    let better = better_hosts(context, &now);
    let pairs = &context.inputs.pairs;
    // A placement that reduces inter-host traffic by less than a quarter is not considered better.
    if 4 * u128::from(inter_host_bytes(pairs, &better)) > 3 * u128::from(inter_host_bytes(pairs, &now)) {
        return None;
    }
    let mut spent: BTreeMap<u32, i64> = BTreeMap::new();
    let nearer = pairs.iter().filter(|(pair, _)| !is_same_host(&now, **pair) && is_same_host(&better, **pair));
    nearer.for_each(|((_, to), traffic)| *spent.entry(*to).or_default() += traffic.ns);
    let most = spent.values().copied().max()?;
    let sends = context.calls(|role| matches!(role, sintonia_mpi::FunctionRole::Send | sintonia_mpi::FunctionRole::SendReceive));
    let (site, _) = sends.max_by_key(|(site, calls)| (calls.sum(|totals| totals.bytes), *site))?;
    let change = WhatIfChange::Placement(better, intra_host_ratio(pairs, &now));
    Some(AdviceCandidate::at_call(site, spent.into_keys().collect(), change, most))
}

fn is_same_host(hosts: &[u32], (from, to): (u32, u32)) -> bool {
    hosts.get(from as usize) == hosts.get(to as usize)
}

/// Inter-host bytes.
fn inter_host_bytes(pairs: &BTreeMap<(u32, u32), PairTraffic>, hosts: &[u32]) -> u64 {
    let apart = pairs.iter().filter(|(pair, _)| !is_same_host(hosts, **pair));
    apart.fold(0, |sum: u64, (_, traffic)| sum.saturating_add(traffic.bytes))
}

/// Mean time of an intra-host message relative to an inter-host one; 0 without intra-host messages.
fn intra_host_ratio(pairs: &BTreeMap<(u32, u32), PairTraffic>, hosts: &[u32]) -> f64 {
    let mean = |within: bool| {
        let such = pairs.iter().filter(|(pair, _)| is_same_host(hosts, **pair) == within);
        let (ns, messages) = such.fold((0, 0), |(ns, messages), (_, traffic)| (ns + traffic.ns, messages + traffic.messages));
        ns / (messages as i64).max(1)
    };
    let (within, across) = (mean(true), mean(false).max(1));
    within.min(across) as f64 / across as f64
}

/// A placement on the same hosts, with as many ranks on each, that minimises inter-host traffic.
fn better_hosts(context: &RuleContext, now: &[u32]) -> Vec<u32> {
    let flow =
        |((from, to), traffic): (&(u32, u32), &PairTraffic)| ExchangeEdge { ranks: [*from, *to], forward: traffic.bytes, backward: 0 };
    let graph = RankGraph::new(vec![1; now.len()], &context.inputs.pairs.iter().map(flow).collect::<Vec<_>>());
    let ranks_by_host = context.ranks_by_host();
    let hosts = ranks_by_host.iter().map(|(host, ranks)| Host::new(host.to_string(), ranks.len() as u32)).collect();
    let cluster = Cluster::new(hosts);
    let numbers: Vec<u32> = ranks_by_host.keys().copied().collect();
    // Ranks without data have no host.
    let is_known = cluster.slot_count() as usize >= now.len();
    match PlacementSearch::new(&graph, &cluster, PlacementObjective::Congestion, SearchEffort::Quick) {
        Ok(search) if is_known => search.best(&[]).placement.host_slots(&cluster).iter().map(|slot| numbers[slot.host as usize]).collect(),
        _ => now.to_vec(),
    }
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    match &candidate.change {
        WhatIfChange::Placement(better, _) => describe_misplaced(context, candidate, better),
        _ => describe_crowded(context, candidate),
    }
}

fn describe_crowded(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let counts: Vec<String> =
        context.ranks_by_host().iter().map(|(host, ranks)| format!("{} on {}", ranks.len(), context.host_name(*host))).collect();
    let computed = compute_by_rank(context);
    let mean = |inside: bool| {
        let some: Vec<i64> =
            computed.iter().filter(|(rank, _)| candidate.ranks.binary_search(rank).is_ok() == inside).map(|(_, ns)| *ns).collect();
        some.iter().sum::<i64>() / some.len().max(1) as i64
    };
    AdviceText {
        what: format!(
            "{} {} slower than the others because {} more ranks than other hosts.",
            format_ranks(&candidate.ranks),
            choose_verb(candidate.ranks.len(), "is", "are"),
            format_args!(
                "{} {}",
                context.host_names(&candidate.ranks).join(", "),
                choose_verb(context.host_names(&candidate.ranks).len(), "has", "have")
            )
        ),
        evidence: format!(
            "ranks per host: {}. Computation takes {} there and {} elsewhere, most of it {}; the others wait {}.",
            counts.join(", "),
            format_ns(mean(true)),
            format_ns(mean(false)),
            context.describe_segment(candidate.segment),
            format_share(candidate.max_saving_ns, context.run_ns())
        ),
        try_this:
            "Place equally many ranks on every host (mpirun --map-by node, or -ppn; srun --ntasks-per-node), or give ranks on full hosts \
                   less work."
                .into(),
    }
}

fn describe_misplaced(context: &RuleContext, candidate: &AdviceCandidate, better: &[u32]) -> AdviceText {
    let now = context.host_by_rank();
    let pairs = &context.inputs.pairs;
    let moved: Vec<u32> = (0..now.len()).filter(|rank| now[*rank] != better[*rank]).map(|rank| rank as u32).collect();
    let list: Vec<String> = better.iter().map(|host| context.host_name(*host)).collect();
    AdviceText {
        what: format!("Ranks that exchange most data are on different hosts: {} could be placed better.", format_ranks(&moved)),
        evidence: format!(
            "{} are sent between hosts, {} would be with a placement by traffic; receiving them takes a rank up to {} ({}).",
            format_bytes(inter_host_bytes(pairs, &now)),
            format_bytes(inter_host_bytes(pairs, better)),
            format_ns(candidate.max_saving_ns),
            format_share(candidate.max_saving_ns, context.run_ns())
        ),
        try_this: format!(
            "Place neighbours together: mpirun --map-by core fills one host after the other, --map-by node distributes them round-robin; or \
             reorder the ranks with MPI_Cart_create(reorder). By traffic, ranks 0, 1, ... belong on {}; `sintonia place` writes this \
             placement for the launcher.",
            abbreviate(&list)
        ),
    }
}

/// The first elements of a list.
fn abbreviate(list: &[String]) -> String {
    const SHOWN: usize = 16;
    let more = if list.len() > SHOWN { ", ..." } else { "" };
    format!("{}{more}", list[..list.len().min(SHOWN)].join(", "))
}
