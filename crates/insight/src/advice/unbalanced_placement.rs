//! Ranks are on the wrong hosts: too many on one, or those who talk most apart.

use std::collections::BTreeMap;

use sintonia_placement::objective::Objective;
use sintonia_placement::partition::Effort;
use sintonia_placement::search::Search;
use sintonia_placement::{Cluster, Edge, Graph, Host};

use super::clues::Traffic;
use super::evidence::Evidence;
use super::replay::Change;
use super::words::{bytes, ranks, share, time, verb};
use super::{Rule, Suspect, Words};

pub const RULE: Rule = Rule {
    kind: "unbalanced_placement",
    name: "unbalanced placement",
    help: "Hosts have different numbers of ranks and those on the fuller ones are slower, because they share its memory and caches; or ranks \
           that exchange much data are on different hosts although they could be on one.",
    basis: "the run replayed with the computation of the slow ranks at the mean of all, or with messages that need not leave a host as \
            quick as those that do not",
    find,
    tell,
};

/// Ranks count as slower from one part in so many on.
const SLOWER: i64 = 20;

fn find(evidence: &Evidence) -> Vec<Suspect> {
    if evidence.recording.header.hosts.len() < 2 {
        return Vec::new();
    }
    crowded(evidence).into_iter().chain(apart(evidence)).collect()
}

/// The fullest hosts, if all their ranks compute longer than all others.
fn crowded(evidence: &Evidence) -> Option<Suspect> {
    let hosts = evidence.ranks_by_host();
    let fullest = hosts.values().map(Vec::len).max()?;
    let (full, other): (Vec<&Vec<u32>>, Vec<&Vec<u32>>) = hosts.values().partition(|ranks| ranks.len() == fullest);
    let computed = computed(evidence);
    let of = |hosts: &[&Vec<u32>]| hosts.iter().copied().flatten().filter_map(|rank| computed.get(rank).copied()).collect::<Vec<i64>>();
    let (slowest, fastest) = (of(&other).into_iter().max()?, of(&full).into_iter().min()?);
    if fastest - slowest < slowest / SLOWER {
        return None;
    }
    let mean = computed.values().sum::<i64>() / computed.len().max(1) as i64;
    let excess = of(&full).into_iter().max()? - mean;
    let segment = evidence.segments().max_by_key(|segment| (evidence.on_path(*segment), *segment))?;
    let mut crowded: Vec<u32> = full.into_iter().flatten().copied().collect();
    crowded.sort_unstable();
    let change = evidence.evened(evidence.segments(), |rank| crowded.binary_search(&rank).is_ok());
    Some(Suspect::in_segment(segment, crowded, change, excess))
}

/// What each rank computed.
fn computed(evidence: &Evidence) -> BTreeMap<u32, i64> {
    let mut computed = BTreeMap::new();
    for (rank, load) in evidence.segments().flat_map(|segment| evidence.loads(segment)) {
        *computed.entry(rank).or_default() += load.ns();
    }
    computed
}

/// Ranks that exchange much and would do so within a host if they were placed by that.
fn apart(evidence: &Evidence) -> Option<Suspect> {
    let now = evidence.hosts_by_rank();
    let better = together(evidence, &now);
    let pairs = &evidence.clues().pairs;
    // A placement that takes off less than a quarter is no other placement.
    if 4 * u128::from(across(pairs, &better)) > 3 * u128::from(across(pairs, &now)) {
        return None;
    }
    let mut spent: BTreeMap<u32, i64> = BTreeMap::new();
    let nearer = pairs.iter().filter(|(pair, _)| !is_within(&now, **pair) && is_within(&better, **pair));
    nearer.for_each(|((_, to), traffic)| *spent.entry(*to).or_default() += traffic.ns);
    let most = spent.values().copied().max()?;
    let sends = evidence.calls(|role| matches!(role, sintonia_mpi::Role::Send | sintonia_mpi::Role::SendReceive));
    let (site, _) = sends.max_by_key(|(site, calls)| (calls.sum(|called| called.bytes), *site))?;
    let change = Change::Placed(better, quicker(pairs, &now));
    Some(Suspect::at_call(site, spent.into_keys().collect(), change, most))
}

fn is_within(hosts: &[u32], (from, to): (u32, u32)) -> bool {
    hosts.get(from as usize) == hosts.get(to as usize)
}

/// Bytes that go from host to host.
fn across(pairs: &BTreeMap<(u32, u32), Traffic>, hosts: &[u32]) -> u64 {
    let apart = pairs.iter().filter(|(pair, _)| !is_within(hosts, **pair));
    apart.fold(0, |sum: u64, (_, traffic)| sum.saturating_add(traffic.bytes))
}

