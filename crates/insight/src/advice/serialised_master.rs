//! One rank serves all others one after the other, and they wait for their turn.

use std::collections::BTreeMap;

use super::evidence::{Evidence, largest, main_ranks};
use super::replay::{Change, Takes};
use super::words::{ranks, share, time};
use super::{Rule, Suspect, Words};
use crate::segment::Segment;

pub const RULE: Rule = Rule {
    kind: "serialised_master",
    name: "serialised master",
    help: "Most ranks wait for messages of one and the same rank, which works on each of them in turn. However many ranks there are, the run \
           cannot be faster than that one.",
    basis: "the run replayed with the work between its messages shared by all ranks",
    find,
    tell,
};

const KINDS: &[&str] = &["late_sender", "late_sender_wrong_order"];

/// Who waits for whom how long, in receives: by the rank that is waited for.
fn waits(evidence: &Evidence) -> BTreeMap<u32, BTreeMap<u32, i64>> {
    let mut all: BTreeMap<u32, BTreeMap<u32, i64>> = BTreeMap::new();
    for waits in evidence.findings.waits.iter().filter(|waits| KINDS.contains(&waits.pattern.kind)) {
        waits.between.iter().for_each(|((waits, late), ns)| *all.entry(*late).or_default().entry(*waits).or_default() += ns);
    }
    all
}

fn find(evidence: &Evidence) -> Vec<Suspect> {
    let waits = waits(evidence);
    let caused: BTreeMap<u32, i64> = waits.iter().map(|(late, waiting)| (*late, waiting.values().sum())).collect();
    let Some(master) = largest(&caused) else { return Vec::new() };
    let served = main_ranks(&waits[&master]);
    let own_waits: i64 = waits.values().filter_map(|waiting| waiting.get(&master)).sum();
    let serves_most = served.len() >= 2 && 2 * served.len() >= evidence.size() - 1;
    let for_it = 2 * caused[&master] >= caused.values().sum();
    if !serves_most || !for_it || 2 * own_waits > evidence.run_ns() {
        return Vec::new();
    }
    let work = work(evidence, master);
    let shared = Takes::Times(1.0 / evidence.size() as f64);
    let change = Change::Computes(work.keys().map(|segment| ((*segment, master), shared)).collect());
    let all: i64 = work.values().sum();
    let main = work.iter().max_by_key(|(segment, ns)| (**ns, **segment));
    main.map(|(segment, _)| Suspect::in_segment(*segment, vec![master], change, all)).into_iter().collect()
}

/// What the master computes in the segments that make others wait, each by a tenth at least of what it makes them wait.
fn work(evidence: &Evidence, master: u32) -> BTreeMap<Segment, i64> {
    let costs = evidence.costs(master);
    let all: i64 = costs.values().sum();
    let main = costs.into_iter().filter(|(_, ns)| 10 * ns > all).map(|(segment, _)| segment);
    main.filter_map(|segment| Some((segment, evidence.loads(segment).get(&master)?.ns()))).collect()
}

fn tell(evidence: &Evidence, suspect: &Suspect) -> Words {
    let master = suspect.ranks.first().copied().unwrap_or(0);
    let waiting = waits(evidence).remove(&master).unwrap_or_default();
    let served = main_ranks(&waiting);
    let waited: i64 = waiting.values().sum();
    let segment = suspect.segment;
    Words {
        what: format!(
            "{} wait for {}, which serves them one after the other and computes {}.",
            ranks(&served),
            ranks(&[master]),
            evidence.between(segment)
        ),
        evidence: format!(
            "{} of waiting for its messages on each of {} ({}); it computes {} there.",
            time(waited / served.len().max(1) as i64),
            ranks(&served),
            share(waited / served.len().max(1) as i64, evidence.run_ns()),
            time(evidence.loads(segment).get(&master).map_or(0, |load| load.ns()))
        ),
        try_this: format!(
            "Take work off {}: let the workers prepare their own tasks from a number or range, hand out several tasks at a time, send the \
             next one before it is asked for (MPI_Isend), or have several masters.",
            ranks(&[master])
        ),
    }
}
