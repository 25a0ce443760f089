//! `sintonia report`: where the time of a recorded run went, why, and what to do about it.

mod compare;
mod explain;
mod screen;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sintonia_insight::{Growth, Scaled, Summary};
use sintonia_program::company::Company;
use sintonia_recording::Recording;

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
    /// With several recordings: each rank has as much work as before (weak scaling), not a share of the same work
    #[arg(long)]
    weak: bool,
    /// Explain a kind of wait state or advice, such as late_sender
    #[arg(long, value_name = "KIND", conflicts_with_all = ["recordings", "all", "json"])]
    explain: Option<String>,
}

/// Shows the report.
pub fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    if let Some(kind) = &arguments.explain {
        return explain::run(kind);
    }
    company::with(|company| show(&arguments, company))
}

fn show(arguments: &Arguments, company: &dyn Company) -> Result<ExitCode, Error> {
    let mut runs = Vec::new();
    for path in &arguments.recordings {
        runs.push((path.display().to_string(), read(path, company)?));
    }
    if company.here() > 0 {
        return Ok(ExitCode::SUCCESS);
    }
    let growth = if arguments.weak { Growth::Weak } else { Growth::Strong };
    output::to_stdout(|out| match &runs[..] {
        [(_, summary)] if arguments.json => output::json_line(out, summary),
        [(name, summary)] => out.write_all(screen::show(name, summary, arguments.all).as_bytes()),
        _ if arguments.json => output::json_line(out, &compare::Comparison { growth, runs: Scaled::all(&runs, growth) }),
        _ => out.write_all(compare::show(&Scaled::all(&runs, growth), growth).as_bytes()),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path, company: &dyn Company) -> Result<Summary, Error> {
    let recording = Recording::open(path)?;
    let progress = Progress::new("reading ranks", Summary::steps(&recording));
    Ok(Summary::of(&recording, company, &|| progress.step())?)
}
