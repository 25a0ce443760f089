//! The section of the report on files.

use sintonia_insight::RunSummary;
use sintonia_insight::file_report::{FileCallSite, FileUse};

use crate::report::SCREEN_COLUMNS;
use crate::text::{format_bytes, format_count, format_percent, format_ranks, format_seconds, truncate_end, truncate_start};

/// Most files on one screen.
const MAX_FILES: usize = 3;
/// The minimum share of the ranks' time for files to be shown on one screen.
const MIN_SHARE: f64 = 0.01;
const PATH_WIDTH: usize = 43;

/// The files by time: all of them, or those that matter, given the time of all ranks in seconds.
pub(super) fn rows(summary: &RunSummary, rank_seconds: f64, all: bool) -> Vec<String> {
    let files = &summary.files;
    let total: f64 = files.iter().map(|file| file.seconds).sum();
    if files.is_empty() || !all && total < MIN_SHARE * rank_seconds {
        return Vec::new();
    }
    let shown = if all { files.len() } else { files.len().min(MAX_FILES) };
    let rest = if shown < files.len() {
        format!(" ({shown} of {}; --all shows the rest)", format_count(files.len() as u64))
    } else {
        String::new()
    };
    let heading = format!("Files by time{rest}");
    let title = format!("{heading:<46}{:>10}{:>10}{:>10}{:>14}{:>10}", "read", "written", "calls", "time", "of run");
    let rows = files[..shown].iter().flat_map(|file| file_rows(file, summary.ranks, rank_seconds, all));
    std::iter::once(title).chain(rows).collect()
}

fn file_rows(file: &FileUse, ranks: usize, rank_seconds: f64, all: bool) -> Vec<String> {
    let [read, written] = [file.bytes_read, file.bytes_written].map(|bytes| if bytes == 0 { "-".into() } else { format_bytes(bytes) });
    let path = if all { file.path.clone() } else { truncate_start(&file.path, PATH_WIDTH) };
    let (calls, time) = (format_count(file.calls), format_seconds(file.seconds));
    let first = format!("  {path:<44}{read:>10}{written:>10}{calls:>10}{time:>14}{:>10}", format_percent(file.seconds / rank_seconds));
    let who = match file.ranks.len() {
        users if users == ranks && users > 1 => {
            format!("all ranks, slowest rank {} with {}", file.slowest_rank, format_seconds(file.slowest_s))
        }
        1 => format_ranks(&file.ranks),
        _ => format!("{}, slowest rank {} with {}", format_ranks(&file.ranks), file.slowest_rank, format_seconds(file.slowest_s)),
    };
    if all {
        let site = |site: &FileCallSite| {
            let moved = if site.bytes == 0 { "-".into() } else { format_bytes(site.bytes) };
            let (what, calls) = (format!("{} at {}", operation(site), site.source), format_count(site.calls));
            format!("    {what:<52}{moved:>10}{calls:>10}{:>14}", format_seconds(site.seconds))
        };
        return [first, format!("    {who}")].into_iter().chain(file.call_sites.iter().map(site)).collect();
    }
    let most = file.call_sites.first().map(|site| format!("; {} at {} {}", operation(site), site.source, format_seconds(site.seconds)));
    vec![first, truncate_end(&format!("    {who}{}", most.unwrap_or_default()), SCREEN_COLUMNS)]
}

/// What was done, and whether through MPI: the time is then time in MPI.
fn operation(site: &FileCallSite) -> String {
    if site.interface == "mpi-io" { format!("MPI-IO {}", site.operation) } else { site.operation.into() }
}
