//! Compares several runs as text, one column each.

use sintonia_insight::{ComparedParts, ComputationScaling, Efficiency, PartChange, PartTimeBase, RunComparison, ScaledRun, ScalingMode};

use crate::report::SCREEN_COLUMNS;
use crate::text::{format_percent, format_plural, format_seconds, truncate_start, wrap};

const NAME_WIDTH: usize = 28;
const COLUMN_WIDTH: usize = 12;

/// Rows of parts that changed.
const MAX_CHANGES: usize = 10;

/// The runs compared with the first of them.
pub(super) fn render(RunComparison { growth, runs, parts }: &RunComparison) -> String {
    let row = |name: &str, value: &dyn Fn(&ScaledRun) -> String| {
        let columns: String = runs.iter().map(|run| format!("{:>COLUMN_WIDTH$}", value(run))).collect();
        format!("{name:<NAME_WIDTH$}{columns}\n")
    };
    let share = |value: Option<f64>| value.map_or("-".into(), format_percent);
    let part = |pick: fn(&Efficiency) -> Option<f64>| move |run: &ScaledRun| share(run.efficiency.as_ref().and_then(pick));
    let work = match growth {
        ScalingMode::Strong => "with the same total work (strong scaling)",
        ScalingMode::Weak => "with the same work per rank (weak scaling)",
    };
    let without_core = runs.iter().filter_map(|run| Some(format!("{}: {}\n", run.recording, run.no_core.as_ref()?)));
    let without_core: String = without_core.collect();
    let gap = if without_core.is_empty() { "" } else { "Figures of such runs contain that.\n\n" };
    let differences = runs.iter().flat_map(|run| run.differences.iter().map(|why| format!("{}: {why}", run.recording)));
    let differences: String = differences.flat_map(|line| wrap(&line, SCREEN_COLUMNS)).map(|line| line + "\n").collect();
    let space = if differences.is_empty() { "" } else { "\n" };
    let regions = runs.iter().filter_map(|run| Some(format!("{}: {}", run.recording, run.region.as_ref()?.name)));
    let regions: String = regions.flat_map(|line| wrap(&line, SCREEN_COLUMNS)).map(|line| line + "\n").collect();
    let is_whole = regions.is_empty();
    let times =
        if is_whole { "times are from MPI_Init to MPI_Finalize" } else { "times are those of the rank that takes longest in this part" };
    [
        regions,
        if is_whole { "" } else { "\n" }.into(),
        without_core,
        gap.into(),
        differences,
        space.into(),
        row("", &|run| truncate_start(run.recording.trim_end_matches(".sin"), COLUMN_WIDTH - 1)),
        row("ranks", &|run| run.ranks.to_string()),
        row("time", &|run| format_seconds(run.work_s)),
        row("speed-up", &|run| run.speedup.map_or("-".into(), |speedup| format!("{speedup:.2}"))),
        row("global efficiency", &|run| share(run.global)),
        row("  parallel efficiency", &part(|e| Some(e.parallel))),
        row("    load balance", &part(|e| Some(e.load_balance))),
        row("    communication", &part(|e| Some(e.communication))),
        row("      serialisation", &part(|e| e.serialisation)),
        row("      transfer", &part(|e| e.transfer)),
        row("  computation scalability", &|run| share(run.computation_scalability)),
        if runs.iter().any(|run| run.computation.is_some()) {
            let part = |pick: fn(&ComputationScaling) -> f64| move |run: &ScaledRun| share(run.computation.as_ref().map(pick));
            [
                row("    instructions", &part(|scaling| scaling.instructions)),
                row("    IPC", &part(|scaling| scaling.ipc)),
                row("    frequency", &part(|scaling| scaling.frequency)),
            ]
            .concat()
        } else {
            String::new()
        },
        parts.as_ref().map(|parts| render_changes(parts, runs.len())).unwrap_or_default(),
        format!("\nCompared with the first run, {work}; {times}.\n"),
    ]
    .concat()
}

/// The parts of the program that changed most, in as many columns as there are runs.
fn render_changes(parts: &ComparedParts, runs: usize) -> String {
    if parts.changes.is_empty() {
        return "\nNo part of the program takes longer or shorter than in the first run by 0.5 % of it.\n".into();
    }
    let name_width = SCREEN_COLUMNS.saturating_sub(COLUMN_WIDTH * (runs + 1)).max(NAME_WIDTH);
    let of = match parts.base {
        PartTimeBase::MeanOfRanks => "mean of the ranks",
        PartTimeBase::AllRanks => "sum over the ranks",
    };
    let row = |change: &PartChange| {
        let seconds: String =
            change.seconds.iter().map(|seconds| format!("{:>COLUMN_WIDTH$}", seconds.map_or("-".into(), format_seconds))).collect();
        let sign = if change.change_s < 0.0 { "-" } else { "+" };
        let changed = format!("{sign}{}", format_seconds(change.change_s.abs()));
        format!("{:<name_width$}{seconds}{changed:>COLUMN_WIDTH$}\n", truncate_start(&change.name, name_width - 1))
    };
    let heading = format!("Largest changes, {of}");
    let title = format!("\n{heading:<name_width$}{}{:>COLUMN_WIDTH$}\n", " ".repeat(COLUMN_WIDTH * runs), "change");
    let more = parts.changes.len().saturating_sub(MAX_CHANGES);
    let more = if more > 0 { format!("and {} (--json)\n", format_plural(more as u64, "smaller change")) } else { String::new() };
    title + &parts.changes.iter().take(MAX_CHANGES).map(row).collect::<String>() + &more
}
