//! How long people wait who look at a long recording: for the index, which is made once, for any picture through the server's socket, and for the page in a
//! browser, whose memory is looked at as well.

mod view_server;

use std::path::Path;
use std::process::Command;

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::machine::Machine;
use crate::quartiles::Quartiles;
use crate::random::Random;
use crate::{example, paths, table};
use view_server::{TimedAnswer, ViewServer, failed};

/// How to measure.
#[derive(Args)]
pub(crate) struct Options {
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

#[derive(Serialize)]
struct ViewFigures {
    machine: Machine,
    calls_millions: u64,
    ranks: u32,
    recording_bytes: u64,
    index_bytes: u64,
    /// From the start of the command to the first picture, without an index.
    index_s: f64,
    index_processor_s: f64,
    /// The same, once the index is there.
    first_picture_s: f64,
    /// Until waits, messages and the critical path are known, too; none where there is too little memory for that.
    analysis_s: Option<f64>,
    peak_bytes: u64,
    picture_s: Quartiles,
    longest_picture_s: f64,
    /// The figures of the same windows.
    sums_s: Quartiles,
    longest_sums_s: f64,
    zooms: Vec<ZoomFigure>,
    /// None where there is no browser.
    page: Option<PageFigures>,
}

/// What `page.mjs` says.
#[derive(Serialize, Deserialize)]
struct PageFigures {
    first_picture_s: f64,
    steps: Vec<WheelStep>,
    after_timeline: PageMemory,
    after_all: PageMemory,
}

#[derive(Serialize, Deserialize)]
struct WheelStep {
    first_s: f64,
    all_s: f64,
}

#[derive(Serialize, Deserialize)]
struct PageMemory {
    heap_bytes: u64,
    private_bytes: u64,
}

/// Pictures of one width.
#[derive(Serialize)]
struct ZoomFigure {
    window_s: f64,
    calls: u64,
    packed_bytes: usize,
    seconds: Quartiles,
    longest_s: f64,
    sums: Quartiles,
    longest_sums_s: f64,
}

/// Seconds that answers about the windows of one width took.
#[derive(Default)]
struct WindowTimes {
    pictures: Vec<f64>,
    sums: Vec<f64>,
}

/// Measures, and publishes the figures.
pub(crate) fn run(options: &Options) -> Result<(), Error> {
    let path = paths::folder()?.join("view.sin");
    if !(options.keep && path.is_dir()) {
        example::generate(&path, options.millions * 1_000_000, options.ranks, "loop")?;
    }
    let figures = measure(options, &path)?;
    if !options.keep {
        std::fs::remove_dir_all(&path).map_err(Error::at(&path))?;
    }
    paths::publish("view", &figures, &text(&figures))
}

fn measure(options: &Options, path: &Path) -> Result<ViewFigures, Error> {
    let machine = Machine::before();
    let [index, analysis] = ["view.index", "view.analysis"].map(|name| path.join(name));
    for made in [&index, &analysis] {
        let _ = std::fs::remove_file(made);
    }
    let recording_bytes = paths::bytes_in(path);
    let (without, index_s) = first_picture(path)?;
    let index_processor_s = without.processor_s()?;
    drop(without);
    let (mut served, first_picture_s) = first_picture(path)?;
    let (analysed, analysis_s) = timed(|| served.ask("messages?from=0&to=1"))?;
    let zooms = zooms(&mut served, options.places)?;
    Ok(ViewFigures {
        calls_millions: options.millions,
        ranks: options.ranks,
        recording_bytes,
        index_bytes: std::fs::metadata(&index).map_or(0, |file| file.len()),
        index_s,
        index_processor_s,
        first_picture_s,
        analysis_s: analysed.is_some().then_some(analysis_s),
        picture_s: Quartiles::from_values(zooms.iter().flat_map(|(_, times)| times.pictures.iter().copied()))
            .ok_or_else(|| failed("it drew nothing"))?,
        longest_picture_s: zooms.iter().map(|(figure, _)| figure.longest_s).fold(0.0, f64::max),
        sums_s: Quartiles::from_values(zooms.iter().flat_map(|(_, times)| times.sums.iter().copied()))
            .ok_or_else(|| failed("it added up nothing"))?,
        longest_sums_s: zooms.iter().map(|(figure, _)| figure.longest_sums_s).fold(0.0, f64::max),
        zooms: zooms.into_iter().map(|(figure, _)| figure).collect(),
        page: page(served.address())?,
        peak_bytes: served.peak_bytes()?,
        machine: machine.after(),
    })
}

/// Starts the command and waits for a picture of the whole run.
fn first_picture(path: &Path) -> Result<(ViewServer, f64), Error> {
    timed(|| {
        let mut served = ViewServer::start(path)?;
        served.ask("timeline")?.ok_or_else(|| failed("there is no timeline"))?;
        Ok(served)
    })
}

/// Pictures of the whole run, of a half of it, of a quarter and so on down to a microsecond, each at several places.
fn zooms(served: &mut ViewServer, places: usize) -> Result<Vec<(ZoomFigure, WindowTimes)>, Error> {
    let whole = served.ask("timeline")?.ok_or_else(|| failed("there is no timeline"))?.header()?;
    let [from, to] = ["from", "to"].map(|name| whole[name].as_i64().unwrap_or(0));
    let (mut width, mut random, mut zooms) = (to - from, Random::new(), Vec::new());
    while width >= 1000 {
        zooms.push(pictures(served, width, (0..places).map(|_| from + random.below((to - from - width + 1) as usize) as i64))?);
        width /= 2;
    }
    Ok(zooms)
}

fn pictures(served: &mut ViewServer, width: i64, begins: impl Iterator<Item = i64>) -> Result<(ZoomFigure, WindowTimes), Error> {
    let (mut times, mut calls, mut packed_bytes) = (WindowTimes::default(), 0, 0);
    for begin in begins {
        let window = format!("from={begin}&to={}", begin + width);
        let said = answer(served, &format!("timeline?{window}&columns=1000&rows=400"))?;
        calls = calls.max(said.header()?["calls"].as_u64().unwrap_or(0));
        packed_bytes = packed_bytes.max(said.packed_bytes());
        times.pictures.push(said.seconds);
        times.sums.push(answer(served, &format!("sums?{window}"))?.seconds);
    }
    let spread = |seconds: &[f64]| Quartiles::from_values(seconds.iter().copied()).ok_or_else(|| failed("no places to look at"));
    let longest = |seconds: &[f64]| seconds.iter().copied().fold(0.0, f64::max);
    let figure = ZoomFigure {
        window_s: width as f64 / 1e9,
        calls,
        packed_bytes,
        seconds: spread(&times.pictures)?,
        longest_s: longest(&times.pictures),
        sums: spread(&times.sums)?,
        longest_sums_s: longest(&times.sums),
    };
    Ok((figure, times))
}

fn answer(served: &mut ViewServer, question: &str) -> Result<TimedAnswer, Error> {
    served.ask(question)?.ok_or_else(|| failed(format!("{question}: no answer")))
}

/// The page in a browser, where there is one.
fn page(address: &str) -> Result<Option<PageFigures>, Error> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/view/page.mjs");
    let ended = match Command::new("node").arg(script).arg(address).output() {
        Ok(ended) if ended.status.success() => ended,
        Ok(ended) => {
            eprintln!("no figures of the page: {}", String::from_utf8_lossy(&ended.stderr).trim());
            return Ok(None);
        }
        Err(error) => {
            eprintln!("no figures of the page: node: {error}");
            return Ok(None);
        }
    };
    serde_json::from_slice(&ended.stdout).map(Some).map_err(failed)
}

