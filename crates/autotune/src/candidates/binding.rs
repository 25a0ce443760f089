//! Binding of ranks to processors, by the variables of each launcher.

use super::{CandidateList, SystemFacts};
use crate::run_facts::{MpiFamily, RunFacts};

pub(super) fn add_candidates(run: &RunFacts, system: &SystemFacts, list: &mut CandidateList) {
    let Some(variables) = BindingVariables::of_launcher(run, system) else { return };
    let is_bound = run.processors_per_rank < run.processors;
    let shown = format!("a rank may use {} of {} processors", run.processors_per_rank, run.processors);
    if is_bound {
        // Threads of a rank share fewer processors than they could have.
        let fair = run.processors / run.ranks_per_host.max(1);
        let is_narrow = system.busy_threads > run.processors_per_rank || (system.has_openmp() && fair > run.processors_per_rank);
        let relevance = if is_narrow { 0.7 } else { 0.03 };
        list.add("binding", "ranks not bound", relevance, shown.clone(), &variables.unbound);
    }
    if run.processors_per_rank > 1 && !run.is_oversubscribed() {
        let relevance = if system.busy_threads > 1 { 0.01 } else { 0.05 };
        list.add("binding", "ranks bound to cores", relevance, shown, &variables.cores);
    }
    if run.hosts > 1 && !variables.by_node.is_empty() {
        let reason = format!("{} hosts", run.hosts);
        list.add("mapping", "ranks dealt out over hosts", 0.5 * run.mpi_share, reason, &variables.by_node);
    }
}

struct BindingVariables {
    unbound: Vec<(&'static str, &'static str)>,
    cores: Vec<(&'static str, &'static str)>,
    by_node: Vec<(&'static str, &'static str)>,
}

impl BindingVariables {
    fn of_launcher(run: &RunFacts, system: &SystemFacts) -> Option<BindingVariables> {
        let new = |unbound, cores, by_node: Vec<_>| Some(BindingVariables { unbound: vec![unbound], cores: vec![cores], by_node });
        if system.is_started_by_srun {
            return new(("SLURM_CPU_BIND", "none"), ("SLURM_CPU_BIND", "cores"), vec![("SLURM_DISTRIBUTION", "cyclic")]);
        }
        match run.mpi {
            MpiFamily::OpenMpi4 => {
                let name = "OMPI_MCA_hwloc_base_binding_policy";
                new((name, "none"), (name, "core"), vec![("OMPI_MCA_rmaps_base_mapping_policy", "node")])
            }
            MpiFamily::OpenMpi5 => {
                let name = "PRTE_MCA_hwloc_default_binding_policy";
                new((name, "none"), (name, "core"), vec![("PRTE_MCA_rmaps_default_mapping_policy", "node")])
            }
            MpiFamily::Mpich => new(("HYDRA_BINDING", "none"), ("HYDRA_BINDING", "core"), Vec::new()),
            MpiFamily::Intel => new(("I_MPI_PIN", "0"), ("I_MPI_PIN_DOMAIN", "core"), vec![("I_MPI_PERHOST", "1")]),
            MpiFamily::Other => None,
        }
    }
}
