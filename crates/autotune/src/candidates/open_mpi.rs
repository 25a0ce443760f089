//! MCA parameters of Open MPI: waiting, transports, eager limits and collective algorithms.

use sintonia_mpi::CollectiveOp;

use super::{CandidateList, percent};
use crate::run_facts::{CollectiveShare, MpiFamily, RunFacts};

/// The forced algorithms count only with this parameter.
const FORCED: (&str, &str) = ("OMPI_MCA_coll_tuned_use_dynamic_rules", "1");
/// Messages up to this length are short for collectives.
const SHORT_COLLECTIVE: u64 = 8192;

pub(super) fn add_candidates(run: &RunFacts, list: &mut CandidateList) {
    let names = TransportNames::of_version(run.mpi);
    add_waiting(run, list);
    add_transport(run, &names, list);
    add_messages(run, &names, list);
    run.collectives.iter().for_each(|collective| add_collective(run, collective, list));
    let collectives: f64 = run.collectives.iter().map(|collective| collective.share).sum();
    let component = if run.hosts > 1 { "han" } else { names.collectives };
    let priority = format!("OMPI_MCA_coll_{component}_priority");
    let reason = format!("{} of the time in collectives", percent(collectives));
    list.add("collective component", format!("collectives by {component}"), 0.8 * collectives, reason, &[(&priority, "95")]);
}

/// Names that changed with version 5.
struct TransportNames {
    shared_memory: &'static str,
    collectives: &'static str,
}

impl TransportNames {
    fn of_version(mpi: MpiFamily) -> TransportNames {
        match mpi {
            MpiFamily::OpenMpi5 => TransportNames { shared_memory: "sm", collectives: "xhc" },
            _ => TransportNames { shared_memory: "vader", collectives: "sm" },
        }
    }
}

fn add_waiting(run: &RunFacts, list: &mut CandidateList) {
    if run.ranks_per_host < run.processors {
        return;
    }
    let relevance = if run.is_oversubscribed() { run.mpi_share } else { 0.3 * run.mpi_share };
    let reason = format!("{} ranks on {} processors, {} of the time in MPI", run.ranks_per_host, run.processors, percent(run.mpi_share));
    list.add("waiting", "waiting ranks yield the processor", relevance, reason, &[("OMPI_MCA_mpi_yield_when_idle", "1")]);
}

fn add_transport(run: &RunFacts, names: &TransportNames, list: &mut CandidateList) {
    let reason = format!("{} of the time in MPI", percent(run.mpi_share));
    if run.hosts == 1 {
        let only = format!("self,{}", names.shared_memory);
        list.add(
            "transport",
            "shared memory only",
            0.5 * run.mpi_share,
            reason.clone(),
            &[("OMPI_MCA_btl", &only), ("OMPI_MCA_pml", "ob1")],
        );
    }
    let ucx: [(&str, &str); 3] = [("OMPI_MCA_pml", "ucx"), ("OMPI_MCA_pml_ucx_tls", "any"), ("OMPI_MCA_pml_ucx_devices", "any")];
    list.add("transport", "messages by UCX", 0.45 * run.mpi_share, reason, &ucx);
}

fn add_messages(run: &RunFacts, names: &TransportNames, list: &mut CandidateList) {
    let share = run.point_to_point_share;
    let limit = format!("OMPI_MCA_btl_{}_eager_limit", names.shared_memory);
    let most = format!("OMPI_MCA_btl_{}_max_send_size", names.shared_memory);
    let reason = format!("{} of the messages are longer than 4 KiB, {} of the time", percent(run.long_message_share), percent(share));
    for size in ["16384", "65536"] {
        let name = format!("eager limit {size}");
        list.add("eager limit", name, 0.6 * share * run.long_message_share, reason.clone(), &[(&limit, size), (&most, "131072")]);
    }
    let copy = format!("OMPI_MCA_btl_{}_single_copy_mechanism", names.shared_memory);
    if run.hosts == 1 && run.longest_message > 4096 {
        list.add(
            "single copy",
            "messages copied twice, without the kernel",
            0.4 * share * run.long_message_share,
            reason,
            &[(&copy, "none")],
        );
    }
    let boxes = format!("OMPI_MCA_btl_{}_fbox_threshold", names.shared_memory);
    let short = share * (1.0 - run.long_message_share);
    let reason = format!("{} of the time in point-to-point communication", percent(share));
    list.add("fast boxes", "fast boxes from the first message on", 0.2 * short, reason, &[(&boxes, "1")]);
}

