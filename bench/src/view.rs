//! How long the page waits: for the index of a long recording, which is made once, and then for a picture of any part of it.

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::machine::Machine;
use crate::spread::Spread;
use crate::{example, place, table};

/// How to measure.
#[derive(Args)]
pub struct Options {
    /// Million calls of the recording
    #[arg(long, default_value_t = 100)]
    millions: u64,
    /// Ranks that made them
    #[arg(long, default_value_t = 1024)]
    ranks: u32,
    /// Places of the run at which each width is looked at
    #[arg(long, default_value_t = 9)]
    places: usize,
    /// Keep the recording in target/bench, and use the one kept
    #[arg(long)]
    keep: bool,
}

/// What the example says.
#[derive(Deserialize)]
struct Run {
    open_s: f64,
    open_processor_s: f64,
    index_bytes: u64,
    open_again_s: f64,
    first_picture_s: f64,
    peak_bytes: u64,
    zooms: Vec<Zoom>,
}

/// One picture.
#[derive(Deserialize)]
struct Zoom {
    window_ns: u64,
    seconds: f64,
    processor_seconds: f64,
    calls: u64,
}

#[derive(Serialize)]
struct Figures {
    machine: Machine,
    calls_millions: u64,
    ranks: u32,
    recording_bytes: u64,
    index_bytes: u64,
    index_s: f64,
    index_processor_s: f64,
    /// From the start to the first picture, once the index is there.
    first_picture_s: f64,
    peak_bytes: u64,
    picture_s: Spread,
    longest_picture_s: f64,
    zooms: Vec<Figure>,
}

#[derive(Serialize)]
struct Figure {
    window_s: f64,
    calls: u64,
    seconds: Spread,
    processor_seconds: Spread,
}

/// Measures, and publishes the figures.
pub fn run(options: &Options) -> Result<(), Error> {
    let machine = Machine::before();
    let path = place::folder()?.join("view.sin");
    if !(options.keep && path.is_dir()) {
        example::generate(&path, options.millions * 1_000_000, options.ranks, "loop")?;
    }
    let index = path.join("view.index");
    let _ = std::fs::remove_file(&index);
    let recording_bytes = place::bytes_in(&path);
    let said = example::run("sintonia-view", "zoom", &path, &[options.places.to_string()])?;
    let failed = |why: String| Error::Failed { command: "the example `zoom`".into(), why };
    let run: Run = serde_json::from_str(&said).map_err(|error| failed(error.to_string()))?;
    if !options.keep {
        std::fs::remove_dir_all(&path).map_err(Error::at(&path))?;
    }
    let picture_s = Spread::of(run.zooms.iter().map(|zoom| zoom.seconds)).ok_or_else(|| failed("it drew nothing".into()))?;
    let figures = Figures {
        machine: machine.after(),
        calls_millions: options.millions,
        ranks: options.ranks,
        recording_bytes,
        index_bytes: run.index_bytes,
        index_s: run.open_s,
        index_processor_s: run.open_processor_s,
        first_picture_s: run.open_again_s + run.first_picture_s,
        peak_bytes: run.peak_bytes,
        picture_s,
        longest_picture_s: run.zooms.iter().map(|zoom| zoom.seconds).fold(0.0, f64::max),
        zooms: run.zooms.chunk_by(|a, b| a.window_ns == b.window_ns).filter_map(figure).collect(),
    };
    place::publish("view", &figures, &text(&figures))
}

fn figure(zooms: &[Zoom]) -> Option<Figure> {
    Some(Figure {
        window_s: zooms.first()?.window_ns as f64 / 1e9,
        calls: zooms.iter().map(|zoom| zoom.calls).max()?,
        seconds: Spread::of(zooms.iter().map(|zoom| zoom.seconds))?,
        processor_seconds: Spread::of(zooms.iter().map(|zoom| zoom.processor_seconds))?,
    })
}

fn text(figures: &Figures) -> String {
    let megabytes = |bytes: u64| format!("{:.0} MB", bytes as f64 / 1e6);
    let said = [
        format!("{} million calls on {} ranks; {}.", figures.calls_millions, figures.ranks, figures.machine.line()),
        format!(
            "The index of {} ({} of calls) was made in {:.1} s, {:.1} s of processor time; no more than {} of memory were in use.",
            megabytes(figures.index_bytes),
            megabytes(figures.recording_bytes),
            figures.index_s,
            figures.index_processor_s,
            megabytes(figures.peak_bytes),
        ),
        format!(
            "With it the first picture is there after {:.0} ms. A picture of 1000 x 400 cells takes {:.0} ms, the longest {:.0} ms.",
            1e3 * figures.first_picture_s,
            1e3 * figures.picture_s.median,
            1e3 * figures.longest_picture_s,
        ),
    ];
    let heading = ["seconds shown", "calls", "ms", "processor ms"].map(String::from);
    let rows: Vec<Vec<String>> = figures.zooms.iter().map(row).collect();
    format!("{}\n\n{}", said.join(" "), table::markdown(&heading, &rows))
}

fn row(figure: &Figure) -> Vec<String> {
    let spread = |spread: Spread| format!("{:.0} ({:.0}–{:.0})", 1e3 * spread.median, 1e3 * spread.low, 1e3 * spread.high);
    vec![format!("{:.6}", figure.window_s), figure.calls.to_string(), spread(figure.seconds), spread(figure.processor_seconds)]
}
