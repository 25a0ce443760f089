//! Threads: number, waiting, binding and schedules, where an OpenMP runtime or a threaded BLAS is loaded.

use super::{CandidateList, SystemFacts};
use crate::run_facts::RunFacts;

/// Libraries with threads of their own, and the variable for their number.
const THREADED_BLAS: [(&str, &str); 3] =
    [("libopenblas", "OPENBLAS_NUM_THREADS"), ("libmkl", "MKL_NUM_THREADS"), ("libblis", "BLIS_NUM_THREADS")];

pub(super) fn add_candidates(run: &RunFacts, system: &SystemFacts, list: &mut CandidateList) {
    let fair = (run.processors / run.ranks_per_host.max(1)).max(1);
    let default = run.processors_per_rank.max(1);
    let blas: Vec<&str> = THREADED_BLAS.iter().filter(|(library, _)| system.has_library(library)).map(|(_, variable)| *variable).collect();
    let has_runtime = system.has_openmp();
    let numbers = thread_numbers(fair, default, run.processors, system.environment.get("OMP_NUM_THREADS"));
    let reason = format!("{} processors for {} ranks on a host", run.processors, run.ranks_per_host);
    // More threads than processors run against each other.
    let relevance = if system.busy_threads > fair { 0.6 } else { 0.1 };
    for number in numbers {
        let text = number.to_string();
        let names = if has_runtime { vec!["OMP_NUM_THREADS"] } else { Vec::new() };
        let settings: Vec<(&str, &str)> = names.into_iter().chain(blas.iter().copied()).map(|name| (name, text.as_str())).collect();
        if !settings.is_empty() {
            let plural = if number == 1 { "" } else { "s" };
            list.add("threads", format!("{number} thread{plural} per rank"), relevance, reason.clone(), &settings);
        }
    }
    if !has_runtime {
        return;
    }
    let reason = format!("an OpenMP runtime is loaded; up to {} threads of a rank run", system.busy_threads);
    list.add("thread waiting", "waiting threads sleep", 0.5 * relevance, reason.clone(), &[("OMP_WAIT_POLICY", "passive")]);
    list.add("thread waiting", "waiting threads spin", 0.25 * relevance, reason.clone(), &[("OMP_WAIT_POLICY", "active")]);
    if default > 1 {
        let bound: [(&str, &str); 2] = [("OMP_PROC_BIND", "close"), ("OMP_PLACES", "cores")];
        list.add("thread binding", "threads bound to cores", 0.4 * relevance, reason.clone(), &bound);
    }
    if system.has_runtime_schedule {
        for schedule in ["dynamic", "guided", "static"] {
            let reason = "a loop takes its schedule from OMP_SCHEDULE";
            list.add("schedule", format!("schedule {schedule}"), 0.5 * relevance + 0.1, reason, &[("OMP_SCHEDULE", schedule)]);
        }
    }
}

/// Numbers of threads to try: one, a fair share of the processors and all that a rank may use; not the one that is in use.
fn thread_numbers(fair: u32, default: u32, processors: u32, set: Option<&String>) -> Vec<u32> {
    let now = set.and_then(|set| set.split(',').next()?.trim().parse().ok()).unwrap_or(default);
    let mut numbers = vec![fair, 1, default.min(processors)];
    numbers.retain(|number| *number != now);
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_in_use_is_not_tried() {
        assert_eq!(thread_numbers(1, 2, 2, None), [1]);
        assert_eq!(thread_numbers(4, 16, 16, None), [1, 4]);
        assert_eq!(thread_numbers(4, 16, 16, Some(&"4".into())), [1, 16]);
        assert_eq!(thread_numbers(1, 1, 2, None), Vec::<u32>::new());
    }
}