fn add_collective(run: &RunFacts, collective: &CollectiveShare, list: &mut CandidateList) {
    let Some((name, algorithms)) = algorithms(collective, run.ranks) else { return };
    let group = format!("{name} algorithm");
    let variable = format!("OMPI_MCA_coll_tuned_{name}_algorithm");
    let bytes = sintonia_text::quantity::format_bytes(collective.mean_bytes);
    let reason = format!("{} of the time, {bytes} per call", percent(collective.share));
    for (number, words) in algorithms {
        list.add(&group, format!("{name}: {words}"), 0.7 * collective.share, reason.clone(), &[(&variable, number), FORCED]);
    }
}

type Algorithms = Vec<(&'static str, &'static str)>;

/// The algorithms of `coll_tuned` worth a trial for messages of this size.
fn algorithms(collective: &CollectiveShare, ranks: u32) -> Option<(&'static str, Algorithms)> {
    let is_short = collective.mean_bytes <= SHORT_COLLECTIVE;
    let by_size = |short: &[(&'static str, &'static str)], long: &[(&'static str, &'static str)]| {
        if is_short { short.to_vec() } else { long.to_vec() }
    };
    let found = match collective.operation {
        CollectiveOp::Allreduce => (
            "allreduce",
            by_size(
                &[("3", "recursive doubling"), ("1", "linear"), ("2", "reduce and broadcast")],
                &[("4", "ring"), ("6", "Rabenseifner"), ("5", "segmented ring")],
            ),
        ),
        CollectiveOp::Broadcast => (
            "bcast",
            by_size(&[("6", "binomial"), ("1", "linear")], &[("3", "pipeline"), ("8", "scatter and allgather"), ("6", "binomial")]),
        ),
        CollectiveOp::Reduce => ("reduce", by_size(&[("5", "binomial"), ("1", "linear")], &[("3", "pipeline"), ("7", "Rabenseifner")])),
        CollectiveOp::Barrier if ranks == 2 => ("barrier", vec![("5", "two ranks"), ("3", "recursive doubling")]),
        CollectiveOp::Barrier => ("barrier", vec![("4", "Bruck"), ("3", "recursive doubling"), ("6", "tree")]),
        CollectiveOp::Allgather => (
            "allgather",
            by_size(&[("2", "Bruck"), ("3", "recursive doubling"), ("1", "linear")], &[("4", "ring"), ("5", "neighbour exchange")]),
        ),
        CollectiveOp::Allgatherv => {
            ("allgatherv", by_size(&[("2", "Bruck"), ("1", "linear")], &[("3", "ring"), ("4", "neighbour exchange")]))
        }
        CollectiveOp::Alltoall => (
            "alltoall",
            by_size(&[("3", "Bruck"), ("1", "linear")], &[("2", "pairwise"), ("4", "linear with few requests"), ("1", "linear")]),
        ),
        CollectiveOp::Alltoallv => ("alltoallv", vec![("2", "pairwise"), ("1", "linear")]),
        CollectiveOp::Gather => ("gather", vec![("2", "binomial"), ("1", "linear")]),
        CollectiveOp::Scatter => ("scatter", vec![("2", "binomial"), ("1", "linear")]),
        CollectiveOp::ReduceScatter => ("reduce_scatter", vec![("2", "recursive halving"), ("3", "ring")]),
        _ => return None,
    };
    Some(found)
}
