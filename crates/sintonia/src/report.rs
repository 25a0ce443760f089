//! `sintonia report`: where the time of a recorded run went.

mod screen;

use std::path::PathBuf;
use std::process::ExitCode;

use sintonia_insight::Summary;
use sintonia_recording::Recording;

use crate::progress::Progress;
use crate::{Error, help, output};

/// What `sintonia report` is told.
#[derive(clap::Args)]
#[command(after_help = help::example!("sintonia report hello.sin"))]
pub struct Arguments {
    /// The recording
    #[arg(value_name = "NAME.sin")]
    recording: PathBuf,
    /// Show everything, not only what fits on a screen
    #[arg(long)]
    all: bool,
    /// Show everything as one JSON object
    #[arg(long, conflicts_with = "all")]
    json: bool,
}

/// Shows the report.
pub fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    let recording = Recording::open(&arguments.recording)?;
    let progress = Progress::new("reading ranks", recording.header.ranks.len());
    let summary = Summary::of(&recording, || progress.step())?;
    drop(progress);
    let name = arguments.recording.display().to_string();
    output::to_stdout(|out| match arguments.json {
        true => output::json_line(out, &summary),
        false => out.write_all(screen::show(&name, &summary, arguments.all).as_bytes()),
    })?;
    Ok(ExitCode::SUCCESS)
}
