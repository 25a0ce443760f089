//! MPI calls by function and by call site, in the report as text.

use sintonia_insight::{CallSiteTotals, RunSummary};

use crate::text::{format_bytes, format_count, format_percent, format_seconds};

/// MPI functions by time.
pub(super) fn operations(summary: &RunSummary) -> Vec<String> {
    let title = format!("{:<60}{:>12}{:>10}{:>8}{:>10}", "MPI functions by time", "calls", "time", "of run", "bytes");
    let columns = |operation, totals| totals_columns(summary, operation, totals);
    let rows = summary.operations.iter().map(|o| format!("  {:<58}{}", o.operation, columns(o.operation, (o.calls, o.seconds, o.bytes))));
    std::iter::once(title).chain(rows).collect()
}

/// Number, time, share of the run and bytes of some calls.
pub(super) fn totals_columns(summary: &RunSummary, operation: &str, (calls, seconds, bytes): (u64, f64, u64)) -> String {
    let bytes = if bytes == 0 { "-".into() } else { format_bytes(bytes) };
    let share = share_of_run(summary, operation, seconds).map_or("-".into(), format_percent);
    format!("{:>12}{:>10}{share:>8}{bytes:>10}", format_count(calls), format_seconds(seconds))
}

/// The share of the run of some calls; none if they start or stop MPI, which is not in the run.
fn share_of_run(summary: &RunSummary, operation: &str, seconds: f64) -> Option<f64> {
    let is_outside = matches!(operation, "MPI_Init" | "MPI_Init_thread" | "MPI_Finalize");
    (!is_outside).then(|| seconds / rank_seconds(summary))
}

/// What shares of the run are shares of: the time of all ranks from `MPI_Init` to `MPI_Finalize`.
pub(super) fn rank_seconds(summary: &RunSummary) -> f64 {
    summary.rank_work_s.max(f64::MIN_POSITIVE)
}

/// The time of each call site on the ranks that call there, and of a single call.
pub(super) fn call_sites_by_rank(summary: &RunSummary) -> Vec<String> {
    let in_mpi: f64 = summary.per_rank.iter().map(|rank| rank.mpi_s - rank.init_s - rank.finalize_s).sum();
    let columns = |[ranks, least, mean, most, of_run, of_mpi, shortest, mean_call, longest]: [&str; 9]| {
        format!("{ranks:>7}{least:>16}{mean:>10}{most:>16}{of_run:>8}{of_mpi:>8}{shortest:>10}{mean_call:>10}{longest:>10}")
    };
    let heads = columns(["ranks", "least", "mean", "most", "of run", "of MPI", "shortest", "mean", "longest"]);
    let title = format!("{:<60}{heads}", "Call sites: time of a rank, and of a call");
    let row = |site: &CallSiteTotals| {
        let (rank, call) = (&site.rank_s, &site.call_s);
        let at = |seconds: f64, rank: u32| format!("{} ({rank})", format_seconds(seconds));
        let of_run = share_of_run(summary, site.operation, site.seconds);
        let of_mpi = of_run.map(|_| site.seconds / in_mpi.max(f64::MIN_POSITIVE));
        let [of_run, of_mpi] = [of_run, of_mpi].map(|share| share.map_or("-".into(), format_percent));
        let [mean, shortest, mean_call, longest] = [rank.mean, call.min, call.mean, call.max].map(format_seconds);
        let (ranks, least, most) = (rank.ranks.to_string(), at(rank.min, rank.min_rank), at(rank.max, rank.max_rank));
        let columns = columns([&ranks, &least, &mean, &most, &of_run, &of_mpi, &shortest, &mean_call, &longest]);
        format!("  {:<25}{:<33}{columns}", site.operation, site.source.to_string())
    };
    std::iter::once(title).chain(summary.call_sites.iter().map(row)).collect()
}
