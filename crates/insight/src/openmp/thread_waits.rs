//! Why threads did not compute: the wait states of OpenMP, each with its explanation.
//!
//! They are sums over regions, not waits of single MPI calls, so they are apart from [`crate::wait_states`].

use serde::Serialize;

use super::RankThreads;

/// A kind of wait state of threads.
#[derive(Debug)]
pub struct ThreadWaitPattern {
    /// Identifier.
    pub kind: &'static str,
    /// Name.
    pub name: &'static str,
    /// Explanation, in a few sentences.
    pub help: &'static str,
    seconds: fn(&RankThreads) -> f64,
}

/// All of them.
pub static THREAD_WAITS: &[ThreadWaitPattern] = &[
    ThreadWaitPattern {
        kind: "omp_wait_at_barrier",
        name: "wait at OpenMP barrier",
        help: "A thread waits for others of its team: at a barrier, at the end of a loop, of sections or of `single`, or at the end of the \
            region. The threads got different amounts of work, or the same amount takes them different time. Time in which a waiting \
            thread runs tasks does not count.",
        seconds: |rank| rank.barrier_s,
    },
    ThreadWaitPattern {
        kind: "omp_idle_threads",
        name: "idle threads",
        help: "The main thread of a rank computes outside parallel regions, and the other threads of the rank have nothing to do; or a region \
            has fewer threads than others. Time in MPI does not count.",
        seconds: |rank| rank.idle_s,
    },
    ThreadWaitPattern {
        kind: "omp_lock_competition",
        name: "OpenMP lock competition",
        help: "A thread waits for a critical section or a lock that another one has. The time inside critical sections is that of one thread \
            after the other, however many threads there are.",
        seconds: |rank| rank.lock_s,
    },
    ThreadWaitPattern {
        kind: "omp_overhead",
        name: "OpenMP overhead",
        help: "Threads have not begun with a region yet, or they are in the runtime: `taskwait`, `taskgroup`, `ordered`, `copyprivate`, creating \
            tasks. Much of it means that regions or tasks are short, that threads sleep between regions (`OMP_WAIT_POLICY`), or that \
            there are more threads than cores.",
        seconds: |rank| rank.overhead_s,
    },
];

/// One kind of wait state in a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ThreadWait {
    /// Identifier.
    pub kind: &'static str,
    /// Name.
    pub name: &'static str,
    /// Seconds of all threads.
    pub seconds: f64,
    /// Share of the time of all threads.
    pub share: f64,
}

/// The wait states of a run, most time first.
pub(super) fn sum(ranks: &[RankThreads], work_s: f64) -> Vec<ThreadWait> {
    let all_s = ranks.iter().map(|rank| rank.threads as f64).sum::<f64>() * work_s;
    let wait = |pattern: &ThreadWaitPattern| {
        let seconds: f64 = ranks.iter().map(pattern.seconds).sum();
        ThreadWait { kind: pattern.kind, name: pattern.name, seconds, share: if all_s > 0.0 { seconds / all_s } else { 0.0 } }
    };
    let mut waits: Vec<ThreadWait> = THREAD_WAITS.iter().map(wait).collect();
    waits.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    waits
}
