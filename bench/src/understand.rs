//! How long all analyses of a recording take and how much memory they need, and how both grow with the number of calls.

use std::path::PathBuf;

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::machine::Machine;
use crate::quartiles::Quartiles;
use crate::random::Random;
use crate::{example, paths, table};

/// How to measure.
#[derive(Args)]
pub(crate) struct Options {
    /// Million calls of each recording
    #[arg(long, value_delimiter = ',', default_value = "1,10,100")]
    millions: Vec<u64>,
    /// Ranks that made them
    #[arg(long, default_value_t = 64)]
    ranks: u32,
    /// How many times each is taken apart
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

/// What the example says of one run.
#[derive(Deserialize)]
struct Run {
    calls: u64,
    seconds: f64,
    processor_seconds: f64,
    peak_bytes: u64,
}

#[derive(Serialize)]
struct AnalysisFigures {
    machine: Machine,
    ranks: u32,
    rounds: usize,
    recordings: Vec<AnalysisFigure>,
}

#[derive(Serialize)]
struct AnalysisFigure {
    calls: u64,
    seconds: Quartiles,
    processor_seconds: Quartiles,
    /// Nanoseconds of processor time per call: where it stays the same, the growth is linear.
    processor_ns_per_call: f64,
    peak_bytes: u64,
}

/// Measures, and publishes the figures.
pub(crate) fn run(options: &Options) -> Result<(), Error> {
    let machine = Machine::before();
    let folder = paths::folder()?;
    let paths: Vec<PathBuf> = options.millions.iter().map(|millions| folder.join(format!("understand-{millions}.sin"))).collect();
    for (path, millions) in paths.iter().zip(&options.millions) {
        example::generate(path, millions * 1_000_000, options.ranks, "loop")?;
    }
    let mut runs: Vec<Vec<Run>> = paths.iter().map(|_| Vec::new()).collect();
    let mut random = Random::new();
    for _ in 0..options.rounds {
        for number in random.order(paths.len()) {
            let said = example::run("sintonia-insight", "understand", &paths[number], &[])?;
            let failed = |error: serde_json::Error| Error::Failed { command: "the example `understand`".into(), why: error.to_string() };
            runs[number].push(serde_json::from_str(&said).map_err(failed)?);
        }
    }
    paths.iter().try_for_each(|path| std::fs::remove_dir_all(path).map_err(Error::at(path)))?;
    let recordings = runs.iter().filter_map(|runs| figure(runs)).collect();
    let figures = AnalysisFigures { machine: machine.after(), ranks: options.ranks, rounds: options.rounds, recordings };
    paths::publish("understand", &figures, &text(&figures))
}

fn figure(runs: &[Run]) -> Option<AnalysisFigure> {
    let calls = runs.first()?.calls;
    let processor_seconds = Quartiles::from_values(runs.iter().map(|run| run.processor_seconds))?;
    Some(AnalysisFigure {
        calls,
        seconds: Quartiles::from_values(runs.iter().map(|run| run.seconds))?,
        processor_seconds,
        processor_ns_per_call: processor_seconds.median * 1e9 / calls as f64,
        peak_bytes: runs.iter().map(|run| run.peak_bytes).max()?,
    })
}

fn text(figures: &AnalysisFigures) -> String {
    let heading = ["million calls", "seconds", "processor seconds", "processor ns per call", "memory (MB)"].map(String::from);
    let rows: Vec<Vec<String>> = figures.recordings.iter().map(row).collect();
    let intro = "All analyses of `report`; the median of the rounds, the middle half of them in brackets.";
    let (rounds, ranks) = (figures.rounds, figures.ranks);
    format!("{ranks} ranks, {rounds} rounds; {}. {intro}\n\n{}", figures.machine.line(), table::markdown(&heading, &rows))
}

fn row(figure: &AnalysisFigure) -> Vec<String> {
    let spread = |spread: Quartiles| format!("{:.1} ({:.1}–{:.1})", spread.median, spread.low, spread.high);
    vec![
        format!("{:.0}", figure.calls as f64 / 1e6),
        spread(figure.seconds),
        spread(figure.processor_seconds),
        format!("{:.0}", figure.processor_ns_per_call),
        format!("{:.0}", figure.peak_bytes as f64 / 1e6),
    ]
}
