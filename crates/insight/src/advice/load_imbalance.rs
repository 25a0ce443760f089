//! The same ranks have more to compute than the others, all through the run.

use std::collections::BTreeMap;

use super::clues::{Load, WINDOWS};
use super::evidence::{Evidence, busiest, mean};
use super::words::{ranks, share, time, times, verb};
use super::{Rule, Suspect, Words};

pub const RULE: Rule = Rule {
    kind: "load_imbalance",
    name: "load imbalance",
    help: "Some ranks compute longer than others in the same part of the program, and always the same ones: the work is divided unevenly. \
           Whoever has less waits for them at the next exchange.",
    basis: "the run replayed with this computation at its mean on every rank",
    find,
    tell,
};

/// What is visited once is no habit: it has to be one part in so many of the run.
const ONCE: i64 = 20;

fn find(evidence: &Evidence) -> Vec<Suspect> {
    let suspect = |segment| {
        let loads = evidence.loads(segment);
        let (rank, most) = busiest(&loads)?;
        let excess = most - mean(&loads);
        if loads[&rank].visits == 1 && excess < evidence.run_ns() / ONCE {
            return None;
        }
        let change = || evidence.evened([segment].into_iter(), |_| true);
        (loads.len() > 1 && is_lasting(&loads, rank)).then(|| Suspect::in_segment(segment, heavy(&loads), change(), excess))
    };
    evidence.segments().filter_map(suspect).collect()
}

/// Whether the busiest rank is busier in every part of the run in which there is anything to do: at least a quarter of what it is in the
/// whole. One that is so at times only has work that moves.
fn is_lasting(loads: &BTreeMap<u32, Load>, rank: u32) -> bool {
    let whole = mean(loads);
    let excess = loads[&rank].ns() - whole;
    (0..WINDOWS).all(|window| {
        let mean = loads.values().map(|load| load.windows[window]).sum::<i64>() / loads.len() as i64;
        let here = loads[&rank].windows[window] - mean;
        4 * i128::from(here) * i128::from(whole) >= i128::from(excess) * i128::from(mean)
    })
}

/// The ranks that have much more than the mean.
fn heavy(loads: &BTreeMap<u32, Load>) -> Vec<u32> {
    let mean = mean(loads);
    let most = busiest(loads).map_or(0, |(_, ns)| ns);
    loads.iter().filter(|(_, load)| load.ns() > mean + (most - mean) / 2).map(|(rank, _)| *rank).collect()
}

fn tell(evidence: &Evidence, suspect: &Suspect) -> Words {
    let segment = suspect.segment;
    let loads = evidence.loads(segment);
    let (mean, most) = (mean(&loads), busiest(&loads).map_or(0, |(_, ns)| ns));
    let alone = suspect.ranks.len() == 1 && 10 * mean * (loads.len() as i64) < 11 * most;
    let who = ranks(&suspect.ranks);
    Words {
        what: format!(
            "{who} {} {} as long as the ranks do on average {}, all through the run.",
            verb(suspect.ranks.len(), "computes", "compute"),
            times(most, mean),
            evidence.between(segment)
        ),
        evidence: format!(
            "{} there on the busiest rank, {} on average over {} ranks; the others wait {}.",
            time(most),
            time(mean),
            loads.len(),
            share(most - mean, evidence.run_ns())
        ),
        try_this: match alone {
            true => format!(
                "Only {who} does anything there. Divide that work among all ranks; if it is reading or writing a file, let all ranks do it \
                 with MPI-IO (MPI_File_write_at_all)."
            ),
            false => format!(
                "Give {who} less of this work: divide by cost instead of by number of elements (METIS and Zoltan take weights), or hand \
                 out smaller pieces as ranks become free."
            ),
        },
    }
}
