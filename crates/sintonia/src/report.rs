//! `sintonia report`: where the time of a recorded run goes, why, and what to do about it.

mod call_display;
mod compare;
mod counter_display;
mod display;
mod explain;
mod file_display;
mod function_display;
mod hosts;
mod html;
mod message_sizes;
mod openmp_display;
mod place_text;
mod region_args;
mod remarks;
mod thread_display;
mod tuning;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sintonia_insight::{RunComparison, RunEfficiency, RunSummary, ScalingMode};
use sintonia_program::process_group::ProcessGroup;
use sintonia_recording::Recording;
use sintonia_tune::decision;
use sintonia_view::ReportJson;

use crate::error::usage_error;
use crate::progress::ProgressBar;
use crate::{Error, help, output, process_group};
use region_args::RegionArgs;

/// The width of a screen.
const SCREEN_COLUMNS: usize = 100;

/// Arguments of `sintonia report`.
#[derive(clap::Args)]
#[command(after_help = help::example!("sintonia report hello.sin"))]
pub(crate) struct ReportArgs {
    /// Recording; several are compared with the first
    #[arg(value_name = "NAME.sin", required_unless_present = "explain")]
    recordings: Vec<PathBuf>,
    /// Show everything, not only what fits on a screen
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "all")]
    json: bool,
    /// Write a self-contained HTML file: the page of `sintonia view` with what it shows first
    #[arg(long, value_name = "FILE", conflicts_with_all = ["all", "json", "weak"])]
    html: Option<PathBuf>,
    /// With --html: include the source code around call sites, readable by anyone who gets the file
    #[arg(long, requires = "html")]
    source: bool,
    /// With several recordings: the work per rank is constant (weak scaling) [default: the total work is]
    #[arg(long)]
    weak: bool,
    /// Explain a kind of wait state or advice, such as late_sender
    #[arg(long, value_name = "KIND", conflicts_with_all = ["recordings", "all", "json", "weak", "html"])]
    explain: Option<String>,
    #[command(flatten)]
    region: RegionArgs,
}

/// Runs `sintonia report`.
pub(crate) fn run(args: ReportArgs) -> Result<ExitCode, Error> {
    if let Some(kind) = &args.explain {
        return explain::run(kind);
    }
    match args.recordings.len() {
        0 | 1 if args.weak => usage_error("--weak needs several recordings to compare"),
        _ if args.html.is_some() && args.region.selection().is_some() => {
            usage_error("--html is about the whole run; for a part of it, use the report as text or --json")
        }
        2.. if args.all => usage_error("--all works with one recording; several are compared on one screen"),
        _ => process_group::run_in_group(|group| print_report(&args, group)),
    }
}

fn print_report(args: &ReportArgs, group: &dyn ProcessGroup) -> Result<ExitCode, Error> {
    match (&args.html, &args.recordings[..]) {
        (Some(file), _) => html::write(file, args, group)?,
        (None, [one]) => show_one(one, args, group)?,
        (None, several) => compare_runs(several, args, group)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn show_one(path: &Path, args: &ReportArgs, group: &dyn ProcessGroup) -> Result<(), Error> {
    let recording = Recording::open(path)?;
    let progress = ProgressBar::new("reading ranks", RunSummary::progress_steps(&recording));
    let advance = |activity: &'static str, steps: usize| progress.advance(activity, steps);
    let zero_s = recording.header.zero_s;
    let (summary, span) = match args.region.selection() {
        Some(selection) => {
            let region = region_args::select(&path.display().to_string(), recording, &selection)?;
            (RunSummary::from_region(&region, group, &advance)?, Some(region.span))
        }
        None => (RunSummary::from_recording(&recording, group, &advance)?, None),
    };
    drop(progress);
    if group.own_index() > 0 {
        return Ok(());
    }
    let log = decision::read_run_log(path).map_err(|error| Error::Other(error.to_string()))?;
    let log = log.map(|log| match span.zip(zero_s) {
        Some((span, zero_s)) => decision::entries_between(log, zero_s + span.start as f64 / 1e9..=zero_s + span.end as f64 / 1e9),
        None => log,
    });
    output::write_stdout(|out| match args.json {
        true => output::write_json_line(out, &ReportJson { summary: &summary, tuning: log.as_deref() }),
        false => {
            let lines = log.map_or(Vec::new(), |log| tuning::log_lines(&log, args.all));
            out.write_all(display::render(&path.display().to_string(), &summary, lines, args.all).as_bytes())
        }
    })
}

fn compare_runs(paths: &[PathBuf], args: &ReportArgs, group: &dyn ProcessGroup) -> Result<(), Error> {
    let read = |(path, recording): (&PathBuf, Recording)| -> Result<RunEfficiency, Error> {
        let name = path.display().to_string();
        let progress = ProgressBar::new("reading ranks", RunEfficiency::progress_steps(&recording));
        let (recording, region) = match args.region.selection() {
            Some(selection) => {
                let region = region_args::select(&name, recording, &selection)?;
                (region.recording, Some(region.description))
            }
            None => (recording, None),
        };
        let mut efficiency = RunEfficiency::from_recording(&name, &recording, group, &|| progress.step())?;
        efficiency.region = region;
        Ok(efficiency)
    };
    let runs: Vec<RunEfficiency> = paths.iter().zip(Recording::open_all(paths)?).map(read).collect::<Result<_, Error>>()?;
    if group.own_index() > 0 {
        return Ok(());
    }
    let growth = if args.weak { ScalingMode::Weak } else { ScalingMode::Strong };
    let comparison = RunComparison::new(&runs, growth);
    output::write_stdout(|out| match args.json {
        true => output::write_json_line(out, &comparison),
        false => out.write_all(compare::render(&comparison).as_bytes()),
    })
}
