//! Variables of Intel MPI: waiting, eager limits and collective algorithms.

use sintonia_mpi::CollectiveOp;

use super::{CandidateList, add_progress_thread, percent};
use crate::run_facts::{CollectiveShare, RunFacts};

pub(super) fn add_candidates(run: &RunFacts, list: &mut CandidateList) {
    if run.ranks_per_host >= run.processors {
        let relevance = if run.is_oversubscribed() { run.mpi_share } else { 0.3 * run.mpi_share };
        let reason =
            format!("{} ranks on {} processors, {} of the time in MPI", run.ranks_per_host, run.processors, percent(run.mpi_share));
        list.add("waiting", "waiting ranks yield the processor", relevance, reason.clone(), &[("I_MPI_THREAD_YIELD", "3")]);
        list.add("waiting", "waiting ranks sleep", 0.8 * relevance, reason, &[("I_MPI_WAIT_MODE", "1")]);
    }
    if run.hosts == 1 {
        let reason = format!("{} of the time in MPI", percent(run.mpi_share));
        list.add("transport", "shared memory only", 0.5 * run.mpi_share, reason, &[("I_MPI_FABRICS", "shm")]);
    }
    let relevance = 0.6 * run.point_to_point_share * run.long_message_share;
    let reason = format!("{} of the messages are longer than 4 KiB", percent(run.long_message_share));
    for size in ["65536", "1048576"] {
        list.add("eager limit", format!("eager limit {size}"), relevance, reason.clone(), &[("I_MPI_EAGER_THRESHOLD", size)]);
    }
    add_progress_thread(run, "I_MPI_ASYNC_PROGRESS", list);
    run.collectives.iter().for_each(|collective| add_collective(collective, list));
}

fn add_collective(collective: &CollectiveShare, list: &mut CandidateList) {
    let (name, algorithms): (&str, &[&str]) = match collective.operation {
        CollectiveOp::Allreduce => ("ALLREDUCE", &["1", "2", "8"]),
        CollectiveOp::Broadcast => ("BCAST", &["1", "3", "8"]),
        CollectiveOp::Reduce => ("REDUCE", &["2", "5"]),
        CollectiveOp::Barrier => ("BARRIER", &["1", "4"]),
        CollectiveOp::Allgather => ("ALLGATHER", &["1", "2", "3"]),
        CollectiveOp::Alltoall => ("ALLTOALL", &["1", "2", "4"]),
        _ => return,
    };
    let (group, variable) = (format!("{name} algorithm"), format!("I_MPI_ADJUST_{name}"));
    let reason = format!("{} of the time", percent(collective.share));
    for algorithm in algorithms {
        list.add(&group, format!("{name}: algorithm {algorithm}"), 0.7 * collective.share, reason.clone(), &[(&variable, algorithm)]);
    }
}
