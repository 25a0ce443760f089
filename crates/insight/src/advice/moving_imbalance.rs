//! Now this rank has more to compute, now that one; in the end all have done the same.

use super::clues::Load;
use super::evidence::{Evidence, mean};
use super::replay::{Change, Takes};
use super::words::{ranks, share, time};
use super::{NOISE, Rule, Suspect, Words};

pub const RULE: Rule = Rule {
    kind: "moving_imbalance",
    name: "moving imbalance",
    help: "In every turn another rank computes longest, and all the others wait for it, although over the whole run all compute about the \
           same. Dividing the work differently once does not help; synchronising less often, or sharing work while it is done, does.",
    basis: "the run replayed with every visit of this computation at the mean of all",
    find,
    tell,
};

/// What varies less than one part in so many is noise of the machine, which no program can even out.
const VARIES: i64 = 10;

/// From so many visits on something can be said to move.
const SEVERAL: u64 = 4;

fn find(evidence: &Evidence) -> Vec<Suspect> {
    let suspect = |segment| {
        let loads = evidence.loads(segment);
        let visits: u64 = loads.values().map(|load| load.visits).sum();
        let excess = evidence.on_path(segment) - mean(&loads);
        let moves =
            loads.len() > 1 && visits >= SEVERAL * loads.len() as u64 && excess > (mean(&loads) / VARIES).max(evidence.run_ns() / NOISE);
        let even = loads.values().map(Load::ns).sum::<i64>() / visits.max(1) as i64;
        let change = Change::Computes(loads.keys().map(|rank| ((segment, *rank), Takes::Each(even as f64 * 1e-9))).collect());
        moves.then(|| Suspect::in_segment(segment, loads.keys().copied().collect(), change, excess))
    };
    evidence.segments().filter_map(suspect).collect()
}

fn tell(evidence: &Evidence, suspect: &Suspect) -> Words {
    let segment = suspect.segment;
    let loads = evidence.loads(segment);
    let most = loads.values().map(Load::ns).max().unwrap_or(0);
    let visits = loads.values().map(|load| load.visits).max().unwrap_or(0);
    let on_path = evidence.on_path(segment);
    Words {
        what: format!(
            "Each time another of {} has more to compute {}, and the others wait for it.",
            ranks(&suspect.ranks),
            evidence.between(segment)
        ),
        evidence: format!(
            "{} of it on the critical path ({}) in {visits} visits, but no rank computes more than {} there in all (mean {}).",
            time(on_path),
            share(on_path, evidence.run_ns()),
            time(most),
            time(mean(&loads))
        ),
        try_this: "Let ranks go on without waiting for all: a nonblocking collective (MPI_Iallreduce) or messages to those who need the \
                   data, several turns between checks; or hand out the work of a turn in smaller pieces as ranks become free."
            .into(),
    }
}
