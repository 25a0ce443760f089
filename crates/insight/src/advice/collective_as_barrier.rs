//! Ranks meet where no data moves, and wait for each other only to have met.

use std::collections::BTreeMap;

use sintonia_mpi::{Mode, Pattern, Role};

use super::clues::Calls;
use super::evidence::{Evidence, largest};
use super::replay::{Change, Manner};
use super::words::{share, time, verb};
use super::{Rule, Suspect, Words};

pub const RULE: Rule = Rule {
    kind: "collective_as_barrier",
    name: "collectives that only wait",
    help: "MPI_Barrier, or a collective that moves nothing, is called again and again. Messages bring their own order, so it is rarely \
           needed; each one makes all ranks wait for the slowest of the moment.",
    basis: "the run replayed without them",
    find,
    tell,
};

/// So many calls on a rank are a loop.
const IN_A_LOOP: u64 = 3;

fn find(evidence: &Evidence) -> Vec<Suspect> {
    let costs = costs(evidence);
    let mut ranks: BTreeMap<u32, i64> = BTreeMap::new();
    costs.values().flatten().for_each(|(rank, ns)| *ranks.entry(*rank).or_default() += ns);
    let sums = costs.iter().map(|(site, ranks)| (*site, ranks.values().sum())).collect();
    let Some(site) = largest(&sums) else { return Vec::new() };
    let most = ranks.values().copied().max().unwrap_or(0);
    let change = Change::Calls(costs.keys().copied().collect(), Manner::Skipped);
    vec![Suspect::at_call(site, ranks.into_keys().collect(), change, most)]
}

/// What ranks spend, by site, where they only meet.
fn costs(evidence: &Evidence) -> BTreeMap<u32, BTreeMap<u32, i64>> {
    let waits = evidence.waits(&["wait_at_barrier", "wait_at_nxn", "late_broadcast", "early_reduce", "early_scan"]);
    let sites = evidence.calls(|role| matches!(role, Role::Collective(_))).filter(|(_, calls)| only_meets(calls));
    let cost = |(site, calls): (u32, &Calls)| {
        let waited = |rank| waits.get(&site).and_then(|waiting| waiting.ranks.get(rank)).copied().unwrap_or(0);
        (site, calls.ranks.iter().map(|(rank, called)| (*rank, called.own_ns + waited(rank))).collect())
    };
    sites.map(cost).collect()
}

fn only_meets(calls: &Calls) -> bool {
    let again = calls.ranks.values().any(|called| called.calls >= IN_A_LOOP);
    let empty = calls.operation.role() == Role::Collective(Pattern::Barrier) || calls.sum(|called| called.bytes) == 0;
    calls.operation.function().mode == Mode::Blocking && again && empty
}

fn tell(evidence: &Evidence, suspect: &Suspect) -> Words {
    let costs = costs(evidence);
    let calls = evidence.clues().calls.get(&suspect.site());
    let name = calls.map_or("a collective", |calls| calls.operation.name());
    let times = calls.map_or(0, |calls| calls.ranks.values().map(|called| called.calls).max().unwrap_or(0));
    let all: i64 = costs.values().flatten().map(|(_, ns)| ns).sum();
    let elsewhere = match costs.len() - 1 {
        0 => String::new(),
        others => format!(" ({others} other {} like it)", verb(others, "place", "places")),
    };
    Words {
        what: format!("All ranks wait for each other in {name} at {}{elsewhere}, which moves no data.", evidence.place(suspect.site())),
        evidence: format!(
            "called {times} times by each rank; {} in such calls over all ranks, {} on each of them.",
            time(all),
            share(all / suspect.ranks.len().max(1) as i64, evidence.run_ns())
        ),
        try_this: format!(
            "Leave {name} out: messages and other collectives bring the order they need. Where it keeps order for files, shared memory or \
             timing, do that less often, or use MPI_Ibarrier and go on working."
        ),
    }
}
