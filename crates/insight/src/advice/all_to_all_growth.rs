//! Everyone exchanges with everyone, which takes the longer the more ranks there are.

use std::collections::BTreeMap;

use sintonia_mpi::{Pattern, Role};

use super::clues::Calls;
use super::evidence::{Evidence, largest};
use super::replay::{Change, Manner};
use super::words::{bytes, share, time};
use super::{Rule, Suspect, Words};

pub const RULE: Rule = Rule {
    kind: "all_to_all_growth",
    name: "all-to-all exchange",
    help: "Every rank sends to every other: the number of messages grows with the square of the number of ranks, so this part of the run \
           gets longer where everything else gets shorter.",
    basis: "the run replayed with these exchanges taking no time once everyone has come",
    find,
    tell,
};

/// Among fewer ranks than this everyone is everyone's neighbour.
const MANY: usize = 8;

fn find(evidence: &Evidence) -> Vec<Suspect> {
    if evidence.size() < 3 {
        return Vec::new();
    }
    let collective = evidence.calls(|role| matches!(role, Role::Collective(Pattern::Alltoall | Pattern::Alltoallv | Pattern::Alltoallw)));
    let mut suspects: Vec<Suspect> = collective.map(|(site, calls)| suspect(site, &[(site, calls)])).collect();
    suspects.extend(by_messages(evidence));
    suspects
}

/// The same done with messages.
fn by_messages(evidence: &Evidence) -> Option<Suspect> {
    let partners = &evidence.clues().partners;
    let size = evidence.size();
    if size < MANY || partners.len() < size || partners.values().any(|partners| *partners as usize + 1 < size) {
        return None;
    }
    let is_message = |role| matches!(role, Role::Send | Role::Receive | Role::SendReceive | Role::CompleteOne | Role::CompleteAll);
    let calls: Vec<(u32, &Calls)> = evidence.calls(is_message).collect();
    let sums = calls.iter().map(|(site, calls)| (*site, calls.sum(|called| called.own_ns))).collect();
    Some(suspect(largest(&sums)?, &calls))
}

fn suspect(site: u32, calls: &[(u32, &Calls)]) -> Suspect {
    let mut ranks: BTreeMap<u32, i64> = BTreeMap::new();
    calls.iter().flat_map(|(_, calls)| &calls.ranks).for_each(|(rank, called)| *ranks.entry(*rank).or_default() += called.own_ns);
    let most = ranks.values().copied().max().unwrap_or(0);
    let change = Change::Calls(calls.iter().map(|(site, _)| *site).collect(), Manner::Free);
    Suspect::at_call(site, ranks.into_keys().collect(), change, most)
}

fn tell(evidence: &Evidence, suspect: &Suspect) -> Words {
    let calls: Vec<&Calls> = suspect.sites().iter().filter_map(|site| evidence.clues().calls.get(site)).collect();
    let (own, moved): (i64, u64) =
        calls.iter().fold((0, 0), |(ns, moved), calls| (ns + calls.sum(|called| called.own_ns), moved + calls.sum(|called| called.bytes)));
    let name = evidence.clues().calls.get(&suspect.site()).map_or("messages", |calls| calls.operation.name());
    let per_rank = own / suspect.ranks.len().max(1) as i64;
    Words {
        what: format!(
            "Every rank exchanges data with each of the {} others ({name} at {}), which grows with the number of ranks.",
            evidence.size() - 1,
            evidence.place(suspect.site())
        ),
        evidence: format!(
            "{} of a rank's time on average once all had come ({}); {} in and out of all ranks.",
            time(per_rank),
            share(per_rank, evidence.run_ns()),
            bytes(moved)
        ),
        try_this:
            "Exchange within rows and columns of a grid of ranks instead of among all (MPI_Cart_sub, then MPI_Alltoall on each), send \
                   only to those who need the data (MPI_Neighbor_alltoallv), or start it with MPI_Ialltoall and compute until it is done."
                .into(),
    }
}
