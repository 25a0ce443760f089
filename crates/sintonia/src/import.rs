//! `sintonia import`: a trace of another tool as a recording, so that it gets our report.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;
use sintonia_formats::Imported;

use crate::{Error, help, output, text};

/// What `sintonia import` is told.
#[derive(clap::Args)]
#[command(after_help = help::example!("sintonia export hello.sin -o hello.otf2 && sintonia import hello.otf2 -o again.sin"))]
pub struct Arguments {
    /// The trace: NAME.otf2 or the folder it is in (Score-P, TAU, EZTrace), NAME.prv or NAME.prv.gz (Extrae)
    #[arg(value_name = "PATH")]
    trace: PathBuf,
    /// The recording to make
    #[arg(short, long, value_name = "NAME.sin")]
    output: PathBuf,
    /// Replace a recording that is there already
    #[arg(long)]
    force: bool,
    /// Say what was made as one JSON object
    #[arg(long)]
    json: bool,
}

/// Makes the recording.
pub fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    output::may_replace(&arguments.output, arguments.force)?;
    let imported = sintonia_formats::import(&arguments.trace, &arguments.output)?;
    output::to_stdout(
        |out| if arguments.json { say_json(out, &arguments.output, &imported) } else { say(out, &arguments.output, &imported) },
    )?;
    Ok(ExitCode::SUCCESS)
}

fn say(out: &mut dyn Write, path: &Path, imported: &Imported) -> std::io::Result<()> {
    let Imported { ranks, calls, notes } = imported;
    let shown = path.display();
    let (calls, ranks) = (text::plural(*calls, "call"), text::plural(*ranks as u64, "rank"));
    writeln!(out, "{calls} of {ranks} in {shown}; see them with: sintonia report {shown}")?;
    notes.iter().try_for_each(|note| writeln!(out, "note: {note}"))
}

fn say_json(out: &mut dyn Write, path: &Path, imported: &Imported) -> std::io::Result<()> {
    let Imported { ranks, calls, notes } = imported;
    output::json_line(out, &json!({"recording": path.display().to_string(), "ranks": ranks, "calls": calls, "notes": notes}))
}
