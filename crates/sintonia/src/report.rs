//! `sintonia report`: where the time of a recorded run went, why, and what to do about it.

pub mod compare;
mod explain;
mod html;
mod screen;
pub mod tuning;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sintonia_insight::{Growth, Run, Scaled, Summary};
use sintonia_program::company::Company;
use sintonia_recording::Recording;
use sintonia_tune::decision::Entry;

use crate::error::wrong_usage;
use crate::progress::Progress;
use crate::{Error, company, help, output};

/// What `sintonia report` is told.
#[derive(clap::Args)]
#[command(after_help = help::example!("sintonia report hello.sin"))]
pub struct Arguments {
    /// The recording; several are compared with the first
    #[arg(value_name = "NAME.sin", required_unless_present = "explain")]
    recordings: Vec<PathBuf>,
    /// Show everything, not only what fits on a screen
    #[arg(long)]
    all: bool,
    /// Show everything as one JSON object
    #[arg(long, conflicts_with = "all")]
    json: bool,
    /// Write it as one file for a browser, which needs nothing else: the page of `sintonia view` with what it shows first
    #[arg(long, value_name = "FILE", conflicts_with_all = ["all", "json", "weak"])]
    html: Option<PathBuf>,
    /// With --html: put the source around call sites into the file as well; whoever gets the file can read it
    #[arg(long, requires = "html")]
    source: bool,
    /// With several recordings: each rank has as much work as before (weak scaling), not a share of the same work
    #[arg(long)]
    weak: bool,
    /// Explain a kind of wait state or advice, such as late_sender
    #[arg(long, value_name = "KIND", conflicts_with_all = ["recordings", "all", "json", "weak", "html"])]
    explain: Option<String>,
}

/// Shows the report.
pub fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    if let Some(kind) = &arguments.explain {
        return explain::run(kind);
    }
    match arguments.recordings.len() {
        0 | 1 if arguments.weak => wrong_usage("--weak compares recordings: give several"),
        2.. if arguments.all => wrong_usage("--all shows everything of one recording: several are compared, on one screen"),
        _ => company::with(|company| show(&arguments, company)),
    }
}

fn show(arguments: &Arguments, company: &dyn Company) -> Result<ExitCode, Error> {
    match (&arguments.html, &arguments.recordings[..]) {
        (Some(file), _) => html::write(file, arguments, company)?,
        (None, [one]) => show_one(one, arguments, company)?,
        (None, several) => compare(several, arguments, company)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn show_one(path: &Path, arguments: &Arguments, company: &dyn Company) -> Result<(), Error> {
    let recording = Recording::open(path)?;
    let progress = Progress::new("reading ranks", Summary::steps(&recording));
    let summary = Summary::of(&recording, company, &|| progress.step())?;
    drop(progress);
    if company.here() > 0 {
        return Ok(());
    }
    let log = tuning::log(path)?;
    output::to_stdout(|out| match arguments.json {
        true => output::json_line(out, &Shown { summary: &summary, tuning: log.as_deref() }),
        false => {
            let lines = log.map_or(Vec::new(), |log| tuning::lines(&log, arguments.all));
            out.write_all(screen::show(&path.display().to_string(), &summary, lines, arguments.all).as_bytes())
        }
    })
}

/// The report of a recording as JSON.
#[derive(serde::Serialize)]
pub struct Shown<'a> {
    /// What was found.
    #[serde(flatten)]
    pub summary: &'a Summary,
    /// What was changed while it ran, if it was tuned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tuning: Option<&'a [Entry]>,
}

fn compare(paths: &[PathBuf], arguments: &Arguments, company: &dyn Company) -> Result<(), Error> {
    let read = |path: &PathBuf| -> Result<Run, Error> {
        let recording = Recording::open(path)?;
        let progress = Progress::new("reading ranks", Run::steps(&recording));
        Ok(Run::of(&path.display().to_string(), &recording, company, &|| progress.step())?)
    };
    let runs: Vec<Run> = paths.iter().map(read).collect::<Result<_, Error>>()?;
    if company.here() > 0 {
        return Ok(());
    }
    let growth = if arguments.weak { Growth::Weak } else { Growth::Strong };
    let runs = Scaled::all(&runs, growth);
    output::to_stdout(|out| match arguments.json {
        true => output::json_line(out, &compare::Comparison { growth, runs }),
        false => out.write_all(compare::show(&runs, growth).as_bytes()),
    })
}
