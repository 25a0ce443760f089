//! One rank, or all ranks of one host, are slower at everything, although they do the same: it is the machine.

use std::collections::BTreeMap;

use super::evidence::{Evidence, largest};
use super::words::{ranks, share, time, times, verb};
use super::{Rule, Suspect, Words};
use crate::segment::Segment;

pub const RULE: Rule = Rule {
    kind: "slow_rank",
    name: "waiting for a slow machine",
    help: "A rank takes longer than the others by the same factor in every part of the program, although it visits each as often: it has not \
           more to do, it is slower. Causes are a hot or throttled processor, another job on the core, or two ranks bound to one core.",
    basis: "the run replayed with the slow ranks' computation at the mean of all",
    find,
    tell,
};

/// Segments that matter: at least one part in so many of all computation.
const MATTERS: i64 = 20;

fn find(evidence: &Evidence) -> Vec<Suspect> {
    let alike = alike(evidence);
    let common: i64 = alike.values().flat_map(BTreeMap::values).sum();
    let all: i64 = evidence.segments().flat_map(|segment| evidence.loads(segment)).map(|(_, load)| load.ns()).sum();
    // One kind of work cannot tell a slow machine from more to do.
    if evidence.size() < 3 || alike.len() < 2 || 5 * common < 4 * all {
        return Vec::new();
    }
    let slow = groups(evidence, &alike).into_iter().find(|group| is_slow(&alike, group));
    let suspect = |group: Vec<u32>| {
        let excess = alike.values().map(|loads| speed(loads, &group).0 - loads.values().sum::<i64>() / loads.len() as i64).sum();
        let change = evidence.evened(alike.keys().copied(), |rank| group.contains(&rank));
        let (segment, _) = alike.iter().max_by_key(|(_, loads)| speed(loads, &group).0)?;
        Some(Suspect::at_call(segment.to, group, change, excess))
    };
    slow.and_then(suspect).into_iter().collect()
}

/// What the ranks compute in segments that matter and that all of them visit equally often.
fn alike(evidence: &Evidence) -> BTreeMap<Segment, BTreeMap<u32, i64>> {
    let loads: Vec<_> = evidence.segments().map(|segment| (segment, evidence.loads(segment))).collect();
    let all: i64 = loads.iter().flat_map(|(_, loads)| loads.values()).map(|load| load.ns()).sum();
    let mut alike = BTreeMap::new();
    for (segment, loads) in loads {
        let visits: Vec<u64> = loads.values().map(|load| load.visits).collect();
        let sums: BTreeMap<u32, i64> = loads.iter().map(|(rank, load)| (*rank, load.ns())).collect();
        let matters = MATTERS * sums.values().sum::<i64>() > all;
        if loads.len() == evidence.size() && visits.windows(2).all(|pair| pair[0] == pair[1]) && matters {
            alike.insert(segment, sums);
        }
    }
    alike
}

/// The groups of ranks that can be slow together: the slowest alone, and those of each host where all have equally many. (Where they do
/// not, having more ranks is what makes a host slow.)
fn groups(evidence: &Evidence, alike: &BTreeMap<Segment, BTreeMap<u32, i64>>) -> Vec<Vec<u32>> {
    // One that is not the slowest in some segment is not slower than all others in each.
    let slowest = alike.values().next().and_then(largest);
    let mut groups: Vec<Vec<u32>> = slowest.map(|rank| vec![rank]).into_iter().collect();
    let hosts = evidence.ranks_by_host();
    let even = hosts.values().all(|ranks| Some(ranks.len()) == hosts.values().next().map(Vec::len));
    if even && hosts.len() > 2 {
        groups.extend(hosts.into_values());
    }
    groups
}

/// The mean of a group and the mean of the others.
fn speed(loads: &BTreeMap<u32, i64>, group: &[u32]) -> (i64, i64) {
    let (inside, outside): (Vec<_>, Vec<_>) = loads.iter().partition(|(rank, _)| group.contains(rank));
    let mean = |ranks: &[(&u32, &i64)]| ranks.iter().map(|(_, ns)| **ns).sum::<i64>() / ranks.len().max(1) as i64;
    (mean(&inside), mean(&outside))
}

/// Whether every rank of a group is slower than each of the others.
fn is_apart(loads: &BTreeMap<u32, i64>, group: &[u32]) -> bool {
    let fastest = group.iter().filter_map(|rank| loads.get(rank)).min();
    loads.iter().filter(|(rank, _)| !group.contains(rank)).all(|(_, ns)| Some(ns) < fastest)
}

/// Whether a group is slower in every segment, by about the same factor: the largest is no more than thrice the smallest, as far as they
/// are above one. More to do in one place of several would be more than that.
fn is_slow(alike: &BTreeMap<Segment, BTreeMap<u32, i64>>, group: &[u32]) -> bool {
    let factors = alike.values().map(|loads| {
        let (inside, outside) = speed(loads, group);
        inside as f64 / outside.max(1) as f64 - 1.0
    });
    let (least, most) = factors.fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), factor| (least.min(factor), most.max(factor)));
    least > 0.05 && most < 3.0 * least && alike.values().all(|loads| is_apart(loads, group))
}

fn tell(evidence: &Evidence, suspect: &Suspect) -> Words {
    let alike = alike(evidence);
    let (inside, outside) = alike.values().map(|loads| speed(loads, &suspect.ranks)).fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
    let who = ranks(&suspect.ranks);
    let hosts: Vec<String> = evidence.host_names(&suspect.ranks);
    Words {
        what: format!(
            "{who} on {} {} {} as long as the others for the same work, whatever that is.",
            hosts.join(", "),
            verb(suspect.ranks.len(), "takes", "take"),
            times(inside, outside)
        ),
        evidence: format!(
            "{} of computation against {} on the others, in {} parts of the program that all visit equally often, slower in each; \
             the others wait {}.",
            time(inside),
            time(outside),
            alike.len(),
            share(suspect.at_most_ns, evidence.run_ns())
        ),
        try_this: format!(
            "Look at the machine before the program: what else runs there, whether ranks share a core (mpirun --report-bindings), the \
             processor's frequency and temperature. Run again on other hosts or cores, or give {who} less work."
        ),
    }
}
