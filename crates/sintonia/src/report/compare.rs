//! Compares several runs as text, one column each.

use sintonia_insight::{Efficiency, RunComparison, ScaledRun, ScalingMode};

use crate::text::{format_percent, format_seconds, truncate_start};

const NAME_WIDTH: usize = 28;
const COLUMN_WIDTH: usize = 12;

/// The runs compared with the first of them.
pub(super) fn render(RunComparison { growth, runs }: &RunComparison) -> String {
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
    [
        without_core,
        gap.into(),
        row("", &|run| truncate_start(run.recording.trim_end_matches(".sin"), COLUMN_WIDTH - 1)),
        row("ranks", &|run| run.ranks.to_string()),
        row("time", &|run| format_seconds(run.work_s)),
        row("speed-up", &|run| format!("{:.2}", run.speedup)),
        row("global efficiency", &|run| share(run.global)),
        row("  parallel efficiency", &part(|e| Some(e.parallel))),
        row("    load balance", &part(|e| Some(e.load_balance))),
        row("    communication", &part(|e| Some(e.communication))),
        row("      serialisation", &part(|e| e.serialisation)),
        row("      transfer", &part(|e| e.transfer)),
        row("  computation scalability", &|run| share(run.computation_scalability)),
        format!("\nCompared with the first run, {work}; times are from MPI_Init to MPI_Finalize.\n"),
    ]
    .concat()
}
