//! What the report says about the threads of OpenMP.

use sintonia_insight::openmp::{OpenMpReport, RankThreads, RegionTotals, ThreadWait};

use crate::report::place_text::PlaceColumn;
use crate::text::{format_count, format_percent, format_plural, format_seconds};

/// Waits below this share of the threads' time are not shown on one screen.
const MIN_SHARE: f64 = 0.01;
/// Regions shown on one screen.
const MAX_REGIONS: usize = 3;

/// Efficiencies, waits and regions.
pub(super) fn section(report: &OpenMpReport, work_s: f64, all: bool) -> Vec<String> {
    let mut lines = vec![heading(report)];
    if let Some(e) = report.efficiency {
        let line = |name: &str, share: f64, meaning: String| format!("  {name:<20}{:>5}   {meaning}", format_percent(share));
        let product = |one: &str, first: f64, other: &str, second: f64| {
            format!("{one} {} x {other} {}", format_percent(first), format_percent(second))
        };
        lines.push(line("hybrid efficiency", e.parallel, product("MPI", e.mpi, "OpenMP", e.openmp)));
        lines.push(line("MPI", e.mpi, product("load balance", e.mpi_load_balance, "communication", e.mpi_communication)));
        lines.push(line("OpenMP", e.openmp, product("load balance", e.openmp_load_balance, "communication", e.openmp_communication)));
    }
    if let Some(a) = report.additive.filter(|_| all) {
        let lost = |share: f64| format_percent(1.0 - share);
        lines.push(format!(
            "  lost: {} in MPI outside regions, {} by unequal threads in regions, {} otherwise in regions, {} in serial parts",
            lost(a.process),
            lost(a.region_load_balance),
            lost(a.region_overhead),
            lost(a.serial)
        ));
    }
    let waits = report.waits.iter().filter(|wait| all || wait.share >= MIN_SHARE).map(wait_line);
    lines.extend(waits);
    lines.extend(region_rows(report, work_s, all));
    if all {
        lines.extend(rank_rows(report));
    }
    lines
}

fn heading(report: &OpenMpReport) -> String {
    let least = report.per_rank.iter().map(|rank| rank.threads).min().unwrap_or(0);
    let threads = match (least, report.max_threads) {
        (least, most) if least == most => format!("{} per rank", format_plural(most as u64, "thread")),
        (least, most) => format!("{least} to {most} threads per rank"),
    };
    let [outside, serial] =
        [|rank: &RankThreads| rank.outside_s, |rank: &RankThreads| rank.serial_s].map(|of| report.per_rank.iter().map(of).sum::<f64>());
    let share = if outside > 0.0 { serial / outside } else { 0.0 };
    format!("OpenMP: {threads}, {} of the time outside MPI outside parallel regions", format_percent(share))
}

fn wait_line(wait: &ThreadWait) -> String {
    format!("  {:<25}{:>10}  {:>5} of the threads' time", wait.name, format_seconds(wait.seconds), format_percent(wait.share))
}

fn region_rows(report: &OpenMpReport, work_s: f64, all: bool) -> Vec<String> {
    let shown = if all { report.regions.len() } else { report.regions.len().min(MAX_REGIONS) };
    let rest = if shown < report.regions.len() { format!(" ({shown} of {})", report.regions.len()) } else { String::new() };
    let title = format!("Region{rest}");
    let title =
        format!("  {title:<31}{:>11}{:>9}{:>11}{:>6}{:>9}{:>9}{:>9}", "executions", "threads", "time", "", "balance", "barriers", "locks");
    let ranks = report.per_rank.len().max(1) as f64;
    let row = |region: &RegionTotals| {
        let threads_s =
            (region.useful_s + region.barrier_s + region.end_s + region.lock_s + region.overhead_s + region.mpi_s).max(f64::MIN_POSITIVE);
        let indent = "  ".repeat(region.level.into());
        let width = if all { usize::MAX } else { 30_usize.saturating_sub(indent.len()) };
        let place = PlaceColumn::fit(&region.source.to_string(), width);
        let row = format!(
            "  {:<31}{:>11}{:>9}{:>11}{:>6}{:>9}{:>9}{:>9}",
            format!("{indent}{}", place.text),
            format_count(region.executions),
            region.threads,
            format_seconds(region.seconds / ranks),
            format_percent(region.seconds / ranks / work_s.max(f64::MIN_POSITIVE)),
            format_percent(region.load_balance),
            format_percent((region.barrier_s + region.end_s) / threads_s),
            format_percent(region.lock_s / threads_s)
        );
        std::iter::once(row).chain(place.callers)
    };
    std::iter::once(title).chain(report.regions.iter().take(shown).flat_map(row)).collect()
}

fn rank_rows(report: &OpenMpReport) -> Vec<String> {
    let title = format!(
        "  {:<6}{:>8}{:>12}{:>12}{:>8}{:>12}{:>12}   useful time of each thread",
        "Rank", "threads", "regions", "serial", "", "barriers", "locks"
    );
    let row = |rank: &RankThreads| {
        let useful: Vec<String> = rank.useful_s.iter().map(|s| format_seconds(*s)).collect();
        format!(
            "  {:<6}{:>8}{:>12}{:>12}{:>8}{:>12}{:>12}   {}",
            rank.rank,
            rank.threads,
            format_seconds(rank.region_s),
            format_seconds(rank.serial_s),
            format_percent(rank.serial_share),
            format_seconds(rank.barrier_s),
            format_seconds(rank.lock_s),
            useful.join(" ")
        )
    };
    std::iter::once(title).chain(report.per_rank.iter().map(row)).collect()
}
