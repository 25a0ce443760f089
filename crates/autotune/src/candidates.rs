//! The settings to try, from what a recorded run tells.
//!
//! A setting is tried only if it can affect a noticeable share of the time: no algorithm is tried for a collective that hardly takes any.
//! All settings are environment variables, those of launchers too, so a job script can export them; an option that the command line gives to
//! its launcher wins over them.

mod binding;
mod intel_mpi;
mod memory;
mod mpich;
mod open_mpi;
mod openmp;

use std::collections::{BTreeMap, BTreeSet};

use crate::candidate::TuningCandidate;
use crate::environment::Environment;
use crate::run_facts::{MpiFamily, RunFacts};

/// What can affect less of the time is not tried.
const MIN_RELEVANCE: f64 = 0.005;

/// What is known about the processes and their host besides the recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SystemFacts {
    /// File names of the libraries that a rank has loaded; empty if unknown.
    pub libraries: BTreeSet<String>,
    /// Most threads of a rank that ran at the same time, those of the MPI library included; 0 if unknown.
    pub busy_threads: u32,
    /// Largest resident memory of a rank in bytes; 0 if unknown.
    pub resident_bytes: u64,
    /// When the kernel gives huge pages: `always`, `madvise` or `never`.
    pub huge_pages: Option<String>,
    /// Whether the program has a loop whose OpenMP schedule is chosen at run time.
    pub has_runtime_schedule: bool,
    /// Whether srun starts the ranks.
    pub is_started_by_srun: bool,
    /// The environment of the command.
    pub environment: BTreeMap<String, String>,
}

impl SystemFacts {
    /// Whether a rank has loaded a library whose file name begins like this.
    fn has_library(&self, prefix: &str) -> bool {
        self.libraries.iter().any(|library| library.starts_with(prefix))
    }

    /// Whether a rank has loaded an OpenMP runtime.
    fn has_openmp(&self) -> bool {
        ["libgomp", "libomp", "libiomp"].into_iter().any(|runtime| self.has_library(runtime))
    }
}

/// Settings that may pay for this program.
pub fn find_candidates(run: &RunFacts, system: &SystemFacts) -> Vec<TuningCandidate> {
    let mut list = CandidateList::default();
    match run.mpi {
        MpiFamily::OpenMpi4 | MpiFamily::OpenMpi5 => open_mpi::add_candidates(run, &mut list),
        MpiFamily::Mpich => mpich::add_candidates(run, system, &mut list),
        MpiFamily::Intel => intel_mpi::add_candidates(run, &mut list),
        MpiFamily::Other => {}
    }
    binding::add_candidates(run, system, &mut list);
    openmp::add_candidates(run, system, &mut list);
    memory::add_candidates(run, system, &mut list);
    let is_set = |(name, value): (&str, &str)| system.environment.get(name).is_some_and(|set| set == value);
    list.candidates.retain(|one| one.relevance >= MIN_RELEVANCE && !one.settings.environment.iter().all(is_set));
    list.candidates.sort_by(|one, other| other.relevance.total_cmp(&one.relevance));
    list.candidates
}

/// Candidates, collected.
#[derive(Default)]
struct CandidateList {
    candidates: Vec<TuningCandidate>,
}

impl CandidateList {
    /// Adds a candidate.
    fn add(&mut self, group: &str, name: impl Into<String>, relevance: f64, reason: impl Into<String>, settings: &[(&str, &str)]) {
        self.candidates.push(TuningCandidate {
            name: name.into(),
            group: group.to_owned(),
            settings: Environment::new(settings.iter().copied()).into(),
            reason: reason.into(),
            relevance,
        });
    }
}

/// Progress by a thread of the library's own, where it has a processor to run on and long messages to move.
fn add_progress_thread(run: &RunFacts, variable: &str, list: &mut CandidateList) {
    if run.ranks_per_host < run.processors {
        let spare = run.processors - run.ranks_per_host;
        let reason = format!("{spare} processors without a rank, {} of the messages longer than 4 KiB", percent(run.long_message_share));
        let relevance = 0.4 * run.point_to_point_share * run.long_message_share;
        list.add("progress", "progress by a thread of the library", relevance, reason, &[(variable, "1")]);
    }
}

