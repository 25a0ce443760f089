//! A receive waits for one message while another is there that could be worked on.

use super::evidence::{Evidence, main_ranks};
use super::replay::{Change, Manner};
use super::words::{ranks, share, time, verb};
use super::{Rule, Suspect, Words};

pub const RULE: Rule = Rule {
    kind: "message_order",
    name: "messages received in the wrong order",
    help: "A rank waits for a message while another one, which it receives later, has already been sent. Taking them as they come would fill \
           the wait with work.",
    basis: "the run replayed with the message received first that is there first",
    find,
    tell,
};

const KIND: &[&str] = &["late_sender_wrong_order"];

fn find(evidence: &Evidence) -> Vec<Suspect> {
    let suspect = |(site, waiting): (u32, super::evidence::Waiting)| {
        Suspect::at_call(site, main_ranks(&waiting.ranks), Change::Calls(vec![site], Manner::InOrder), waiting.most_ns())
    };
    evidence.waits(KIND).into_iter().map(suspect).collect()
}

fn tell(evidence: &Evidence, suspect: &Suspect) -> Words {
    let waits = evidence.waits(KIND);
    let (waited, late) = waits.get(&suspect.site()).map_or((0, Vec::new()), |w| (w.ns(), main_ranks(&w.causes)));
    Words {
        what: format!(
            "{} {} at {} for {} while a message that is received later is already there.",
            ranks(&suspect.ranks),
            verb(suspect.ranks.len(), "waits", "wait"),
            evidence.place(suspect.site()),
            ranks(&late)
        ),
        evidence: format!(
            "{} of waiting although another message was there, {} per rank that waits.",
            time(waited),
            share(waited / suspect.ranks.len().max(1) as i64, evidence.run_ns())
        ),
        try_this:
            "Begin all receives with MPI_Irecv and take them with MPI_Waitany as they come, or receive from MPI_ANY_SOURCE and work on \
                   whatever has arrived."
                .into(),
    }
}
