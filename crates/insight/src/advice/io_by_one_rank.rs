//! One rank reads or writes files for all, and the others wait.

use std::collections::BTreeMap;

use sintonia_mpi::Role;

use super::clues::Calls;
use super::evidence::{Evidence, largest};
use super::replay::{Change, Manner};
use super::words::{bytes, ranks, share, time};
use super::{Rule, Suspect, Words};

pub const RULE: Rule = Rule {
    kind: "io_by_one_rank",
    name: "files accessed by one rank",
    help: "One rank does all the reading or writing while the others wait for it to go on. Parallel file systems are made for many at once.",
    basis: "the run replayed with all ranks sharing the access evenly",
    find,
    tell,
};

fn is_file(role: Role) -> bool {
    matches!(role, Role::FileOpen | Role::FileClose | Role::FileRead | Role::FileWrite | Role::FileOther)
}

/// The sites at which nearly all access is that of one rank, by that rank.
fn by_rank<'a>(evidence: &Evidence<'a>) -> BTreeMap<u32, Vec<(u32, &'a Calls)>> {
    let mut ranks: BTreeMap<u32, Vec<(u32, &Calls)>> = BTreeMap::new();
    for (site, calls) in evidence.calls(is_file) {
        let own = calls.ranks.iter().map(|(rank, called)| (*rank, called.own_ns)).collect();
        let Some(rank) = largest(&own) else { continue };
        if 10 * own[&rank] >= 9 * own.values().sum::<i64>() {
            ranks.entry(rank).or_default().push((site, calls));
        }
    }
    ranks
}

fn find(evidence: &Evidence) -> Vec<Suspect> {
    let size = evidence.size() as i64;
    let suspect = |(rank, calls): (u32, Vec<(u32, &Calls)>)| {
        let sums: BTreeMap<u32, i64> = calls.iter().map(|(site, calls)| (*site, calls.sum(|called| called.own_ns))).collect();
        let all: i64 = sums.values().sum();
        let change = Change::Calls(sums.keys().copied().collect(), Manner::Shared);
        Some(Suspect::at_call(largest(&sums)?, vec![rank], change, all - all / size))
    };
    by_rank(evidence).into_iter().filter_map(suspect).collect()
}

fn tell(evidence: &Evidence, suspect: &Suspect) -> Words {
    let rank = suspect.ranks.first().copied().unwrap_or(0);
    let sites = by_rank(evidence).remove(&rank).unwrap_or_default();
    let (own, moved): (i64, u64) = sites
        .iter()
        .fold((0, 0), |(ns, moved), (_, calls)| (ns + calls.sum(|called| called.own_ns), moved + calls.sum(|called| called.bytes)));
    let waited: i64 = evidence.findings.waits.iter().filter_map(|waits| waits.causes.get(&rank)).sum();
    let name = evidence.clues().calls.get(&suspect.site()).map_or("its files", |calls| calls.operation.name());
    Words {
        what: format!(
            "Only {} accesses the file ({name} at {}), and the others wait for it.",
            ranks(&[rank]),
            evidence.place(suspect.site())
        ),
        evidence: format!(
            "{} in file operations on {} ({}), {} moved; the others wait for it {} in all.",
            time(own),
            ranks(&[rank]),
            share(own, evidence.run_ns()),
            bytes(moved),
            time(waited)
        ),
        try_this: "Open the file on all ranks and let each access its own part with a collective call (MPI_File_write_at_all, \
                   MPI_File_read_at_all); or write from one rank without making the others wait (MPI_File_iwrite_at)."
            .into(),
    }
}
