//! How quickly a recording is read into its table, and how large it is on disk: generated recordings, so that their size and what is in
//! them are known.

use std::path::Path;

use clap::Args;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use sintonia_recording::Recording;

use crate::error::Error;
use crate::example;
use crate::machine::Machine;
use crate::paths;
use crate::quartiles::Quartiles;
use crate::random::Random;
use crate::table;

/// How to measure.
#[derive(Args)]
pub(crate) struct Options {
    /// Calls in each recording
    #[arg(long, default_value_t = 100_000_000)]
    calls: u64,
    /// Ranks that made them
    #[arg(long, default_value_t = 16)]
    ranks: u32,
    /// How many times each is read
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Keep the recordings in target/bench, and use those kept
    #[arg(long)]
    keep: bool,
}

/// What the generated programs do, as the generator knows them.
const KINDS: [(&str, &str); 2] = [("loop", "the same step over and over"), ("changing", "tag and size of every message differ")];

#[derive(Serialize)]
struct ReadFigures {
    machine: Machine,
    rounds: usize,
    recordings: Vec<ReadFigure>,
}

#[derive(Serialize)]
struct ReadFigure {
    program: &'static str,
    calls: u64,
    bytes_per_call: f64,
    /// Calls read per second of processor time.
    calls_per_core_second: Quartiles,
}

/// Measures, and publishes the figures.
pub(crate) fn run(options: &Options) -> Result<(), Error> {
    let machine = Machine::before();
    let folder = paths::folder()?;
    let paths = KINDS.map(|(kind, _)| folder.join(format!("{kind}.sin")));
    for (path, (kind, _)) in paths.iter().zip(KINDS) {
        if !(options.keep && path.is_dir()) {
            example::generate(path, options.calls, options.ranks, kind)?;
        }
    }
    let mut rates = KINDS.map(|_| Vec::new());
    let mut random = Random::new();
    for _ in 0..options.rounds {
        for number in random.order(KINDS.len()) {
            rates[number].push(read(&paths[number])?);
        }
    }
    let mut recordings = Vec::new();
    for ((path, (_, program)), rates) in paths.iter().zip(KINDS).zip(rates) {
        recordings.extend(figure(path, program, rates)?);
    }
    if !options.keep {
        paths.iter().try_for_each(|path| std::fs::remove_dir_all(path).map_err(Error::at(path)))?;
    }
    let figures = ReadFigures { machine: machine.after(), rounds: options.rounds, recordings };
    paths::publish("read", &figures, &text(&figures))
}

/// Reads every call; gives calls per second of processor time, so that reading with several threads gains nothing.
fn read(path: &Path) -> Result<f64, Error> {
    let begin = processor_seconds();
    let recording = Recording::open(path)?;
    let mut calls = 0;
    for rank in &recording.header.ranks {
        calls += recording.tables(rank.rank)?.iter().map(|table| table.len()).sum::<usize>();
    }
    Ok(calls as f64 / (processor_seconds() - begin))
}

fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn figure(path: &Path, program: &'static str, rates: Vec<f64>) -> Result<Option<ReadFigure>, Error> {
    let calls: u64 = Recording::open(path)?.header.ranks.iter().map(|rank| rank.calls).sum();
    let bytes_per_call = paths::bytes_in(path) as f64 / calls as f64;
    Ok(Quartiles::from_values(rates).map(|calls_per_core_second| ReadFigure { program, calls, bytes_per_call, calls_per_core_second }))
}

fn text(figures: &ReadFigures) -> String {
    let heading = ["program", "million calls", "bytes per call", "million calls read per second and core"].map(String::from);
    let rows: Vec<Vec<String>> = figures.recordings.iter().map(row).collect();
    let intro = "The median of the rounds, the middle half of them in brackets.";
    format!("{} rounds; {}. {intro}\n\n{}", figures.rounds, figures.machine.line(), table::markdown(&heading, &rows))
}

fn row(figure: &ReadFigure) -> Vec<String> {
    let Quartiles { low, median, high } = figure.calls_per_core_second;
    vec![
        figure.program.into(),
        format!("{:.0}", figure.calls as f64 / 1e6),
        format!("{:.2}", figure.bytes_per_call),
        format!("{:.0} ({:.0}–{:.0})", median / 1e6, low / 1e6, high / 1e6),
    ]
}
