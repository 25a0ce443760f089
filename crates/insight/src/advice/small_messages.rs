//! Many small messages in a row between the same two ranks.

use std::collections::BTreeMap;

use sintonia_mpi::Role;

use super::clues::{Called, Calls};
use super::evidence::{Evidence, largest};
use super::replay::{Change, Manner};
use super::words::{bytes, ranks, share, time, verb};
use super::{Rule, Suspect, Words};

pub const RULE: Rule = Rule {
    kind: "small_messages",
    name: "many small messages",
    help: "Every message costs a fixed time, however small it is. Several to the same rank right after each other can be one, and cost it once.",
    basis: "the run replayed with each message that follows another to the same rank sent and received with that one",
    find,
    tell,
};

fn find(evidence: &Evidence) -> Vec<Suspect> {
    let in_a_row: Vec<(u32, &Calls)> = evidence
        .calls(|role| matches!(role, Role::Send | Role::Receive))
        // On average at least four in a row.
        .filter(|(_, calls)| 4 * calls.sum(|called| called.followers) >= 3 * calls.sum(|called| called.calls))
        .collect();
    let sends = in_a_row.iter().filter(|(_, calls)| calls.operation.role() == Role::Send);
    let Some(site) = largest(&sends.map(|(site, calls)| (*site, calls.sum(|called| called.followers_ns))).collect()) else {
        return Vec::new();
    };
    let mut per_rank: BTreeMap<u32, i64> = BTreeMap::new();
    for (rank, called) in in_a_row.iter().flat_map(|(_, calls)| &calls.ranks) {
        *per_rank.entry(*rank).or_default() += called.followers_ns;
    }
    let most = per_rank.values().copied().max().unwrap_or(0);
    let change = Change::Calls(in_a_row.iter().map(|(site, _)| *site).collect(), Manner::Merged);
    let senders = evidence.clues().calls[&site].ranks.keys().copied().collect();
    vec![Suspect::at_call(site, senders, change, most)]
}

fn tell(evidence: &Evidence, suspect: &Suspect) -> Words {
    let calls = &evidence.clues().calls[&suspect.site()];
    let sum = |pick: fn(&Called) -> u64| calls.sum(pick);
    let (messages, first) = (sum(|called| called.calls), sum(|called| called.calls - called.followers));
    let own = calls.sum(|called| called.own_ns);
    Words {
        what: format!(
            "{} {} many small messages one after the other to the same rank with {} at {}.",
            ranks(&suspect.ranks),
            verb(suspect.ranks.len(), "sends", "send"),
            calls.operation.name(),
            evidence.place(suspect.site())
        ),
        evidence: format!(
            "{messages} messages of {} on average, {} in a row; each takes {} to send, which is {} on each sender.",
            bytes(sum(|called| called.bytes) / messages.max(1)),
            messages / first.max(1),
            time(own / messages.max(1) as i64),
            share(own / suspect.ranks.len().max(1) as i64, evidence.run_ns())
        ),
        try_this:
            "Gather what goes to the same rank in one buffer (or describe it with MPI_Type_create_struct or MPI_Type_vector) and send \
                   it once."
                .into(),
    }
}