/// A share as text.
fn percent(share: f64) -> String {
    sintonia_text::quantity::format_percent(share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_facts::CollectiveShare;
    use sintonia_mpi::CollectiveOp;

    fn run() -> RunFacts {
        RunFacts {
            mpi: MpiFamily::OpenMpi4,
            library: "Open MPI 4.1.4".into(),
            ranks: 2,
            hosts: 1,
            ranks_per_host: 2,
            processors: 2,
            work_s: 3.0,
            mpi_share: 0.0,
            point_to_point_share: 0.0,
            collectives: Vec::new(),
            long_message_share: 0.0,
            longest_message: 0,
            faults_per_s: 10.0,
            processors_per_rank: 1,
            calls: 100,
        }
    }

    fn names(run: &RunFacts, system: &SystemFacts) -> Vec<String> {
        find_candidates(run, system)
            .iter()
            .flat_map(|one| one.settings.environment.names().map(str::to_owned).collect::<Vec<_>>())
            .collect()
    }

    #[test]
    fn a_program_that_only_computes_gets_nothing_about_messages() {
        let names = names(&run(), &SystemFacts::default());
        assert!(!names.iter().any(|name| name.contains("coll") || name.contains("btl") || name.contains("OMP_NUM")), "{names:?}");
    }

    #[test]
    fn only_collectives_that_take_time_are_looked_at() {
        let share = |operation, share| CollectiveShare { operation, share, mean_bytes: 8, calls_per_rank: 100 };
        let collectives = vec![share(CollectiveOp::Allreduce, 0.3), share(CollectiveOp::Barrier, 0.001)];
        for mpi in [MpiFamily::OpenMpi4, MpiFamily::OpenMpi5, MpiFamily::Mpich, MpiFamily::Intel] {
            let names = names(&RunFacts { mpi, mpi_share: 0.3, collectives: collectives.clone(), ..run() }, &SystemFacts::default());
            assert!(names.iter().any(|name| name.to_ascii_lowercase().contains("allreduce")), "{names:?}");
            assert!(!names.iter().any(|name| name.to_ascii_lowercase().contains("barrier")), "{names:?}");
        }
    }

    #[test]
    fn more_ranks_than_processors_are_asked_to_yield() {
        let crowded = RunFacts { ranks: 8, ranks_per_host: 8, mpi_share: 0.6, processors_per_rank: 2, ..run() };
        assert!(names(&crowded, &SystemFacts::default()).contains(&"OMPI_MCA_mpi_yield_when_idle".into()));
        let mpich = RunFacts { mpi: MpiFamily::Mpich, ..crowded };
        assert!(names(&mpich, &SystemFacts::default()).contains(&"MPIR_CVAR_POLLS_BEFORE_YIELD".into()));
    }

    #[test]
    fn a_progress_thread_needs_a_processor_of_its_own() {
        let long = |ranks_per_host, mpi| RunFacts {
            mpi,
            ranks_per_host,
            point_to_point_share: 0.3,
            long_message_share: 1.0,
            processors: 4,
            ..run()
        };
        for (mpi, variable) in [(MpiFamily::Mpich, "MPIR_CVAR_ASYNC_PROGRESS"), (MpiFamily::Intel, "I_MPI_ASYNC_PROGRESS")] {
            assert!(names(&long(2, mpi), &SystemFacts::default()).contains(&variable.into()));
            assert!(!names(&long(4, mpi), &SystemFacts::default()).contains(&variable.into()));
        }
    }

    #[test]
    fn threads_are_tried_only_with_a_runtime_for_threads() {
        let system = SystemFacts { libraries: ["libgomp.so.1".to_owned()].into(), busy_threads: 2, ..SystemFacts::default() };
        assert!(names(&RunFacts { processors_per_rank: 2, ..run() }, &system).contains(&"OMP_NUM_THREADS".into()));
        assert!(!names(&run(), &SystemFacts::default()).iter().any(|name| name.starts_with("OMP_")));
    }

    #[test]
    fn what_is_set_already_is_not_tried() {
        let faulting = RunFacts { faults_per_s: 1e5, ..run() };
        let all = find_candidates(&faulting, &SystemFacts::default());
        let first = all.iter().find(|one| one.group == "allocator").unwrap();
        let environment = first.settings.environment.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let rest = find_candidates(&faulting, &SystemFacts { environment, ..SystemFacts::default() });
        assert!(!rest.contains(first) && rest.len() + 1 == all.len());
    }

    #[test]
    fn page_faults_decide_whether_the_allocator_matters() {
        let has_allocator = |faults_per_s| {
            let list = find_candidates(&RunFacts { faults_per_s, ..run() }, &SystemFacts::default());
            list.iter().any(|one| one.group == "allocator")
        };
        assert!(has_allocator(1e5) && !has_allocator(100.0));
    }
}
