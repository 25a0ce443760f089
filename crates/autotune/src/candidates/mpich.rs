//! Control variables of MPICH: waiting, transports and collective algorithms; and those of UCX below it.

use sintonia_mpi::CollectiveOp;

use super::{CandidateList, SystemFacts, add_progress_thread, percent};
use crate::run_facts::{CollectiveShare, RunFacts};

/// Messages up to this length are short for collectives.
const SHORT_COLLECTIVE: u64 = 8192;

pub(super) fn add_candidates(run: &RunFacts, system: &SystemFacts, list: &mut CandidateList) {
    let reason = format!("{} ranks on {} processors, {} of the time in MPI", run.ranks_per_host, run.processors, percent(run.mpi_share));
    if run.ranks_per_host >= run.processors {
        let relevance = if run.is_oversubscribed() { run.mpi_share } else { 0.3 * run.mpi_share };
        for polls in ["1", "100"] {
            let plural = if polls == "1" { "" } else { "s" };
            let name = format!("waiting ranks yield after {polls} poll{plural}");
            list.add("waiting", name, relevance, reason.clone(), &[("MPIR_CVAR_POLLS_BEFORE_YIELD", polls)]);
        }
    }
    if system.has_library("libucp") {
        add_ucx(run, list);
    }
    add_progress_thread(run, "MPIR_CVAR_ASYNC_PROGRESS", list);
    run.collectives.iter().for_each(|collective| add_collective(collective, list));
    let collectives: f64 = run.collectives.iter().map(|collective| collective.share).sum();
    let reason = format!("{} of the time in collectives", percent(collectives));
    list.add("collective layer", "general collectives", 0.4 * collectives, reason, &[("MPIR_CVAR_DEVICE_COLLECTIVES", "none")]);
}

fn add_ucx(run: &RunFacts, list: &mut CandidateList) {
    let reason = format!("{} of the time in MPI, which uses UCX", percent(run.mpi_share));
    if run.hosts == 1 {
        for (name, transports) in [("shared memory only", "sm,self"), ("shared memory without kernel copies", "posix,self")] {
            list.add("transport", name, 0.5 * run.mpi_share, reason.clone(), &[("UCX_TLS", transports)]);
        }
    }
    let relevance = 0.6 * run.point_to_point_share * run.long_message_share;
    let reason = format!("{} of the messages are longer than 4 KiB", percent(run.long_message_share));
    for (name, threshold) in [("rendezvous from 64 KiB on", "65536"), ("rendezvous from 1 MiB on", "1048576")] {
        list.add("eager limit", name, relevance, reason.clone(), &[("UCX_RNDV_THRESH", threshold)]);
    }
}

fn add_collective(collective: &CollectiveShare, list: &mut CandidateList) {
    let is_short = collective.mean_bytes <= SHORT_COLLECTIVE;
    let Some((name, algorithms)) = algorithms(collective.operation, is_short) else { return };
    let (group, variable) = (format!("{name} algorithm"), format!("MPIR_CVAR_{name}_INTRA_ALGORITHM"));
    let bytes = sintonia_text::quantity::format_bytes(collective.mean_bytes);
    let reason = format!("{} of the time, {bytes} per call", percent(collective.share));
    for algorithm in algorithms {
        list.add(&group, format!("{name}: {algorithm}"), 0.7 * collective.share, reason.clone(), &[(&variable, algorithm)]);
    }
}

/// Values of the variable, those that suit the size.
fn algorithms(operation: CollectiveOp, is_short: bool) -> Option<(&'static str, &'static [&'static str])> {
    Some(match (operation, is_short) {
        (CollectiveOp::Allreduce, true) => ("ALLREDUCE", &["recursive_doubling", "smp"]),
        (CollectiveOp::Allreduce, false) => ("ALLREDUCE", &["reduce_scatter_allgather", "recursive_doubling"]),
        (CollectiveOp::Broadcast, true) => ("BCAST", &["binomial", "smp"]),
        (CollectiveOp::Broadcast, false) => ("BCAST", &["scatter_recursive_doubling_allgather", "scatter_ring_allgather", "binomial"]),
        (CollectiveOp::Reduce, true) => ("REDUCE", &["binomial", "smp"]),
        (CollectiveOp::Reduce, false) => ("REDUCE", &["reduce_scatter_gather", "binomial"]),
        (CollectiveOp::Barrier, _) => ("BARRIER", &["dissemination", "smp"]),
        (CollectiveOp::Allgather, true) => ("ALLGATHER", &["brucks", "recursive_doubling"]),
        (CollectiveOp::Allgather, false) => ("ALLGATHER", &["ring", "recursive_doubling"]),
        (CollectiveOp::Allgatherv, true) => ("ALLGATHERV", &["brucks", "recursive_doubling"]),
        (CollectiveOp::Allgatherv, false) => ("ALLGATHERV", &["ring", "recursive_doubling"]),
        (CollectiveOp::Alltoall, true) => ("ALLTOALL", &["brucks", "scattered"]),
        (CollectiveOp::Alltoall, false) => ("ALLTOALL", &["scattered", "pairwise"]),
        (CollectiveOp::Alltoallv, _) => ("ALLTOALLV", &["scattered"]),
        _ => return None,
    })
}
