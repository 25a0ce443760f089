//! Several runs side by side, as text: one column each.

use serde::Serialize;
use sintonia_insight::{Efficiency, Growth, Scaled};

use crate::text::{percent, seconds, tail};

/// The comparison for programs.
#[derive(Serialize)]
pub struct Comparison {
    /// How the work grows with the ranks.
    pub growth: Growth,
    /// The runs, beside the first.
    pub runs: Vec<Scaled>,
}

const NAME: usize = 28;
const COLUMN: usize = 12;

/// The runs beside the first of them.
pub fn show(runs: &[Scaled], growth: Growth) -> String {
    let row = |name: &str, value: &dyn Fn(&Scaled) -> String| {
        let columns: String = runs.iter().map(|run| format!("{:>COLUMN$}", value(run))).collect();
        format!("{name:<NAME$}{columns}\n")
    };
    let share = |value: Option<f64>| value.map_or("-".into(), percent);
    let part = |pick: fn(&Efficiency) -> Option<f64>| move |run: &Scaled| share(run.efficiency.as_ref().and_then(pick));
    let work = match growth {
        Growth::Strong => "the same work shared by more ranks",
        Growth::Weak => "as much work for each rank",
    };
    [
        row("", &|run| tail(run.recording.trim_end_matches(".sin"), COLUMN - 1)),
        row("ranks", &|run| run.ranks.to_string()),
        row("time", &|run| seconds(run.work_s)),
        row("speed-up", &|run| format!("{:.2}", run.speedup)),
        row("global efficiency", &|run| share(run.global)),
        row("  parallel efficiency", &part(|e| Some(e.parallel))),
        row("    load balance", &part(|e| Some(e.load_balance))),
        row("    communication", &part(|e| Some(e.communication))),
        row("      serialisation", &part(|e| e.serialisation)),
        row("      transfer", &part(|e| e.transfer)),
        row("  computation scalability", &|run| share(run.computation_scalability)),
        format!("\nAgainst the first run, {work}; times are between MPI_Init and MPI_Finalize.\n"),
    ]
    .concat()
}
