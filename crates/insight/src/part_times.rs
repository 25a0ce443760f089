//! How long a run took in each part of its program.

use std::collections::BTreeMap;

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use sintonia_mpi::{FunctionId, FunctionRole};
use sintonia_program::process_group::{ProcessGroup, RankDistribution};
use sintonia_recording::call_table::CallTable;
use sintonia_recording::{Error, Recording};

use crate::program_part::{OperationSite, ProgramPart};
use crate::seconds::seconds;
use crate::tally::CallTally;

/// Seconds of all ranks together in each part.
pub(crate) type PartTimes = BTreeMap<ProgramPart, f64>;

/// An MPI function at a call site.
type CallKey = (u16, u32);

/// Nanoseconds between each call and the next one of a thread, by both calls.
type ComputationTimes = FxHashMap<(CallKey, CallKey), u64>;

/// The parts of a run: its MPI calls, which `tally` has, and the computation between them. A profile has no order, and no computation.
/// `progress` is called after each rank that this process reads.
pub(crate) fn read_part_times(
    recording: &Recording,
    tally: &CallTally,
    comm: &dyn ProcessGroup,
    progress: &(dyn Fn() + Sync),
) -> Result<PartTimes, Error> {
    let own = RankDistribution::new(recording, comm).own_ranks();
    let ranks = recording.header.ranks.par_iter().filter(|rank| own.contains(&rank.rank));
    let read = ranks.map(|rank| {
        let mut times = ComputationTimes::default();
        recording.tables(rank.rank)?.iter().for_each(|table| add_computation(&mut times, table));
        progress();
        Ok(times)
    });
    let read: Vec<ComputationTimes> = read.collect::<Result<_, Error>>()?;
    let rows: Vec<(CallKey, CallKey, u64)> = sum(read).into_iter().map(|((from, to), ns)| (from, to, ns)).collect();
    let all = comm.all_gather(rows).into_iter().flatten();
    let site = |(function, site): CallKey| OperationSite::new(recording, FunctionId(function), site);
    // Whole nanoseconds: the sum does not depend on the order, and with it on the number of processes.
    let mut parts: BTreeMap<ProgramPart, u64> = BTreeMap::new();
    for (from, to, ns) in all {
        *parts.entry(ProgramPart::Computation { from: site(from), to: site(to) }).or_default() += ns;
    }
    let is_at_end = |function: u16| matches!(FunctionId(function).role(), FunctionRole::Init | FunctionRole::Finalize);
    for (key, calls) in tally.sites.iter().filter(|((function, _), _)| !is_at_end(*function)) {
        *parts.entry(ProgramPart::Communication { at: site(*key) }).or_default() += calls.nanoseconds;
    }
    Ok(parts.into_iter().map(|(part, ns)| (part, seconds(ns))).collect())
}

fn sum(times: Vec<ComputationTimes>) -> ComputationTimes {
    let mut all = ComputationTimes::default();
    times.into_iter().flatten().for_each(|(key, ns)| *all.entry(key).or_default() += ns);
    all
}

fn add_computation(times: &mut ComputationTimes, table: &CallTable) {
    let descriptor = |row: usize| &table.descriptors[table.descriptor_ids[row] as usize];
    for row in 1..table.len() {
        let (from, to) = (descriptor(row - 1), descriptor(row));
        let ns = table.enter[row].saturating_sub(table.leave[row - 1]);
        if ns > 0 && !from.is_outside_excerpt() && !to.is_outside_excerpt() {
            *times.entry(((from.function.0, from.site), (to.function.0, to.site))).or_default() += ns as u64;
        }
    }
}
