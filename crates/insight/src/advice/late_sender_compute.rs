//! Receives wait for messages that are sent only after a long computation.

use super::evidence::{Evidence, main_ranks};
use super::replay::{Change, Manner};
use super::words::{ranks, share, time, verb};
use super::{NOISE, Rule, Suspect, Words};

pub const RULE: Rule = Rule {
    kind: "late_sender_compute",
    name: "messages sent late because of computation",
    help: "A receive waits while the sender still computes, and there is no imbalance that would explain it: the ranks work one after the \
           other. Send what is ready before computing on, or give the receiver something to do in between.",
    basis: "the run replayed with these messages there when they are received",
    find,
    tell,
};

/// Waits have to come from computation by one part in so many; the rest is the network's.
const FROM_COMPUTATION: i64 = 4;

fn find(evidence: &Evidence) -> Vec<Suspect> {
    let suspect = |(site, waiting): (u32, super::evidence::Waiting)| {
        let late = waiting.main_cause()?;
        let (segment, cost) = evidence.costs(late).into_iter().max_by_key(|(segment, ns)| (*ns, *segment))?;
        let enough = cost > waiting.causes[&late] / FROM_COMPUTATION && waiting.most_ns() > evidence.run_ns() / NOISE;
        let change = Change::Calls(vec![site], Manner::Unwaiting);
        enough.then(|| Suspect::in_segment(segment, vec![late], change, waiting.most_ns()).seen_at(site))
    };
    evidence.waits(&["late_sender"]).into_iter().filter_map(suspect).collect()
}

fn tell(evidence: &Evidence, suspect: &Suspect) -> Words {
    let segment = suspect.segment;
    let waits = evidence.waits(&["late_sender"]);
    let site = suspect.seen_at;
    let (waited, most, who) = waits.get(&site).map_or((0, 0, Vec::new()), |w| (w.ns(), w.most_ns(), main_ranks(&w.ranks)));
    Words {
        what: format!(
            "{} {} at {} for messages that {} sends only after computing {}.",
            ranks(&who),
            verb(who.len(), "waits", "wait"),
            evidence.place(site),
            ranks(&suspect.ranks),
            evidence.between(segment)
        ),
        evidence: format!(
            "{} of waiting for late senders at that receive, {} on the rank that waits most ({}).",
            time(waited),
            time(most),
            share(most, evidence.run_ns())
        ),
        try_this: "Send with MPI_Isend as soon as the data is ready, before the computation that does not change it; divide it into parts \
                   so that the receiver can begin with the first; or post MPI_Irecv early and do other work until MPI_Wait."
            .into(),
    }
}
