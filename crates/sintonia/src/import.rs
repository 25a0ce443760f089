//! `sintonia import`: converts a trace of another tool to a recording.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;
use sintonia_formats::ImportSummary;

use crate::{Error, help, output, text};

/// Arguments of `sintonia import`.
#[derive(clap::Args)]
#[command(after_help = help::example!("sintonia export hello.sin -o hello.otf2 && sintonia import hello.otf2 -o again.sin"))]
pub(crate) struct ImportArgs {
    /// Trace: NAME.otf2 or its directory (Score-P, TAU, EZTrace), NAME.prv or NAME.prv.gz (Extrae)
    #[arg(value_name = "PATH")]
    trace: PathBuf,
    /// Recording to write
    #[arg(short, long, value_name = "NAME.sin")]
    output: PathBuf,
    /// Replace an existing recording
    #[arg(long)]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs `sintonia import`.
pub(crate) fn run(args: ImportArgs) -> Result<ExitCode, Error> {
    output::check_replaceable(&args.output, args.force)?;
    let imported = sintonia_formats::import(&args.trace, &args.output)?;
    output::write_stdout(|out| {
        if args.json { print_imported_json(out, &args.output, &imported) } else { print_imported(out, &args.output, &imported) }
    })?;
    Ok(ExitCode::SUCCESS)
}

fn print_imported(out: &mut dyn Write, path: &Path, imported: &ImportSummary) -> std::io::Result<()> {
    let ImportSummary { ranks, calls, notes } = imported;
    let shown = path.display();
    let (calls, ranks) = (text::format_plural(*calls, "call"), text::format_plural(*ranks as u64, "rank"));
    writeln!(out, "{calls} of {ranks} in {shown}; next: sintonia report {shown}")?;
    notes.iter().try_for_each(|note| writeln!(out, "note: {note}"))
}

fn print_imported_json(out: &mut dyn Write, path: &Path, imported: &ImportSummary) -> std::io::Result<()> {
    let ImportSummary { ranks, calls, notes } = imported;
    output::write_json_line(out, &json!({"recording": path.display().to_string(), "ranks": ranks, "calls": calls, "notes": notes}))
}