/// How long a message within a host takes, as a part of one between hosts; nothing if there was none to compare with.
fn quicker(pairs: &BTreeMap<(u32, u32), Traffic>, hosts: &[u32]) -> f64 {
    let mean = |within: bool| {
        let such = pairs.iter().filter(|(pair, _)| is_within(hosts, **pair) == within);
        let (ns, messages) = such.fold((0, 0), |(ns, messages), (_, traffic)| (ns + traffic.ns, messages + traffic.messages));
        ns / (messages as i64).max(1)
    };
    let (within, across) = (mean(true), mean(false).max(1));
    within.min(across) as f64 / across as f64
}

/// The same hosts with as many ranks as they have, those together that exchange most.
fn together(evidence: &Evidence, now: &[u32]) -> Vec<u32> {
    let flow = |((from, to), traffic): (&(u32, u32), &Traffic)| Edge { ranks: [*from, *to], there: traffic.bytes, back: 0 };
    let graph = Graph::new(vec![1; now.len()], &evidence.clues().pairs.iter().map(flow).collect::<Vec<_>>());
    let ranks_by_host = evidence.ranks_by_host();
    let hosts = ranks_by_host.iter().map(|(host, ranks)| Host::plain(host.to_string(), ranks.len() as u32)).collect();
    let cluster = Cluster::plain(hosts);
    let numbers: Vec<u32> = ranks_by_host.keys().copied().collect();
    // Ranks of which nothing was left have no host.
    let is_known = cluster.slots() as usize >= now.len();
    match Search::new(&graph, &cluster, Objective::Congestion, Effort::Quick) {
        Ok(search) if is_known => search.best(&[]).placement.slots(&cluster).iter().map(|slot| numbers[slot.host as usize]).collect(),
        _ => now.to_vec(),
    }
}

fn tell(evidence: &Evidence, suspect: &Suspect) -> Words {
    match &suspect.change {
        Change::Placed(better, _) => tell_apart(evidence, suspect, better),
        _ => tell_crowded(evidence, suspect),
    }
}

fn tell_crowded(evidence: &Evidence, suspect: &Suspect) -> Words {
    let counts: Vec<String> =
        evidence.ranks_by_host().iter().map(|(host, ranks)| format!("{} on {}", ranks.len(), evidence.host_name(*host))).collect();
    let computed = computed(evidence);
    let mean = |inside: bool| {
        let some: Vec<i64> =
            computed.iter().filter(|(rank, _)| suspect.ranks.binary_search(rank).is_ok() == inside).map(|(_, ns)| *ns).collect();
        some.iter().sum::<i64>() / some.len().max(1) as i64
    };
    Words {
        what: format!(
            "{} {} slower than the others because {} more ranks than other hosts.",
            ranks(&suspect.ranks),
            verb(suspect.ranks.len(), "is", "are"),
            format_args!(
                "{} {}",
                evidence.host_names(&suspect.ranks).join(", "),
                verb(evidence.host_names(&suspect.ranks).len(), "has", "have")
            )
        ),
        evidence: format!(
            "ranks per host: {}. Computation takes {} there and {} elsewhere, most of it {}; the others wait {}.",
            counts.join(", "),
            time(mean(true)),
            time(mean(false)),
            evidence.between(suspect.segment),
            share(suspect.at_most_ns, evidence.run_ns())
        ),
        try_this:
            "Put equally many ranks on every host (mpirun --map-by node, or -ppn; srun --ntasks-per-node), or give ranks on full hosts \
                   less work."
                .into(),
    }
}

fn tell_apart(evidence: &Evidence, suspect: &Suspect, better: &[u32]) -> Words {
    let now = evidence.hosts_by_rank();
    let pairs = &evidence.clues().pairs;
    let moved: Vec<u32> = (0..now.len()).filter(|rank| now[*rank] != better[*rank]).map(|rank| rank as u32).collect();
    let list: Vec<String> = better.iter().map(|host| evidence.host_name(*host)).collect();
    Words {
        what: format!("Ranks that exchange most data are on different hosts: {} could be better placed.", ranks(&moved)),
        evidence: format!(
            "{} go from host to host, {} would if ranks were placed by what they exchange; receiving it takes a rank up to {} ({}).",
            bytes(across(pairs, &now)),
            bytes(across(pairs, better)),
            time(suspect.at_most_ns),
            share(suspect.at_most_ns, evidence.run_ns())
        ),
        try_this: format!(
            "Place neighbours together: mpirun --map-by core fills one host after the other, --map-by node deals them out in turn; or number \
             the ranks with MPI_Cart_create(reorder). By what they exchange, ranks 0, 1, ... belong on {}; `sintonia place` writes that for the \
             launcher.",
            shortened(&list)
        ),
    }
}

/// The beginning of a list that can be long.
fn shortened(list: &[String]) -> String {
    const SHOWN: usize = 16;
    let more = if list.len() > SHOWN { ", ..." } else { "" };
    format!("{}{more}", list[..list.len().min(SHOWN)].join(", "))
}