fn timed<T>(what: impl FnOnce() -> Result<T, Error>) -> Result<(T, f64), Error> {
    let since = std::time::Instant::now();
    Ok((what()?, since.elapsed().as_secs_f64()))
}

fn text(figures: &ViewFigures) -> String {
    let analysis = match figures.analysis_s {
        Some(seconds) => format!("Waits, messages and the critical path were known after {seconds:.0} s, and are in the pictures."),
        None => "Waits, messages and the critical path were not looked for: there is too little memory.".into(),
    };
    let said = [
        format!("{} million calls on {} ranks; {}.", figures.calls_millions, figures.ranks, figures.machine.line()),
        format!(
            "Without an index the first picture is there after {:.1} s ({:.1} s of processor time), the index has {} ({} of calls). With it, after {:.0} ms.",
            figures.index_s,
            figures.index_processor_s,
            megabytes(figures.index_bytes),
            megabytes(figures.recording_bytes),
            1e3 * figures.first_picture_s,
        ),
        analysis,
        format!(
            "Through the socket a picture of 1000 x 400 cells takes {}, the longest {:.0} ms. The command had {} of memory at most.",
            milliseconds(figures.picture_s),
            1e3 * figures.longest_picture_s,
            megabytes(figures.peak_bytes)
        ),
        format!("The sums of a window take {}, the longest {:.0} ms.", milliseconds(figures.sums_s), 1e3 * figures.longest_sums_s),
    ];
    let heading = ["seconds shown", "calls", "a picture takes", "the longest", "kB sent", "its sums take", "the longest"].map(String::from);
    let rows: Vec<Vec<String>> = figures.zooms.iter().map(row).collect();
    let page = figures.page.as_ref().and_then(of_page).map_or_else(String::new, |said| format!("\n{said}\n"));
    format!("{}\n\n{}{page}", said.join(" "), table::markdown(&heading, &rows))
}

fn row(figure: &ZoomFigure) -> Vec<String> {
    let (window, calls) = (format!("{:.6}", figure.window_s), figure.calls.to_string());
    let longest = |seconds: f64| format!("{:.0} ms", 1e3 * seconds);
    let packed = (figure.packed_bytes / 1000).to_string();
    let [picture, sums] = [figure.seconds, figure.sums].map(milliseconds);
    vec![window, calls, picture, longest(figure.longest_s), packed, sums, longest(figure.longest_sums_s)]
}

fn of_page(page: &PageFigures) -> Option<String> {
    let of = |which: fn(&WheelStep) -> f64| Quartiles::from_values(page.steps.iter().map(which)).map(milliseconds);
    Some(format!(
        "In Chromium the page has its first picture after {:.1} s. Of {} turns of the wheel, each is drawn after {}, with all detail after {}. The page's \
         process then has {} to itself ({} of objects); when all views were looked at, {} ({}).",
        page.first_picture_s,
        page.steps.len(),
        of(|step| step.first_s)?,
        of(|step| step.all_s)?,
        megabytes(page.after_timeline.private_bytes),
        megabytes(page.after_timeline.heap_bytes),
        megabytes(page.after_all.private_bytes),
        megabytes(page.after_all.heap_bytes),
    ))
}

fn megabytes(bytes: u64) -> String {
    format!("{:.0} MB", bytes as f64 / 1e6)
}

fn milliseconds(spread: Quartiles) -> String {
    format!("{:.0} ms ({:.0}–{:.0})", 1e3 * spread.median, 1e3 * spread.low, 1e3 * spread.high)
}
