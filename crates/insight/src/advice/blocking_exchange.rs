//! Blocking sends and receives keep a rank from computation that could go on beside them.

use std::collections::BTreeMap;

use sintonia_mpi::{Mode, Role};

use super::clues::Calls;
use super::evidence::{Evidence, main_ranks};
use super::replay::{Change, Manner};
use super::words::{ranks, share, time, verb};
use super::{Rule, Suspect, Words};

pub const RULE: Rule = Rule {
    kind: "blocking_exchange",
    name: "blocking where nonblocking would overlap",
    help: "A blocking send of a large message waits until it is received, a blocking receive until all of it is there; the rank could \
           compute meanwhile.",
    basis: "the run replayed with these messages moving beside the computation that follows",
    find,
    tell,
};

fn find(evidence: &Evidence) -> Vec<Suspect> {
    let waits = evidence.waits(&["late_receiver"]);
    let blocking = evidence
        .calls(|role| matches!(role, Role::Send | Role::Receive | Role::SendReceive))
        .filter(|(_, calls)| calls.operation.function().mode == Mode::Blocking);
    let suspect = |(site, calls): (u32, &Calls)| {
        let waited = |rank| waits.get(&site).and_then(|waiting| waiting.ranks.get(rank)).copied().unwrap_or(0);
        let held: BTreeMap<u32, i64> = calls.ranks.iter().map(|(rank, called)| (*rank, called.hideable_ns + waited(rank))).collect();
        let most = held.values().copied().max().unwrap_or(0);
        Suspect::at_call(site, main_ranks(&held), Change::Calls(vec![site], Manner::Overlapped), most)
    };
    blocking.map(suspect).collect()
}

fn tell(evidence: &Evidence, suspect: &Suspect) -> Words {
    let calls = &evidence.clues().calls[&suspect.site()];
    let waited = evidence.waits(&["late_receiver"]).get(&suspect.site()).map_or(0, |waiting| waiting.ns());
    let moved = calls.sum(|called| called.own_ns);
    let name = calls.operation.name();
    Words {
        what: format!(
            "{} {} in {name} at {} while there is computation that could go on beside it.",
            ranks(&suspect.ranks),
            verb(suspect.ranks.len(), "stays", "stay"),
            evidence.place(suspect.site())
        ),
        evidence: format!(
            "{} of waiting for receives to begin and {} of moving data there, over {} calls; {} on each of these ranks.",
            time(waited),
            time(moved),
            calls.sum(|called| called.calls),
            share((waited + moved) / suspect.ranks.len().max(1) as i64, evidence.run_ns())
        ),
        try_this: match calls.operation.role() {
            Role::Receive => {
                "Begin the receive with MPI_Irecv before the computation that does not need the message, and MPI_Wait after it."
            }
            Role::SendReceive => "Use MPI_Irecv and MPI_Isend, compute what does not need the message, and then MPI_Waitall.",
            _ => "Send with MPI_Isend and MPI_Wait after the computation; let the receiver post MPI_Irecv before its own.",
        }
        .into(),
    }
}
