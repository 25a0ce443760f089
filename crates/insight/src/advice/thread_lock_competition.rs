//! Threads of a parallel region wait for a critical section or a lock.
//!
//! The saving needs no replay: in each execution of the region the time for which threads wait for locks is taken off, and the longest thread
//! determines how long it takes.

use sintonia_text::quantity::{format_count, format_percent, format_plural, format_seconds};

use super::{Advice, Saving};
use crate::openmp::{LockTotals, OpenMpReport, RegionTotals};

/// Identifier.
pub const KIND: &str = "thread_lock_competition";
/// Name.
pub const NAME: &str = "threads that wait for a critical section or a lock";
/// Explanation, in a few sentences.
pub const HELP: &str = "Threads of an OpenMP region wait for a critical section or a lock that another thread has. What is done inside takes as \
    long as if one thread did it alone. Use `reduction`, or a copy of the data for each thread; `atomic` for a single update; do less inside; \
    use one lock for each part of the data. All critical sections without a name exclude each other.";
/// How the saving is estimated.
pub const BASIS: &str = "in each execution of the region no thread waits for locks; upper bound, on the rank that would save most";

/// Regions whose threads wait less, as a share of their time, get no advice.
const MIN_WAIT_SHARE: f64 = 0.05;
/// Advice for at most this many regions.
const MAX_REGIONS: usize = 3;

/// Advice for the regions that lose most.
pub(super) fn advice(report: &OpenMpReport, min_saving_s: f64) -> Vec<Advice> {
    let is_slow =
        |region: &&RegionTotals| region.level == 0 && region.lock_saving_s >= min_saving_s && wait_share(region) >= MIN_WAIT_SHARE;
    let mut found: Vec<&RegionTotals> = report.regions.iter().filter(is_slow).collect();
    found.sort_by(|a, b| b.lock_saving_s.total_cmp(&a.lock_saving_s));
    found.into_iter().take(MAX_REGIONS).map(new).collect()
}

/// Share of the time of its threads.
fn wait_share(region: &RegionTotals) -> f64 {
    let all_s = region.useful_s + region.barrier_s + region.end_s + region.lock_s + region.overhead_s + region.mpi_s;
    if all_s > 0.0 { region.lock_s / all_s } else { 0.0 }
}

fn new(region: &RegionTotals) -> Advice {
    let lock = region.locks.first();
    let source = lock.map_or(&region.source, |lock| &lock.source);
    let what = match lock {
        Some(lock) => {
            format!("Threads of the region at {} wait for each other at the critical section or lock at {}.", region.source, lock.source)
        }
        None => format!("Threads of the region at {} wait for critical sections or locks.", region.source),
    };
    Advice {
        kind: KIND,
        what,
        source: source.clone(),
        evidence: format!(
            "{} of waiting, {} of the time of its threads{}.",
            format_seconds(region.lock_s),
            format_percent(wait_share(region)),
            lock.map(lock_text).unwrap_or_default()
        ),
        try_this:
            "Use `reduction`, or a copy of the data for each thread, and join the copies at the end; `atomic` if it is a single update. \
            Otherwise do less inside, give critical sections for different data different names, or use one lock for each part of the data."
                .into(),
        saving: Some(Saving::exactly_seconds(region.lock_saving_s)),
        together_s: None,
        basis: BASIS.into(),
    }
}

/// Who waits for a lock, how often, and how long it is held.
fn lock_text(lock: &LockTotals) -> String {
    let longest = lock.threads.first().copied().unwrap_or_default();
    format!(
        "; entered {}, {} inside; thread {} of rank {} waits longest, {}{}",
        format_plural(lock.acquisitions, "time"),
        format_seconds(lock.held_s),
        longest.thread,
        longest.rank,
        format_seconds(longest.wait_s),
        if lock.threads.len() > 1 { format!(", of {} threads", format_count(lock.threads.len() as u64)) } else { String::new() }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SourceLocation;
    use crate::openmp::ThreadLockWait;

    fn region(lock_s: f64) -> RegionTotals {
        let source = |line| SourceLocation { file: Some("sum.c".into()), line: Some(line), ..SourceLocation::default() };
        let wait = ThreadLockWait { rank: 0, thread: 1, wait_s: lock_s };
        let lock = LockTotals { source: source(12), acquisitions: 1, wait_s: lock_s, held_s: 1.0, threads: vec![wait] };
        RegionTotals {
            source: source(9),
            useful_s: 10.0,
            lock_s,
            lock_saving_s: lock_s / 2.0,
            locks: vec![lock],
            ..RegionTotals::default()
        }
    }

    fn report(region: RegionTotals) -> OpenMpReport {
        OpenMpReport { max_threads: 2, efficiency: None, additive: None, waits: Vec::new(), regions: vec![region], per_rank: Vec::new() }
    }

    #[test]
    fn the_lock_is_named_with_who_waits_for_it() {
        let advice = advice(&report(region(5.0)), 1.0);
        assert_eq!(advice[0].what, "Threads of the region at sum.c:9 wait for each other at the critical section or lock at sum.c:12.");
        assert!(advice[0].evidence.contains("entered 1 time,"), "{}", advice[0].evidence);
        assert!(advice[0].evidence.contains("thread 1 of rank 0 waits longest"), "{}", advice[0].evidence);
        assert_eq!(advice[0].saving.map(|saving| saving.likely_s()), Some(2.5));
    }

    #[test]
    fn short_waits_get_no_advice() {
        assert!(advice(&report(region(0.1)), 0.01).is_empty());
        assert!(advice(&report(region(5.0)), 3.0).is_empty());
    }
}
