//! What the report says about threads, where several threads of a rank call MPI.

use sintonia_insight::{ThreadSummary, ThreadTimes};

use crate::text::{format_count, format_percent, format_plural, format_seconds};

/// Which threads are in the efficiencies.
pub(super) fn counted_threads(threads: &ThreadSummary) -> String {
    if threads.main_only {
        return "main threads only".into();
    }
    let per_rank = match (threads.min_per_rank, threads.max_per_rank) {
        (least, most) if least == most => format!("{most} per rank"),
        (least, most) => format!("{least} to {most} per rank"),
    };
    format!("of {} ({per_rank})", format_plural(threads.threads as u64, "thread"))
}

/// What to know about these efficiencies.
pub(super) fn notes(threads: &ThreadSummary) -> Vec<String> {
    if threads.main_only {
        let note = format!("  {} threads call MPI; a profile does not tell when those besides the main ones were active", threads.threads);
        return vec![note];
    }
    let helpers = (threads.communication_threads > 0).then(|| {
        let without =
            threads.efficiency_without.map(|efficiency| format!("; parallel efficiency without: {}", format_percent(efficiency.parallel)));
        let number = format_plural(threads.communication_threads as u64, "thread");
        let verb = if threads.communication_threads == 1 { "does" } else { "do" };
        format!(
            "  {number} {verb} nothing but communicate ({} of the time){}",
            format_percent(threads.communication_share),
            without.unwrap_or_default()
        )
    });
    let blocked_s: f64 = threads.per_thread.iter().map(|time| time.blocked_s).sum();
    let blocked = if threads.blocked_known {
        let share = blocked_s / threads.active_s.max(f64::MIN_POSITIVE);
        (share >= 0.01).then(|| format!("  threads blocked outside MPI, for instance until another one ends: {}", format_percent(share)))
    } else {
        Some("  a thread outside MPI counts as computing, also while it waits for another thread of its rank".into())
    };
    helpers.into_iter().chain(blocked).collect()
}

/// A row for each thread.
pub(super) fn rows(threads: &ThreadSummary) -> Vec<String> {
    let title =
        format!("{:<6}{:>6}{:>14}{:>14}{:>14}{:>14}{:>14}", "Rank", "thread", "active", "in MPI", "computation", "blocked", "calls");
    let row = |time: &ThreadTimes| {
        let [active, mpi, compute] = [time.active_s, time.mpi_s, time.outside_s].map(format_seconds);
        let blocked = if time.blocked_known { format_seconds(time.blocked_s) } else { "-".into() };
        let role = if time.only_communicates { "   only communicates" } else { "" };
        let calls = format_count(time.calls);
        format!("{:>4}  {:>6}{active:>14}{mpi:>14}{compute:>14}{blocked:>14}{calls:>14}{role}", time.rank, time.thread)
    };
    [String::new(), title].into_iter().chain(threads.per_thread.iter().map(row)).collect()
}
